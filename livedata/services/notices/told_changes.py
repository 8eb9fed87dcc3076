"""Changes as notices tell them: in the words of the table, those that are wanted (rules 13.8)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import Any, NamedTuple, cast

import orjson
from msgspec import Struct, field
from msgspec.structs import replace

from livedata.extraction.cells import row_key
from livedata.messages import notice_events
from livedata.model.dataset import Column, columns_by_id
from livedata.model.errors import Invalid, LocatedDetail
from livedata.model.ids import DatasetId, OwnerName, RowId, format_timestamp, format_uuid
from livedata.model.row import Cells, ChangePage, Scalar
from livedata.model.row_name import RowName, name_row
from livedata.rules.conditions.parsing import parse_when
from livedata.rules.declaration.notices import ChangeFilter
from livedata.services.conditions import RevisionMatcher
from livedata.store import datasets, feed, notices, recipes
from livedata.store.database.backend import Reader
from livedata.store.datasets import DatasetRef
from livedata.store.feed import ShownRevision
from livedata.store.outbox import RevisionRange

_PAGE = 500
_ALL = 3
"""So much of a filter is passed by what all of it leaves, but for its condition."""


def described(line: Mapping[str, Any]) -> Iterator[str]:
    """The changed cells of a revision by name, for people."""
    for name, cell in line["changed"].items():
        after = _shown(cell["after"])
        if line["kind"] != "updated":
            yield f"{name}: {after}"
        elif cell["before"] == cell["after"]:
            yield f"{name}: stays {after}, while what the source says has changed"
        else:
            yield f"{name}: {_shown(cell['before'])} → {after}"


def as_html(name: RowName) -> str:
    """What a row is called, as HTML: the key small beside the name; both are escaped."""
    beside = f" <small>({escape(name.beside)})</small>" if name.beside else ""
    return f"{escape(name.name)}{beside}"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "(empty)" if value is None else str(value)


_timestamp = lru_cache(maxsize=256)(format_timestamp)  # what one Run wrote has its moment


# No cycle goes through a change: to look for one in 100,000 of them is a tenth of a trial.
class NamedChange(Struct, frozen=True, gc=False):
    """A revision by name for programs, and what its row was called then, for people.

    `row` is the id of that, and `last` has the values of a row that is gone by the names of the
    columns; an outbox keeps neither.
    """

    line: Mapping[str, Any]
    name: RowName
    row: RowId | None = None
    last: Mapping[str, Scalar] = {}


class ChangesByName(Struct, frozen=True):
    """How the changes of a dataset are named: which columns in which order make a row's key.

    `label` is the field whose text names a row for people.
    """

    key: list[str]
    composite: bool
    label: str | None

    @classmethod
    def of(cls, reader: Reader, dataset: DatasetRef) -> ChangesByName:
        """Take the key from the declaration of a dataset."""
        _, source = recipes.source(reader, dataset.id)
        label = dataset.fields.label
        identity: Any = source.get("identity", {}) if isinstance(source, dict) else {}
        if identity == "entity":
            # The key of an entity is a digest, which tells a reader nothing; its name does.
            return cls(["name"], composite=False, label=label)
        if identity.get("kind") == "composite":
            return cls(list(identity["fields"]), composite=True, label=label)
        key = [identity["field"]] if "field" in identity else []
        return cls(key, composite=False, label=label)

    def of_page(self, page: ChangePage) -> Iterator[NamedChange]:
        """The revisions of a page."""
        # A revision is read with the schema of its time: columns may have come since.
        schemas = {schema["version"]: columns_by_id(schema["fields"]) for schema in page["schemas"]}
        for change in page["data"]:
            columns, after = schemas[change["schemaVersion"]], change["data"]
            key = self._key(after, columns) or change["rowId"]
            changed = _cells(change["changedFieldIds"], change["before"], after, columns)
            line = {
                "sequence": change["sequence"],
                "kind": change["kind"],
                "row": key,
                "at": change["createdAt"],
                "changed": changed,
            }
            yield NamedChange(line, name_row(key, after, self.label))

    def of_revision(self, revision: ShownRevision, columns: Mapping[str, Column]) -> NamedChange:
        """A revision, with columns by field id."""
        key = self._key(revision.after, columns) or format_uuid(revision.row)
        line = {
            "sequence": revision.sequence,
            "kind": revision.kind,
            "row": key,
            "at": _timestamp(revision.created_at),
            "changed": _cells(revision.changed, revision.before, revision.after, columns),
        }
        last = _values(revision.after, columns) if revision.kind == "missing" else {}
        return NamedChange(line, name_row(key, revision.after, self.label), revision.row, last)

    def _key(self, cells: Cells, columns: Mapping[str, Column]) -> str | None:
        """The row's key, which no hand edits: a revision has only the row's id.

        None if a source of another kind declares no identity.
        """
        # The declaration names the key columns in their order, which the schema does not keep.
        parts = [
            next((cells.get(field) for field in columns if columns[field]["name"] == name), None)
            for name in self.key
        ]
        return row_key(parts, composite=self.composite) if parts else None


def _values(cells: Cells, columns: Mapping[str, Column]) -> dict[str, Scalar]:
    return {column["name"]: cells.get(field) for field, column in columns.items()}


def _cells(
    changed: Iterable[str], before: Cells | None, after: Cells, columns: Mapping[str, Column]
) -> dict[str, dict[str, Scalar]]:
    """The changed cells by name, with both values."""
    old = before or {}
    return {
        columns[field]["name"]: {"before": old.get(field), "after": after.get(field)}
        for field in changed
    }


class Funnel(Struct):
    """How many of the changes that were looked at are of Runs, and how far those have come.

    `passed` counts them by how much of a filter they pass: none of it, its kinds, its columns too,
    and what it ignores too. `met` are those that are told.
    """

    changes: int = 0
    passed: list[int] = field(default_factory=lambda: [0] * (_ALL + 1))
    met: int = 0

    @property
    def of_runs(self) -> int:
        """How many are of Runs."""
        return sum(self.passed)

    def past(self, part: int) -> int:
        """How many of those pass so much of the filter."""
        return sum(self.passed[part:])


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

    def matches(
        self, reader: Reader, wanted: ChangeFilter, funnel: Funnel | None = None
    ) -> Iterator[MatchedRevision]:
        """The revisions that a filter leaves, and in `funnel` how many it left on the way.

        None if its condition is about columns that the dataset does not have.
        """
        fields = datasets.ref(reader, self.owner, self.dataset).fields
        columns = fields.columns.items()
        told = {field for field, column in columns if column["name"] in wanted.columns}
        ignored = {field for field, column in columns if column["name"] in wanted.ignore}
        window = self.window.after, self.window.through
        shown = feed.shown(reader, self.dataset, fields, *window)
        revisions = (
            (each for each in shown if _passed(each, wanted, told, ignored) == _ALL)
            if funnel is None
            else _counted(shown, wanted, told, ignored, funnel)
        )
        if not wanted.when:
            return (MatchedRevision(revision, ()) for revision in revisions)
        try:
            condition = parse_when(wanted.when, [*fields.columns.values()])
        except Invalid:
            if funnel is not None:
                # They are counted, though none of them can meet it.
                deque(revisions, maxlen=0)
            return iter(())
        met = RevisionMatcher(fields, condition).matches(reader, revisions)
        return (
            MatchedRevision(revision, [match.sentence for match in matches])
            for revision, matches in met
        )


def _passed(
    revision: ShownRevision, wanted: ChangeFilter, told: set[str], ignored: set[str]
) -> int:
    """How much of a filter leaves a revision: of its kinds, and its columns by their fields."""
    if wanted.kinds and revision.kind not in wanted.kinds:
        return 0
    if wanted.columns and told.isdisjoint(revision.changed):
        return 1
    return 2 if revision.changed and ignored.issuperset(revision.changed) else _ALL


def _counted(
    shown: Iterable[ShownRevision],
    wanted: ChangeFilter,
    told: set[str],
    ignored: set[str],
    funnel: Funnel,
) -> Iterator[ShownRevision]:
    """The revisions that kinds and columns leave, and in `funnel` how many on the way."""
    for revision in shown:
        passed = _passed(revision, wanted, told, ignored)
        funnel.changes += 1
        if revision.run is not None:
            funnel.passed[passed] += 1
        if passed == _ALL:
            yield revision


def narrowed(name: str, wanted: ChangeFilter, matches: int, count: int) -> str:
    """What is said of the changes of a Run of which a filter leaves some."""
    return notice_events.narrowed(name, matches, count, wanted.when)


def told_change(change: NamedChange, wanted: ChangeFilter, sentences: Sequence[str]) -> NamedChange:
    """A change by name with the cells that a filter has told, and what it meets."""
    cells = wanted.told_of(change.line["changed"])
    line = {**change.line, "changed": cells, "matches": sentences}
    return replace(change, line=line, last=wanted.told_of(change.last))


def check_filter(wanted: ChangeFilter, tables: Iterable[Sequence[Column]], *, all_of: bool) -> None:
    """Raise Invalid for a clause or a column that is wrong for the columns of these tables.

    For one of them, or for every one of them if not `all_of`. Its detail says which part is wrong.
    """
    errors = (_wrong(wanted, columns) for columns in tables)
    said = "There is no dataset yet whose columns these could be: make the dataset first."
    error = next(errors, _wrong_part("when", said))
    if all_of:
        error = error or next(filter(None, errors), None)
    elif error is not None and not all(errors):
        return
    if error is not None:
        raise error


def naming(
    reader: Reader, owner: OwnerName, dataset: DatasetId, columns: Sequence[Column], dropped: Column
) -> Iterator[str]:
    """The notices that fit a dataset with these columns, and none any more without one of them.

    One of all datasets may go on to fit another.
    """
    own = format_uuid(dataset)
    left = [column for column in columns if column != dropped]
    for notice in notices.readable(reader, owner):
        wanted = notice.change_filter
        if wanted is None or own not in (notice.datasets or [own]):
            continue
        is_lost = _wrong(wanted, columns) is None and _wrong(wanted, left) is not None
        if is_lost and notice.datasets is None:
            others = (each for each in datasets.chosen(reader, owner) if each.id != dataset)
            is_lost = all(_wrong(wanted, [*each.fields.columns.values()]) for each in others)
        if is_lost:
            yield notice.name


def _wrong(wanted: ChangeFilter, columns: Sequence[Column]) -> Invalid | None:
    try:
        parse_when(wanted.when, columns)
    except Invalid as error:
        return _wrong_part("when", error.message)
    names = [column["name"] for column in columns]
    for part, given in (("columns", wanted.columns), ("ignore", wanted.ignore)):
        for name in given:
            if name not in names:
                listed = ", ".join(names)
                return _wrong_part(part, f"There is no column {name!r}. There is: {listed}.")
    return None


def _wrong_part(part: str, said: str) -> Invalid:
    """The error that says a whole sentence, and which part of a wish it is about."""
    return Invalid(said, (LocatedDetail(part, said, is_predicate=False),))
