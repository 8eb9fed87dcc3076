"""The history of a table as its addresses serve it: a line for each changed cell (rules 17)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Final, TypeAlias

from livedata.model.errors import BadRequest, Detail, Invalid
from livedata.model.ids import format_timestamp
from livedata.model.row import Scalar
from livedata.rules.conditions.clauses import Condition, Shown
from livedata.rules.conditions.matching import holds
from livedata.rules.conditions.parsing import parse_when
from livedata.services.conditions import RevisionMatcher
from livedata.services.moments import find_moment
from livedata.services.served_tables import Served, ServedQuery, select, state_of_table
from livedata.store import datasets, feed, rows
from livedata.store.database.backend import Reader
from livedata.store.feed import ShownRevision
from livedata.store.shares import Scope

HEADINGS: Final = ("sequence", "at", "kind", "rowKey", "column", "before", "after")
_TOGETHER: Final = 100
"""So many revisions share the question for the keys of their rows."""
_timestamp = lru_cache(maxsize=256)(format_timestamp)  # what one Run wrote has its moment
Line: TypeAlias = "tuple[Scalar, ...]"
"""A changed cell, by `HEADINGS`."""
_NO_CELL: Final[Line] = (None, None, None)


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
