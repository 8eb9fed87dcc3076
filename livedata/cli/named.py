"""``changes --names``: revisions in the words of the table, for the programs of people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from livedata.extraction.cells import row_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from livedata.model.dataset import Column
    from livedata.model.row import Change, ChangePage
    from livedata.store.database.store import Database


@dataclass(frozen=True, slots=True)
class Names:
    """What makes the key of a row: the names of the columns in their order."""

    key: list[str]
    composite: bool

    @classmethod
    def of(cls, db: Database, owner: str, dataset: bytes) -> Names:
        """The names of a dataset, from its declaration."""
        from livedata.services import queries

        source = queries.source(db, owner, dataset)["source"]
        identity: dict[str, Any] = source.get("identity", {}) if isinstance(source, dict) else {}
        if identity.get("kind") == "composite":
            return cls(list(identity["fields"]), composite=True)
        return cls([identity["field"]] if "field" in identity else [], composite=False)

    def lines(self, page: ChangePage) -> Iterator[dict[str, object]]:
        """What a page says, an object per revision."""
        schemas = {schema["version"]: schema["fields"] for schema in page["schemas"]}
        for change in page["data"]:
            columns = {column["id"]: column for column in schemas[change["schemaVersion"]]}
            yield self._line(change, columns)

    def _line(self, change: Change, columns: Mapping[str, Column]) -> dict[str, object]:
        before = change["before"] or {}
        return {
            "sequence": change["sequence"],
            "kind": change["kind"],
            "row": self._row(change, columns),
            "at": change["createdAt"],
            "changed": {
                columns[field]["name"]: {
                    "before": before.get(field),
                    "after": change["data"].get(field),
                }
                for field in change["changedFieldIds"]
            },
        }

    def _row(self, change: Change, columns: Mapping[str, Column]) -> str:
        """The row's key, which no hand edits; a revision itself knows only the row's id."""
        cells = {column["name"]: change["data"].get(field) for field, column in columns.items()}
        parts = [cells.get(name) for name in self.key]
        return (row_key(parts, composite=self.composite) if parts else None) or change["rowId"]
