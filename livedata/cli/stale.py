"""``rows list --stale``: hand edits whose source has moved since."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from livedata.cli.output import EMPTY, say, shown, table, write_json

if TYPE_CHECKING:
    from livedata.cli.context import Asked


def list_stale(asked: Asked, dataset: str, limit: int, *, filtered: bool) -> None:
    """Print the first `limit` of them, by row key; a filter of rows makes no sense with them."""
    if filtered:
        raise click.UsageError("--stale lists hand edits: --status and --since do not apply.")
    from livedata.services import queries
    from livedata.services.overrides import stale

    with asked.reading() as db:
        found = queries.find_dataset(db, asked.owner, dataset)
        every = stale(db, asked.owner, found)
    listed = every[:limit]
    if asked.json:
        write_json(listed)
    elif listed:
        headings = ("row", "column", "edited", "source then", "source now", "agrees", "since run")
        lines = [
            (
                one["rowKey"],
                one["column"],
                *(shown(one[name]) or EMPTY for name in ("value", "sourceThen", "sourceNow")),
                "yes" if one["agrees"] else "no",
                one["sinceRunId"],
            )
            for one in listed
        ]
        table(headings, lines, ids="since run")
    else:
        say("No cell that was edited by hand has another source value than at its edit.")
    if len(every) > limit:
        say(f"There are {len(every)}; --limit shows more.")
