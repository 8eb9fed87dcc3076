"""``dataset source``: the declaration of a dataset, printed back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_text
from livedata.formats.source_toml import declared_plan, write_declaration
from livedata.model.recipe import Kind, run_kind
from livedata.services import queries


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
        print_text(write_declaration(name, declaration))


def _plan(name: str, declaration: dict[str, Any]) -> dict[str, Any]:
    recipe = declaration["source"]
    return {**declared_plan(name, declaration), "urls": recipe["urls"], **recipe["limits"]}


_AS_JSON: Final[Mapping[Kind, Callable[[str, dict[str, Any]], dict[str, Any]]]] = {
    "selectors": lambda _, declaration: declaration,
    "research": _plan,
}
"""What each kind of declaration is as JSON."""
