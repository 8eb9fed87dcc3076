"""``dataset revise``: the next version of a dataset's recipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_message
from livedata.cli.source.source_file import (
    locate_problems,
    read_declaration,
    read_source,
    refuse_not_ready,
)
from livedata.model.dataset import Dataset
from livedata.model.errors import Invalid
from livedata.model.ids import DatasetId
from livedata.model.recipe import Kind, run_kind
from livedata.model.research.declaration import PlanFile
from livedata.rules.declaration.research import check_plan_file
from livedata.services import datasets, queries
from livedata.services.research import declaring
from livedata.store.database.store import Store


@click.command("revise")
@click.argument("name", metavar="D", shell_complete=complete_dataset)
@click.argument("path", metavar="SOURCE", type=click.Path(path_type=Path))
@common_options
def revise_dataset(ctx: CommandContext, name: str, path: Path) -> None:
    """Give dataset D a new recipe: a dead selector is mended, rows and history stay.

    SOURCE has the same collected columns and identity; livedata dataset source D prints what there
    is now. Of a research dataset it is the plan: query, texts, addresses and limits may change.
    """
    with ctx.writing() as store:
        dataset_id = queries.find_dataset(store, ctx.owner, name)
        pinned = queries.source(store, ctx.owner, dataset_id)["source"]
        dataset, version = _REVISES[run_kind(pinned)](ctx, store, dataset_id, path)
    if ctx.json:
        print_json(dataset)
    elif version is None:
        print_message(
            f"Nothing to revise: {path} says what the recipe of {dataset['name']} says already."
        )
    else:
        print_message(
            f"Pinned recipe version {version}; the next Run of {dataset['name']} uses it."
        )


def _revise_source(
    ctx: CommandContext, store: Store, dataset_id: DatasetId, path: Path
) -> tuple[Dataset, int | None]:
    declaration = read_source(path)
    refuse_not_ready(path)
    targets = ctx.settings.targets
    with _located(path):
        return datasets.revise(store, ctx.owner, dataset_id, declaration, targets)


def _revise_plan(
    ctx: CommandContext, store: Store, dataset_id: DatasetId, path: Path
) -> tuple[Dataset, int | None]:
    declaration = read_declaration(PlanFile, path)
    targets = ctx.settings.targets
    with _located(path):
        check_plan_file(declaration, ctx.settings.research, targets)
        return declaring.revise(store, ctx.owner, dataset_id, declaration)


_REVISES: Mapping[
    Kind, Callable[[CommandContext, Store, DatasetId, Path], tuple[Dataset, int | None]]
] = {
    "selectors": _revise_source,
    "research": _revise_plan,
}
"""What reads the file of each kind of declaration, and pins it."""


@contextmanager
def _located(path: Path) -> Iterator[None]:
    """Put file and line to what a rule refuses."""
    try:
        yield
    except Invalid as error:
        raise locate_problems(error, path) from error
