"""A table as its addresses serve it: the rows and columns that one may read there (rules 17)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias, cast

from msgspec import Struct

from livedata.formats.table_layout import TableLayout
from livedata.model.dataset import Column
from livedata.model.errors import Conflict, Invalid
from livedata.model.ids import DatasetId, format_optional_timestamp
from livedata.model.row import Row
from livedata.model.wire import Timestamp
from livedata.rules.conditions.clauses import StateClause
from livedata.rules.conditions.matching import holds
from livedata.rules.conditions.parsing import parse_where
from livedata.services.shares import check_names
from livedata.services.snapshot import read_snapshot
from livedata.store import datasets, rows, runs
from livedata.store.database.backend import Reader
from livedata.store.datasets import DatasetRef
from livedata.store.shares import Scope

TableState: TypeAlias = Literal["ok", "draft", "paused", "held", "failed", "blocked"]
_WRONG = frozenset({"held", "failed", "blocked"})


class StateOfTable(Struct, frozen=True):
    """How a table is, and when it was read last from its site; `observed_at` is None for never."""

    state: TableState
    observed_at: Timestamp | None


class ServedQuery(Struct, frozen=True):
    """What a question asks of the table that it may read: some columns, and rows by clauses.

    Of its changes also those that meet the clauses of `when`.
    """

    columns: Sequence[str] = ()
    clauses: Sequence[str] = ()
    when: Sequence[str] = ()


class TableView(Struct, frozen=True):
    """The columns and the rows of a table that an answer has.

    `shown` are its columns, `readable` all that may be asked for; the whole table has beside them
    what livedata says of a row. `dropped` are shared, and the table has them no more.
    """

    shown: Sequence[Column]
    readable: Sequence[Column]
    is_whole: bool
    states: Sequence[StateClause]
    dropped: Sequence[str]

    def layout(self, *, safe: bool) -> TableLayout:
        """What stands in the columns of the answer."""
        only = None if self.is_whole else [column["name"] for column in self.shown]
        return TableLayout(self.shown, only=only, safe=safe)


class Served(Struct, frozen=True):
    """What an answer has of a table, up to the sequence `through`.

    `version` changes with all that the answer is made of, but for what was asked and the state.
    """

    dataset: DatasetRef
    through: int
    view: TableView
    state: StateOfTable
    version: tuple[object, ...]


class ServedTable(Served, frozen=True):
    """The rows of a table for one question; they are read while the transaction lasts."""

    every_row: Iterator[Row]

    @property
    def about(self) -> dict[str, object]:
        """What a file says of the table that it holds."""
        key = ", ".join(column["name"] for column in self.view.shown if column["key"])
        return {"dataset": self.dataset.name, "key": key, "sequence": self.through}

    def rows(self, *, gone: bool) -> Iterator[Row]:
        """The rows that are there, with `gone` also those that are there no more."""
        states = self.view.states
        for row in self.every_row:
            if (gone or row["presence"] == "present") and holds(states, row["rowKey"], row["data"]):
                yield row


def serve_table(
    reader: Reader, scope: Scope, asked: ServedQuery, when: str | None, zone: str
) -> ServedTable:
    """A table at a moment, as far as `scope` lets it be read.

    Raises NotFound, Invalid for what is wrong in the question, and Conflict for a scope that the
    table no longer fits.
    """
    dataset = datasets.ref(reader, scope.owner, scope.dataset)
    snapshot = read_snapshot(reader, dataset, when, zone)
    view = select(scope, asked, snapshot.columns)
    through = snapshot.moment.sequence
    is_current = through == dataset.head
    # A Run that changes nothing moves no sequence, but the status of rows: they are new no more.
    told = rows.last_accepted_run(reader, dataset.id) if view.is_whole and is_current else None
    version = dataset.name, through, is_current, repr(snapshot.columns), told
    state = state_of_table(reader, dataset.id)
    return ServedTable(dataset, through, view, state, version, snapshot.rows)


def select(scope: Scope, asked: ServedQuery, columns: Sequence[Column]) -> TableView:
    """What a question gets of a table with these columns: never more than `scope` has.

    Raises Invalid for what is wrong in the question, and Conflict for a scope that the table no
    longer fits.
    """
    by_name = {column["name"]: column for column in columns}
    shared = scope.columns or [*by_name]
    readable = {name: by_name[name] for name in shared if name in by_name}
    check_names(asked.columns, [*readable])
    states = [*_scoped(scope, columns), *parse_where(asked.clauses, [*readable.values()]).states]
    return TableView(
        [readable[name] for name in dict.fromkeys(asked.columns or readable)],
        [*readable.values()],
        not asked.columns and not scope.columns,
        states,
        [name for name in shared if name not in by_name],
    )


def state_of_table(reader: Reader, dataset: DatasetId) -> StateOfTable:
    """The state of a table (rules 17); its rows are the last good ones, whatever it is."""
    status, ended, accepted_at = runs.condition(reader, dataset)
    observed_at = format_optional_timestamp(accepted_at)
    if ended in _WRONG:
        return StateOfTable(cast("TableState", ended), observed_at)
    if status == "paused":
        return StateOfTable("paused", observed_at)
    return StateOfTable("draft" if accepted_at is None else "ok", observed_at)


def _scoped(scope: Scope, columns: Sequence[Column]) -> Sequence[StateClause]:
    try:
        return parse_where(scope.clauses, columns).states
    except Invalid:
        # What the clause says is not for who reads the table. Without it all rows would be.
        raise Conflict(
            "This address shows the rows that meet a condition, and the table has no column of its "
            "name, or had none then."
        ) from None
