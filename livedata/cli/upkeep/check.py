"""``check``: whether the store is sound."""

from __future__ import annotations

import click

from livedata.cli.context import CommandContext, store_options
from livedata.cli.output.streams import print_json, print_text
from livedata.messages.templates import plural
from livedata.services.audit import check


@click.command("check")
@store_options
def check_store(ctx: CommandContext) -> None:
    """Judge the store, and say what is wrong.

    The exit code is 1 if something is.
    """
    with ctx.keeping() as db:
        report = check.check_store(db)
    counts = {"datasets": report.datasets, "rows": report.rows, "revisions": report.revisions}
    if ctx.json:
        print_json({"sound": not report.problems, **counts, "problems": report.problems})
    elif report.problems:
        print_text("\n".join(report.problems))
    else:
        sums = [plural(count, name.removesuffix("s")) for name, count in counts.items()]
        print_text(f"The store is sound: {', '.join(sums)}.")
    # With --json too: a script in cron then needs no look into the report.
    if report.problems:
        raise click.exceptions.Exit(1)
