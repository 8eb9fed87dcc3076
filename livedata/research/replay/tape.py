"""A tape: a Run's recipe, memory and bodies as lines of JSON, from which it can be replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from livedata.model.research.answers import Unread
from livedata.model.research.recipe import ResearchRecipe
from livedata.model.research.record import Artifact, ArtifactKind, Memory, ResearchFact
from livedata.model.run import ResearchStop, Run
from livedata.research.asking.questions import RecordedAnswer
from livedata.research.reading import RecordedPage
from livedata.research.sources import RecordedSearch

FORM = "livedata-tape/1"


_BODIES: Mapping[ArtifactKind, Callable[[str], object]] = {
    "planning.output": msgspec.json.Decoder(RecordedAnswer).decode,
    "search.results": msgspec.json.Decoder(RecordedSearch).decode,
    "page.text": msgspec.json.Decoder(RecordedPage).decode,
    "page.failure": msgspec.json.Decoder(Unread).decode,
    "extraction.output": msgspec.json.Decoder(RecordedAnswer).decode,
}
"""What reads the body of each kind."""
# A text of brackets alone is JSON too, and nested too deeply to be read.
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class BadTape(Exception):
    """A file is no tape, or not a whole one; `line` is where that shows."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(f"line {line}: {reason}")
        self.reason = reason
        self.line = line


class FoundRow(Struct, frozen=True):
    """A row of a Run as the Run left it; its cells are in the order of the recipe's fields.

    `values` is None for the row of an output that was not accepted.
    """

    key: str
    name: str
    values: list[str | None] | None = None


class Tape(Struct, frozen=True):
    """All that a replay needs of a Run, and what the Run found, to compare it with.

    `recipe` is the one that the Run began with, `pinned` the one with its plan, if it planned;
    `memory` is what was known when it began. `stop` and `digest` are those of its end, None if it
    has not come to one; `run` is the Run as answered then.
    """

    harness: str
    recipe: ResearchRecipe
    memory: Memory
    artifacts: Sequence[Artifact]
    pinned: ResearchRecipe | None = None
    stop: ResearchStop | None = None
    digest: str | None = None
    run: Run | None = None
    attempt: str | None = None
    facts: Sequence[ResearchFact] = ()
    rows: Sequence[FoundRow] = ()


class _Form(Struct, frozen=True):
    """What the first line of any tape has."""

    tape: str


class _Head(Struct, frozen=True, forbid_unknown_fields=True):
    """The first line of a tape."""

    tape: str
    harness: str
    run: Run | None
    attempt: str | None
    recipe: ResearchRecipe
    pinned: ResearchRecipe | None
    memory: Memory
    stop: ResearchStop | None
    digest: str | None
    facts: Sequence[ResearchFact]
    rows: Sequence[FoundRow]
    artifacts: int


_TOLD = tuple(name for name in Tape.__struct_fields__ if name != "artifacts")
"""What the first line tells of a Run."""


def dump(tape: Tape) -> Iterator[bytes]:
    """The lines of a tape, each with its end."""
    told = {name: getattr(tape, name) for name in _TOLD}
    head = _Head(tape=FORM, artifacts=len(tape.artifacts), **told)
    for line in (head, *tape.artifacts):
        yield msgspec.json.encode(line) + b"\n"


def load(text: bytes) -> Tape:
    """The tape that was dumped. Raises BadTape."""
    first, *lines = text.splitlines() or [b""]
    head = _head(first)
    # Without its end the last line is not whole.
    whole = len(lines) - (not text.endswith(b"\n"))
    if whole < head.artifacts:
        reason = f"the tape is cut: it has {whole} of its {head.artifacts} answers"
        raise BadTape(reason, whole + 2)
    artifacts = [_artifact(line, number) for number, line in enumerate(lines, 2)]
    return Tape(artifacts=artifacts, **{name: getattr(head, name) for name in _TOLD})


def _head(line: bytes) -> _Head:
    try:
        form = msgspec.json.decode(line, type=_Form).tape
        if form != FORM:
            raise BadTape(f"this is a tape of another form, {form[:40]!r}", 1)
        head = msgspec.json.decode(line, type=_Head)
    except _UNREADABLE:
        raise BadTape("this is no tape of a research Run", 1) from None
    columns = len((head.pinned or head.recipe).fields)
    if any(len(row.cells) != columns for row in head.memory.rows):
        raise BadTape("the rows that were known have other columns than the recipe", 1)
    return head


def _artifact(line: bytes, number: int) -> Artifact:
    try:
        artifact = msgspec.json.decode(line, type=Artifact)
        _BODIES[artifact.kind](artifact.body)
    except _UNREADABLE:
        raise BadTape("this is no answer of a Run", number) from None
    return artifact
