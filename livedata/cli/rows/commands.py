"""The command line of ``rows``: click alone; what a command does is imported when it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options, limit_option, since_option
from livedata.model.ids import Micros

if TYPE_CHECKING:
    from collections.abc import Callable

STATUSES = ("new", "changed", "unchanged", "gone")


@click.group()
def rows() -> None:
    """Look at rows and their evidence, and edit them."""


def edit_options(command: Callable[..., Any]) -> Callable[..., Any]:
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


@rows.command("list")
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
@common_options
def list_(
    ctx: CommandContext,
    dataset: str,
    limit: int,
    status: tuple[str, ...],
    since: Micros | None,
    stale: bool,
    unreadable: bool,
) -> None:
    """List the rows of dataset D as they are now, the latest updated first.

    Rows of one Run stand in the order of the site.
    """
    if stale and (status or since is not None or unreadable):
        raise click.UsageError(
            "--stale lists hand edits: --status, --since and --unreadable do not apply."
        )
    if stale:
        from livedata.cli.rows.stale import list_stale_edits

        list_stale_edits(ctx, dataset, limit)
        return
    from livedata.model.row import RowFilter

    only = RowFilter(since, tuple(dict.fromkeys(status)), unreadable)
    if unreadable:
        from livedata.cli.rows.unreadable import list_unreadable

        list_unreadable(ctx, dataset, limit, only)
    else:
        from livedata.cli.rows.list import list_rows

        list_rows(ctx, dataset, limit, only)


@rows.command()
@click.argument("dataset", metavar="D", shell_complete=complete_dataset)
@click.argument("row", metavar="ROW")
@click.option("--history", is_flag=True, help="Also its changes, and how its numbers moved.")
@common_options
def show(ctx: CommandContext, dataset: str, row: str, history: bool) -> None:
    """Show a row of dataset D, by its key or id: each cell with where it was read."""
    from livedata.cli.rows.show import show_row

    show_row(ctx, dataset, row, with_history=history)


@rows.command()
@edit_options
@click.argument("edits", metavar="FIELD=VALUE...", nargs=-1, required=True)
@common_options
def edit(
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
    from livedata.cli.rows.edit import edit_row

    edit_row(ctx, dataset, row, edits, request_id, revision)


@rows.command()
@edit_options
@click.argument("fields", metavar="FIELD...", nargs=-1, required=True)
@common_options
def reset(
    ctx: CommandContext,
    dataset: str,
    row: str,
    fields: tuple[str, ...],
    request_id: str | None,
    revision: str | None,
) -> None:
    """Give cells of a row of dataset D back to the source: its latest value shows again."""
    from livedata.cli.rows.edit import reset_row

    reset_row(ctx, dataset, row, fields, request_id, revision)
