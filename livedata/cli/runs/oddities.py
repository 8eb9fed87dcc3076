"""What looked odd in a Run, as lines for a person."""

from __future__ import annotations

from livedata.messages.diagnosis.findings import oddity_sentence
from livedata.model.problem import problem_of
from livedata.services.queries import RunReport


def oddity_lines(report: RunReport) -> list[str]:
    """Say what looked odd in a Run, a line each."""
    return [oddity_sentence(problem_of(fact)) for fact in report.facts.get("odd", [])]
