"""``feed``: the address of a feed."""

from __future__ import annotations

from livedata.cli.context import CommandContext
from livedata.cli.output.streams import print_json, print_text
from livedata.services import queries
from livedata.services.notices import feeds

BASE = "http://127.0.0.1:8000"
"""Where `livedata serve` answers if nobody says otherwise."""


def print_feed(ctx: CommandContext, name: str, base: str | None) -> None:
    """Print the addresses of a dataset's feed, which is made if there is none."""
    base = base or ctx.settings.public_url or BASE
    with ctx.writing() as store:
        dataset = queries.find_dataset(store, ctx.owner, name)
        token = feeds.open_feed(store, ctx.owner, dataset)
    addresses = feeds.addresses(base, dataset, token)
    if ctx.json:
        print_json(addresses)
    else:
        print_text("\n".join(addresses.values()))


def revoke_feed(ctx: CommandContext, name: str) -> None:
    """End the address of a dataset's feed."""
    with ctx.writing() as store:
        dataset = queries.find_dataset(store, ctx.owner, name)
        revoked = feeds.revoke(store, ctx.owner, dataset)
    if ctx.json:
        print_json({"revoked": revoked})
    else:
        print_text("The address is ended." if revoked else "There was no address.")
