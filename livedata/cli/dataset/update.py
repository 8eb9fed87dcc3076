"""``dataset update`` and ``delete``: properties and columns that a person changes, and the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import click

from livedata.cli.column_input import find_column, split_assignment
from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options
from livedata.cli.dataset.show import print_dataset
from livedata.cli.output.streams import confirm, print_json, print_text
from livedata.messages.controls import escape_controls
from livedata.messages.templates import plural
from livedata.messages.validation import read
from livedata.model.dataset import Dataset
from livedata.model.errors import Detail, Invalid
from livedata.model.requests import UpdateDataset
from livedata.rules.declaration.consistency import check_name
from livedata.rules.declaration.cron import schedule_problem
from livedata.services import datasets, queries
from livedata.services.fires import timetable

# On a command line an empty text is more often a variable that is not set than a wish.
REMOVABLE = ("question", "schedule")
"""Properties that the word none takes away."""


class ColumnChanges(NamedTuple):
    """The columns to add, as NAME:TYPE, and new labels and descriptions, as COL=TEXT."""

    added: tuple[str, ...]
    labels: tuple[str, ...]
    descriptions: tuple[str, ...]

    def __bool__(self) -> bool:
        """Tell whether anything changes."""
        return bool(self.added or self.labels or self.descriptions)

    def apply(self, dataset: Dataset) -> list[dict[str, object]]:
        """Return the whole list of columns, as an update sends it."""
        by_id: dict[str, dict[str, object]] = {
            column["id"]: {"id": column["id"], "name": column["name"], "type": column["type"]}
            for column in dataset["columns"]
        }
        for key, texts in (("label", self.labels), ("description", self.descriptions)):
            for text in texts:
                name, value = split_assignment(text, "COL=TEXT")
                by_id[find_column(dataset["columns"], name)["id"]][key] = value
        return [*by_id.values(), *map(_new_column, self.added)]


@click.command()
@click.argument("dataset_name", metavar="D", shell_complete=complete_dataset)
@click.option("--name", metavar="NAME", help="A new name.")
@click.option("--question", metavar="TEXT", help="What the dataset is for; none removes it.")
@click.option(
    "--status",
    type=click.Choice(("draft", "active", "paused")),
    help="Whether the schedule is followed.",
)
@click.option("--schedule", metavar="CRON", help="Five fields, in quotes; none removes it.")
@click.option(
    "--label-column",
    metavar="COL",
    help="The column of text that names rows; none for the first.",
)
@click.option("--add-column", metavar="NAME:TYPE", multiple=True, help="A column of your own.")
@click.option("--label", metavar="COL=TEXT", multiple=True, help="How people see a column.")
@click.option("--describe", metavar="COL=TEXT", multiple=True, help="What a column means.")
@common_options
def update(
    ctx: CommandContext,
    dataset_name: str,
    label_column: str | None,
    add_column: tuple[str, ...],
    label: tuple[str, ...],
    describe: tuple[str, ...],
    **properties: str | None,
) -> None:
    """Change dataset D: what is not given stays. The last three options may be repeated."""
    # The options by name are properties of the dataset, None if they are not given.
    columns = ColumnChanges(add_column, label, describe)
    update_dataset(ctx, dataset_name, properties, columns, label_column)


def update_dataset(
    ctx: CommandContext,
    name: str,
    properties: Mapping[str, str | None],
    columns: ColumnChanges,
    label_column: str | None,
) -> None:
    """Change what is given of dataset `name`, and print the dataset."""
    body: dict[str, object] = {key: value for key, value in properties.items() if value is not None}
    body |= {key: None for key in REMOVABLE if body.get(key) == "none"}
    with ctx.writing() as store:
        dataset_id = queries.find_dataset(store, ctx.owner, name)
        if columns:
            dataset = queries.dataset(store, ctx.owner, dataset_id)
            # Columns that somebody else changes in between are not overwritten.
            body["expectedSchemaVersion"] = dataset["schemaVersion"]
            body["columns"] = columns.apply(dataset)
        if not body and label_column is None:
            raise click.UsageError("Nothing to change: give at least one option.")
        _check(body)
        request = read(UpdateDataset, body) if body else None
        zone = ctx.settings.timezone
        label = "" if label_column == "none" else label_column
        updated = datasets.update(store, ctx.owner, dataset_id, request, zone, label_column=label)
        fires = timetable(store, dataset_id, zone)
        named_by = queries.label_column(store, ctx.owner, dataset_id)
    if ctx.json:
        print_json(updated)
    else:
        print_dataset(updated, named_by, fires)


def _check(body: Mapping[str, object]) -> None:
    """Judge by the rules what the shape of an update would refuse with less of an explanation."""
    name, schedule = body.get("name"), body.get("schedule")
    if isinstance(name, str):
        check_name(name)
    problem = schedule_problem(schedule) if isinstance(schedule, str) else None
    if problem:
        raise Invalid(f"schedule {problem}.", (Detail("schedule", problem),))


def _new_column(text: str) -> dict[str, object]:
    name, colon, kind = text.partition(":")
    if not colon:
        raise Invalid(f"{text!r} must be written NAME:TYPE, such as note:string.")
    return {"name": name, "type": kind, "ownership": "user"}


@click.command("delete")
@click.argument("name", metavar="D", shell_complete=complete_dataset)
@click.option("--yes", is_flag=True, help="Do not ask.")
@common_options
def delete_dataset(ctx: CommandContext, name: str, yes: bool) -> None:
    """Delete dataset D with all its rows and history; the ledger keeps what it cost."""
    with ctx.writing() as store:
        # Read before it is deleted: the answer is the dataset as it was.
        dataset_id = queries.find_dataset(store, ctx.owner, name)
        dataset = queries.dataset(store, ctx.owner, dataset_id)
        # A site shows what it has today: history that is deleted by mistake cannot be read again.
        if not yes:
            about = f"{escape_controls(dataset['name'])} with {_contents(dataset)}"
            confirm(f"Delete {about}?", "Nothing was deleted.")
        datasets.remove(store, ctx.owner, dataset_id)
    if ctx.json:
        print_json(dataset)
    else:
        print_text(f"Deleted {dataset['name']}.")


def _contents(dataset: Dataset) -> str:
    count = dataset["rowCount"]
    return f"{plural(count, 'row')} and all {'its' if count == 1 else 'their'} history"
