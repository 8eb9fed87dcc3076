"""``dataset source``: the declaration of a dataset, printed back."""

from __future__ import annotations

from livedata.cli.context import CommandContext
from livedata.cli.output.streams import print_json, print_text
from livedata.cli.source.write import write_source
from livedata.services import queries


def print_source(ctx: CommandContext, name: str) -> None:
    """Print the declaration of dataset `name` as TOML or JSON."""
    with ctx.reading() as db:
        dataset_id = queries.find_dataset(db, ctx.owner, name)
        declaration = queries.source(db, ctx.owner, dataset_id)
    if ctx.json:
        print_json(declaration)
    else:
        print_text(write_source(declaration))
