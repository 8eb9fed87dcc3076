"""``dataset list`` and ``show``: a line per dataset, and the state and the columns of one."""

from __future__ import annotations

from collections.abc import Mapping

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options, limit_option
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.output.tables import print_record, print_table
from livedata.cli.output.values import Value, format_timestamp
from livedata.cli.warnings import warn_if_low, warn_of_skipped
from livedata.hints import Subject, hint
from livedata.messages.run_end import SKIPPED
from livedata.model import ids
from livedata.model.dataset import Column, Dataset
from livedata.model.ids import DatasetId, Micros, format_optional_timestamp, raw_id
from livedata.model.problem import Remedy
from livedata.services import queries
from livedata.services.fires import Timetable, next_fires, timetable
from livedata.services.queries import label_column


@click.command("list")
@limit_option(20, 100, "datasets")
@common_options
def list_datasets(ctx: CommandContext, limit: int) -> None:
    """List datasets, newest first."""
    with ctx.at_one_moment() as db:
        # One more than asked for tells whether there are more.
        datasets = queries.datasets(db, ctx.owner, limit + 1)
        those = [DatasetId(raw_id(dataset["id"])) for dataset in datasets]
        next_runs = next_fires(db, those, ctx.settings.timezone)
        if not ctx.json:
            warn_of_skipped(db, ctx.owner)
    more, datasets = len(datasets) > limit, datasets[:limit]
    if ctx.json:
        print_json(datasets)
    elif not datasets:
        make = hint(Remedy("init"), Subject(ctx.owner))
        print_message(f"There is no dataset yet. {make}")
    else:
        print_table(
            ("name", "status", "schedule", "rows", "last run", "ended", "next run", "id"),
            [_line(dataset, next_runs) for dataset in datasets],
            ids="id",
        )
    if more:
        print_message(f"There are more than {limit}; --limit shows more.")


def _line(dataset: Dataset, next_runs: Mapping[DatasetId, Micros]) -> tuple[Value, ...]:
    last_run = dataset["lastRun"]
    next_run = next_runs.get(DatasetId(raw_id(dataset["id"])))
    return (
        dataset["name"],
        dataset["status"],
        dataset["schedule"],
        dataset["rowCount"],
        last_run["status"] if last_run else None,
        format_timestamp(last_run["completedAt"] if last_run else None),
        format_timestamp(format_optional_timestamp(next_run)),
        dataset["id"],
    )


@click.command("show")
@click.argument("name", metavar="D", shell_complete=complete_dataset)
@common_options
def show_dataset(ctx: CommandContext, name: str) -> None:
    """Show dataset D: its state, its columns and its last Run."""
    with ctx.reading() as db:
        dataset_id = queries.find_dataset(db, ctx.owner, name)
        dataset = queries.dataset(db, ctx.owner, dataset_id)
        if ctx.json:
            print_json(dataset)
        else:
            label = label_column(db, ctx.owner, dataset_id)
            print_dataset(dataset, label, timetable(db, dataset_id, ctx.settings.timezone))
        warn_if_low(db, ctx.owner, dataset_id)


def print_dataset(dataset: Dataset, label: Column | None, fires: Timetable) -> None:
    """Print the properties of a dataset, of which `label` names the rows, and its columns."""
    print_record(_properties(dataset, label, fires))
    print_text("")
    print_table(
        ("column", "type", "label", "kind", "description", "id"),
        [
            (
                column["name"],
                column["type"],
                column["label"],
                "key" if column["key"] else column["ownership"],
                column.get("description"),
                column["id"],
            )
            for column in dataset["columns"]
        ],
        ids="id",
    )


def _properties(dataset: Dataset, label: Column | None, fires: Timetable) -> dict[str, Value]:
    last_run = dataset["lastRun"]
    return {
        "name": dataset["name"],
        "id": dataset["id"],
        **({"question": dataset["question"]} if dataset["question"] else {}),
        "status": dataset["status"],
        "schedule": dataset["schedule"],
        **_fires(dataset, fires),
        "rows": dataset["rowCount"],
        "label column": label["name"] if label else "none: rows are named by their keys",
        "last run": f"{last_run['status']} {format_timestamp(last_run['completedAt'])} "
        f"{last_run['id']}"
        if last_run
        else "none yet",
        "schema version": dataset["schemaVersion"],
        "created": format_timestamp(dataset["createdAt"]),
        "updated": format_timestamp(dataset["updatedAt"]),
    }


def _fires(dataset: Dataset, fires: Timetable) -> dict[str, Value]:
    """The lines about the schedule; without fires there is one."""
    if not fires.upcoming:
        return {"next run": _waits_for(dataset)} | _skipped(fires)
    first, *later = map(_moment, fires.upcoming)
    return {"next run": first, "after that": ", ".join(later)} | _skipped(fires)


def _skipped(fires: Timetable) -> dict[str, Value]:
    # A reason that only another version knows is shown as it is.
    told = [
        f"{_moment(fire.fired_at)} ({SKIPPED.get(fire.reason, fire.reason)})"
        for fire in fires.skipped
    ]
    return {"skipped": ", ".join(told)} if told else {}


def _moment(moment: Micros) -> str:
    return format_timestamp(ids.format_timestamp(moment))


def _waits_for(dataset: Dataset) -> str:
    """Say when a dataset is run that has no next fire."""
    if dataset["schedule"] is None and dataset["status"] != "paused":
        return "whenever you run `livedata run`"
    if dataset["status"] == "active":
        return "unknown: the schedule cannot be read"
    return f"none: the dataset is {dataset['status']}"
