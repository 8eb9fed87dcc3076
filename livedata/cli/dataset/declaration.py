"""``dataset create``, ``source`` and ``revise``: what a dataset is declared with."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import confirm, print_json, print_message, print_text
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
from livedata.messages.templates import plural
from livedata.model.dataset import Dataset
from livedata.model.errors import Invalid
from livedata.model.ids import DatasetId, raw_id
from livedata.model.recipe import Kind, run_kind
from livedata.model.requests import CreateDataset
from livedata.model.research.declaration import PlanFile
from livedata.rules.declaration.consistency import check_name
from livedata.rules.declaration.research import check_plan_file
from livedata.services import datasets, queries, takeover
from livedata.services.datasets import Revised
from livedata.services.research import declaring
from livedata.services.takeover import TakeOver
from livedata.store.database.store import Store


@click.command("create")
@click.argument("source", type=click.Path(path_type=Path))
@click.option(
    "--take-over",
    "old",
    metavar="D",
    shell_complete=complete_dataset,
    help="The dataset whose place it takes: its name, schedule, notices, shares and hand edits.",
)
@click.option("--yes", is_flag=True, help="With --take-over: do not ask.")
@common_options
def create_dataset(ctx: CommandContext, source: Path, old: str | None, yes: bool) -> None:
    """Create a dataset from the declaration in SOURCE, a .toml or .json file.

    With --take-over it takes the place of dataset D, for another key, or other types or names of
    columns: D is paused, and keeps its rows and history under the name "D (old)".
    """
    if yes and old is None:
        raise click.UsageError("--yes goes with --take-over: nothing else is asked here.")
    declaration = read_source(source)
    refuse_not_ready(source)
    with ctx.writing() as store:
        # The rules judge a declaration from anywhere; only here it has a file with lines.
        with _located(source):
            dataset, made = (
                _create(ctx, store, declaration)
                if old is None
                else _take_over(ctx, store, declaration, old, yes=yes)
            )
        if ctx.json:
            print_json(dataset)
        else:
            columns = ", ".join(column["name"] for column in dataset["columns"])
            key = ", ".join(column["name"] for column in dataset["columns"] if column["key"])
            print_record(
                {"name": dataset["name"], "id": dataset["id"], "key": key, "columns": columns}
            )
            print_message(f"{made} Its first Run:")
            print_text(Subject(ctx.owner).command("run", dataset["name"]))
        tell_unapplied(ctx.owner, declaration, source)
        # The dataset is there in any case; credits matter for its first Run.
        warn_if_low(store, ctx.owner, DatasetId(raw_id(dataset["id"])))


def _create(ctx: CommandContext, store: Store, declaration: CreateDataset) -> tuple[Dataset, str]:
    """Create a dataset; with a sentence that says so."""
    check_name(declaration.name)
    dataset = datasets.create(
        store, ctx.owner, declaration, ctx.settings.targets, first_credits=ctx.first_credits
    )
    return dataset, "Made a draft with version 1 of its recipe, which is its [source]."


def _take_over(
    ctx: CommandContext, store: Store, declaration: CreateDataset, old: str, *, yes: bool
) -> tuple[Dataset, str]:
    """The same of one that takes the place of `old`: show what that means, ask, and do it."""
    dataset_id = queries.find_dataset(store, ctx.owner, old)
    plan = takeover.plan(store, ctx.owner, dataset_id, declaration, ctx.settings.targets)
    print_message("\n".join(_plan_lines(plan)))
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError(
                "nobody is there to say yes to this plan, and nothing was done: give --yes too."
            )
        confirm("Take over?", "Nothing was done.")
    zone = ctx.settings.timezone
    dataset = takeover.take_over(store, ctx.owner, dataset_id, declaration, plan, zone)
    return dataset, f"It has taken the place of {plan.old_name!r}."


def _plan_lines(plan: TakeOver) -> Iterator[str]:
    """Say what a take-over does, for who is to agree to it."""
    dataset, old = plan.dataset, plan.old_name
    name, count = dataset["name"], dataset["rowCount"]
    yield f"A new dataset takes the place of {name}:"
    stays = f"its {plural(count, 'row')} and all history stay" if count else "its history stays"
    yield f"  {name} is renamed to {old!r} and paused; {stays} there"
    schedule = "without a schedule" if dataset["schedule"] is None else dataset["schedule"]
    yield f"  the new one is called {name}, {dataset['status']}, {schedule}"
    yield from (f"  {line}" for line in _column_lines(plan))
    if plan.own:
        yield f"  your own columns come along: {', '.join(plan.own)}"
    if plan.notices:
        named = ", ".join(notice.name for notice in plan.notices)
        yield f"  these notices tell of the new one, at first of each row as new: {named}"
    if plan.shares:
        addresses = "address" if len(plan.shares) == 1 else "addresses"
        yield f"  {len(plan.shares)} shared {addresses} will show the new one, with no row at first"
    if plan.has_feed:
        yield f"  the feed has another address: the present one goes on showing {old!r}"
    yield f"  {_edits_line(plan)}"


def _column_lines(plan: TakeOver) -> Iterator[str]:
    before, after = plan.key
    if [*before] != [*after]:
        yield f"key: {', '.join(before)} -> {', '.join(after)}"
    had, has = plan.columns
    for column, kind in has.items():
        if column not in had:
            yield f"new column: {column} ({kind})"
        elif had[column] != kind:
            yield f"column {column}: {had[column]} -> {kind}"
    for column in had:
        if column not in has:
            yield f"no column any more: {column}"


def _edits_line(plan: TakeOver) -> str:
    if not plan.edited:
        return "no row is edited by hand"
    edited = f"hand edits of {plural(plan.edited, 'row')}"
    if not plan.shared:
        return f"{edited} stay behind: the two have no column of one name and type to match rows by"
    return (
        f"{edited} come along at the first accepted Run, to rows with the same "
        f"{', '.join(plan.shared)}"
    )


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


@click.command("revise")
@click.argument("name", metavar="D", shell_complete=complete_dataset)
@click.argument("path", metavar="SOURCE", type=click.Path(path_type=Path))
@common_options
def revise_dataset(ctx: CommandContext, name: str, path: Path) -> None:
    """Read dataset D by SOURCE from now on; columns may come and go, history stays.

    Columns keep their names and types, and the identity stays; livedata dataset source D prints
    what there is now. A new column is filled by the next Run, a dropped one stays in the history.
    Of a research dataset SOURCE is the plan: query, texts, addresses, limits and attributes may
    change.
    """
    with ctx.writing() as store:
        dataset_id = queries.find_dataset(store, ctx.owner, name)
        pinned = queries.source(store, ctx.owner, dataset_id)["source"]
        revised = _REVISES[run_kind(pinned)](ctx, store, dataset_id, path)
    if ctx.json:
        print_json(revised.dataset)
    elif not revised.is_changed:
        known = revised.dataset["name"]
        print_message(f"Nothing to revise: {path} says what the recipe of {known} says already.")
    else:
        for sentence in revised.revision.sentences:
            print_text(sentence)
        print_message(_pinned(revised.dataset, revised.version))


def _pinned(dataset: Dataset, version: int | None) -> str:
    if version is None:
        return f"{dataset['name']} has schema version {dataset['schemaVersion']}."
    return f"Pinned recipe version {version}; the next Run of {dataset['name']} uses it."


def _revise_source(ctx: CommandContext, store: Store, dataset_id: DatasetId, path: Path) -> Revised:
    declaration = read_source(path)
    refuse_not_ready(path)
    targets = ctx.settings.targets
    with _located(path):
        revised = datasets.revise(store, ctx.owner, dataset_id, declaration, targets)
    tell_unapplied(ctx.owner, declaration, path)
    return revised


def _revise_plan(ctx: CommandContext, store: Store, dataset_id: DatasetId, path: Path) -> Revised:
    declaration = read_declaration(PlanFile, path)
    targets = ctx.settings.targets
    with _located(path):
        check_plan_file(declaration, ctx.settings.research, targets)
        return declaring.revise(store, ctx.owner, dataset_id, declaration)


_REVISES: Final[Mapping[Kind, Callable[[CommandContext, Store, DatasetId, Path], Revised]]] = {
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
