"""A table as its addresses serve it: the rows and columns that one may read, and a line for each
cell of them that has changed (rules 17).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final, Literal, TypeAlias, cast

from msgspec import Struct

from livedata.formats.table_layout import TableLayout
from livedata.model.dataset import Column, columns_by_name
from livedata.model.errors import BadRequest, Conflict, Detail, Invalid
from livedata.model.ids import DatasetId, format_optional_timestamp, format_timestamp
from livedata.model.row import Row, Scalar
from livedata.model.wire import Timestamp
from livedata.rules.conditions.clauses import Condition, Shown, StateClause
from livedata.rules.conditions.matching import holds
from livedata.rules.conditions.parsing import parse_when, parse_where
from livedata.services.conditions import RevisionMatcher
from livedata.services.moments import find_moment
from livedata.services.shares import check_names
from livedata.services.snapshot import read_snapshot
from livedata.store import datasets, feed, rows, runs
from livedata.store.database.backend import Reader
from livedata.store.datasets import DatasetRef
from livedata.store.feed import ShownRevision
from livedata.store.shares import Scope

TableState: TypeAlias = Literal["ok", "draft", "paused", "held", "failed", "blocked"]
_WRONG = frozenset({"held", "failed", "blocked"})

HEADINGS: Final = ("sequence", "at", "kind", "rowKey", "column", "before", "after")
_TOGETHER: Final = 100
"""So many revisions share the question for the keys of their rows."""
_timestamp = lru_cache(maxsize=256)(format_timestamp)  # what one Run wrote has its moment
Line: TypeAlias = "tuple[Scalar, ...]"
"""A changed cell, by `HEADINGS`."""
_NO_CELL: Final[Line] = (None, None, None)


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
    by_name = columns_by_name(columns)
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


class ServedChanges(Served, frozen=True):
    """The changes of a table for one question, after one sequence and up to another.

    They are read while the transaction lasts. Who reads them in order has the rows of the table: a
    row comes as ``created`` or ``returned`` with all its cells, and leaves as ``missing``. With
    clauses one that begins to meet them comes, and one that no longer does leaves.
    """

    after: int
    when: Condition
    reader: Reader

    def lines(self) -> Iterator[Line]:
        """A line for each cell that changed; one without a column where only the row did."""
        revisions = self._revisions()
        # Some at a time: a history need not fit into memory.
        while together := list(islice(revisions, _TOGETHER)):
            keys = rows.keys_of(self.reader, {revision.row for revision in together})
            for revision in together:
                yield from self._lines(revision, keys[revision.row])

    def _revisions(self) -> Iterator[ShownRevision]:
        """Those that meet the condition, if there is one."""
        fields = self.dataset.fields
        revisions = feed.shown(self.reader, self.dataset.id, fields, self.after, self.through)
        if not self.when.texts:
            return revisions
        matcher = RevisionMatcher(fields, self.when)
        return (revision for revision, _ in matcher.matches(self.reader, revisions))

    def _lines(self, revision: ShownRevision, key: str) -> Iterator[Line]:
        was = self._shows(_was_there(revision), key, revision.before or {})
        is_shown = self._shows(revision.presence == "present", key, revision.after)
        about = revision.sequence, _timestamp(revision.created_at)
        if was and is_shown:
            changed, before = set(revision.changed), revision.before or {}
            for name, field, value in self._cells(revision):
                # A Run also changes what lies below a hand edit, and does not show.
                if field in changed and before.get(field) != value:
                    yield (*about, "updated", key, name, before.get(field), value)
        elif was:
            yield (*about, "missing", key, *_NO_CELL)
        elif is_shown:
            kind = "returned" if revision.kind == "returned" else "created"
            # All of its cells: what of it was shown earlier, if it was, is the reader's no more.
            cells: list[Line] = [
                (name, None, value) for name, _, value in self._cells(revision) if value is not None
            ]
            for cell in cells or [_NO_CELL]:
                yield (*about, kind, key, *cell)

    def _cells(self, revision: ShownRevision) -> Iterator[tuple[str, str, Scalar]]:
        """The name, the id and the value of each column that is shown."""
        for column in self.view.shown:
            yield column["name"], column["id"], revision.after.get(column["id"])

    def _shows(self, is_there: bool, key: str, cells: Shown) -> bool:
        return is_there and holds(self.view.states, key, cells)


def _was_there(revision: ShownRevision) -> bool:
    """Whether the row was there before; an edit leaves one that is gone as it is."""
    if revision.kind == "updated":
        return revision.presence == "present"
    return revision.kind == "missing"


def serve_changes(
    reader: Reader,
    scope: Scope,
    asked: ServedQuery,
    after: int | None,
    since: str | None,
    zone: str,
    through: int | None = None,
) -> ServedChanges:
    """The changes of a table after a sequence, or since a moment, as far as `scope` lets them.

    They go up to the head of the table, or to the sequence `through`.
    Raises NotFound, BadRequest and Invalid for what is wrong in the question, and Conflict for a
    scope that the table no longer fits.
    """
    dataset = datasets.ref(reader, scope.owner, scope.dataset)
    if since is not None:
        if after is not None:
            raise _wrong("since", "after and since both say where to begin; give one.")
        try:
            after = find_moment(reader, dataset, since, zone).sequence
        except Invalid as error:
            raise _wrong("since", error.message) from None
    if (after or 0) > dataset.head:
        raise _wrong("after", f"after {after} is past the last sequence, which is {dataset.head}.")
    columns = [*dataset.fields.columns.values()]
    view = select(scope, asked, columns)
    version = dataset.head, repr(columns)
    state = state_of_table(reader, dataset.id)
    when = parse_when(asked.when, view.readable)
    end = dataset.head if through is None else min(through, dataset.head)
    return ServedChanges(dataset, end, view, state, version, after or 0, when, reader)


def _wrong(parameter: str, sentence: str) -> BadRequest:
    return BadRequest(sentence, (Detail(parameter, sentence, is_predicate=False),))
