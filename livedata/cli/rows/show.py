"""``rows show``: a row with the evidence of each cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.change_lines import print_lines
from livedata.cli.output.streams import print_json, print_text
from livedata.cli.output.tables import print_record
from livedata.cli.output.values import EMPTY, Value, format_inline, format_timestamp, format_value
from livedata.model.dataset import Column, is_numeric
from livedata.model.errors import Damaged
from livedata.model.ids import DatasetId, RowId
from livedata.model.row import Change, ChangePage, EvidenceRef, RowDetail
from livedata.model.row_name import RowName, name_row
from livedata.services import feed, queries
from livedata.services.queries import label_field
from livedata.store.database.store import Database

PAGE = 500


@click.command("show")
@click.argument("dataset", metavar="D", shell_complete=complete_dataset)
@click.argument("row", metavar="ROW")
@click.option("--history", is_flag=True, help="Also its changes, and how its numbers moved.")
@common_options
def show_row(ctx: CommandContext, dataset: str, row: str, history: bool) -> None:
    """Show a row of dataset D, by its key or id: each cell with where it was read."""
    with ctx.at_one_moment() as db:
        dataset_id = queries.find_dataset(db, ctx.owner, dataset)
        columns = queries.dataset(db, ctx.owner, dataset_id)["columns"]
        row_id = queries.find_row(db, ctx.owner, dataset_id, row)
        detail = queries.row(db, ctx.owner, dataset_id, row_id)
        label = label_field(db, ctx.owner, dataset_id)
        pages = list(_history(db, ctx.owner, dataset_id, row_id)) if history else []
    changes = [change for page in pages for change in page["data"]]
    if ctx.json:
        print_json({**detail, "history": changes} if history else detail)
        return
    print_record(_properties(detail, name_row(detail["rowKey"], detail["data"], label)))
    for column in columns:
        lines = [*_cell_lines(detail, column), *_movement(changes, column)]
        print_text("\n" + "\n".join(lines))
    if history:
        print_text("\nhistory:")
    for page in pages:
        print_lines(page, label)


def _history(
    db: Database, owner: str, dataset_id: DatasetId, row_id: RowId
) -> Iterator[ChangePage]:
    """Yield every change of a row, page by page."""
    after: int | None = 0
    while after is not None:
        page = feed.changes(db, owner, dataset_id, after=after, limit=PAGE, row_id=row_id)
        yield page
        after = page["nextAfter"]


def _movement(changes: Sequence[Change], column: Column) -> list[str]:
    """Draw how a number moved, if it did."""
    if not is_numeric(column):
        return []
    field = column["id"]
    # A new row has every field that it was read with.
    moments = [change for change in changes if field in change["changedFieldIds"]]
    values = [cast("float | None", change["data"].get(field)) for change in moments]
    if len(values) < 2:
        return []
    ends = f"{format_inline(values[0])} → {format_inline(values[-1])}"
    since = format_timestamp(moments[0]["createdAt"])
    return [f"  moved: {sparkline(values)}  {ends}, {len(values)} values since {since}"]


def _properties(row: RowDetail, name: RowName) -> dict[str, Value]:
    return {
        **({} if name.name == name.key else {"name": name.name}),
        "row": row["rowKey"],
        "id": row["id"],
        "status": row["status"],
        "presence": row["presence"],
        "revision": row["revisionId"],
        "page": row["sourceUrl"],
        "observed": format_timestamp(row["observedAt"]),
        "updated": format_timestamp(row["updatedAt"]),
        "first seen": f"Run {row['firstSeenRunId']}",
        "last seen": f"Run {row['lastSeenRunId']}",
    }


def _cell_lines(row: RowDetail, column: Column) -> list[str]:
    """List a cell's value, why it is empty, what a hand edit covers, and its evidence."""
    field = column["id"]
    lines = [f"{column['name']}: {format_value(row['data'][field]) or EMPTY}"]
    reason = row["missingReasons"].get(field)
    if reason:
        lines.append(f"  empty because: {reason}")
    override = row["overrides"].get(field)
    if override is not None:
        missing = override.get("missingReason")
        source = format_inline(override["value"]) + (f", {missing}" if missing else "")
        lines.append(f"  edited by hand; the source says: {source}")
    elif column["ownership"] == "user":
        lines.append("  your own column")
    # A hand edit has no page: the evidence is that of the value below it.
    references = override["evidence"] if override is not None else row["evidence"].get(field, [])
    for reference in references:
        lines += _evidence_lines(row, reference)
    return lines


def _evidence_lines(row: RowDetail, reference: EvidenceRef) -> list[str]:
    page = next(page for page in row["observations"] if page["id"] == reference["observationId"])
    entries = {entry["id"]: entry for entry in page["entries"]}
    entry = entries.get(reference["entryId"])
    if entry is None:
        raise Damaged("observations", page["id"], "entries")
    cut = " (cut)" if entry["truncated"] else ""
    return [
        f"  read as: {format_value(entry['excerpt'])}{cut}",
        f"  on: {format_value(page['sourceUrl'])} at {format_timestamp(page['observedAt'])}",
        f"  page digest: sha256 {page['contentDigest']}",
    ]


BARS = "▁▂▃▄▅▆▇█"
LONGEST = 40


def sparkline(values: Sequence[float | None]) -> str:
    """Draw the last values, the least as the lowest bar; a gap is an empty cell."""
    values = values[-LONGEST:]
    numbers = [value for value in values if value is not None]
    low, high = min(numbers, default=0), max(numbers, default=0)
    # Halves, because the distance of two numbers may be too large for a number.
    span = high / 2 - low / 2
    return "".join(" " if value is None else _bar(value, low, span) for value in values)


def _bar(value: float, low: float, span: float) -> str:
    # Values that are all alike are a line in the middle.
    share = (value / 2 - low / 2) / span if span else 0.5
    return BARS[round(share * (len(BARS) - 1))]
