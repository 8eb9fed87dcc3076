"""The commands of ``dataset`` that speak of its declaration: create, source, revise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from livedata.cli.context import Asked, shared
from livedata.cli.credits import warn_if_low
from livedata.cli.hints import Subject
from livedata.cli.output import record, say, write, write_json

if TYPE_CHECKING:
    from livedata.model.dataset import Dataset


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@shared
def create(asked: Asked, source: Path) -> None:
    """Create a dataset from the declaration in SOURCE, a .toml or .json file."""
    from livedata.cli.sourcefile import located, read_source
    from livedata.model.errors import Invalid
    from livedata.model.ids import raw_id
    from livedata.rules.declaration.consistency import check_name
    from livedata.rules.network.targets import TargetPolicy
    from livedata.services import datasets as acts

    declared = read_source(source)
    targets = TargetPolicy.parse(asked.settings.allow_hosts)
    with asked.writing() as store:
        asked.meet(store)
        try:
            check_name(declared.name)
            made = acts.create(store, asked.owner, declared, targets)
        except Invalid as error:
            raise located(error, source) from None
        if asked.json:
            write_json(made)
        else:
            record({"name": made["name"], "id": made["id"], "columns": _columns(made)})
            say("Made a draft with version 1 of its recipe, which is its [source]. Its first Run:")
            write(Subject(asked.owner).command("run", made["name"]))
        warn_if_low(store, asked.owner, raw_id(made["id"]))


@click.command()
@click.argument("name", metavar="D")
@shared
def source(asked: Asked, name: str) -> None:
    """Print what dataset D was declared with, as TOML that create reads back."""
    from livedata.services import queries

    with asked.reading() as db:
        found = queries.find_dataset(db, asked.owner, name)
        declared = queries.source(db, asked.owner, found)
    if asked.json:
        write_json(declared)
        return
    from livedata.cli.sourcefile import write_source

    write(write_source(declared))


@click.command()
@click.argument("name", metavar="D")
@click.argument("path", metavar="SOURCE", type=click.Path(path_type=Path))
@shared
def revise(asked: Asked, name: str, path: Path) -> None:
    """Give dataset D a new recipe: a dead selector is mended, rows and history stay.

    SOURCE has the same collected columns and identity; livedata dataset source D prints what there
    is now.
    """
    from livedata.cli.sourcefile import located, read_source
    from livedata.model.errors import Invalid
    from livedata.rules.network.targets import TargetPolicy
    from livedata.services import datasets as acts
    from livedata.services import queries

    declared = read_source(path)
    targets = TargetPolicy.parse(asked.settings.allow_hosts)
    with asked.writing() as store:
        found = queries.find_dataset(store, asked.owner, name)
        try:
            made, version = acts.revise(store, asked.owner, found, declared, targets)
        except Invalid as error:
            raise located(error, path) from error
    if asked.json:
        write_json(made)
    else:
        say(f"Pinned recipe version {version}; the next Run of {made['name']} uses it.")


def _columns(answer: Dataset) -> str:
    return ", ".join(column["name"] for column in answer["columns"])
