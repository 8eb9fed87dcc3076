"""``notice remove``."""

from __future__ import annotations

from livedata.cli.context import CommandContext
from livedata.cli.notices.list import as_json
from livedata.cli.output.streams import print_json, print_text
from livedata.services.notices import wishes


def remove_notice(ctx: CommandContext, name: str) -> None:
    """Remove a notice; the answer is the notice as it was."""
    with ctx.writing() as store:
        notice = wishes.find(store, ctx.owner, name)
        _, names = wishes.listed(store, ctx.owner)
        wishes.remove(store, ctx.owner, name)
    if ctx.json:
        print_json(as_json(notice, names))
    else:
        print_text(f"Removed the notice {name}.")
