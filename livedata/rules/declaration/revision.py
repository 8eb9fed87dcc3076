"""What revising a dataset by a declaration changes: its columns, and how it is read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from livedata.messages.request import invalid
from livedata.model.dataset import Column, columns_by_name
from livedata.model.errors import Detail
from livedata.model.ids import format_uuid, new_id
from livedata.model.recipe import Read
from livedata.model.requests import CreateDataset
from livedata.model.source import NewColumn, pinned_column

MOST_COLUMNS: Final = 50
"""So many columns has a table."""
MOST_POSITIONS: Final = 63
"""So many columns has a dataset in all its life: what a revision changes is a mask of 64 bits."""
_TAKE_OVER: Final = (
    "make a dataset that takes over from this one (dataset create SOURCE --take-over D)"
)


class SourceChange(Struct, frozen=True):
    """A place of the source that changes, such as ``itemSelector`` or ``price.read``.

    A side is None where the place is left out.
    """

    place: str
    before: Any
    after: Any


class Revision(Struct, frozen=True):
    """What a declaration changes in a dataset: columns before and after, in order, and the source.

    An added column has the id that it would get.
    """

    before: Sequence[Column]
    after: Sequence[Column]
    source: Sequence[SourceChange]

    @property
    def added(self) -> list[Column]:
        """The columns that there were not."""
        return _missing_from(self.before, self.after)

    @property
    def dropped(self) -> list[Column]:
        """The columns that there are no more."""
        return _missing_from(self.after, self.before)

    @property
    def relabelled(self) -> list[tuple[Column, Column]]:
        """The columns with another label, description or part in the key: as it was, and is."""
        after = {column["id"]: column for column in self.after}
        return [
            (old, new)
            for old in self.before
            if (new := after.get(old["id"])) is not None and new != old
        ]

    @property
    def is_moved(self) -> bool:
        """Whether the columns that stay stand in another order."""
        stay = [column["id"] for column in self.after if column not in self.added]
        return stay != [column["id"] for column in self.before if column["id"] in stay]

    @property
    def changes_columns(self) -> bool:
        """Whether the columns get a new version of their schema."""
        return self.before != self.after

    @property
    def sentences(self) -> list[str]:
        """A sentence for each change, for people."""
        return [*_column_sentences(self), *_source_sentences(self)]


def _missing_from(these: Sequence[Column], those: Sequence[Column]) -> list[Column]:
    known = {column["id"] for column in these}
    return [column for column in those if column["id"] not in known]


def judge(
    columns: Sequence[Column],
    pinned: Mapping[str, Any],
    declared: CreateDataset,
    *,
    has_rows: bool,
    positions: int,
) -> Revision:
    """What a declaration, which is right by itself, changes in a dataset with these columns.

    `pinned` is the source that is read now, `positions` how many columns the dataset has had.
    Raises Invalid, with a detail for each place, where it is of another table.
    """
    source = declared.source.pinned()
    wrong = [
        *_changed_columns(columns, declared),
        *_renamed(columns, pinned, declared),
        *(_changed_key(pinned, source) if has_rows else ()),
    ]
    if wrong:
        raise invalid(wrong)
    after = _columns_after(columns, declared, takes_key=not has_rows)
    revision = Revision(columns, after, list(_source_changes(pinned, source)))
    check_room(positions, len(revision.added), len(after))
    return revision


def check_room(positions: int, added: int, width: int = 0, path: str = "columns") -> None:
    """Raise Invalid if a dataset that had so many columns has no room for those that are added.

    It would have `width` of them; `path` is where they are declared.
    """
    if added and width > MOST_COLUMNS:
        why = f"would make {width} columns, those filled by hand too; at most {MOST_COLUMNS} fit"
        raise invalid([Detail(path, why)])
    if added and positions + added > MOST_POSITIONS:
        why = (
            f"would be {positions + added} in the life of the dataset, with those that were "
            f"dropped, and there is room for {MOST_POSITIONS}: {_TAKE_OVER}"
        )
        raise invalid([Detail(path, why)])


def _changed_columns(columns: Sequence[Column], declared: CreateDataset) -> Iterator[Detail]:
    known = columns_by_name(columns)
    for place, column in enumerate(declared.columns):
        old = known.get(column.name)
        if old is None:
            continue
        if column.ownership != old["ownership"]:
            why = f"names a {old['ownership']} column of the dataset: give this one another name"
            yield Detail(f"columns[{place}].name", why)
        elif column.type != old["type"]:
            why = (
                f'must stay "{old["type"]}", not become "{column.type}", for the cells that there '
                f"are: add a column of another name, or {_TAKE_OVER}"
            )
            yield Detail(f"columns[{place}].type", why)


def _renamed(
    columns: Sequence[Column], pinned: Mapping[str, Any], declared: CreateDataset
) -> Iterator[Detail]:
    """The columns that read just what one reads that is left out: names stay."""
    # Not by likeness: only what reads the same place with the same type is surely the same column.
    known, names = columns_by_name(columns), {column.name for column in declared.columns}
    reads = {
        (known[field["name"]]["type"], _as_text(field["read"])): field["name"]
        for field in pinned.get("fields", ())
        if field["name"] in known and field["name"] not in names
    }
    read = {field["name"]: _as_text(field["read"]) for field in declared.source.pinned()["fields"]}
    for place, column in enumerate(declared.columns):
        if column.name in known or column.name not in read:
            continue
        old = reads.get((column.type, read[column.name]))
        if old is not None:
            why = (
                f'must stay "{old}", whose selector it reads: a column keeps its name; give it a '
                f'label, drop "{old}" in one revision and add "{column.name}" in the next, or '
                f"{_TAKE_OVER}"
            )
            yield Detail(f"columns[{place}].name", why)


def _changed_key(pinned: Mapping[str, Any], source: Mapping[str, Any]) -> Iterator[Detail]:
    if "identity" in pinned and pinned["identity"] != source["identity"]:
        stays = _toml_table(pinned["identity"])
        why = f"must stay {stays}, or every row would be new: for another key, {_TAKE_OVER}"
        yield Detail("source.identity", why)


def _columns_after(
    columns: Sequence[Column], declared: CreateDataset, *, takes_key: bool
) -> list[Column]:
    """The columns in the order of the declaration; what it leaves out of one stays."""
    known = columns_by_name(columns)
    after = [_column_after(known.get(each.name), each, takes_key) for each in declared.columns]
    # A column that is filled by hand need not stand in the file: it stays behind the same one.
    behind = 0
    for column in columns:
        names = [each["name"] for each in after]
        if column["name"] in names:
            behind = names.index(column["name"]) + 1
        elif column["ownership"] == "user":
            after.insert(behind, column)
            behind += 1
    return after


def _column_after(old: Column | None, declared: NewColumn, takes_key: bool) -> Column:
    if old is None:
        return pinned_column(declared, format_uuid(new_id()))
    column: Column = {**old, "label": declared.label or old["label"]}
    if takes_key:
        column["key"] = declared.key
    if declared.description is not None:
        column["description"] = declared.description
    return column


def _source_changes(pinned: Mapping[str, Any], source: Mapping[str, Any]) -> Iterator[SourceChange]:
    for place in dict.fromkeys((*pinned, *source)):
        before, after = pinned.get(place), source.get(place)
        if place == "fields":
            yield from _field_changes(pinned.get("fields", ()), source["fields"])
        elif before != after:
            yield SourceChange(place, before, after)


def _field_changes(
    pinned: Sequence[Mapping[str, Any]], fields: Sequence[Mapping[str, Any]]
) -> Iterator[SourceChange]:
    before = {field["name"]: field for field in pinned}
    after = {field["name"]: field for field in fields}
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name, {}), after.get(name, {})
        for part in ("read", "required"):
            if old.get(part) != new.get(part):
                yield SourceChange(f"{name}.{part}", old.get(part), new.get(part))
    stay = [name for name in before if name in after]
    moved = [name for name in after if name in before]
    if stay != moved:
        yield SourceChange("fields", stay, moved)


def _column_sentences(revision: Revision) -> Iterator[str]:
    for column in revision.added:
        yours = ", yours" if column["ownership"] == "user" else ""
        yield f"column {column['name']} ({column['type']}{yours}) is added"
    for column in revision.dropped:
        yield f"column {column['name']} is dropped, and stays in the history"
    for old, new in revision.relabelled:
        if old["key"] is not new["key"]:
            yield f"{new['name']} is {'a part' if new['key'] else 'no part'} of the key"
        for part in ("label", "description"):
            if old.get(part) != new.get(part):
                yield f"{part} of {new['name']}: {_value(old.get(part))} → {_value(new.get(part))}"
    if revision.is_moved:
        yield f"order of the columns: {', '.join(column['name'] for column in revision.after)}"


_CALLED: Final[Mapping[str, str]] = {"url": "address", "itemSelector": "selector of items"}
"""What places of a source are called, if not as they are written."""


def _source_sentences(revision: Revision) -> Iterator[str]:
    added, dropped = (
        {each["name"] for each in those} for those in (revision.added, revision.dropped)
    )
    for change in revision.source:
        name, _, part = change.place.rpartition(".")
        if change.place == "fields":
            yield f"order of the fields: {', '.join(change.after)}"
        # That it is read no more is told already.
        elif name in dropped:
            continue
        elif part == "read":
            places = [Read(**read).place for read in (change.before, change.after) if read]
            yield f"selector of {name}: {' → '.join(places)}"
        elif part == "required" and (change.after or name not in added):
            yield f"{name} is {'required' if change.after else 'required no more'}"
        elif not name:
            called = _CALLED.get(part, part)
            yield f"{called}: {_value(change.before)} → {_value(change.after)}"


def _value(value: object) -> str:
    """A value in a sentence, as a person reads it."""
    if isinstance(value, Mapping):
        parts = (
            ", ".join(part) if isinstance(part, (list, tuple)) else str(part)
            for part in value.values()
        )
        return " ".join(parts)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)


def _as_text(read: Mapping[str, Any]) -> str:
    return json.dumps(read, sort_keys=True)


def _toml_table(table: Mapping[str, object]) -> str:
    """A table of texts and lists of texts in TOML, which writes them as JSON does."""
    pairs = ", ".join(f"{key} = {json.dumps(value)}" for key, value in table.items())
    return f"{{ {pairs} }}"
