"""The commands of ``dataset``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from livedata.cli.context import Asked, limit_option, shared
from livedata.cli.credits import warn_if_low
from livedata.cli.declared import create, revise, source
from livedata.cli.exporting import export
from livedata.cli.output import (
    Value,
    counted,
    record,
    say,
    table,
    visible,
    when,
    write,
    write_json,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from livedata.model.dataset import Dataset

STATUSES = ("draft", "active", "paused")


@click.group()
def dataset() -> None:
    """Create, list, change and export datasets."""


for command in (create, source, revise, export):
    dataset.add_command(command)


@dataset.command("list")
@limit_option(20, 100, "datasets")
@shared
def list_(asked: Asked, limit: int) -> None:
    """List datasets, newest first."""
    from livedata.services import queries

    with asked.reading() as db:
        listed = queries.datasets(db, asked.owner, limit + 1)
    more, listed = len(listed) > limit, listed[:limit]
    if asked.json:
        write_json(listed)
    elif not listed:
        say("There is no dataset yet; livedata init makes a start.")
    else:
        table(
            ("name", "status", "schedule", "rows", "last run", "ended", "id"),
            [_listed(one) for one in listed],
            ids="id",
        )
    if more:
        say(f"There are more than {limit}; --limit shows more.")


@dataset.command()
@click.argument("name", metavar="D")
@shared
def show(asked: Asked, name: str) -> None:
    """Show dataset D: its state, its columns and its last Run."""
    from livedata.services import queries

    with asked.reading() as db:
        found = queries.find_dataset(db, asked.owner, name)
        answer = queries.dataset(db, asked.owner, found)
        if asked.json:
            write_json(answer)
        else:
            _print(answer)
        warn_if_low(db, asked.owner, found)


@dataset.command()
@click.argument("name", metavar="D")
@click.option("--name", "new_name", metavar="NAME", help="A new name.")
@click.option("--question", metavar="TEXT", help="What the dataset is for; none removes it.")
@click.option("--status", type=click.Choice(STATUSES), help="Whether the schedule is followed.")
@click.option("--schedule", metavar="CRON", help="Five fields, in quotes; none removes it.")
@click.option("--add-column", metavar="NAME:TYPE", multiple=True, help="A column of your own.")
@click.option("--label", metavar="COL=TEXT", multiple=True, help="How people see a column.")
@click.option("--describe", metavar="COL=TEXT", multiple=True, help="What a column means.")
@shared
def update(
    asked: Asked,
    name: str,
    new_name: str | None,
    question: str | None,
    status: str | None,
    schedule: str | None,
    add_column: tuple[str, ...],
    label: tuple[str, ...],
    describe: tuple[str, ...],
) -> None:
    """Change dataset D: what is not given stays. The last three options may be repeated."""
    from livedata.messages.validation import read
    from livedata.model.requests import UpdateDataset
    from livedata.rules.declaration import consistency
    from livedata.services import datasets as acts
    from livedata.services import queries

    if schedule is not None and schedule != "none":
        _check_schedule(schedule)
    given = {"name": new_name, "question": question, "status": status, "schedule": schedule}
    body: dict[str, object] = {key: value for key, value in given.items() if value is not None}
    for key in {"question", "schedule"} & body.keys():
        body[key] = None if body[key] == "none" else body[key]
    with asked.writing() as store:
        found = queries.find_dataset(store, asked.owner, name)
        if add_column or label or describe:
            current = queries.dataset(store, asked.owner, found)
            body["expectedSchemaVersion"] = current["schemaVersion"]
            body["columns"] = _changed_columns(current, add_column, label, describe)
        if not body:
            raise click.UsageError("Nothing to change: give at least one option.")
        if new_name is not None:
            consistency.check_name(new_name)
        wanted, zone = read(UpdateDataset, body), asked.settings.timezone
        made = acts.update(store, asked.owner, found, wanted, zone)
    if asked.json:
        write_json(made)
    else:
        _print(made)


@dataset.command()
@click.argument("name", metavar="D")
@click.option("--yes", is_flag=True, help="Do not ask.")
@shared
def delete(asked: Asked, name: str, yes: bool) -> None:
    """Delete dataset D with all its rows and history; the ledger keeps what it cost."""
    from livedata.services import datasets as acts
    from livedata.services import queries

    with asked.writing() as store:
        found = queries.find_dataset(store, asked.owner, name)
        answer = queries.dataset(store, asked.owner, found)
        if not yes:
            _confirm(f"Delete {visible(answer['name'])} with {_held(answer)}?")
        acts.remove(store, asked.owner, found)
    if asked.json:
        write_json(answer)
    else:
        write(f"Deleted {answer['name']}.")


def _check_schedule(schedule: str) -> None:
    from livedata.model.errors import Invalid

    fields = len(schedule.split())
    if fields != 5:
        raise Invalid(
            "A schedule has five fields: minute, hour, day of the month, month and day of the week "
            f'in UTC, such as "0 6 * * *" for every day at 6:00; {schedule!r} has {fields}.'
        )


def _held(answer: Dataset) -> str:
    count = answer["rowCount"]
    return f"{counted(count, 'row')} and all {'its' if count == 1 else 'their'} history"


def _confirm(question: str) -> None:
    """Ask, and end the command unless the answer is yes."""
    try:
        sure = click.confirm(question, err=True)
    except click.Abort:
        say("")
        raise
    if not sure:
        if not sys.stdin.isatty():  # where a person types, the answer has ended the line
            say("")
        say("Nothing was deleted.")
        raise click.exceptions.Exit(1)


def _changed_columns(
    current: Dataset, added: tuple[str, ...], labels: tuple[str, ...], described: tuple[str, ...]
) -> list[dict[str, object]]:
    """The whole list of columns as an update sends it."""
    from livedata.cli.columns import find_column, pair
    from livedata.model.errors import Invalid

    changed: dict[str, dict[str, object]] = {
        column["id"]: {"id": column["id"], "name": column["name"], "type": column["type"]}
        for column in current["columns"]
    }
    for option, texts in (("label", labels), ("description", described)):
        for text in texts:
            name, value = pair(text, "COL=TEXT")
            changed[find_column(current["columns"], name)["id"]][option] = value
    columns = list(changed.values())
    for text in added:
        name, colon, kind = text.partition(":")
        if not colon:
            raise Invalid(f"{text!r} must be written NAME:TYPE, such as note:string.")
        columns.append({"name": name, "type": kind, "ownership": "user"})
    return columns


def _listed(one: Dataset) -> tuple[Value, ...]:
    last = one["lastRun"]
    ended = last["completedAt"] if last else None
    status = last["status"] if last else None
    rows = one["rowCount"]
    return (one["name"], one["status"], one["schedule"], rows, status, when(ended), one["id"])


def _print(answer: Dataset) -> None:
    record(_facts(answer))
    write("")
    table(
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
            for column in answer["columns"]
        ],
        ids="id",
    )


def _facts(answer: Dataset) -> Mapping[str, Value]:
    last = answer["lastRun"]
    told = f"{last['status']} {when(last['completedAt'])} {last['id']}" if last else "none yet"
    return {
        "name": answer["name"],
        "id": answer["id"],
        "question": answer["question"],
        "status": answer["status"],
        "schedule": answer["schedule"],
        "rows": answer["rowCount"],
        "last run": told,
        "schema version": answer["schemaVersion"],
        "created": when(answer["createdAt"]),
        "updated": when(answer["updatedAt"]),
    }
