"""The commands of ``key``: what opens the API."""

from __future__ import annotations

import click

from livedata.cli.context import Asked, shared
from livedata.cli.output import record, say, table, when, write, write_json


@click.group()
def key() -> None:
    """Create, list and revoke API keys."""


@key.command()
@click.option("--label", help="What the key is for.")
@shared
def create(asked: Asked, label: str | None) -> None:
    """Make a key for an owner; this is the only time that it is shown."""
    from livedata.services import accounts

    with asked.writing() as store:
        asked.meet(store)
        made = accounts.create_key(store, asked.owner, label)
    if asked.json:
        write_json(made)
        return
    record({"key": made["key"], "id": made["id"], "owner": made["owner"], "label": made["label"]})
    say("Keep the key now: only its hash is stored, and it is not shown again.")


@key.command("list")
@shared
def list_(asked: Asked) -> None:
    """List the keys of everyone, or of --owner, without their secrets."""
    from livedata.services import queries

    with asked.reading() as db:
        keys = [
            one for one in queries.keys(db) if not asked.owner_given or one["owner"] == asked.owner
        ]
    if asked.json:
        write_json(keys)
        return
    if not keys:
        say("There is no key yet; livedata key create makes one.")
        return
    table(
        ("id", "owner", "label", "hash", "created", "last used", "revoked"),
        [
            (
                one["id"],
                one["owner"],
                one["label"],
                one["hashPrefix"],
                when(one["createdAt"]),
                when(one["lastUsedAt"]),
                when(one["revokedAt"]),
            )
            for one in keys
        ],
        ids="id",
    )


@key.command()
@click.argument("key_id", metavar="ID")
@shared
def revoke(asked: Asked, key_id: str) -> None:
    """End a key at once, named by its id or the beginning or end of it."""
    from livedata.services import accounts, queries

    with asked.writing() as store:
        ended = accounts.revoke_key(store, key_id, asked.owner if asked.owner_given else None)
        found = next(one for one in queries.keys(store) if one["id"] == ended)
    if asked.json:
        write_json(found)
    else:
        write(f"Key {ended} of {found['owner']} is revoked.")
