"""What a model answered, and what it called and took."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from livedata.messages.controls import escape_controls
from tests.agents.facts import faults
from tests.agents.tasks import Task

LONGEST = 1_000
"""So many characters of an answer are printed."""


class Called(NamedTuple):
    """A call of a tool."""

    tool: str
    arguments: Mapping[str, object]


class Answered(NamedTuple):
    """How a model answered, in so many turns and tokens; `trouble` says why there is no answer.

    It is `unreachable` if the model could not be asked. A server that does not count tokens is not
    `measured`.
    """

    text: str
    trouble: str
    unreachable: bool
    calls: list[Called]
    turns: int
    read: int
    written: int
    measured: bool

    @property
    def spent(self) -> str:
        """What it took, in words."""
        tokens = f"{self.read + self.written:,} tokens"
        parts = f"{self.read:,} read, {self.written:,} written"
        counted = (
            f"{tokens} ({parts})" if self.measured else "tokens that its server does not count"
        )
        return f"{len(self.calls)} calls, {self.turns} turns and {counted}"


class Judged(NamedTuple):
    """A task, how a model answered it, and whether what was to be done is done."""

    task: Task
    answered: Answered
    holds: bool

    @property
    def faults(self) -> list[str]:
        """What is wrong with the answer; nothing if it is right."""
        if self.answered.trouble:
            return [self.answered.trouble]
        found = [*faults(self.answered.text, self.task.facts)]
        return found if self.holds else [*found, "it did not do what was asked"]

    def lines(self) -> Iterator[str]:
        """How the task went, for people."""
        yield self.task.question
        for call in self.answered.calls:
            yield f"    called {_shown(call.tool)} {_shown(json.dumps(call.arguments))}"
        if not self.answered.trouble:
            yield f"    answered: {_shown(self.answered.text)}"
        state = f"WRONG: {', '.join(self.faults)};" if self.faults else "right,"
        yield f"    {state} in {self.answered.spent}"


def _shown(text: str) -> str:
    line = escape_controls(" ".join(text.split()))
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"


def summary(model: str, judged: Sequence[Judged]) -> str:
    """How a model did all tasks, in one line."""
    answered = [each.answered for each in judged]
    right = sum(not each.faults for each in judged)
    whole = Answered(
        text="",
        trouble="",
        unreachable=False,
        calls=[call for each in answered for call in each.calls],
        turns=sum(each.turns for each in answered),
        read=sum(each.read for each in answered),
        written=sum(each.written for each in answered),
        measured=all(each.measured for each in answered),
    )
    return f"{right} of {len(judged)} are right: {model} took {whole.spent}."
