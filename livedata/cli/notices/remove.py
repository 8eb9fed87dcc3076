"""``notice remove``."""

from __future__ import annotations

import click

from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_text
from livedata.model.ids import OwnerName
from livedata.services.notices import subscriptions
from livedata.services.notices.subscriptions import as_json
from livedata.store.database.store import Store


@click.command("remove")
@click.argument("name")
@common_options
def remove_notice(ctx: CommandContext, name: str) -> None:
    """Remove a notice, with what still waits to be delivered."""
    with ctx.writing() as store:
        answer = _as_json(store, ctx.owner, name) if ctx.json else None
        subscriptions.remove(store, ctx.owner, name)
    if answer is not None:
        print_json(answer)
    else:
        print_text(f"Removed the notice {name}.")


def _as_json(store: Store, owner: OwnerName, name: str) -> dict[str, object]:
    notice = subscriptions.find(store, owner, name)
    return as_json(notice, subscriptions.dataset_names(store, owner))
