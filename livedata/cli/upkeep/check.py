"""``check``: whether the store is sound."""

from __future__ import annotations

import click

from livedata.cli.context import CommandContext
from livedata.cli.output.streams import print_json, print_text
from livedata.messages.templates import plural
from livedata.services.audit import check


def check_store(ctx: CommandContext) -> None:
    """Print what is wrong with the store, and exit with 1 if anything is."""
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
