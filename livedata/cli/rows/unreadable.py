"""``rows list --unreadable``: cells of which the site's text could not be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from livedata.cli.context import CommandContext
from livedata.cli.output.streams import print_json, print_message
from livedata.cli.output.tables import print_table
from livedata.cli.output.values import Value, format_value
from livedata.model import ids
from livedata.model.dataset import Column
from livedata.model.ids import RowId
from livedata.model.row import RowDetail, RowFilter
from livedata.services import queries


def list_unreadable(ctx: CommandContext, name: str, limit: int, only: RowFilter) -> None:
    """List the unreadable cells of at most `limit` rows of dataset `name`, with their texts."""
    with ctx.reading() as db:
        dataset_id = queries.find_dataset(db, ctx.owner, name)
        columns = queries.dataset(db, ctx.owner, dataset_id)["columns"]
        rows, more = queries.recent_rows(db, ctx.owner, dataset_id, limit, only)
        if ctx.json:
            print_json(rows)
            return
        details = [
            queries.row(db, ctx.owner, dataset_id, RowId(ids.raw_id(row["id"]))) for row in rows
        ]
    if details:
        lines = [line for detail in details for line in _lines(detail, columns)]
        print_table(("row", "column", "type", "read as", "page"), lines)
    else:
        print_message("There is no such cell: all that the Runs found could be read.")
    if more:
        print_message(f"There are more such rows than {limit}; --limit shows more.")


def _lines(row: RowDetail, columns: Sequence[Column]) -> Iterator[tuple[Value, ...]]:
    for column in columns:
        if row["missingReasons"].get(column["id"]) == "extraction_failed":
            text, page = _place(row, column["id"])
            yield row["rowKey"], column["name"], column["type"], text, page


def _place(row: RowDetail, field: str) -> tuple[str, str]:
    """The text of a cell as it was read, and the address of its page."""
    for reference in row["evidence"].get(field, []):
        for page in row["observations"]:
            for entry in page["entries"]:
                if (page["id"], entry["id"]) == (
                    reference["observationId"],
                    reference["entryId"],
                ):
                    return format_value(entry["excerpt"]), page["sourceUrl"]
    return "", row["sourceUrl"]
