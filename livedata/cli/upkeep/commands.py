"""The command lines of what keeps a store in order."""

from __future__ import annotations

from pathlib import Path

import click

from livedata.cli.context import CommandContext, store_options


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@store_options
def backup(ctx: CommandContext, file: Path, force: bool) -> None:
    """Copy the whole store into one file.

    The copy is the store of one moment, also while Runs are in progress, and for you alone. It
    appears only when it is complete.
    """
    from livedata.cli.upkeep.backup import back_up

    back_up(ctx, file, force=force)


@click.command()
@store_options
def check(ctx: CommandContext) -> None:
    """Judge the store, and say what is wrong.

    The exit code is 1 if something is.
    """
    from livedata.cli.upkeep.check import check_store

    check_store(ctx)


@click.command()
@click.option("--dry-run", is_flag=True, help="Only say how much would be deleted.")
@store_options
def prune(ctx: CommandContext, dry_run: bool) -> None:
    """Delete what is old.

    Steps, failed pages, held outputs, skipped fires and the messages of notices that were sent or
    given up are deleted after 30 days, what accepted Runs noted of their pages (facts) after 90
    days, unless other Runs are compared with it. Rows, history, evidence, Runs and the ledger stay.
    `serve` and `worker` do the same every hour.
    """
    from livedata.cli.upkeep.prune import prune_store

    prune_store(ctx, dry_run=dry_run)


@click.command()
@click.option(
    "--late",
    metavar="MINUTES",
    type=click.IntRange(1, 10_000),
    default=5,
    show_default=True,
    help="After so long a schedule is late, and a Run waits too long.",
)
@click.option(
    "--ask-model",
    "asks_model",
    is_flag=True,
    help="Ask the model of research about a small page, which costs some 2,000 tokens.",
)
@store_options
def doctor(ctx: CommandContext, late: int, asks_model: bool) -> None:
    """Say how the whole is doing, and what needs you.

    One page about the store, what it gained, the processes that execute Runs, the queue and the
    schedules of all owners. With --ask-model it says too which output mode the server of the model
    understands. The exit code is 9 if something needs a person.
    """
    from livedata.cli.upkeep.doctor import report_state

    report_state(ctx, late, asks_model=asks_model)
