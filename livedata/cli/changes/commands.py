"""The command line of ``changes``: click alone; what it does is imported when it runs."""

from __future__ import annotations

import click

from livedata.cli.context import CommandContext, common_options


@click.command()
@click.argument("dataset", metavar="[D]", required=False)
@click.option("--after", type=click.IntRange(0), help="Only revisions after this sequence.")
@click.option("--limit", type=click.IntRange(1), help="Stop after so many revisions.")
@click.option("--follow", is_flag=True, help="Wait for more until Ctrl-C, which is exit code 0.")
@click.option("--cursor", metavar="NAME", help="Go on where the reader NAME stopped, and keep it.")
@click.option("--row", metavar="ROW", help="Only the row of this key or id.")
@click.option("--field", metavar="COLUMN", help="Only where this column changed.")
@click.option("--names", is_flag=True, help="JSON lines by row key and column name, for programs.")
@common_options
def changes(
    ctx: CommandContext,
    dataset: str | None,
    after: int | None,
    limit: int | None,
    follow: bool,
    cursor: str | None,
    row: str | None,
    field: str | None,
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
    if cursor is not None and after is not None:
        raise click.UsageError("--cursor and --after both say where to begin; give one.")
    from livedata.cli.changes.feed import Selection, print_changes

    selection = Selection(dataset, row, field, limit)
    print_changes(ctx, selection, after=after, cursor=cursor, follow=follow, by_name=names)
