"""Which changes of a dataset a notice tells, and what it says of each (rules 13.8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast

import orjson
from msgspec import Struct
from msgspec.structs import replace

from livedata.messages import notice_events
from livedata.model.dataset import Column
from livedata.model.errors import Invalid
from livedata.model.ids import DatasetId, OwnerName
from livedata.model.row import ChangePage
from livedata.rules.conditions.parsing import parse_when
from livedata.rules.declaration.notices import ChangeFilter
from livedata.services.conditions import RevisionMatcher
from livedata.services.notices.changes_by_name import NamedChange
from livedata.store import datasets, feed
from livedata.store.database.backend import Reader
from livedata.store.feed import ShownRevision
from livedata.store.outbox import RevisionRange

_PAGE = 500


class MatchedRevision(NamedTuple):
    """A revision that a filter leaves, with a sentence for each clause that it meets."""

    revision: ShownRevision
    sentences: Sequence[str]


class ChangeRange(Struct, frozen=True):
    """The changes of a range of revisions of a dataset."""

    owner: OwnerName
    dataset: DatasetId
    window: RevisionRange

    def pages(self, reader: Reader, limit: int = _PAGE) -> Iterator[ChangePage]:
        """The pages of the range."""
        fields = datasets.ref(reader, self.owner, self.dataset).fields
        after: int | None = self.window.after
        while after is not None:
            part = feed.RevisionFilter(after, self.window.through, limit)
            page = cast("ChangePage", orjson.loads(feed.page(reader, self.dataset, fields, part)))
            yield page
            after = page["nextAfter"]

    def matches(self, reader: Reader, wanted: ChangeFilter) -> Iterator[MatchedRevision]:
        """The revisions that a filter leaves.

        None if its condition is about columns that the dataset does not have.
        """
        fields = datasets.ref(reader, self.owner, self.dataset).fields
        names = {field: column["name"] for field, column in fields.columns.items()}
        window = self.window.after, self.window.through
        revisions = (
            revision
            for revision in feed.shown(reader, self.dataset, fields, *window)
            if _is_wanted(revision, wanted, names)
        )
        if not wanted.when:
            return (MatchedRevision(revision, ()) for revision in revisions)
        try:
            condition = parse_when(wanted.when, [*fields.columns.values()])
        except Invalid:
            return iter(())
        met = RevisionMatcher(fields, condition).matches(reader, revisions)
        return (
            MatchedRevision(revision, [match.sentence for match in matches])
            for revision, matches in met
        )


def _is_wanted(revision: ShownRevision, wanted: ChangeFilter, names: Mapping[str, str]) -> bool:
    """Whether kinds and columns leave a revision."""
    if wanted.kinds and revision.kind not in wanted.kinds:
        return False
    if not (wanted.columns or wanted.ignore):
        return True
    changed = {names.get(field) for field in revision.changed}
    if wanted.columns and not changed.intersection(wanted.columns):
        return False
    return not (changed and changed.issubset(wanted.ignore))


def narrowed(name: str, wanted: ChangeFilter, matches: int, count: int) -> str:
    """What is said of the changes of a Run of which a filter leaves some."""
    return notice_events.narrowed(name, matches, count, wanted.when)


def told_change(change: NamedChange, wanted: ChangeFilter, sentences: Sequence[str]) -> NamedChange:
    """A change by name with the cells that a filter has told, and what it meets."""
    cells = change.line["changed"]
    if wanted.columns:
        cells = {name: cell for name, cell in cells.items() if name in wanted.columns}
    return replace(change, line={**change.line, "changed": cells, "matches": sentences})


def check_filter(wanted: ChangeFilter, tables: Sequence[Sequence[Column]], *, all_of: bool) -> None:
    """Raise Invalid for a clause or a column that is wrong for the columns of these tables.

    For all of them, or for every one of them if not `all_of`.
    """
    if not tables:
        raise Invalid(
            "There is no dataset yet whose columns these could be: make the dataset first."
        )
    wrong = [error for columns in tables if (error := _wrong(wanted, columns)) is not None]
    if wrong and (all_of or len(wrong) == len(tables)):
        raise wrong[0]


def _wrong(wanted: ChangeFilter, columns: Sequence[Column]) -> Invalid | None:
    try:
        parse_when(wanted.when, columns)
    except Invalid as error:
        return error
    names = [column["name"] for column in columns]
    for name in (*wanted.columns, *wanted.ignore):
        if name not in names:
            return Invalid(f"There is no column {name!r}. There is: {', '.join(names)}.")
    return None
