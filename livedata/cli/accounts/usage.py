"""``usage``: the balance and the ledger of an owner."""

from __future__ import annotations

import click

from livedata.cli.context import DEFAULT_OWNER, CommandContext, common_options
from livedata.cli.output.streams import print_json, print_text
from livedata.cli.output.tables import print_record, print_table
from livedata.cli.output.values import day_as_json, day_in_words, format_timestamp
from livedata.model.account import Usage
from livedata.model.errors import NotFound
from livedata.model.research.settings import DayBudget
from livedata.services import queries
from livedata.services.research import days
from livedata.store.database.store import Database


@click.command("usage")
@common_options
def show_usage(ctx: CommandContext) -> None:
    """Show the balance and the ledger of the last 30 days."""
    usage, day = _usage(ctx)
    of_day = bool(day.tokens) or ctx.settings.research.has_day
    if ctx.json:
        print_json({**usage, "research": day_as_json(day)} if of_day else usage)
        return
    about: dict[str, str | int] = {"owner": ctx.owner, "balance": usage["balance"]}
    if of_day:
        about["research today"] = day_in_words(day)
    print_record(about)
    if usage["ledger"]:
        print_text("")
        print_table(
            ("when", "kind", "credits", "balance", "run", "note"),
            [
                (
                    format_timestamp(entry["createdAt"]),
                    entry["kind"],
                    f"{entry['credits']:+}",
                    entry["balanceAfter"],
                    entry["runId"],
                    entry["note"],
                )
                for entry in usage["ledger"]
            ],
            ids="run",
        )


def _usage(ctx: CommandContext) -> tuple[Usage, DayBudget]:
    research = ctx.settings.research
    with ctx.at_one_moment() as db:
        return _balance(ctx, db), days.of_owner(db, ctx.owner, research)


def _balance(ctx: CommandContext, db: Database) -> Usage:
    try:
        return queries.usage(db, ctx.owner)
    except NotFound:
        # Who has just installed livedata is told what there is to spend; a name that was mistyped
        # behind --owner is told that it is nobody's.
        if ctx.owner != DEFAULT_OWNER:
            raise
        return {"balance": ctx.first_credits, "ledger": []}
