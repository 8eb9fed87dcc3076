"""A step of research as the store keeps it: what no other column has, and its facts, compressed."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, json

from livedata.model.research.answers import Unread
from livedata.model.research.record import ResearchFact, ResearchStep, RowCounts
from livedata.model.run import Phase, Stage, StepStatus
from livedata.store.database.codec import JsonColumn


class StoredFact(Struct, frozen=True, array_like=True):
    """A fact as a list; `key` is the number of its entity, if it has one."""

    # A number, because 32 bytes of chance cannot be made smaller: they were half of all facts.
    stage: Stage
    code: str
    evidence: str
    failure: bool
    detail: str
    url: str | None
    entity: str | None
    key: int | str | None
    field: str | None
    candidate: str | None


_DECODER = json.Decoder(list[StoredFact])


def pack_facts(facts: Sequence[ResearchFact], numbers: Mapping[str, int]) -> bytes:
    """Facts as bytes; `numbers` are those of the entities by key, as far as they have one."""
    stored = [
        StoredFact(
            *(fact.stage, fact.code, fact.evidence, fact.failure, fact.detail, fact.url),
            *(fact.entity, numbers.get(fact.key or "", fact.key), fact.field, fact.candidate),
        )
        for fact in facts
    ]
    return zlib.compress(json.encode(stored), 9)


def unpack_facts(packed: bytes) -> list[StoredFact]:
    """What :func:`pack_facts` wrote. Raises zlib.error and ValueError."""
    return _DECODER.decode(zlib.decompress(packed))


def facts_with_keys(
    stored: Sequence[StoredFact], keys: Mapping[int, str]
) -> Iterator[ResearchFact]:
    """The facts with the keys of their entities. Raises KeyError for a number that none has."""
    for fact in stored:
        key = keys[fact.key] if isinstance(fact.key, int) else fact.key
        yield ResearchFact(
            *(fact.stage, fact.code, fact.evidence, fact.failure, fact.detail, fact.url),
            *(fact.entity, key, fact.field, fact.candidate),
        )


class StoredStep(Struct, frozen=True, array_like=True):
    """A step without its id, its begin and its facts; `took` is in microseconds."""

    phase: Phase
    status: StepStatus
    took: int | None
    url: str | None = None
    failure: Unread | None = None
    counts: RowCounts | None = None


STEP = JsonColumn[StoredStep](StoredStep)


def stored_step(step: ResearchStep) -> StoredStep:
    """What is kept of a step."""
    took = None if step.ended is None else step.ended - step.started
    return StoredStep(step.phase, step.status, took, step.url, step.failure, step.counts)


def loaded_step(step_id: str, started: int, stored: StoredStep) -> ResearchStep:
    """The step that was kept, without its facts."""
    return ResearchStep(
        id=step_id,
        phase=stored.phase,
        started=started,
        ended=None if stored.took is None else started + stored.took,
        status=stored.status,
        url=stored.url,
        failure=stored.failure,
        counts=stored.counts,
    )
