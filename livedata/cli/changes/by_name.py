"""``changes --names``: revisions in the words of the table, for the programs of people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from livedata.cli.output.streams import print_json_lines
from livedata.extraction.cells import row_key
from livedata.model.dataset import Column
from livedata.model.ids import DatasetId
from livedata.model.row import Change, ChangePage
from livedata.services import queries
from livedata.store.database.store import Database


class ChangesByName(Struct, frozen=True):
    """The form of the lines of a dataset: which columns in which order make the key of a row."""

    key: list[str]
    composite: bool

    @classmethod
    def of(cls, db: Database, owner: str, dataset_id: DatasetId) -> ChangesByName:
        """Take the key from the declaration of a dataset."""
        source = queries.source(db, owner, dataset_id)["source"]
        identity: dict[str, Any] = source.get("identity", {}) if isinstance(source, dict) else {}
        if identity.get("kind") == "composite":
            return cls(list(identity["fields"]), composite=True)
        return cls([identity["field"]] if "field" in identity else [], composite=False)

    def print_page(self, page: ChangePage) -> None:
        """Print the revisions of a page, an object a line."""
        # A revision is read with the schema of its time: columns may have come since.
        schemas = {
            schema["version"]: {column["id"]: column for column in schema["fields"]}
            for schema in page["schemas"]
        }
        print_json_lines(
            self._line(change, schemas[change["schemaVersion"]]) for change in page["data"]
        )

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
        """Return the row's key, which no hand edits; a revision has only the row's id."""
        # The declaration names the key columns in their order, which the schema does not keep.
        cells = {column["name"]: change["data"].get(field) for field, column in columns.items()}
        parts = [cells.get(name) for name in self.key]
        # A source of another kind declares no identity: then only the id names the row.
        return (row_key(parts, composite=self.composite) if parts else None) or change["rowId"]
