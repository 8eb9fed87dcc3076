"""The history of a dataset or a row, newest first, narrowed as a person wishes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from livedata.model import ids
from livedata.model.errors import Invalid
from livedata.model.ids import DatasetId, Micros, OwnerName, RowId, RunId
from livedata.model.row import Change, RevisionKind
from livedata.model.row_name import RowName
from livedata.model.run import Run
from livedata.store import accounts, datasets, feed, runs, shown_runs
from livedata.store.database.backend import Reader
from livedata.store.database.codec import Fields
from livedata.store.database.store import Database
from livedata.store.feed import RevisionFilter
from livedata.store.shown_rows import names
from livedata.store.shown_runs import RunEnd

ON_A_PAGE: Final = 50
_LOOKED_AT: Final = 1_000
"""No index knows the kind of a change: so many are looked at for one page."""


class Narrowing(Struct, frozen=True):
    """Which changes are wanted, those before a sequence; without anything, the newest of all.

    They are of `since` or later, and older than `until`.
    """

    row: RowId | None = None
    run: RunId | None = None
    field: str | None = None
    kind: RevisionKind | None = None
    since: Micros | None = None
    until: Micros | None = None
    before: int | None = None


class History(Struct, frozen=True):
    """Changes, newest first; `rows` says how each row is called now, `editors` who each key is.

    `before` is the sequence from which the earlier ones go on; None if there are none.
    """

    changes: Sequence[Change]
    rows: Mapping[str, RowName]
    editors: Mapping[str, str | None]
    before: int | None


def history(db: Database, owner: OwnerName, dataset: DatasetId, wanted: Narrowing) -> History:
    """A page of the history. Raises NotFound, and Invalid for a field that there is not."""
    with db.reading() as reader:
        ref = datasets.ref(reader, owner, dataset)
        window = _window(reader, dataset, ref.fields, ref.head, wanted)
        changes, before = feed.newest(reader, dataset, ref.fields, window, ON_A_PAGE, wanted.kind)
        named = names(reader, ref.fields, {change["rowId"] for change in changes})
        own = [key for key in accounts.keys(reader) if key["owner"] == owner]
    editors = {key["id"]: key["label"] for key in own}
    return History(changes, named, editors, before)


def earlier_runs(
    db: Database,
    owner: OwnerName,
    dataset: DatasetId,
    limit: int,
    before: tuple[Micros, str] | None = None,
) -> list[tuple[Run, RunEnd]]:
    """The Runs of a dataset, newest first; `before` is (queuedAt, id) of the last one seen.

    Raises NotFound.
    """
    with db.reading() as reader:
        datasets.ref(reader, owner, dataset)
        ends = shown_runs.earlier_runs(reader, dataset, limit, before)
        return [(runs.get(reader, owner, RunId(ids.raw_id(end.run))), end) for end in ends]


def last_ends(
    db: Database, owner: OwnerName, listed: Sequence[DatasetId], limit: int
) -> list[list[RunEnd]]:
    """For each of these datasets the ends of its last Runs, newest first. Raises NotFound."""
    with db.reading() as reader:
        for dataset in listed:
            datasets.ref(reader, owner, dataset)
        return [shown_runs.earlier_runs(reader, dataset, limit) for dataset in listed]


def _window(
    reader: Reader, dataset: DatasetId, fields: Fields, head: int, wanted: Narrowing
) -> RevisionFilter:
    if wanted.field is not None and wanted.field not in fields.columns:
        raise Invalid("field is no column of this dataset.")
    after = 0 if wanted.since is None else feed.last_before(reader, dataset, wanted.since)
    through = head if wanted.before is None else wanted.before - 1
    if wanted.until is not None:
        through = min(through, feed.last_before(reader, dataset, wanted.until))
    if wanted.run is not None:
        first, last = feed.of_run(reader, dataset, wanted.run)
        after, through = max(after, first - 1), min(through, last)
    return RevisionFilter(
        after=after,
        through=through,
        limit=ON_A_PAGE if wanted.kind is None else _LOOKED_AT,
        row=wanted.row,
        position=None if wanted.field is None else fields.positions[wanted.field],
    )
