"""``rows list``: a line per row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from heapq import nlargest
from operator import itemgetter
from typing import NamedTuple

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import (
    CommandContext,
    at_option,
    common_options,
    limit_option,
    since_option,
    where_option,
)
from livedata.cli.output.streams import on_terminal, print_json, print_message
from livedata.cli.output.tables import print_moment, print_table
from livedata.cli.output.values import EMPTY, Value, format_timestamp, format_value
from livedata.hints import Subject, hint
from livedata.model import ids
from livedata.model.dataset import Column
from livedata.model.ids import Micros, RowId
from livedata.model.problem import Remedy
from livedata.model.row import Row, RowDetail, RowFilter, Scalar
from livedata.model.row_name import RowName, name_row
from livedata.rules.conditions.parsing import parse_where
from livedata.services import queries
from livedata.services.queries import edited_cells, label_column, label_field
from livedata.services.rows import called
from livedata.services.rows import stale as stale_edits
from livedata.services.snapshot import snapshot

Edited = Mapping[str, Set[str]]
"""Row id -> the columns that are edited by hand."""

STATUSES = ("new", "changed", "unchanged", "gone")


@click.command("list")
@click.argument("dataset", metavar="D", shell_complete=complete_dataset)
@limit_option(100, 500, "rows")
@click.option(
    "--status", multiple=True, type=click.Choice(STATUSES), help="Only these; may be repeated."
)
@since_option("Only rows updated then or later, such as 2026-01-31T08:00:00Z.")
@click.option(
    "--stale", is_flag=True, help="Only hand edits whose source has moved since; no other filter."
)
@click.option(
    "--unreadable", is_flag=True, help="Only cells of which the site's text could not be read."
)
@where_option("Only rows of which this holds, such as 'price < 20'; may be repeated: all hold.")
@at_option("The rows as they were then: a moment with its zone, a day, a sequence, a Run's id.")
@common_options
def list_rows(
    ctx: CommandContext,
    dataset: str,
    limit: int,
    status: tuple[str, ...],
    since: Micros | None,
    stale: bool,
    unreadable: bool,
    where: tuple[str, ...],
    when: str | None,
) -> None:
    """List the rows of dataset D as they are now, or at WHEN, the latest updated first.

    Rows of one Run stand in the order of the site.
    """
    if stale and (status or since is not None or unreadable):
        raise click.UsageError(
            "--stale lists hand edits: --status, --since and --unreadable do not apply."
        )
    if (when is not None or where) and (stale or unreadable):
        raise click.UsageError(
            "--stale and --unreadable are about the rows as they are, without --at and --where."
        )
    if stale:
        _list_stale_edits(ctx, dataset, limit)
        return
    only = RowFilter(since, tuple(dict.fromkeys(status)), unreadable)
    if unreadable:
        list_unreadable(ctx, dataset, limit, only)
    elif when is not None:
        _list_rows_at(ctx, dataset, limit, only, where, when)
    else:
        _list_rows(ctx, dataset, limit, only, where)


def _list_rows(
    ctx: CommandContext, name: str, limit: int, only: RowFilter, where: Sequence[str]
) -> None:
    with ctx.at_one_moment() as db:
        dataset_id = queries.find_dataset(db, ctx.owner, name)
        columns = queries.dataset(db, ctx.owner, dataset_id)["columns"]
        condition = parse_where(where, columns) if where else None
        rows, more = queries.recent_rows(db, ctx.owner, dataset_id, limit, only, condition)
        edited = {} if ctx.json else edited_cells(db, ctx.owner, dataset_id)
        label = label_field(db, ctx.owner, dataset_id)
    _print_page(ctx, name, limit, _RowPage(rows, more, columns, label, edited))


def _list_rows_at(
    ctx: CommandContext, name: str, limit: int, only: RowFilter, where: Sequence[str], when: str
) -> None:
    with ctx.reading() as db:
        dataset_id = queries.find_dataset(db, ctx.owner, name)
        with snapshot(db, ctx.owner, dataset_id, when, ctx.settings.timezone) as table:
            matches = (row for row in table.rows_where(where) if _matches(row, only))
            # As a listing of today: the latest first, those of one Run in the order of the site.
            rows = nlargest(limit + 1, matches, key=itemgetter("updatedAt"))
    print_moment(table.moment)
    more = len(rows) > limit
    _print_page(ctx, name, limit, _RowPage(rows[:limit], more, table.columns, table.label, {}))


def _matches(row: Row, only: RowFilter) -> bool:
    has_status = not only.statuses or row["status"] in only.statuses
    return has_status and (
        only.since is None or ids.parse_timestamp(row["updatedAt"]) >= only.since
    )


class _RowPage(NamedTuple):
    """The rows of a listing, whether there are more, their columns, and what was edited by hand.

    The texts of the field `label` name the rows.
    """

    rows: Sequence[Row]
    more: bool
    columns: Sequence[Column]
    label: str | None
    edited: Edited


def _print_page(ctx: CommandContext, name: str, limit: int, page: _RowPage) -> None:
    rows, more, columns, label, edited = page
    if ctx.json:
        print_json(rows)
    elif rows:
        if any(row["identity"] for row in rows):
            _print_entities(rows, columns, edited)
        else:
            # The key cells stand in the row key already.
            others = [column for column in columns if not column["key"]]
            _print_rows(rows, *_parted(others, label), edited)
        if on_terminal() and any(row["id"] in edited for row in rows):
            show = Subject(ctx.owner).command("rows show", name, "ROW")
            print_message(f"With a star: edited by hand. What the source says below it: {show}")
    else:
        print_message("There are no such rows.")
    if more:
        export = hint(Remedy("export"), Subject(ctx.owner, name))
        print_message(f"There are more than {limit}; --limit shows more. {export}")


def _list_stale_edits(ctx: CommandContext, name: str, limit: int) -> None:
    """List the first `limit` stale edits of dataset `name`, by row key."""
    with ctx.at_one_moment() as db:
        dataset_id = queries.find_dataset(db, ctx.owner, name)
        # All of them, not up to the limit: the last line says how many there are.
        edits = stale_edits(db, ctx.owner, dataset_id)
        label = label_column(db, ctx.owner, dataset_id)
        shown = [each["rowId"] for each in edits[:limit]]
        names = called(db, ctx.owner, dataset_id, shown)
    if ctx.json:
        print_json(edits[:limit])
    elif edits:
        headings = ("row", "column", "edited", "source then", "source now", "agrees", "since run")
        lines: list[tuple[Value, ...]] = [
            (
                edit["rowKey"],
                edit["column"],
                *(format_value(edit[key]) or EMPTY for key in ("value", "sourceThen", "sourceNow")),
                "yes" if edit["agrees"] else "no",
                edit["sinceRunId"],
            )
            for edit in edits[:limit]
        ]
        by_key = {name.key: name for name in names.values()}
        _print_named(headings, lines, label, by_key, ids="since run")
    else:
        print_message("No cell that was edited by hand has another source value than at its edit.")
    if len(edits) > limit:
        print_message(f"There are {len(edits)}; --limit shows more.")


def _print_named(
    headings: Sequence[str],
    lines: Sequence[Sequence[Value]],
    label: Column | None,
    names: Mapping[str, RowName],
    ids: str = "",
) -> None:
    """Print a table that begins with the keys of rows, with their names before those."""
    if label is None:
        print_table(headings, lines, ids=ids)
        return
    named = [(_beside_key(str(key), names[str(key)].name), key, *rest) for key, *rest in lines]
    print_table((label["name"], *headings), named, ids=ids, beside="row")


def _print_entities(rows: Sequence[Row], columns: Sequence[Column], edited: Edited) -> None:
    """Print researched rows: the name first, by which commands name a row, and the digest last."""
    name, evidence, source, *attributes = columns
    ordered = (*attributes, evidence, source)
    print_table(
        (name["name"], "status", *(column["name"] for column in ordered), "updated", "row"),
        [
            (
                row["data"][name["id"]],
                row["status"],
                *(row["data"][column["id"]] for column in ordered),
                format_timestamp(row["updatedAt"]),
                row["rowKey"],
            )
            for row in rows
        ],
        marked=_marked(rows, [name, None, *ordered], edited),
    )


def _parted(
    columns: Sequence[Column], label: str | None
) -> tuple[Sequence[Column], Sequence[Column]]:
    """The column that names rows, if there is one, and the others."""
    named = [column for column in columns if column["id"] == label]
    return named, [column for column in columns if column["id"] != label]


def _print_rows(
    rows: Sequence[Row], named: Sequence[Column], columns: Sequence[Column], edited: Edited
) -> None:
    """Print rows: what names them first, and beside it the key, by which commands name them."""
    print_table(
        (
            *(column["name"] for column in named),
            *("row", "status"),
            *(column["name"] for column in columns),
            "updated",
        ),
        [
            (
                *(_beside_key(row["rowKey"], row["data"][column["id"]]) for column in named),
                row["rowKey"],
                row["status"],
                *(row["data"][column["id"]] for column in columns),
                format_timestamp(row["updatedAt"]),
            )
            for row in rows
        ],
        marked=_marked(rows, [*named, None, None, *columns], edited),
        beside="row" if named else "",
    )


def _beside_key(key: str, name: Scalar) -> Scalar:
    """What stands before the key of a row, which is not told twice."""
    return None if name == key else name


def _marked(
    rows: Sequence[Row], shown: Sequence[Column | None], edited: Edited
) -> list[tuple[int, int]]:
    """The cells of a table that are edited by hand, by line and column."""
    return [
        (number, position)
        for number, row in enumerate(rows)
        for position, column in enumerate(shown)
        if column is not None and column["id"] in edited.get(row["id"], ())
    ]


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
        label = label_column(db, ctx.owner, dataset_id)
    if details:
        lines = [line for detail in details for line in _lines(detail, columns)]
        names = {
            detail["rowKey"]: name_row(detail["rowKey"], detail["data"], label and label["id"])
            for detail in details
        }
        _print_named(("row", "column", "type", "read as", "page"), lines, label, names)
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
