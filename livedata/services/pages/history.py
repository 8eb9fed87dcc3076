"""The history of a dataset or a row, newest first, and how the numbers in it develop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from livedata.model import ids
from livedata.model.dataset import Column
from livedata.model.errors import BadRequest, Detail
from livedata.model.ids import DatasetId, Micros, OwnerName, RowId, RunId
from livedata.model.row import Change, RevisionKind, Scalar
from livedata.model.row_name import RowName
from livedata.model.run import Run
from livedata.store import accounts, datasets, feed, runs, shown_runs
from livedata.store.database.backend import Reader
from livedata.store.database.codec import Fields
from livedata.store.database.store import Database
from livedata.store.datasets import DatasetRef
from livedata.store.feed import RevisionFilter
from livedata.store.shown_rows import Line, ShownState, latest, names
from livedata.store.shown_runs import RunEnd

ON_A_PAGE: Final = 50
OF_A_LINE: Final = 20
"""So many changes of a row are drawn in a list."""
_LAST_DAYS: Final = 30
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

    `before` is the sequence from which the earlier ones go on; None if there are none. `ahead` is
    that from which those before this page go on, None for the first page, and where `is_first`
    there are none.
    """

    changes: Sequence[Change]
    rows: Mapping[str, RowName]
    editors: Mapping[str, str | None]
    before: int | None
    ahead: int | None
    is_first: bool
    columns: Mapping[str, Column]
    """By their ids, those that were dropped last: the history has them."""


def history(db: Database, owner: OwnerName, dataset: DatasetId, wanted: Narrowing) -> History:
    """A page of the history. Raises NotFound, and BadRequest for a field that there never was."""
    with db.reading() as reader:
        ref = datasets.ref(reader, owner, dataset)
        window = _window(reader, dataset, ref.fields, ref.head, wanted)
        changes, before = feed.newest(reader, dataset, ref.fields, window, ON_A_PAGE, wanted.kind)
        ahead = _ahead(reader, ref, wanted, changes)
        named = names(reader, ref.fields, {change["rowId"] for change in changes})
        own = [key for key in accounts.keys(reader) if key["owner"] == owner]
    editors = {key["id"]: key["label"] for key in own}
    columns = _columns(ref.fields)
    return History(changes, named, editors, before, ahead, wanted.before is None, columns)


def _columns(fields: Fields) -> dict[str, Column]:
    shown = dict(fields.columns)
    for column in fields.dropped:
        gone: Column = {**fields.placed[fields.ids.index(column["id"])]}
        gone["label"] = f"{column['label']} (dropped)"
        shown[column["id"]] = gone
    return shown


def _ahead(
    reader: Reader, ref: DatasetRef, wanted: Narrowing, changes: Sequence[Change]
) -> int | None:
    """The sequence from which the page ahead of one goes on; None if that is the first one."""
    if wanted.before is None:
        return None
    first = changes[0]["sequence"] if changes else wanted.before - 1
    window = _window(reader, ref.id, ref.fields, ref.head, replace(wanted, before=None))
    window = replace(window, after=max(window.after, first))
    # It shows those that are older than the one beyond it.
    return feed.ahead(reader, ref.id, window, ON_A_PAGE + 1, wanted.kind)


def written_between(
    db: Database, owner: OwnerName, dataset: DatasetId, begin: Micros, end: Micros
) -> int:
    """How many changes were written from a moment on, and before another one. Raises NotFound."""
    with db.reading() as reader:
        ref = datasets.ref(reader, owner, dataset)
        first, last = (feed.last_before(reader, ref.id, moment) for moment in (begin, end))
    return last - first


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


def run_ahead(
    db: Database, owner: OwnerName, dataset: DatasetId, first: tuple[Micros, str], count: int
) -> tuple[Micros, str] | None:
    """The (queuedAt, id) of the Run that was queued so many after one; None for no such.

    Raises NotFound.
    """
    with db.reading() as reader:
        datasets.ref(reader, owner, dataset)
        return shown_runs.ahead(reader, dataset, first, count)


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
    if wanted.field is not None and wanted.field not in fields.ids:
        wrong = Detail("field", "is no column of this dataset")
        raise BadRequest(f"{wrong.path} {wrong.message}: begin at the changes again.", (wrong,))
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
        position=None if wanted.field is None else fields.ids.index(wanted.field),
    )


class Point(Struct, frozen=True):
    """A number from a moment on, or of a day; None if there was none."""

    at: str
    value: float | None


def of_cell(
    changes: Sequence[Change], field: str, since: str | None = None, until: str | None = None
) -> list[Point]:
    """The numbers of a cell by all changes of its row, which stand newest first.

    The oldest point comes first. With `since`, what stood there before the changes counts from
    then, and with `until` the last number still stood there then. A row that was gone had none.
    """
    points = [
        Point(
            change["createdAt"],
            _number(change["data"].get(field)) if change["presence"] == "present" else None,
        )
        for change in reversed(changes)
    ]
    points = points if until is None else _until(points, until)
    before = changes[-1]["before"] if changes else None
    if since is None or before is None:
        return points
    return [Point(since, _number(before.get(field))), *points]


def of_rows(
    db: Database, owner: OwnerName, dataset: DatasetId, field: str, wanted: Sequence[Line]
) -> dict[str, list[Point]]:
    """Row id -> how its number in a field developed by its last changes, the oldest point first.

    What still stands there stood there until now. Raises NotFound.
    """
    with db.reading() as reader:
        position = datasets.ref(reader, owner, dataset).fields.positions[field]
        listed = [RowId(ids.raw_id(line.id)) for line in wanted]
        states = latest(reader, position, listed, OF_A_LINE)
    now = ids.format_timestamp(ids.now())
    return {ids.format_uuid(row): _until(_points(shown), now) for row, shown in states.items()}


def _points(states: Sequence[ShownState]) -> list[Point]:
    return [
        Point(
            ids.format_timestamp(state.at),
            _number(state.value) if state.presence == "present" else None,
        )
        for state in states
    ]


def _until(points: list[Point], moment: str) -> list[Point]:
    """The same with the last number until a moment, if there was one."""
    if points and points[-1].value is not None and points[-1].at < moment:
        return [*points, Point(moment, points[-1].value)]
    return points


def of_table(ends: Sequence[RunEnd]) -> list[Point]:
    """The rows after each accepted Run; the Runs stand newest first, and the points do not."""
    return [Point(end.at, end.rows) for end in reversed(ends) if end.rows is not None]


def of_charges(db: Database, owner: OwnerName, since: Micros) -> list[Point]:
    """The credits that Runs took on each of the last 30 days from a moment on, the oldest first."""
    today = ids.to_datetime(ids.now()).date()
    # What is of the last 30 times 24 hours may be of 31 days.
    days = [today - timedelta(days=back) for back in range(_LAST_DAYS, -1, -1)]
    ends = [datetime.combine(day + timedelta(days=1), time(), UTC) for day in days]
    # By what was left at the end of each: an owner may have a million charges.
    with db.reading() as reader:
        left = [
            accounts.balance_at(reader, owner, moment)
            for moment in (since, *(Micros(ids.microseconds(end)) for end in ends))
        ]
        taken = Counter({str(day): left[place] - left[place + 1] for place, day in enumerate(days)})
        for moment, given in accounts.granted(reader, owner, since):
            taken[str(ids.to_datetime(moment).date())] += given
    return [Point(f"{day}T00:00:00Z", taken[str(day)]) for day in days]


def has_moved(points: Sequence[Point]) -> bool:
    """Whether a line through these points shows anything."""
    return len({point.value for point in points if point.value is not None}) > 1


def _number(value: Scalar) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else None  # type: ignore[return-value]
