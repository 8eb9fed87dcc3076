"""``rows edit`` and ``rows reset``: cells that a person sets, and gives back to the source."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

import click
from msgspec.structs import replace

from livedata.cli.column_input import find_column, split_assignment
from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_painted
from livedata.cli.output.values import format_inline, format_name
from livedata.messages.request import format_value, invalid
from livedata.model.errors import Invalid
from livedata.model.ids import ID_PATTERN
from livedata.model.problem import Remedy
from livedata.model.row import MAX_REQUEST_ID, RowEdit, RowRevision, Scalar
from livedata.model.row_name import name_row
from livedata.rules.changes.edits import parse_value
from livedata.services import queries, rows
from livedata.store.database.store import Store


def _edit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give both kinds of edit the row, and what makes an edit safe to repeat."""
    decorators = (
        click.argument("dataset", metavar="D", shell_complete=complete_dataset),
        click.argument("row", metavar="ROW"),
        click.option(
            "--request-id",
            help="A name for this edit: repeated, it is done once. Also give --revision then.",
        ),
        click.option(
            "--revision", help="Refuse unless this is the row's revision; else the current one."
        ),
    )
    # Decorators apply from the inside out, help lists them from the outside in.
    for decorator in reversed(decorators):
        command = decorator(command)
    return command


@click.command("edit")
@_edit_options
@click.argument("edits", metavar="FIELD=VALUE...", nargs=-1, required=True)
@common_options
def edit_row(
    ctx: CommandContext,
    dataset: str,
    row: str,
    edits: tuple[str, ...],
    request_id: str | None,
    revision: str | None,
) -> None:
    """Set cells of a row of dataset D by hand; Runs keep what you write.

    FIELD is a column's name or id, VALUE is of its type: text, a number, true or false, a date
    such as 2026-01-31, an address. FIELD= clears the cell.
    """
    with ctx.writing() as store:
        target = _EditedRow(store, ctx.owner, dataset, row)
        values: dict[str, Scalar] = {}
        for assignment in edits:
            column_name, text = split_assignment(assignment, "FIELD=VALUE")
            column = find_column(target.columns, column_name)
            # The store refuses it too, but knows no name as people typed it.
            if column["key"]:
                raise Invalid(f"{column['name']} is a part of the row's key, which is read-only.")
            if column["id"] in values:
                raise Invalid(f"{column['name']} is given twice.")
            values[column["id"]] = parse_value(column, text)
        made = target.apply(target.edit(request_id, revision, values=values))
    _print_edit(ctx, target, made)


@click.command("reset")
@_edit_options
@click.argument("fields", metavar="FIELD...", nargs=-1, required=True)
@common_options
def reset_row(
    ctx: CommandContext,
    dataset: str,
    row: str,
    fields: tuple[str, ...],
    request_id: str | None,
    revision: str | None,
) -> None:
    """Give cells of a row of dataset D back to the source: its latest value shows again."""
    with ctx.writing() as store:
        target = _EditedRow(store, ctx.owner, dataset, row)
        columns = [find_column(target.columns, field) for field in fields]
        for column in columns:
            if column["ownership"] == "user":
                raise Invalid(
                    f"{column['name']} is your own column: it has no source to go back to.",
                    remedies=(_clear(ctx.owner, dataset, row, column["name"]),),
                )
        # A column that is named twice is reset once; an edit refuses it, as its values may differ.
        resets = list(dict.fromkeys(column["id"] for column in columns))
        made = target.apply(target.edit(request_id, revision, reset_field_ids=resets))
    _print_edit(ctx, target, made)


def _clear(owner: str, dataset: str, row: str, column: str) -> Remedy:
    params = {"owner": owner, "dataset": dataset, "row": row, "column": column}
    return Remedy("clear_cell", params)


class _EditedRow:
    """The row that is edited, as it is before."""

    def __init__(self, store: Store, owner: str, name: str, key: str) -> None:
        self.store, self.owner = store, owner
        self.dataset_id = queries.find_dataset(store, owner, name)
        self.columns = queries.dataset(store, owner, self.dataset_id)["columns"]
        self.label = queries.label_field(store, owner, self.dataset_id)
        self.id = queries.find_row(store, owner, self.dataset_id, key)
        self.before = queries.row(store, owner, self.dataset_id, self.id)

    def edit(self, request_id: str | None, revision: str | None, **cells: Any) -> RowEdit:
        """The edit of `cells`. Raises Invalid for options that no request may have."""
        # Without --revision the row that was just read must still be the current one; without
        # --request-id every call is an edit of its own.
        request_id = str(uuid4()) if request_id is None else request_id
        expected = self.before["revisionId"] if revision is None else revision
        if not 1 <= len(request_id) <= MAX_REQUEST_ID:
            raise Invalid(
                f"--request-id must have 1 to {MAX_REQUEST_ID} characters, not {len(request_id)}."
            )
        if expected is None or not re.fullmatch(ID_PATTERN, expected):
            raise Invalid(f"--revision must be a UUID, not {format_value(expected)}.")
        return RowEdit(expected.lower(), request_id, **cells)

    def apply(self, edit: RowEdit) -> RowRevision:
        """Do the edit; raises Invalid in the words of the command line."""
        try:
            return rows.edit(self.store, self.owner, self.dataset_id, self.id, edit, None)
        except Invalid as error:
            raise self._by_name(error, edit.reset_field_ids or ()) from None

    def _by_name(self, error: Invalid, resets: Sequence[str]) -> Invalid:
        """Return the same error with the columns' names and the options of the command line."""
        # The API speaks of ids and JSON; a person typed names and options.
        if not error.details:
            return error
        names = {column["id"]: column["name"] for column in self.columns}
        places = {f"values.{ident}": name for ident, name in names.items()}
        places |= {f"resetFieldIds[{index}]": names[ident] for index, ident in enumerate(resets)}
        return invalid(
            [replace(detail, path=places.get(detail.path, detail.path)) for detail in error.details]
        )


def _print_edit(ctx: CommandContext, row: _EditedRow, made: RowRevision) -> None:
    if ctx.json:
        print_json(made)
        return
    called = format_name(name_row(row.before["rowKey"], row.before["data"], row.label))
    for column in row.columns:
        if column["id"] in made["changedFieldIds"]:
            before = format_inline(row.before["data"][column["id"]])
            after = format_inline(made["data"].get(column["id"]))
            # The name of the column is no text of a site, and the others are escaped.
            print_painted(f"{called}  {column['name']}: {before} → {after}")
