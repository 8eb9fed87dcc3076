"""The diagnostics of a research Run, area by area (interface 2.12)."""

from __future__ import annotations

from livedata.model.diagnosis.diagnostics import CostArea, RunDiagnostics
from livedata.model.diagnosis.recorded_research import RecordedResearch
from livedata.rules.diagnosis.research import areas, ending


def report(recorded: RecordedResearch, cost: CostArea) -> RunDiagnostics:
    """All areas, of which the `cost` depends on more than what the Run recorded of itself."""
    return {
        "runId": recorded.run["id"],
        "datasetId": recorded.run["datasetId"],
        "status": recorded.run["status"],
        "attemptId": recorded.attempt,
        "harnessVersion": recorded.harness,
        "request": areas.request(recorded),
        "sources": areas.sources(recorded),
        "cells": areas.cells(recorded),
        "reconciliation": areas.reconciliation(recorded),
        "completion": ending.completion(recorded),
        "cost": cost,
    }
