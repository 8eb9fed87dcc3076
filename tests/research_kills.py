"""Runs commands in children that die (SIGKILL) at a point of a research Run.

``python -m tests.research_kills`` reads lines of JSON from stdin: the name of a point, or null, and
the words of a command. For each it prints how the child ended that executed it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, Literal, NamedTuple

import livedata.research.providers.openai  # noqa: F401
import spiders.worker.researcher  # noqa: F401  (imported once here, forked with it many times)
from livedata.cli import main
from livedata.services import attempts
from livedata.services.research import recording
from livedata.store.research import artifacts, usage
from livedata.store.research import attempts as stored
from spiders.research.recorder import StoreRecorder
from tests.dying import die, in_child


class Point(NamedTuple):
    """Before or after a call; if `about` is given, the call of so many that is about it."""

    when: Literal["before", "after"]
    home: type | ModuleType
    name: str
    about: str | None = None
    number: int = 1


IN_PHASES: Mapping[str, Point] = {
    "the attempt begins": Point("before", attempts, "begin"),
    "nothing is remembered": Point("before", recording, "memory"),
    "the plan is recorded": Point("after", recording, "record", "planning"),
    "the plan is pinned": Point("after", recording, "record", "pin"),
    "the search begins": Point("before", StoreRecorder, "begin", "search"),
    "the second page is recorded": Point("after", recording, "record", "read", 2),
    "the second page is asked about": Point("before", StoreRecorder, "begin", "extract", 2),
    "the second answer is recorded": Point("after", recording, "record", "extract", 2),
    "the preview is recorded": Point("after", recording, "record", "preview"),
}
"""Where a Run dies between two transactions."""
IN_TRANSACTIONS: Mapping[str, Point] = {
    "what is remembered is written": Point("after", stored, "add"),
    "the step of an answer is written": Point("after", stored, "add_step", "extract", 2),
    "an answer is written": Point("after", artifacts, "add", "extraction.output", 2),
    "what an answer took is written": Point("after", usage, "add_call", "extract", 2),
    "the end is written": Point("after", attempts, "close"),
}
"""Where it dies between two statements of one: what that wrote is lost."""
POINTS = {**IN_PHASES, **IN_TRANSACTIONS}


def die_at(point: Point) -> None:
    """From now on, die at a point of a Run of this process."""
    work = getattr(point.home, point.name)
    left = [point.number]

    def doomed(*values: Any, **named: Any) -> Any:
        left[0] -= point.about is None or _is_about(point.about, values)
        if point.when == "before" and left[0] == 0:
            die()
        answer = work(*values, **named)
        if left[0] == 0:
            die()
        return answer

    setattr(point.home, point.name, doomed)


def _is_about(what: str, values: Sequence[Any]) -> bool:
    """Whether the values of a call name a phase or a kind."""
    return any(
        what in {getattr(value, "phase", None), getattr(value, "kind", None)}
        or (isinstance(value, str) and value == what)
        for value in values
    )


def execute(point: str | None, words: list[str]) -> None:
    """Execute a command, which dies at a point if one is given."""
    if point is not None:
        die_at(POINTS[point])
    main(words)


if __name__ == "__main__":
    for line in sys.stdin:
        named, command = json.loads(line)
        code = in_child(lambda: execute(named, command))  # noqa: B023  (it is called at once)
        print(code, flush=True)  # noqa: T201
