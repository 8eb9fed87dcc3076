"""The command lines of ``key``, ``credits`` and ``usage``: click alone."""

from __future__ import annotations

import re

import click

from livedata.cli.context import CommandContext, common_options
from livedata.model.account import MAX_CREDITS


def _parse_credits(_context: click.Context, _argument: click.Parameter, value: str) -> int:
    # int() alone takes underscores, spaces and the digits of every script.
    if not re.fullmatch(r"[+-]?[0-9]{1,16}", value) or abs(int(value)) > MAX_CREDITS:
        raise click.UsageError(
            f"N must be a whole number such as 1000 or -50, at most {MAX_CREDITS}, not {value!r}."
        )
    return int(value)


@click.group()
def key() -> None:
    """Create, list and revoke API keys."""


@key.command()
@click.option("--label", help="What the key is for.")
@common_options
def create(ctx: CommandContext, label: str | None) -> None:
    """Make a key for an owner; this is the only time that it is shown."""
    from livedata.cli.accounts.keys import create_key

    create_key(ctx, label)


@key.command("list")
@common_options
def list_(ctx: CommandContext) -> None:
    """List the keys of everyone, or of --owner, without their secrets."""
    from livedata.cli.accounts.key_list import list_keys

    list_keys(ctx)


@key.command()
@click.argument("key_id", metavar="ID")
@common_options
def revoke(ctx: CommandContext, key_id: str) -> None:
    """End a key at once, named by its id or the beginning or end of it."""
    from livedata.cli.accounts.keys import revoke_key

    revoke_key(ctx, key_id)


@click.group("credits")
def credits_() -> None:
    """Grant credits."""


# A negative number looks like an option; here it takes credits away.
@credits_.command("grant", context_settings={"ignore_unknown_options": True})
@click.argument("credits_", metavar="N", callback=_parse_credits)
@click.option("--note", help="Why, for the ledger.")
@common_options
def grant(ctx: CommandContext, credits_: int, note: str | None) -> None:
    """Add N credits; a negative N takes some away."""
    from livedata.cli.accounts.credits import grant_credits

    grant_credits(ctx, credits_, note)


@click.command()
@common_options
def usage(ctx: CommandContext) -> None:
    """Show the balance and the ledger of the last 30 days."""
    from livedata.cli.accounts.usage import show_usage

    show_usage(ctx)
