"""``feed``: the address of a feed."""

from __future__ import annotations

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_text
from livedata.services import queries
from livedata.services.notices import feeds

BASE = "http://127.0.0.1:8000"
"""Where `livedata serve` answers if nobody says otherwise."""


def _base(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    from livedata.config import is_base

    base = value and value.rstrip("/")
    if base and not is_base(base):
        raise click.BadParameter(
            f"{value!r} is no address, or has a user, a query or a fragment; give one such as "
            "https://data.example.org"
        )
    return base


@click.command()
@click.argument("dataset", metavar="D", shell_complete=complete_dataset)
@click.option("--revoke", is_flag=True, help="End the address; the next call makes another.")
@click.option(
    "--base",
    metavar="URL",
    callback=_base,
    help="Where readers reach `livedata serve`.  [default: LIVEDATA_PUBLIC_URL, else "
    "http://127.0.0.1:8000]",
)
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
    base = base or ctx.settings.public_url or BASE
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
