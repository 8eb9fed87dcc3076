"""``dataset source``: the declaration of a dataset, printed back."""

from __future__ import annotations

from livedata.cli.context import CommandContext
from livedata.cli.output.streams import print_json, print_text
from livedata.cli.source.write import write_source
from livedata.model.errors import Invalid
from livedata.services import queries


def print_source(ctx: CommandContext, name: str) -> None:
    """Print the declaration of dataset `name` as TOML or JSON.

    Raises Invalid for a source of another kind, which only JSON can show.
    """
    with ctx.reading() as db:
        dataset_id = queries.find_dataset(db, ctx.owner, name)
        declaration = queries.source(db, ctx.owner, dataset_id)
    if ctx.json:
        print_json(declaration)
    elif isinstance(declaration["source"], list):
        raise Invalid(
            f"The source of {name} is not a version-1 declaration, so it cannot be written as "
            "TOML; --json prints it as it is."
        )
    else:
        print_text(write_source(declaration))
