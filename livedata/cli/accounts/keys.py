"""``key create`` and ``key revoke``."""

from __future__ import annotations

from livedata.cli.context import CommandContext
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.output.tables import print_record
from livedata.services import accounts, queries


def create_key(ctx: CommandContext, label: str | None) -> None:
    """Make a key, and print it with its secret."""
    with ctx.writing() as store:
        key = accounts.create_key(store, ctx.owner, label, first_credits=ctx.first_credits)
    if ctx.json:
        print_json(key)
        return
    print_record({name: key[name] for name in ("key", "id", "owner", "label")})
    # On stderr: a file to which the key is redirected has no prose in it.
    print_message("Keep the key now: only its hash is stored, and it is not shown again.")


def revoke_key(ctx: CommandContext, key_id: str) -> None:
    """Revoke the key that `key_id` names; a given owner must be its owner."""
    with ctx.writing() as store:
        # With --owner a mistyped id cannot end the key of somebody else.
        revoked = accounts.revoke_key(store, key_id, ctx.owner if ctx.owner_given else None)
        key = next(key for key in queries.keys(store) if key["id"] == revoked)
    if ctx.json:
        print_json(key)
    else:
        print_text(f"Key {revoked} of {key['owner']} is revoked.")
