"""``feed``: the address of a feed."""

from __future__ import annotations

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import LOCAL_BASE, CommandContext, base_option, common_options
from livedata.cli.output.streams import print_json, print_text
from livedata.services import queries
from livedata.services.notices import feeds


@click.command()
@click.argument("dataset", metavar="D", shell_complete=complete_dataset)
@click.option("--revoke", is_flag=True, help="End the address; the next call makes another.")
@base_option
@common_options
def feed(ctx: CommandContext, dataset: str, revoke: bool, base: str | None) -> None:
    """Print the address of a feed of a dataset's changes.

    Whoever knows the address can read the feed, without a key. `livedata serve` answers it.
    """

    if revoke:
        _revoke_feed(ctx, dataset)
    else:
        _print_feed(ctx, dataset, base)


def _print_feed(ctx: CommandContext, name: str, base: str | None) -> None:
    """Print the addresses of a dataset's feed, which is made if there is none."""
    base = base or ctx.settings.public_url or LOCAL_BASE
    with ctx.writing() as store:
        dataset = queries.find_dataset(store, ctx.owner, name)
        token = feeds.open_feed(store, ctx.owner, dataset)
    addresses = feeds.addresses(base, dataset, token)
    if ctx.json:
        print_json(addresses)
    else:
        print_text("\n".join(addresses.values()))


def _revoke_feed(ctx: CommandContext, name: str) -> None:
    """End the address of a dataset's feed."""
    with ctx.writing() as store:
        dataset = queries.find_dataset(store, ctx.owner, name)
        revoked = feeds.revoke(store, ctx.owner, dataset)
    if ctx.json:
        print_json({"revoked": revoked})
    else:
        print_text("The address is ended." if revoked else "There was no address.")
