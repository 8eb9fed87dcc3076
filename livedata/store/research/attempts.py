"""What research records of an attempt: its harness, what it knew, its steps with their facts."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, json

from livedata.model.ids import AttemptId, DatasetId, Micros, RunId, format_uuid, raw_id
from livedata.model.research.answers import Unread
from livedata.model.research.record import ResearchFact, ResearchStep, RowCounts
from livedata.model.run import Phase, Stage, StepStatus
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.codec import JsonColumn
from livedata.store.database.statements import insert
from livedata.store.research import entities

_ADD_ATTEMPT = insert(
    "research_attempts", "id", "run_id", "harness_version", "memory", "started_at"
)
_ADD_STEP = insert(
    "research_steps", "id", "run_id", "attempt_id", "number", "step", "facts", "started_at"
)


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


def _pack_facts(facts: Sequence[ResearchFact], numbers: Mapping[str, int]) -> bytes:
    """Facts as bytes; `numbers` are those of the entities by key, as far as they have one."""
    stored = [
        StoredFact(
            *(fact.stage, fact.code, fact.evidence, fact.failure, fact.detail, fact.url),
            # Entities get their numbers when a Run is accepted: until then a minted key has none.
            *(fact.entity, numbers.get(fact.key or "", fact.key), fact.field, fact.candidate),
        )
        for fact in facts
    ]
    return zlib.compress(json.encode(stored), 9)


def unpack_facts(packed: bytes) -> list[StoredFact]:
    """What :func:`_pack_facts` wrote. Raises zlib.error and ValueError."""
    return _DECODER.decode(zlib.decompress(packed))


def _facts_with_keys(
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


def _stored_step(step: ResearchStep) -> StoredStep:
    """What is kept of a step."""
    took = None if step.ended is None else step.ended - step.started
    return StoredStep(step.phase, step.status, took, step.url, step.failure, step.counts)


def _loaded_step(step_id: str, started: int, stored: StoredStep) -> ResearchStep:
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


class ResearchAttempt(Struct, frozen=True):
    """An attempt at a research Run; `memory` is the hash of what it knew, while that is kept."""

    id: str
    raw: AttemptId
    harness_version: str
    started: Micros
    memory: bytes | None


def add(
    writer: Writer, run: RunId, attempt: AttemptId, harness_version: str, memory: bytes, now: Micros
) -> None:
    """Keep an attempt with its harness, and the hash of what it knows."""
    writer.execute(
        _ADD_ATTEMPT,
        id=attempt,
        run_id=run,
        harness_version=harness_version,
        memory=memory,
        started_at=now,
    )


def all_of(reader: Reader, run: RunId) -> list[ResearchAttempt]:
    """The attempts at a Run in order, those that were given back too."""
    rows = reader.rows(
        "SELECT id, harness_version, started_at, memory FROM research_attempts "
        "WHERE run_id = :run ORDER BY started_at, id",
        run=run,
    )
    return [ResearchAttempt(format_uuid(row[0]), *row) for row in rows]


def has(reader: Reader, attempt: AttemptId) -> bool:
    """Whether an attempt has recorded anything."""
    sql = "SELECT 1 FROM research_attempts WHERE id = :attempt"
    return reader.value(sql, attempt=attempt) is not None


def add_step(
    writer: Writer, dataset: DatasetId, run: RunId, attempt: AttemptId, step: ResearchStep
) -> None:
    """Keep a step that has ended, with its facts."""
    # Nobody else takes the same one: whoever writes a step holds its Run in this transaction.
    number = writer.value(
        "SELECT coalesce(max(number), 0) FROM research_steps WHERE attempt_id = :attempt",
        attempt=attempt,
    )
    writer.execute(
        _ADD_STEP,
        id=raw_id(step.id),
        run_id=run,
        attempt_id=attempt,
        number=number + 1,
        step=json.encode(_stored_step(step)).decode(),
        facts=_packed(writer, dataset, step.facts) if step.facts else None,
        started_at=step.started,
    )


def steps(reader: Reader, attempt: AttemptId, since: Micros = Micros(0)) -> list[ResearchStep]:  # noqa: B008
    """The steps of an attempt in the order in which they ended, without their facts."""
    rows = reader.rows(
        "SELECT id, started_at, step FROM research_steps "
        "WHERE attempt_id = :attempt AND started_at >= :since ORDER BY number",
        attempt=attempt,
        since=since,
    )
    return [_loaded_step(format_uuid(raw), started, STEP.load(text)) for raw, started, text in rows]


def pages_asked(reader: Reader, run: RunId) -> tuple[str, ...]:
    """The addresses that the attempts at a Run have asked for, each once."""
    texts = reader.rows("SELECT step FROM research_steps WHERE run_id = :run", run=run)
    steps = [STEP.load(text) for (text,) in texts]
    return tuple(sorted({step.url for step in steps if step.phase == "read" and step.url}))


def recorded_facts(reader: Reader, dataset: DatasetId, attempt: AttemptId) -> list[ResearchFact]:
    """The facts of all steps of an attempt, in the order in which the steps ended."""
    rows = reader.rows(
        "SELECT facts FROM research_steps "
        "WHERE attempt_id = :attempt AND facts IS NOT NULL ORDER BY number",
        attempt=attempt,
    )
    stored = [fact for (packed,) in rows for fact in unpack_facts(packed)]
    keys = {number: key for key, number in entities.numbers(reader, dataset).items()}
    return list(_facts_with_keys(stored, keys))


def _packed(reader: Reader, dataset: DatasetId, recorded: Sequence[ResearchFact]) -> bytes:
    keys = {fact.key for fact in recorded if fact.key is not None}
    return _pack_facts(recorded, entities.numbers_of(reader, dataset, keys))
