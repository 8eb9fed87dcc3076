"""``key``, ``credits`` and ``usage``: keys, kept as a hash alone, and what an owner has."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click

from livedata.cli.context import (
    DEFAULT_OWNER,
    CommandContext,
    before_option,
    common_options,
    limit_option,
)
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.output.tables import print_record, print_table
from livedata.cli.output.values import day_as_json, day_in_words, format_timestamp
from livedata.hints import Subject, hint
from livedata.messages.templates import plural
from livedata.model.account import MAX_CREDITS, LedgerEntry, Usage
from livedata.model.errors import NotFound
from livedata.model.ids import Micros
from livedata.model.problem import Remedy
from livedata.services import accounts, queries
from livedata.services.research import days
from livedata.store.database.store import Database


@click.command("create")
@click.option("--label", help="What the key is for.")
@common_options
def create_key(ctx: CommandContext, label: str | None) -> None:
    """Make a key for an owner; this is the only time that it is shown."""
    with ctx.writing() as store:
        key = accounts.create_key(store, ctx.owner, label, first_credits=ctx.first_credits)
    if ctx.json:
        print_json(key)
        return
    print_record({name: key[name] for name in ("key", "id", "owner", "label")})
    # On stderr: a file to which the key is redirected has no prose in it.
    print_message("Keep the key now: only its hash is stored, and it is not shown again.")


@click.command("list")
@common_options
def list_keys(ctx: CommandContext) -> None:
    """List the keys of everyone, or of --owner, without their secrets."""
    with ctx.reading() as db:
        keys = queries.keys(db)
    if ctx.owner_given:
        keys = [key for key in keys if key["owner"] == ctx.owner]
    if ctx.json:
        print_json(keys)
        return
    if not keys:
        make = hint(Remedy("create_key"), Subject(ctx.owner))
        print_message(f"There is no key yet. {make}")
        return
    print_table(
        ("id", "owner", "label", "hash", "created", "last used", "revoked"),
        [
            (
                key["id"],
                key["owner"],
                key["label"],
                key["hashPrefix"],
                format_timestamp(key["createdAt"]),
                format_timestamp(key["lastUsedAt"]),
                format_timestamp(key["revokedAt"]),
            )
            for key in keys
        ],
        ids="id",
    )


@click.command("revoke")
@click.argument("key_id", metavar="ID")
@common_options
def revoke_key(ctx: CommandContext, key_id: str) -> None:
    """End a key at once, named by its id or the beginning or end of it."""
    with ctx.writing() as store:
        # With --owner a mistyped id cannot end the key of somebody else.
        revoked = accounts.revoke_key(store, key_id, ctx.owner if ctx.owner_given else None)
        key = next(key for key in queries.keys(store) if key["id"] == revoked)
    if ctx.json:
        print_json(key)
    else:
        print_text(f"Key {revoked} of {key['owner']} is revoked.")


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


@click.command("usage")
@limit_option(1_000, 1_000, "entries")
@before_option("Only entries before this moment.")
@common_options
def show_usage(ctx: CommandContext, limit: int, before: Micros | None) -> None:
    """Show the balance and the ledger of the last 30 days."""
    with ctx.at_one_moment() as db:
        usage, more = _usage(ctx, db, limit, before)
        day = days.of_owner(db, ctx.owner, ctx.settings.research)
    of_day = bool(day.tokens) or ctx.settings.research.has_day
    if more:
        last = usage["ledger"][-1]["createdAt"]
        print_message(f"There are earlier entries; --before {last} shows them.")
    if ctx.json:
        print_json({**usage, "research": day_as_json(day)} if of_day else usage)
        return
    about: dict[str, str | int] = {"owner": ctx.owner, "balance": usage["balance"]}
    if of_day:
        about["research today"] = day_in_words(day)
    print_record(about)
    if usage["ledger"]:
        print_text("")
        _print_ledger(usage["ledger"])


def _print_ledger(ledger: Sequence[LedgerEntry]) -> None:
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
            for entry in ledger
        ],
        ids="run",
    )


def _usage(
    ctx: CommandContext, db: Database, limit: int, before: Micros | None
) -> tuple[Usage, bool]:
    try:
        return queries.usage_page(db, ctx.owner, limit, None if before is None else (before, ""))
    except NotFound:
        # Who has just installed livedata is told what there is to spend; a name that was mistyped
        # behind --owner is told that it is nobody's.
        if ctx.owner != DEFAULT_OWNER:
            raise
        return {"balance": ctx.first_credits, "ledger": []}, False
