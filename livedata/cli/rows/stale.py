"""``rows list --stale``: hand edits whose source has moved since."""

from __future__ import annotations

from livedata.cli.context import CommandContext
from livedata.cli.output.streams import print_json, print_message
from livedata.cli.output.tables import print_table
from livedata.cli.output.values import EMPTY, format_value
from livedata.services import queries
from livedata.services.overrides import stale


def list_stale_edits(ctx: CommandContext, name: str, limit: int) -> None:
    """List the first `limit` stale edits of dataset `name`, by row key."""
    with ctx.at_one_moment() as db:
        dataset_id = queries.find_dataset(db, ctx.owner, name)
        # All of them, not up to the limit: the last line says how many there are.
        edits = stale(db, ctx.owner, dataset_id)
    if ctx.json:
        print_json(edits[:limit])
    elif edits:
        headings = ("row", "column", "edited", "source then", "source now", "agrees", "since run")
        lines = [
            (
                edit["rowKey"],
                edit["column"],
                *(format_value(edit[key]) or EMPTY for key in ("value", "sourceThen", "sourceNow")),
                "yes" if edit["agrees"] else "no",
                edit["sinceRunId"],
            )
            for edit in edits[:limit]
        ]
        print_table(headings, lines, ids="since run")
    else:
        print_message("No cell that was edited by hand has another source value than at its edit.")
    if len(edits) > limit:
        print_message(f"There are {len(edits)}; --limit shows more.")
