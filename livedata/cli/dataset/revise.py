"""``dataset revise``: the next version of a dataset's recipe."""

from __future__ import annotations

from pathlib import Path

from livedata.cli.context import CommandContext
from livedata.cli.output.streams import print_json, print_message
from livedata.cli.source.source_file import locate_problems, read_source
from livedata.model.errors import Invalid
from livedata.rules.network.targets import TargetPolicy
from livedata.services import datasets, queries


def revise_dataset(ctx: CommandContext, name: str, path: Path) -> None:
    """Pin the declaration in the file `path` as the next recipe of dataset `name`."""
    declaration = read_source(path)
    targets = TargetPolicy.parse(ctx.settings.allow_hosts)
    with ctx.writing() as store:
        dataset_id = queries.find_dataset(store, ctx.owner, name)
        try:
            dataset, version = datasets.revise(store, ctx.owner, dataset_id, declaration, targets)
        except Invalid as error:
            raise locate_problems(error, path) from error
    if ctx.json:
        print_json(dataset)
    else:
        print_message(
            f"Pinned recipe version {version}; the next Run of {dataset['name']} uses it."
        )
