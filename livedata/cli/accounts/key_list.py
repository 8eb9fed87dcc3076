"""``key list``: a line per key, without its secret."""

from __future__ import annotations

from livedata.cli.context import CommandContext
from livedata.cli.output.streams import print_json, print_message
from livedata.cli.output.tables import print_table
from livedata.cli.output.values import format_timestamp
from livedata.hints import Subject, hint
from livedata.model.problem import Remedy
from livedata.services import queries


def list_keys(ctx: CommandContext) -> None:
    """List the keys of everyone, or of the owner that is given."""
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
