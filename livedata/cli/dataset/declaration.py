"""``dataset create``, ``source`` and ``revise``: what a dataset is declared with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.output.tables import print_record
from livedata.cli.source.source_file import (
    locate_problems,
    read_declaration,
    read_source,
    refuse_not_ready,
    tell_unapplied,
)
from livedata.cli.warnings import warn_if_low
from livedata.formats.source_toml import SCHEMA_LINE, declared_plan, write_declaration
from livedata.hints import Subject
from livedata.model.dataset import Dataset
from livedata.model.errors import Invalid
from livedata.model.ids import DatasetId, raw_id
from livedata.model.recipe import Kind, run_kind
from livedata.model.research.declaration import PlanFile
from livedata.rules.declaration.consistency import check_name
from livedata.rules.declaration.research import check_plan_file
from livedata.services import datasets, queries
from livedata.services.research import declaring
from livedata.store.database.store import Store


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
        tell_unapplied(ctx.owner, declaration, source)
        # The dataset is there in any case; credits matter for its first Run.
        warn_if_low(store, ctx.owner, DatasetId(raw_id(dataset["id"])))


@click.command("source")
@click.argument("name", metavar="D", shell_complete=complete_dataset)
@common_options
def print_source(ctx: CommandContext, name: str) -> None:
    """Print what dataset D was declared with, as TOML that create reads back."""
    with ctx.at_one_moment() as db:
        dataset_id = queries.find_dataset(db, ctx.owner, name)
        declaration = queries.source(db, ctx.owner, dataset_id)
    if ctx.json:
        print_json(_AS_JSON[run_kind(declaration["source"])](name, declaration))
    else:
        print_text(_HEADS[run_kind(declaration["source"])] + write_declaration(name, declaration))


def _plan(name: str, declaration: dict[str, Any]) -> dict[str, Any]:
    recipe = declaration["source"]
    return {**declared_plan(name, declaration), "urls": recipe["urls"], **recipe["limits"]}


_AS_JSON: Final[Mapping[Kind, Callable[[str, dict[str, Any]], dict[str, Any]]]] = {
    "selectors": lambda _, declaration: declaration,
    "research": _plan,
}
"""What each kind of declaration is as JSON."""
_HEADS: Final[Mapping[Kind, str]] = {"selectors": SCHEMA_LINE, "research": ""}
"""What stands on top of each kind of declaration in a file."""


_Revised = tuple[Dataset, int | None, Sequence[str]]
"""A dataset, the version of its recipe if that is new, and what changes."""


@click.command("revise")
@click.argument("name", metavar="D", shell_complete=complete_dataset)
@click.argument("path", metavar="SOURCE", type=click.Path(path_type=Path))
@common_options
def revise_dataset(ctx: CommandContext, name: str, path: Path) -> None:
    """Read dataset D by SOURCE from now on; columns may come and go, history stays.

    Columns keep their names and types, and the identity stays; livedata dataset source D prints
    what there is now. A new column is filled by the next Run, a dropped one
    stays in the history. Of a research dataset SOURCE is the plan: query, texts, addresses and
    limits may change.
    """
    with ctx.writing() as store:
        dataset_id = queries.find_dataset(store, ctx.owner, name)
        pinned = queries.source(store, ctx.owner, dataset_id)["source"]
        dataset, version, sentences = _REVISES[run_kind(pinned)](ctx, store, dataset_id, path)
    if ctx.json:
        print_json(dataset)
    elif not sentences and version is None:
        print_message(
            f"Nothing to revise: {path} says what the recipe of {dataset['name']} says already."
        )
    else:
        for sentence in sentences:
            print_text(sentence)
        print_message(_pinned(dataset, version))


def _pinned(dataset: Dataset, version: int | None) -> str:
    if version is None:
        return f"{dataset['name']} has schema version {dataset['schemaVersion']}."
    return f"Pinned recipe version {version}; the next Run of {dataset['name']} uses it."


def _revise_source(
    ctx: CommandContext, store: Store, dataset_id: DatasetId, path: Path
) -> _Revised:
    declaration = read_source(path)
    refuse_not_ready(path)
    targets = ctx.settings.targets
    with _located(path):
        revised = datasets.revise(store, ctx.owner, dataset_id, declaration, targets)
    tell_unapplied(ctx.owner, declaration, path)
    return revised.dataset, revised.version, revised.revision.sentences


def _revise_plan(ctx: CommandContext, store: Store, dataset_id: DatasetId, path: Path) -> _Revised:
    declaration = read_declaration(PlanFile, path)
    targets = ctx.settings.targets
    with _located(path):
        check_plan_file(declaration, ctx.settings.research, targets)
        return *declaring.revise(store, ctx.owner, dataset_id, declaration), ()


_REVISES: Final[Mapping[Kind, Callable[[CommandContext, Store, DatasetId, Path], _Revised]]] = {
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
