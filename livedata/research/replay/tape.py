"""A tape: a Run's recipe, memory and bodies as lines of JSON, from which it can be replayed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct, field

from livedata.model.research.memory import Memory
from livedata.model.research.outcome import ResearchStop
from livedata.model.research.recipe import ResearchRecipe
from livedata.model.research.record import Artifact

FORM = "livedata-tape/1"


class BadTape(Exception):
    """A file is no tape, or not a whole one; `line` is where that shows."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(f"line {line}: {reason}")
        self.reason = reason
        self.line = line


class Tape(Struct, frozen=True):
    """All that a replay needs of a Run.

    `recipe` is the one that the Run began with, `pinned` the one with its plan, if it planned;
    `memory` is what was known when it began. `stop` and `digest` are those of its end, None if it
    has not come to one.
    """

    harness: str
    recipe: ResearchRecipe
    memory: Memory
    artifacts: Sequence[Artifact]
    pinned: ResearchRecipe | None = None
    stop: ResearchStop | None = None
    digest: str | None = None
    run: str = ""


class _Head(Struct, frozen=True, forbid_unknown_fields=True):
    """The first line of a tape."""

    tape: str
    harness: str
    run: str
    recipe: ResearchRecipe
    pinned: ResearchRecipe | None
    memory: Memory
    stop: ResearchStop | None
    digest: str | None
    artifacts: int = field(default=0)


def dump(tape: Tape) -> Iterator[bytes]:
    """The lines of a tape, each with its end."""
    head = _Head(
        FORM,
        tape.harness,
        tape.run,
        tape.recipe,
        tape.pinned,
        tape.memory,
        tape.stop,
        tape.digest,
        len(tape.artifacts),
    )
    for line in (head, *tape.artifacts):
        yield msgspec.json.encode(line) + b"\n"


def load(text: bytes) -> Tape:
    """The tape that was dumped. Raises BadTape."""
    first, *lines = text.splitlines() or [b""]
    head = _head(first)
    if len(lines) < head.artifacts or not text.endswith(b"\n"):
        reason = f"the tape is cut: it has {len(lines)} of its {head.artifacts} answers"
        raise BadTape(reason, len(lines) + 1)
    return Tape(
        harness=head.harness,
        recipe=head.recipe,
        memory=head.memory,
        artifacts=[_artifact(line, number) for number, line in enumerate(lines, 2)],
        pinned=head.pinned,
        stop=head.stop,
        digest=head.digest,
        run=head.run,
    )


def _head(line: bytes) -> _Head:
    try:
        head = msgspec.json.decode(line, type=_Head)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise BadTape("this is no tape of a research Run", 1) from None
    if head.tape != FORM:
        raise BadTape(f"this is a tape of another form, {head.tape[:40]!r}", 1)
    return head


def _artifact(line: bytes, number: int) -> Artifact:
    try:
        return msgspec.json.decode(line, type=Artifact)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise BadTape("this is no answer of a Run", number) from None
