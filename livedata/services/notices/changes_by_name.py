"""Revisions in the words of the table: the key of the row, and values by column name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from livedata.extraction.cells import row_key
from livedata.model.dataset import Column
from livedata.model.ids import DatasetId, format_timestamp, format_uuid
from livedata.model.row import Cells, ChangePage, Scalar
from livedata.store import recipes
from livedata.store.database.backend import Reader
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


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "(empty)" if value is None else str(value)


_timestamp = lru_cache(maxsize=256)(format_timestamp)  # what one Run wrote has its moment


class ChangesByName(Struct, frozen=True):
    """How the changes of a dataset are named: which columns in which order make a row's key."""

    key: list[str]
    composite: bool

    @classmethod
    def of(cls, reader: Reader, dataset: DatasetId) -> ChangesByName:
        """Take the key from the declaration of a dataset."""
        _, source = recipes.source(reader, dataset)
        identity: Any = source.get("identity", {}) if isinstance(source, dict) else {}
        if identity == "entity":
            # The key of an entity is a digest, which tells a reader nothing; its name does.
            return cls(["name"], composite=False)
        if identity.get("kind") == "composite":
            return cls(list(identity["fields"]), composite=True)
        return cls([identity["field"]] if "field" in identity else [], composite=False)

    def lines(self, page: ChangePage) -> Iterator[dict[str, Any]]:
        """An object for each revision of a page."""
        # A revision is read with the schema of its time: columns may have come since.
        schemas = {
            schema["version"]: {column["id"]: column for column in schema["fields"]}
            for schema in page["schemas"]
        }
        for change in page["data"]:
            columns = schemas[change["schemaVersion"]]
            after = change["data"]
            yield {
                "sequence": change["sequence"],
                "kind": change["kind"],
                "row": self._row(after, columns) or change["rowId"],
                "at": change["createdAt"],
                "changed": _cells(
                    change["changedFieldIds"], change["before"], change["data"], columns
                ),
            }

    def line(self, revision: ShownRevision, columns: Mapping[str, Column]) -> dict[str, Any]:
        """The object for a revision, with columns by field id."""
        return {
            "sequence": revision.sequence,
            "kind": revision.kind,
            "row": self._row(revision.after, columns) or format_uuid(revision.row),
            "at": _timestamp(revision.created_at),
            "changed": _cells(revision.changed, revision.before, revision.after, columns),
        }

    def _row(self, cells: Cells, columns: Mapping[str, Column]) -> str | None:
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
