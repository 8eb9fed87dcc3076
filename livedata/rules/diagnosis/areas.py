"""The diagnostics of a Run: its areas and their findings, for each kind of Run (interface 2.12)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Protocol, TypeVar

from livedata.messages.findings import finding_sentence
from livedata.messages.research_findings import research_sentence
from livedata.model.diagnosis.diagnostics import (
    CellsArea,
    CompletionArea,
    CompletionObservations,
    CostArea,
    Finding,
    ReconciliationArea,
    RequestArea,
    RunDiagnostics,
    SourcesArea,
    Stop,
)
from livedata.model.problem import Param
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


def completion(
    run: Run, stop: Stop | None, findings: Iterable[Finding], nothing_recorded: Callable[[], str]
) -> CompletionArea:
    """The area of the completion: the end of the Run, and the rule that ended it."""
    observed: CompletionObservations = {"status": run["status"]}
    if stop is not None:
        observed["stop"] = stop
    if run["error"] is not None:
        observed["error"] = run["error"]
    unknowns = [] if stop is not None else [nothing_recorded()]
    return {"observations": observed, "findings": list(findings), "unknowns": unknowns}


def accepted_by_hand(stop: Stop | None) -> bool:
    """Whether a person accepted the output of a held Run."""
    return stop is not None and stop["inputs"].get("accepted") == "by hand"


LONGEST_MESSAGE: Final = 1000


def told(code: str, message: str) -> Finding:
    """A finding with its message, cut at the length that the wire allows."""
    return {"code": code.removeprefix("finding."), "message": message[:LONGEST_MESSAGE]}


def finding(code: str, page: int | None = None, /, **params: Param) -> Finding:
    """A finding with its sentence."""
    return told(code, finding_sentence(code, page, **params))


def research_finding(code: str, **params: Param) -> Finding:
    """A finding that only research has."""
    return told(code, research_sentence(f"finding.{code}", **params))
