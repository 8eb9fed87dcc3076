"""``usage``: the balance and the ledger of an owner."""

from __future__ import annotations

from livedata.cli.context import DEFAULT_OWNER, CommandContext
from livedata.cli.output.streams import print_json, print_text
from livedata.cli.output.tables import print_record, print_table
from livedata.cli.output.values import format_timestamp
from livedata.model.account import Usage
from livedata.model.errors import NotFound
from livedata.services import queries


def show_usage(ctx: CommandContext) -> None:
    """Print the balance and the ledger of the owner."""
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
    try:
        with ctx.reading() as db:
            return queries.usage(db, ctx.owner)
    except NotFound:
        # Who has just installed livedata is told what there is to spend; a name that was mistyped
        # behind --owner is told that it is nobody's.
        if ctx.owner != DEFAULT_OWNER:
            raise
        return {"balance": ctx.first_credits, "ledger": []}
