"""A finding of a Run, as diagnostics answer it (interface 2.12)."""

from __future__ import annotations

from typing import Final

from livedata.messages.diagnosis.findings import finding_sentence
from livedata.model.diagnosis.diagnostics import Finding
from livedata.model.problem import Param

LONGEST_MESSAGE: Final = 1000


def finding(code: str, page: int | None = None, /, **params: Param) -> Finding:
    """A finding with its sentence, cut at the length that the wire allows."""
    message = finding_sentence(code, page, **params)[:LONGEST_MESSAGE]
    return {"code": code.removeprefix("finding."), "message": message}
