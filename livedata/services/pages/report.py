"""What a report tells of a dataset: its rows now, and what changed since a moment."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final

from msgspec import Struct

from livedata.model.dataset import Column, Dataset, is_numeric
from livedata.model.ids import DatasetId, Micros, OwnerName, format_timestamp
from livedata.model.row import Change, Row
from livedata.model.row_name import RowName, name_row
from livedata.services import queries
from livedata.services.pages.history import Narrowing, Point, has_moved, history, last_ends, of_cell
from livedata.services.queries import label_field
from livedata.store.database.store import Database

MOST_ROWS: Final = 1_000
MOST_CHANGES: Final = 1_000
MOST_LINES: Final = 20
"""So many numbers are drawn, those that changed last."""
_RUNS: Final = 1_000


class Development(Struct, frozen=True):
    """A number of a row that changed: what it was from each moment on, the oldest first."""

    row: RowName
    column: Column
    points: Sequence[Point]


class DatasetReport(Struct, frozen=True):
    """A dataset with its first rows and its last changes; `names` says what each is called, by id.

    `more_rows` and `more_changes` say that there are more. `ends` counts the Runs by their end.
    """

    dataset: Dataset
    since: str
    rows: Sequence[Row]
    more_rows: bool
    changes: Sequence[Change]
    more_changes: bool
    names: Mapping[str, RowName]
    ends: Mapping[str, int]
    developments: Sequence[Development]


def report(db: Database, owner: OwnerName, dataset: DatasetId, since: Micros) -> DatasetReport:
    """The report of a dataset. Raises NotFound."""
    shown = queries.dataset(db, owner, dataset)
    rows = list(islice(queries.every_row(db, owner, dataset), MOST_ROWS + 1))
    changes: list[Change] = []
    names: dict[str, RowName] = {}
    before = None
    while len(changes) < MOST_CHANGES:
        told = history(db, owner, dataset, Narrowing(since=since, before=before))
        changes += told.changes
        names |= told.rows
        before = told.before
        if before is None:
            break
    label = label_field(db, owner, dataset)
    names |= {row["id"]: name_row(row["rowKey"], row["data"], label) for row in rows}
    moment = format_timestamp(since)
    seen = {row["id"]: row["observedAt"] for row in rows}
    (runs,) = last_ends(db, owner, [dataset], _RUNS)
    return DatasetReport(
        dataset=shown,
        since=moment,
        rows=rows[:MOST_ROWS],
        more_rows=len(rows) > MOST_ROWS,
        changes=changes[:MOST_CHANGES],
        more_changes=before is not None,
        names=names,
        ends=Counter(run.status for run in runs if run.at >= moment),
        developments=_developments(shown["columns"], changes, names, moment, seen),
    )


def _developments(
    columns: Sequence[Column],
    changes: Sequence[Change],
    names: Mapping[str, RowName],
    since: str,
    seen: Mapping[str, str],
) -> list[Development]:
    numbers = {column["id"]: column for column in columns if is_numeric(column)}
    by_row: defaultdict[str, list[Change]] = defaultdict(list)
    moved: dict[tuple[str, str], None] = {}  # the cells that changed last come first
    for change in changes:
        by_row[change["rowId"]].append(change)
        fields = (field for field in change["changedFieldIds"] if field in numbers)
        moved |= {(change["rowId"], field): None for field in fields}
    drawn = [
        Development(names[row], numbers[field], of_cell(by_row[row], field, since, seen.get(row)))
        for row, field in moved
    ]
    return [each for each in drawn if has_moved(each.points)][:MOST_LINES]
