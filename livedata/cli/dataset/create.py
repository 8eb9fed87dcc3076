"""``dataset create``: a declaration becomes a dataset."""

from __future__ import annotations

from pathlib import Path

import click

from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.output.tables import print_record
from livedata.cli.source.source_file import locate_problems, read_source, refuse_not_ready
from livedata.cli.warnings import warn_if_low
from livedata.hints import Subject
from livedata.model.errors import Invalid
from livedata.model.ids import DatasetId, raw_id
from livedata.rules.declaration.consistency import check_name
from livedata.services import datasets


@click.command("create")
@click.argument("source", type=click.Path(path_type=Path))
@common_options
def create_dataset(ctx: CommandContext, source: Path) -> None:
    """Create a dataset from the declaration in SOURCE, a .toml or .json file."""
    declaration = read_source(source)
    refuse_not_ready(source)
    targets = ctx.settings.targets
    with ctx.writing() as store:
        try:
            check_name(declaration.name)
            dataset = datasets.create(
                store, ctx.owner, declaration, targets, first_credits=ctx.first_credits
            )
        except Invalid as error:
            # The rules judge a declaration from anywhere; only here it has a file with lines.
            raise locate_problems(error, source) from None
        if ctx.json:
            print_json(dataset)
        else:
            columns = ", ".join(column["name"] for column in dataset["columns"])
            key = ", ".join(column["name"] for column in dataset["columns"] if column["key"])
            print_record(
                {"name": dataset["name"], "id": dataset["id"], "key": key, "columns": columns}
            )
            print_message(
                "Made a draft with version 1 of its recipe, which is its [source]. Its first Run:"
            )
            print_text(Subject(ctx.owner).command("run", dataset["name"]))
        # The dataset is there in any case; credits matter for its first Run.
        warn_if_low(store, ctx.owner, DatasetId(raw_id(dataset["id"])))
