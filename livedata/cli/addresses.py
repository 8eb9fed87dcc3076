"""``share`` and ``feed``: addresses at which tables and their changes are read without a key."""

from __future__ import annotations

import click

from livedata.cli.column_input import parse_names
from livedata.cli.completion import complete_dataset
from livedata.cli.context import (
    LOCAL_BASE,
    CommandContext,
    base_option,
    common_options,
    where_option,
)
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.output.tables import print_table
from livedata.cli.output.values import format_timestamp
from livedata.formats.forms import CHANGE_FORMS, SERVED_FORMS
from livedata.hints import Subject
from livedata.messages.templates import joined
from livedata.services import queries, shares
from livedata.services.notices import feeds

_ADD = f"""Print a new address of the table of dataset D, for spreadsheets and programs.

Whoever knows the address reads this table there, without a key, and nothing else: what is
shared of it, with its history. `livedata serve` answers it. This is the only time that the
address is shown.

\b
=IMPORTDATA("ADDRESS")     in Google Sheets
Data > From Web            in Excel
pandas.read_csv(ADDRESS)   in Python

Its end says the form: {joined([f".{form.name}" for form in SERVED_FORMS])} for the rows,
{joined([f".{name}" for name in CHANGE_FORMS])} for the history.
"""


@click.command("add", help=_ADD)
@click.argument("name", metavar="D", shell_complete=complete_dataset)
@click.option(
    "--columns",
    metavar="A,B",
    callback=parse_names,
    help="Only these columns, without rowKey, status and presence.",
)
@where_option("Only rows of which this holds, such as 'price < 20'; may be repeated: all hold.")
@click.option("--label", metavar="TEXT", help="Whom or what the address is for.")
@base_option
@common_options
def add_share(
    ctx: CommandContext,
    name: str,
    columns: tuple[str, ...],
    where: tuple[str, ...],
    label: str | None,
    base: str | None,
) -> None:
    """Print a new address of a table."""
    reached_at = base or ctx.settings.public_url
    with ctx.writing() as store:
        dataset = queries.find_dataset(store, ctx.owner, name)
        share, token = shares.add(store, ctx.owner, dataset, columns, where, label)
    address = shares.address(reached_at or LOCAL_BASE, token, share["dataset"])
    if ctx.json:
        print_json({**share, "address": address})
        return
    print_text(address)
    revoke = Subject(ctx.owner).command("share revoke", share["id"])
    # On stderr: a file to which the address is redirected has no prose in it.
    print_message(f"Keep the address now: it is not shown again. To end it: {revoke}")
    if not reached_at:
        print_message(
            "Only this machine reaches it, while `livedata serve` answers there. --base or "
            "LIVEDATA_PUBLIC_URL says where others reach it, or on which port."
        )


@click.command("list")
@click.argument("name", metavar="[D]", required=False, shell_complete=complete_dataset)
@common_options
def list_shares(ctx: CommandContext, name: str | None) -> None:
    """List the addresses of tables, or of dataset D, without what opens them."""
    with ctx.reading() as db:
        dataset = None if name is None else queries.find_dataset(db, ctx.owner, name)
        listed = shares.list_shares(db, ctx.owner, dataset)
    if ctx.json:
        print_json(listed)
    elif listed:
        print_table(
            ("id", "dataset", "label", "columns", "where", "created", "state"),
            [
                (
                    share["id"],
                    share["dataset"],
                    share["label"],
                    "all" if share["columns"] is None else ", ".join(share["columns"]),
                    ", ".join(share["where"]),
                    format_timestamp(share["createdAt"]),
                    "revoked" if share["revoked"] else "open",
                )
                for share in listed
            ],
            ids="id",
        )
    else:
        command = Subject(ctx.owner).command("share add", name or "D")
        print_message(f"No table is shared yet. Share one: {command}")


@click.command("revoke")
@click.argument("share", metavar="ID")
@common_options
def revoke_share(ctx: CommandContext, share: str) -> None:
    """End an address of a table at once.

    ID is its id, the beginning or end of that, or the address itself.
    """
    with ctx.writing() as store:
        revoked = shares.revoke(store, ctx.owner, share)
    if ctx.json:
        print_json(revoked)
    else:
        print_text(f"The address {revoked['id']} of {revoked['dataset']} is revoked.")


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
