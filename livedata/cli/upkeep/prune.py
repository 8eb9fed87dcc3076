"""``prune``: what is old is let go of."""

from __future__ import annotations

import click

from livedata.cli.context import CommandContext, store_options
from livedata.cli.output.streams import print_json, print_message
from livedata.cli.output.tables import print_record
from livedata.services import retention

NAMES = {
    "steps": "steps",
    "failedPages": "failed pages",
    "heldOutputs": "held outputs",
    "facts": "facts",
    "skippedFires": "skipped fires",
    "messages": "messages",
    "artifacts": "artifacts",
    "research": "research",
}
"""Kind -> how a person is told of it, in this order."""


@click.command("prune")
@click.option("--dry-run", is_flag=True, help="Only say how much would be deleted.")
@store_options
def prune_store(ctx: CommandContext, dry_run: bool) -> None:
    """Delete what is old.

    Steps, failed pages, held outputs, skipped fires and the messages of notices that were sent or
    given up are deleted after 30 days, what accepted Runs noted of their pages (facts) after 90
    days, unless other Runs are compared with it. Rows, history, evidence, Runs and the ledger stay.
    `serve` and `worker` do the same every hour.
    """
    with ctx.keeping() as store:
        counts = retention.count_old(store) if dry_run else retention.forget_old(store)
    if ctx.json:
        print_json({"dryRun": dry_run, **{kind: counts.get(kind, 0) for kind in NAMES}})
        return
    print_record({name: counts.get(kind, 0) for kind, name in NAMES.items()})
    if dry_run:
        print_message("Nothing has gone: --dry-run only counts.")
