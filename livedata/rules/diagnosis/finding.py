"""A finding of a Run, as diagnostics answer it (interface 2.12)."""

from __future__ import annotations

from typing import Final

from livedata.messages.diagnosis.findings import finding_sentence
from livedata.messages.diagnosis.research import research_sentence
from livedata.model.diagnosis.diagnostics import Finding
from livedata.model.problem import Param

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
