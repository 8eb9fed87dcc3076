"""The diagnostics of a Run, area by area, whatever kind of Run it is (interface 2.12)."""

from __future__ import annotations

from typing import Protocol, TypeVar

from livedata.model.diagnosis.diagnostics import (
    CellsArea,
    CompletionArea,
    CostArea,
    ReconciliationArea,
    RequestArea,
    RunDiagnostics,
    SourcesArea,
)
from livedata.model.run import Run


class Recorded(Protocol):
    """What each kind of Run records."""

    @property
    def run(self) -> Run:
        """The Run."""

    @property
    def attempt(self) -> str | None:
        """Its latest attempt."""

    @property
    def harness(self) -> str | None:
        """The version of the harness that it ran, if it ran one."""


R = TypeVar("R", bound=Recorded, contravariant=True)


class Areas(Protocol[R]):
    """What follows from the records of one kind of Run: a module of its room."""

    def request(self, recorded: R, /) -> RequestArea:
        """What was asked for."""

    def sources(self, recorded: R, /) -> SourcesArea:
        """The pages, and what became of each."""

    def cells(self, recorded: R, /) -> CellsArea:
        """The rows and the cells of each field."""

    def reconciliation(self, recorded: R, /) -> ReconciliationArea:
        """The records that became no row of their own."""

    def completion(self, recorded: R, /) -> CompletionArea:
        """The end of the Run."""


def report(kind: Areas[R], recorded: R, cost: CostArea) -> RunDiagnostics:
    """All areas, of which the `cost` depends on more than what the Run recorded of itself."""
    return {
        "runId": recorded.run["id"],
        "datasetId": recorded.run["datasetId"],
        "status": recorded.run["status"],
        "attemptId": recorded.attempt,
        "harnessVersion": recorded.harness,
        "request": kind.request(recorded),
        "sources": kind.sources(recorded),
        "cells": kind.cells(recorded),
        "reconciliation": kind.reconciliation(recorded),
        "completion": kind.completion(recorded),
        "cost": cost,
    }
