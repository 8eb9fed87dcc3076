"""The commands of ``rows``: what a dataset holds, where each cell comes from, and hand edits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from livedata.cli.context import Asked, limit_option, shared
from livedata.cli.edits import edit, reset
from livedata.cli.output import (
    EMPTY,
    Value,
    record,
    say,
    shown,
    table,
    told,
    when,
    write,
    write_json,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from livedata.model.dataset import Column
    from livedata.model.row import EvidenceRef, Row, RowDetail

STATUSES = ("new", "changed", "unchanged", "gone")


def _since(_context: click.Context, _option: click.Parameter, value: str | None) -> int | None:
    from livedata.model.ids import parse_timestamp

    if value is None:
        return None
    try:
        return parse_timestamp(value)
    except (ValueError, OverflowError):
        raise click.BadParameter(
            f"{value!r} is not a date and time with its zone, such as 2026-01-31T08:00:00Z"
        ) from None


@click.group()
def rows() -> None:
    """Look at rows and their evidence, and edit them."""


@rows.command("list")
@click.argument("dataset", metavar="D")
@limit_option(100, 500, "rows")
@click.option(
    "--status", multiple=True, type=click.Choice(STATUSES), help="Only these; may be repeated."
)
@click.option("--since", callback=_since, help="Only rows updated then or later, ISO 8601.")
@click.option(
    "--stale", is_flag=True, help="Only hand edits whose source has moved since; no other filter."
)
@shared
def list_(
    asked: Asked,
    dataset: str,
    limit: int,
    status: tuple[str, ...],
    since: int | None,
    stale: bool,
) -> None:
    """List the rows of dataset D as they are now, the latest updated first."""
    from livedata.services import queries

    if stale:
        from livedata.cli.stale import list_stale

        list_stale(asked, dataset, limit, filtered=bool(status) or since is not None)
        return
    with asked.reading() as db:
        found = queries.find_dataset(db, asked.owner, dataset)
        columns = queries.dataset(db, asked.owner, found)["columns"]
        listed = queries.rows(
            db, asked.owner, found, limit + 1, since=since, statuses=list(dict.fromkeys(status))
        )
    more, listed = len(listed) > limit, listed[:limit]
    if asked.json:
        write_json(listed)
    elif listed:
        _print(listed, [column for column in columns if not column["key"]])
    else:
        say("There are no such rows.")
    if more:
        say(f"There are more than {limit}; --limit shows more, livedata dataset export all.")


@rows.command()
@click.argument("dataset", metavar="D")
@click.argument("row", metavar="ROW")
@shared
def show(asked: Asked, dataset: str, row: str) -> None:
    """Show a row of dataset D, by its key or id: each cell with where it was read."""
    from livedata.services import queries

    with asked.reading() as db:
        found = queries.find_dataset(db, asked.owner, dataset)
        columns = queries.dataset(db, asked.owner, found)["columns"]
        row_id = queries.find_row(db, asked.owner, found, row)
        detail = queries.row(db, asked.owner, found, row_id)
    if asked.json:
        write_json(detail)
        return
    record(_about(detail))
    for column in columns:
        write("\n" + "\n".join(_cell(detail, column)))


for hand_edit in (edit, reset):
    rows.add_command(hand_edit)


def _print(listed: Sequence[Row], columns: Sequence[Column]) -> None:
    table(
        ("row", "status", *(column["name"] for column in columns), "updated"),
        [
            (
                row["rowKey"],
                row["status"],
                *(row["data"][column["id"]] for column in columns),
                when(row["updatedAt"]),
            )
            for row in listed
        ],
    )


def _about(row: RowDetail) -> dict[str, Value]:
    return {
        "row": row["rowKey"],
        "id": row["id"],
        "status": row["status"],
        "presence": row["presence"],
        "revision": row["revisionId"],
        "page": row["sourceUrl"],
        "observed": when(row["observedAt"]),
        "updated": when(row["updatedAt"]),
        "first seen": f"Run {row['firstSeenRunId']}",
        "last seen": f"Run {row['lastSeenRunId']}",
    }


def _cell(row: RowDetail, column: Column) -> list[str]:
    """A cell's value, why it is empty, what a hand edit covers, and its evidence."""
    field = column["id"]
    lines = [f"{column['name']}: {shown(row['data'][field]) or EMPTY}"]
    reason = row["missingReasons"].get(field)
    if reason:
        lines.append(f"  empty because: {reason}")
    override = row["overrides"].get(field)
    if override is not None:
        why = override.get("missingReason")
        source = told(override["value"]) + (f", {why}" if why else "")
        lines.append(f"  edited by hand; the source says: {source}")
    elif column["ownership"] == "user":
        lines.append("  your own column")
    refs = override["evidence"] if override is not None else row["evidence"].get(field, [])
    for ref in refs:
        lines += _evidence(row, ref)
    return lines


def _evidence(row: RowDetail, ref: EvidenceRef) -> list[str]:
    page = next(one for one in row["observations"] if one["id"] == ref["observationId"])
    entry = next(one for one in page["entries"] if one["id"] == ref["entryId"])
    cut = " (cut)" if entry["truncated"] else ""
    return [
        f"  read as: {shown(entry['excerpt'])}{cut}",
        f"  on: {shown(page['sourceUrl'])} at {when(page['observedAt'])}",
        f"  page digest: sha256 {page['contentDigest']}",
    ]
