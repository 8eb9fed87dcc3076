"""``runs accept`` and ``cancel``: what a person decides of a Run."""

from __future__ import annotations

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_text
from livedata.cli.runs.list import format_deltas
from livedata.messages.templates import plural
from livedata.services import interruptions, queries, runs
from livedata.worker.delivery.courier import Courier


@click.command("accept")
@click.argument("run", metavar="R", shell_complete=complete_dataset)
@common_options
def accept_run(ctx: CommandContext, run: str) -> None:
    """Accept the output of held Run R as it stands; it is charged as any accepted Run."""
    with ctx.writing() as store:
        run_id = queries.find_run(store, ctx.owner, run)
        runs.accept(store, ctx.owner, run_id)
        report = queries.run_report(store, ctx.owner, run_id)
        if ctx.json:
            print_json(report.run)
        else:
            cost = plural(report.charged, "credit")
            print_text(f"{report.name}: accepted, {format_deltas(report.run)}, {cost}.")
        # A machine whose cron starts `run` may have no other process that delivers.
        Courier.of(store, ctx.settings).deliver_soon()


@click.command("cancel")
@click.argument("run", metavar="R", shell_complete=complete_dataset)
@common_options
def cancel_run(ctx: CommandContext, run: str) -> None:
    """Cancel Run R, or the open Run of dataset R, wherever it is executed: nothing is written."""
    with ctx.writing() as store:
        run_id = queries.find_run(store, ctx.owner, run)
        ended = interruptions.cancel(store, ctx.owner, run_id)
        report = queries.run_report(store, ctx.owner, run_id)
    if ctx.json:
        print_json(report.run)
    elif ended:
        print_text(f"{report.name}: cancelled.")
    else:
        print_text(
            f"{report.name}: to be cancelled. The process that executes the Run asks the site "
            "nothing more, and ends it in seconds."
        )
