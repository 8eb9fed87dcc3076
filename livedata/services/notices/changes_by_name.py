"""Revisions in the words of the table: the key of the row, and values by column name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from html import escape
from typing import Any

from msgspec import Struct

from livedata.extraction.cells import row_key
from livedata.model.dataset import Column
from livedata.model.ids import format_timestamp, format_uuid
from livedata.model.row import Cells, ChangePage, Scalar
from livedata.model.row_name import RowName, name_row
from livedata.store import recipes
from livedata.store.database.backend import Reader
from livedata.store.datasets import DatasetRef
from livedata.store.feed import ShownRevision


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


class NamedChange(Struct, frozen=True):
    """A revision by name for programs, and what its row was called then, for people."""

    line: Mapping[str, Any]
    name: RowName


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
        schemas = {
            schema["version"]: {column["id"]: column for column in schema["fields"]}
            for schema in page["schemas"]
        }
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
        return NamedChange(line, name_row(key, revision.after, self.label))

    def _key(self, cells: Cells, columns: Mapping[str, Column]) -> str | None:
        """The row's key, which no hand edits: a revision has only the row's id.

        None if a source of another kind declares no identity.
        """
        # The declaration names the key columns in their order, which the schema does not keep.
        named = {
            column["name"]: cells.get(field)
            for field, column in columns.items()
            if column["name"] in self.key
        }
        parts = [named.get(name) for name in self.key]
        return row_key(parts, composite=self.composite) if parts else None


def _cells(
    changed: Iterable[str], before: Cells | None, after: Cells, columns: Mapping[str, Column]
) -> dict[str, dict[str, Scalar]]:
    """The changed cells by name, with both values."""
    old = before or {}
    return {
        columns[field]["name"]: {"before": old.get(field), "after": after.get(field)}
        for field in changed
    }
