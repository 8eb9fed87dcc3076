"""Checks single records of a store; each problem is a sentence without its subject."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from livedata.messages.templates import plural
from livedata.model.dataset import Column, columns_by_id
from livedata.model.harvest import LONGEST_MARKUP
from livedata.model.ids import DatasetId, RunId, format_optional_uuid, format_uuid
from livedata.rules.changes.compare import Cells
from livedata.rules.changes.invariants import Layout, RowVersion
from livedata.rules.declaration.cron import schedule_problem
from livedata.services.interruptions import MAX_ATTEMPTS
from livedata.store.audit import streams
from livedata.store.database.codec import (
    ENTRIES,
    OVERRIDES,
    REASONS,
    VALUES,
    load_compressed,
    load_positions,
    quoted_positions,
)
from livedata.store.evidence import decode

OPEN = frozenset({"queued", "running"})
UNACCEPTED = frozenset({"failed", "blocked", "held"})


def dataset_problems(
    dataset: streams.DatasetRow, schemas: Mapping[int, str], recipes: Mapping[int, str]
) -> Iterator[str]:
    """The problems of a dataset's counts, versions and Bot."""
    if dataset.row_count != dataset.present:
        yield f"counts {plural(dataset.row_count, 'row')}, and has {dataset.present} present"
    if dataset.rows_updated_at != dataset.latest:
        yield "has another time of its last update than its rows"
    if dataset.bots != 1:
        yield f"has {dataset.bots} Bots"
    if not _numbered(schemas, dataset.schema_version):
        yield f"is at schema version {dataset.schema_version}, and has {list(schemas)}"
    elif loaded(schemas[dataset.schema_version]) != loaded(dataset.columns):
        yield "has other columns than its newest schema"
    if not _numbered(recipes, dataset.recipe_version):
        yield f"is at recipe version {dataset.recipe_version}, and has {list(recipes)}"
    for version, source in recipes.items():
        if not isinstance(loaded(source), dict | list):
            yield f"has a recipe, version {version}, that cannot be read"
    if dataset.label_column is not None and dataset.label_column not in loaded(dataset.field_ids):
        yield f"names its rows by the column {dataset.label_column}, which it never had"


def _numbered(versions: Collection[int], newest: int) -> bool:
    """Whether versions are numbered from 1 to the newest without gaps."""
    # Counted first: a newest version that is damaged may be any number.
    return len(versions) == newest and list(versions) == list(range(1, newest + 1))


def state_problems(dataset: streams.DatasetRow) -> Iterator[str]:
    """The problems of a dataset's status and schedule."""
    if dataset.status not in {"draft", "active", "paused"}:
        yield f"has the status {dataset.status}"
    if dataset.schedule is None:
        return
    problem = schedule_problem(dataset.schedule)
    if problem is not None:
        yield f"has the schedule {dataset.schedule!r}, which {problem}"
    elif dataset.status == "active" and dataset.next_run_at is None:
        yield f"is active with the schedule {dataset.schedule!r}, and has no next fire"


def digest_problems(cron: str, *, stands: bool) -> Iterator[str]:
    """The problems of a notice's digest; it `stands` if it is on and has no next fire."""
    problem = schedule_problem(cron)
    if problem is not None:
        yield f"has the digest {cron!r}, which {problem}"
    elif stands:
        yield f"is on with the digest {cron!r}, and has no next fire"


def layout(
    columns: Sequence[Column],
    field_ids: Sequence[str],
    sources: Iterable[str],
    schemas: Mapping[int, str],
    dropped: Sequence[Column] = (),
) -> Layout:
    """The columns by position. Raises KeyError, TypeError if they are not those of the ids."""
    by_id = columns_by_id([*dropped, *columns])
    placed = [by_id[field] for field in field_ids]
    if len(placed) != len(columns) + len(dropped):
        raise KeyError("a column without a position")
    positions = {column["name"]: position for position, column in enumerate(placed)}
    identities = []
    for source in map(loaded, sources):
        identity = source.get("identity") if isinstance(source, dict) else None
        if isinstance(identity, dict):
            names = identity.get("fields") or [identity.get("field")]
            places = tuple(positions[name] for name in names)
            identities.append((identity.get("kind") == "composite", places))
    return Layout(placed, identities, quoted_positions(placed), _hidden(field_ids, schemas))


def widths(schemas: Mapping[int, str]) -> dict[int, int]:
    """Schema version -> how many columns the dataset has had by then, with those dropped since."""
    met: set[str] = set()
    counts = {}
    for version, text in sorted(schemas.items()):
        met |= {column["id"] for column in loaded(text)}
        counts[version] = len(met)
    return counts


def _hidden(field_ids: Sequence[str], schemas: Mapping[int, str]) -> dict[int, frozenset[int]]:
    met: set[str] = set()
    hidden = {}
    for version, text in sorted(schemas.items()):
        shown = {column["id"] for column in loaded(text)}
        met |= shown
        hidden[version] = frozenset(
            position for position, field in enumerate(field_ids) if field in met - shown
        )
    return hidden


def run_problems(run: streams.RunRow, recipes: int) -> Iterator[str]:
    """The problems of a Run's end, charge, deltas and held output, which belong together."""
    accepted = run.status == "succeeded"
    if run.status not in OPEN | UNACCEPTED and not accepted:
        yield f"has the status {run.status}"
    if (run.completed_at is None) is not (run.status in OPEN):
        yield f"is {run.status}, which its time of completion denies"
    if (run.error is None) is (run.status in UNACCEPTED):
        yield f"is {run.status}, which its error denies"
    if not 1 <= run.recipe_version <= recipes:
        yield f"executed recipe version {run.recipe_version}, which there is not"
    counts = (run.new_rows, run.changed_rows, run.gone_rows)
    if counts != run.written:
        yield f"tells of {counts} new, changed and gone rows, and wrote {run.written}"
    # What was imported was charged in the store that it comes from.
    if run.charges != accepted and not (run.imported and not run.charges):
        yield f"is {run.status} and has {plural(run.charges, 'charge')}"
    if run.holds and run.status != "held":
        yield f"is {run.status}, and holds an output"
    yield from _story_problems(run)


def _story_problems(run: streams.RunRow) -> Iterator[str]:
    """The problems of what a Run tells of itself: its Checks, facts, stop rule and problem."""
    checks, accepted = loaded(run.checks), run.status == "succeeded"
    stop, facts = loaded(run.stop or "{}"), loaded(run.facts or "{}")
    objects = [stop, facts, *(checks if isinstance(checks, list) else [None])]
    if not all(isinstance(entry, dict) for entry in objects):
        yield "has checks, facts or a stop rule that cannot be read"
    elif accepted and run.charges and facts.get("checked", run.charged) != run.charged:
        pages = plural(facts["checked"], "checked page")
        yield f"was charged {plural(run.charged, 'credit')} for {pages}"
    elif accepted and not all(check.get("passed") is True for check in checks):
        yield "is succeeded, and a Check of it failed"
    if not isinstance(loaded(run.problem or "{}"), dict):
        yield "has a problem that cannot be read"


def course_problems(run: streams.RunRow) -> Iterator[str]:
    """The problems of a Run's attempts, lease and times."""
    if not 0 <= run.attempt <= MAX_ATTEMPTS:
        yield f"has used {run.attempt} attempts of {MAX_ATTEMPTS}"
    # Only a Run that fails may do so before its first start: cancelled, or its dataset unreadable.
    if run.status not in {"queued", "failed"} and (run.attempt < 1 or run.started_at is None):
        yield f"is {run.status}, and was never started"
    if bool(run.leased) is not (run.status == "running"):
        yield f"is {run.status}, which its lease denies"
    moments = [run.queued_at, run.started_at, run.completed_at]
    known = [moment for moment in moments if moment is not None]
    if known != sorted(known):
        yield "was not queued, started and completed in this order"


def page_problems(
    status: str | None, number: int, markup: bytes, counts: str | None
) -> Iterator[str]:
    """The problems of a kept page: of its Run, its markup and its counts."""
    if status is not None and status not in UNACCEPTED:
        yield f"is {status}, and has a failed page"
    if number < 1:
        yield f"has a failed page of number {number}"
    unpacking = zlib.decompressobj()
    # No further than one byte past the limit: a damaged page must not fill the memory.
    try:
        text = unpacking.decompress(markup, LONGEST_MARKUP + 1)
        text.decode()
    except (zlib.error, UnicodeDecodeError):
        yield "has a failed page that cannot be read"
    else:
        if len(text) > LONGEST_MARKUP:
            yield f"has a failed page of over {LONGEST_MARKUP} bytes"
        elif not unpacking.eof:
            yield "has a failed page that cannot be read"
    if counts is not None and not isinstance(loaded(counts), dict):
        yield "has a failed page whose counts cannot be read"


def revision_problems(
    revision: streams.RevisionRow, dataset: streams.DatasetRow, schemas: Mapping[int, int]
) -> Iterator[str]:
    """The problems of a revision's row, schema and writer."""
    if revision.row_dataset != revision.dataset_id:
        yield "is of a row that its dataset does not have"
    if revision.schema_version not in schemas:
        yield f"was written under schema version {revision.schema_version}, which there is not"
    by_hand = (revision.request_id, revision.request_hash)
    if revision.origin == "user" and (revision.run_id is not None or None in by_hand):
        yield "is a hand edit without its request, or with a Run"
    if revision.origin != "user" and by_hand != (None, None):
        yield "was not written by hand, but has a request"
    if revision.origin == "collection" and revision.run_id is None:
        yield "was collected by no Run"
    if revision.item is not None and revision.evidence is not None:
        yield "names its evidence twice"
    # The keys of what was imported are in the store that it comes from.
    if revision.actor_id is None or revision.sequence <= (dataset.imported_head or 0):
        return
    if revision.actor_owner is None:
        yield "was written with a key that there is not"
    elif revision.actor_owner != dataset.owner:
        yield f"was written with a key of {revision.actor_owner}"


def row_problems(row: streams.RowRow) -> Iterator[str]:
    """The differences of a row from its last revision."""
    if row.v_row != row.id:
        named = format_optional_uuid(row.revision_id)
        yield f"names {named} as its revision, which is not one of its own"
        return
    if not row.v_is_last:
        yield "names a revision that is not its last"
    differ = [
        name
        for name, mine, kept in zip(streams.KEPT, row.kept, row.v_kept, strict=True)
        if mine != kept
    ]
    if differ:
        yield f"differs from its last revision in {', '.join(differ)}"
    if row.updated_at != row.v_created_at:
        yield "has another time of update than its last revision"
    presence = row.kept[streams.KEPT.index("presence")]
    if row.status not in {"new", "changed", "unchanged", "gone"}:
        yield f"has the status {row.status}"
    if (row.status == "gone") is not (presence == "missing"):
        yield f"is {presence}, and its status is {row.status}"
    if row.first_by not in (None, row.first_run_id):
        yield "was first seen by another Run than its first revision says"


def ledger_problems(entry: streams.ChargeRow) -> Iterator[str]:
    """The problems of an entry: it is a grant, or the charge of an accepted Run of its owner."""
    if entry.balance_after < 0:
        yield f"leaves the balance {entry.balance_after}, below 0"
    if entry.kind not in {"grant", "charge"}:
        yield f"is of kind {entry.kind}"
    if (entry.kind == "charge") is not (entry.run_id is not None and entry.credits <= 0):
        yield "is a charge without a Run, or a grant with one"
    # The ledger outlives a deleted dataset: then there is no Run left to compare with.
    if entry.run_id is None or entry.dataset_owner is None:
        return
    # A dataset that was deleted may be imported under another owner; its charges stay.
    if entry.dataset_owner != entry.owner and not entry.imported:
        yield f"charges for a dataset of {entry.dataset_owner}"
    if entry.run_dataset != entry.dataset_id:
        yield "charges for a Run that its dataset does not have"
    elif entry.run_status != "succeeded":
        yield f"charges for a {entry.run_status} Run"


def version(revision: streams.RevisionRow) -> RowVersion | None:
    """A revision with its cells; None if they cannot be read."""
    try:
        values = VALUES.load(revision.data)
        was = None if revision.was is None else VALUES.load(revision.was)
        reasons = load_positions(REASONS, revision.reasons)
        overrides = load_positions(OVERRIDES, revision.overrides)
        evidence = decode(revision.observation_id, revision.item, revision.evidence)
    except ValueError:
        return None
    return RowVersion(
        revision.id,
        revision.previous_id,
        revision.origin,
        revision.kind,
        revision.changed,
        revision.presence,
        Cells(values, reasons, overrides),
        was,
        evidence,
    )


def entries(text: str) -> Mapping[int, Mapping[int, object]] | None:
    """Item -> position -> text of an observation; None if they cannot be read."""
    try:
        return ENTRIES.load(text)
    except ValueError:
        return None


def loaded(text: str) -> Any:
    """The value of a JSON text, compressed or not; None if it cannot be read."""
    try:
        return load_compressed(text)
    except ValueError:
        return None


def positions(mask: int) -> list[int]:
    """The positions that a mask has."""
    return [position for position in range(mask.bit_length()) if mask >> position & 1]


def writer_problem(run: RunId, writer: streams.WritingRun, dataset: DatasetId) -> str | None:
    """The problem of the Run that a record of `dataset` names as its writer, if any."""
    if writer.dataset != dataset:
        return f"names the Run {run.hex()}, which its dataset does not have"
    return (
        None
        if writer.status == "succeeded"
        else f"names the {writer.status} Run {format_uuid(run)}"
    )
