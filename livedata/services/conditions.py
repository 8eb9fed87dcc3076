"""Which rows and which revisions of a dataset meet a condition (rules 16)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from heapq import nsmallest
from itertools import islice, repeat
from typing import Final

from livedata.model.ids import DatasetId, OwnerName, RowId
from livedata.model.row import Change, Row, RowFilter
from livedata.rules.conditions.clauses import Condition, Shown
from livedata.rules.conditions.matching import (
    ClauseMatch,
    Number,
    RevisionState,
    ShownNumbers,
    holds,
    match_revision,
)
from livedata.rules.conditions.parsing import parse_when
from livedata.store import datasets, feed, rows
from livedata.store.database.backend import Reader
from livedata.store.database.codec import Fields
from livedata.store.database.store import Database
from livedata.store.feed import ShownRevision
from livedata.store.shown_rows import CandidateRow, candidates

_TOGETHER: Final = 500
"""So many revisions share the question for the keys of their rows."""


def newest_rows(
    reader: Reader,
    dataset: DatasetId,
    fields: Fields,
    where: Condition,
    only: RowFilter,
    limit: int,
) -> list[Row]:
    """At most `limit` rows that meet a condition: the latest updated first.

    Those of one Run stand in the order of the site. All rows are looked at, none of them held.
    """
    positions = {
        clause.field: fields.positions[clause.field]
        for clause in where.states
        if clause.field is not None
    }
    matching = (
        row
        for row in candidates(reader, dataset, only)
        if holds(where.states, row.key, _shown(row, positions))
    )
    newest = nsmallest(limit, matching, key=lambda row: (-row.updated_at, row.id))
    return rows.of_ids(reader, dataset, fields, [row.id for row in newest])


def _shown(row: CandidateRow, positions: dict[str, int]) -> Shown:
    values = row.values
    # A row may be older than the last columns.
    return {field: values[place] for field, place in positions.items() if place < len(values)}


class RevisionMatcher:
    """Finds the revisions of a dataset that meet a condition, from page to page of its history."""

    def __init__(self, fields: Fields, condition: Condition) -> None:
        self._positions = fields.positions
        self._condition = condition
        self._numbers: dict[tuple[RowId, str], ShownNumbers] = {}

    @classmethod
    def parse(
        cls, db: Database, owner: OwnerName, dataset: DatasetId, clauses: Sequence[str]
    ) -> RevisionMatcher:
        """Read a condition on the history of a dataset.

        Raises NotFound, and Invalid for a wrong clause.
        """
        with db.reading() as reader:
            fields = datasets.ref(reader, owner, dataset).fields
        return cls(fields, parse_when(clauses, [*fields.columns.values()]))

    def matches(
        self, reader: Reader, revisions: Iterable[ShownRevision]
    ) -> Iterator[tuple[ShownRevision, list[ClauseMatch]]]:
        """The revisions among these that meet the condition, each with how it does."""
        condition = self._condition
        for revision, key in self._with_keys(reader, revisions):
            state = RevisionState(
                revision.kind, revision.presence, key, revision.before, revision.after
            )
            outdoes = partial(self._outdoes, reader, revision)
            match = match_revision(condition, state, outdoes)
            if match is not None:
                yield revision, match

    def _with_keys(
        self, reader: Reader, revisions: Iterable[ShownRevision]
    ) -> Iterator[tuple[ShownRevision, str]]:
        """Each with the key of its row, if a clause asks for it; else with an empty text."""
        if not self._condition.asks_for_key:
            yield from zip(revisions, repeat(""), strict=False)
            return
        remaining = iter(revisions)
        # Some at a time: a history need not fit into memory.
        while together := list(islice(remaining, _TOGETHER)):
            keys = rows.keys_of(reader, {revision.row for revision in together})
            yield from ((revision, keys.get(revision.row, "")) for revision in together)

    def of_page(self, reader: Reader, changes: Sequence[Change]) -> list[Change]:
        """The changes of a page of the feed that meet the condition."""
        sequences = {
            revision.sequence for revision, _ in self.matches(reader, map(feed.shown_of, changes))
        }
        return [change for change in changes if change["sequence"] in sequences]

    def _outdoes(
        self, reader: Reader, revision: ShownRevision, field: str, number: Number, low: bool
    ) -> bool:
        row, before = revision.row, revision.sequence
        numbers = self._numbers.get((row, field))
        if numbers is None:
            numbers = self._numbers[row, field] = ShownNumbers(before)
        # Most numbers are no record, and a single value that is as low says so, mostly a late one:
        # a history is read from its end, as far as that, and no part of it twice.
        if numbers.are_reached(number, low=low):
            return False
        position = self._positions[field]
        for _, values in feed.shown_before(reader, row, position, before, after=numbers.through):
            numbers.add(values)
        numbers.through = before - 1
        older = feed.shown_before(reader, row, position, numbers.since)
        while not numbers.are_reached(number, low=low):
            numbers.since, values = next(older, (0, []))
            numbers.add(values)
            if not numbers.since:
                return numbers.are_outdone(number, low=low)
        return False
