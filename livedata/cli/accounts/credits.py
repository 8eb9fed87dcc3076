"""``credits grant``."""

from __future__ import annotations

from livedata.cli.context import CommandContext
from livedata.cli.output.streams import print_json, print_text
from livedata.messages.templates import plural
from livedata.services import accounts


def grant_credits(ctx: CommandContext, amount: int, note: str | None) -> None:
    """Add `amount` credits, and print how many there are."""
    with ctx.writing() as store:
        # Credits may come before the first dataset does.
        entry = accounts.grant(store, ctx.owner, amount, note, first_credits=ctx.first_credits)
    if ctx.json:
        print_json(entry)
    else:
        print_text(f"{ctx.owner} has {plural(entry['balanceAfter'], 'credit')}.")
