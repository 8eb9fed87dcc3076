"""``dataset show``: the state and the columns of a dataset."""

from __future__ import annotations

from livedata.cli.context import CommandContext
from livedata.cli.credit_warning import warn_if_low
from livedata.cli.output.streams import print_json, print_text
from livedata.cli.output.tables import print_record, print_table
from livedata.cli.output.values import Value, format_timestamp
from livedata.model.dataset import Dataset
from livedata.model.ids import Micros, format_optional_timestamp
from livedata.services import queries
from livedata.services.scheduling.fires import next_fires


def show_dataset(ctx: CommandContext, name: str) -> None:
    """Print dataset `name`, and a warning if its credits run out."""
    with ctx.reading() as db:
        dataset_id = queries.find_dataset(db, ctx.owner, name)
        dataset = queries.dataset(db, ctx.owner, dataset_id)
        if ctx.json:
            print_json(dataset)
        else:
            next_runs = next_fires(db, ctx.owner, ctx.settings.timezone)
            print_dataset(dataset, next_runs.get(dataset_id))
        warn_if_low(db, ctx.owner, dataset_id)


def print_dataset(dataset: Dataset, next_run: Micros | None) -> None:
    """Print the properties of a dataset, and the table of its columns."""
    print_record(_properties(dataset, next_run))
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


def _properties(dataset: Dataset, next_run: Micros | None) -> dict[str, Value]:
    last_run = dataset["lastRun"]
    return {
        "name": dataset["name"],
        "id": dataset["id"],
        "question": dataset["question"],
        "status": dataset["status"],
        "schedule": dataset["schedule"],
        "next run": format_timestamp(format_optional_timestamp(next_run)) or _waits_for(dataset),
        "rows": dataset["rowCount"],
        "last run": f"{last_run['status']} {format_timestamp(last_run['completedAt'])} "
        f"{last_run['id']}"
        if last_run
        else "none yet",
        "schema version": dataset["schemaVersion"],
        "created": format_timestamp(dataset["createdAt"]),
        "updated": format_timestamp(dataset["updatedAt"]),
    }


def _waits_for(dataset: Dataset) -> str:
    """Say when a dataset is run that has no next fire."""
    if dataset["schedule"] is None and dataset["status"] != "paused":
        return "with every livedata run"
    if dataset["status"] == "active":
        return "unknown: the schedule cannot be read"
    return f"none: the dataset is {dataset['status']}"
