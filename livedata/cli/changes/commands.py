"""The command line of ``changes``: click alone; what it does is imported when it runs."""

from __future__ import annotations

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options, since_option
from livedata.model.ids import Micros

KINDS = ("created", "updated", "missing", "returned", "baseline")


@click.command()
@click.argument("dataset", metavar="[D]", shell_complete=complete_dataset, required=False)
@click.option("--after", type=click.IntRange(0), help="Only revisions after this sequence.")
@since_option("Only revisions of then or later, such as 2026-01-31T08:00:00Z.")
@click.option("--limit", type=click.IntRange(1), help="Stop after so many revisions.")
@click.option("--follow", is_flag=True, help="Wait for more until Ctrl-C, which is exit code 0.")
@click.option("--cursor", metavar="NAME", help="Go on where the reader NAME stopped, and keep it.")
@click.option("--row", metavar="ROW", help="Only the row of this key or id.")
@click.option("--field", metavar="COLUMN", help="Only where this column changed.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only these kinds.")
@click.option("--names", is_flag=True, help="JSON lines by row key and column name, for programs.")
@common_options
def changes(
    ctx: CommandContext,
    dataset: str | None,
    after: int | None,
    since: Micros | None,
    limit: int | None,
    follow: bool,
    cursor: str | None,
    row: str | None,
    field: str | None,
    kinds: tuple[str, ...],
    names: bool,
) -> None:
    """Print the history of a dataset, or follow it.

    There is a line per revision; with one dataset D may be left out. Without --limit everything
    is printed. A named cursor is kept in the store after the lines before it were flushed, so a
    reader that is killed sees each revision at least once. --json has the revisions as the API has
    them, with ids; --names has sequence, kind, row, at and changed.
    """
    if names and ctx.json:
        raise click.UsageError("--names and --json are two forms of the same lines; give one.")
    beginnings = {"--cursor": cursor, "--after": after, "--since": since}
    given = [name for name, value in beginnings.items() if value is not None]
    if len(given) > 1:
        raise click.UsageError(f"{given[0]} and {given[1]} both say where to begin; give one.")
    from livedata.cli.changes.feed import Selection, print_changes

    selection = Selection(dataset, row, field, kinds, limit)
    print_changes(
        ctx, selection, after=after, since=since, cursor=cursor, follow=follow, by_name=names
    )
