"""``usage``: the balance and the ledger of an owner."""

from __future__ import annotations

from livedata.cli.context import CommandContext
from livedata.cli.output.streams import print_json, print_text
from livedata.cli.output.tables import print_record, print_table
from livedata.cli.output.values import format_timestamp
from livedata.model.account import Usage
from livedata.services import queries


def show_usage(ctx: CommandContext) -> None:
    """Print the balance and the ledger; an owner that is new starts here."""
    usage = _usage(ctx)
    if ctx.json:
        print_json(usage)
        return
    print_record({"owner": ctx.owner, "balance": usage["balance"]})
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


def _usage(ctx: CommandContext) -> Usage:
    with ctx.reading() as db:
        usage = queries.usage(db, ctx.owner)
    if usage["ledger"] or usage["balance"]:
        return usage
    # Only who has nothing at all may be new, and pays for opening the store to write.
    with ctx.writing() as store:
        ctx.ensure_owner(store)
        return queries.usage(store, ctx.owner)
