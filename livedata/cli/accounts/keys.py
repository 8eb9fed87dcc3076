"""``key``: API keys, of which only a hash is stored."""

from __future__ import annotations

import click

from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.output.tables import print_record, print_table
from livedata.cli.output.values import format_timestamp
from livedata.hints import Subject, hint
from livedata.model.problem import Remedy
from livedata.services import accounts, queries


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
