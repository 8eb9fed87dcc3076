"""``credits grant``."""

from __future__ import annotations

import re

import click

from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_text
from livedata.messages.templates import plural
from livedata.model.account import MAX_CREDITS
from livedata.services import accounts


def _parse_credits(_context: click.Context, _argument: click.Parameter, value: str) -> int:
    # int() alone takes underscores, spaces and the digits of every script.
    if not re.fullmatch(r"[+-]?[0-9]{1,16}", value) or abs(int(value)) > MAX_CREDITS:
        raise click.UsageError(
            f"N must be a whole number such as 1000 or -50, at most {MAX_CREDITS}, not {value!r}."
        )
    return int(value)


# A negative number looks like an option; here it takes credits away.
@click.command("grant", context_settings={"ignore_unknown_options": True})
@click.argument("credits_", metavar="N", callback=_parse_credits)
@click.option("--note", help="Why, for the ledger.")
@common_options
def grant_credits(ctx: CommandContext, credits_: int, note: str | None) -> None:
    """Add N credits; a negative N takes some away."""
    with ctx.writing() as store:
        # Credits may come before the first dataset does.
        entry = accounts.grant(store, ctx.owner, credits_, note, first_credits=ctx.first_credits)
    if ctx.json:
        print_json(entry)
    else:
        print_text(f"{ctx.owner} has {plural(entry['balanceAfter'], 'credit')}.")
