"""``dataset source``: the declaration of a dataset, printed back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_text
from livedata.cli.source.write import write_plan, write_source
from livedata.model.errors import Invalid
from livedata.model.recipe import Kind, run_kind
from livedata.model.research.recipe import ResearchLimits
from livedata.model.research.stored import DeclaredPlan, StoredRecipe
from livedata.services import queries


@click.command("source")
@click.argument("name", metavar="D", shell_complete=complete_dataset)
@common_options
def print_source(ctx: CommandContext, name: str) -> None:
    """Print what dataset D was declared with, as TOML that create reads back."""
    with ctx.at_one_moment() as db:
        dataset_id = queries.find_dataset(db, ctx.owner, name)
        declaration = queries.source(db, ctx.owner, dataset_id)
    _PRINTS[run_kind(declaration["source"])](ctx, name, declaration)


def _print_source(ctx: CommandContext, name: str, declaration: dict[str, Any]) -> None:
    if ctx.json:
        print_json(declaration)
    elif isinstance(declaration["source"], list):
        raise Invalid(
            f"The source of {name} is not a version-1 declaration, so it cannot be written as "
            "TOML; --json prints it as it is."
        )
    else:
        print_text(write_source(declaration))


def _print_plan(ctx: CommandContext, name: str, declaration: dict[str, Any]) -> None:
    recipe: StoredRecipe = declaration["source"]
    pinned, stored = recipe["plan"], recipe["limits"]
    if pinned is None:
        raise Invalid(f"{name} has no plan yet: its first Run makes one.")
    # Without the ids of its columns, a plan is what a person declares.
    plan: DeclaredPlan = {
        **pinned,
        "attributes": [
            {"label": each["label"], "description": each["description"]}
            for each in pinned["attributes"]
        ],
    }
    if ctx.json:
        print_json({**plan, "urls": recipe["urls"], **stored})
        return
    limits = ResearchLimits(stored["maxPages"], stored["maxTokens"], stored.get("maxUsd"))
    print_text(write_plan(plan, recipe["urls"], limits))


_PRINTS: Mapping[Kind, Callable[[CommandContext, str, dict[str, Any]], None]] = {
    "selectors": _print_source,
    "research": _print_plan,
}
"""What prints each kind of declaration."""
