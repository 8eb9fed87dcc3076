"""How a Run ended, whatever kind of Run it is (interface 2.12, completion)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from livedata.model.diagnosis.diagnostics import (
    CompletionArea,
    CompletionObservations,
    Finding,
    Stop,
)
from livedata.model.run import Run


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
