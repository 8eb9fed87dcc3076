"""``rows edit`` and ``rows reset``: cells that a person sets, and gives back to the source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from livedata.cli.context import Asked, shared
from livedata.cli.output import told, write, write_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from livedata.model.dataset import Column
    from livedata.model.errors import Invalid
    from livedata.model.row import Scalar
    from livedata.store.database.store import Store


def _of_a_row(command: Callable[..., Any]) -> Callable[..., Any]:
    """What both commands are given beside the cells: the row, and how an edit is made sure."""
    decorators = (
        click.argument("dataset", metavar="D"),
        click.argument("row", metavar="ROW"),
        click.option(
            "--request-id",
            help="A name for this edit: repeated, it is done once. Also give --revision then.",
        ),
        click.option(
            "--revision", help="Refuse unless this is the row's revision; else the current one."
        ),
    )
    for decorator in reversed(decorators):
        command = decorator(command)
    return command


@click.command()
@_of_a_row
@click.argument("edits", metavar="FIELD=VALUE...", nargs=-1, required=True)
@shared
def edit(
    asked: Asked,
    dataset: str,
    row: str,
    edits: tuple[str, ...],
    request_id: str | None,
    revision: str | None,
) -> None:
    """Set cells of a row of dataset D by hand; Runs keep what you write.

    FIELD is a column's name or id, VALUE is of its type: text, a number, true or false, a date
    such as 2026-01-31, an address. FIELD= clears the cell.
    """
    from livedata.cli.columns import find_column, pair, typed
    from livedata.model.errors import Invalid

    with asked.writing() as store:
        target = _Target(store, asked.owner, dataset, row)
        values: dict[str, Scalar] = {}
        for text in edits:
            name, value = pair(text, "FIELD=VALUE")
            column = find_column(target.columns, name)
            if column["key"]:
                raise Invalid(f"{column['name']} is a part of the row's key, which is read-only.")
            if column["id"] in values:
                raise Invalid(f"{column['name']} is given twice.")
            values[column["id"]] = typed(column, value)
        target.apply({"values": values}, request_id, revision, as_json=asked.json)


@click.command()
@_of_a_row
@click.argument("fields", metavar="FIELD...", nargs=-1, required=True)
@shared
def reset(
    asked: Asked,
    dataset: str,
    row: str,
    fields: tuple[str, ...],
    request_id: str | None,
    revision: str | None,
) -> None:
    """Give cells of a row of dataset D back to the source: its latest value shows again."""
    from livedata.cli.columns import find_column
    from livedata.model.errors import Invalid

    with asked.writing() as store:
        target = _Target(store, asked.owner, dataset, row)
        named: dict[str, Column] = {}
        for text in fields:
            column = find_column(target.columns, text)
            if column["ownership"] == "user":
                raise Invalid(
                    f"{column['name']} is your own column: it has no source to go back to, and "
                    f"livedata rows edit clears it with {column['name']}= and nothing behind it."
                )
            named[column["id"]] = column
        target.apply({"resetFieldIds": list(named)}, request_id, revision, as_json=asked.json)


class _Target:
    """The row that is edited, as it is before."""

    def __init__(self, store: Store, owner: str, dataset: str, row: str) -> None:
        from livedata.services import queries

        self.store, self.owner = store, owner
        self.dataset = queries.find_dataset(store, owner, dataset)
        self.columns = queries.dataset(store, owner, self.dataset)["columns"]
        self.id = queries.find_row(store, owner, self.dataset, row)
        self.before = queries.row(store, owner, self.dataset, self.id)

    def apply(
        self,
        change: Mapping[str, Any],
        request_id: str | None,
        revision: str | None,
        *,
        as_json: bool,
    ) -> None:
        """Do the edit and print what it made of the row."""
        from uuid import uuid4

        from livedata.messages.validation import read
        from livedata.model.errors import Invalid
        from livedata.model.requests import EditRow
        from livedata.services import rows as acts

        body = {
            "expectedRevisionId": revision or self.before["revisionId"],
            "requestId": request_id or str(uuid4()),
            **change,
        }
        try:
            wanted = read(EditRow, body)
            made = acts.edit(self.store, self.owner, self.dataset, self.id, wanted, None)
        except Invalid as error:
            raise self._by_name(error, change.get("resetFieldIds", ())) from None
        if as_json:
            write_json(made)
            return
        for column in self.columns:
            if column["id"] in made["changedFieldIds"]:
                before = told(self.before["data"][column["id"]])
                after = told(made["data"].get(column["id"]))
                write(f"{self.before['rowKey']}  {column['name']}: {before} → {after}")

    def _by_name(self, error: Invalid, resets: list[str] | tuple[()]) -> Invalid:
        """The same error in the words of the command line: the columns' names, and its options."""
        from livedata.model.errors import Detail, Invalid

        names = {column["id"]: column["name"] for column in self.columns}
        words = {f"values.{ident}": name for ident, name in names.items()}
        words |= {f"resetFieldIds[{at}]": names[ident] for at, ident in enumerate(resets)}
        words |= {"expectedRevisionId": "--revision", "requestId": "--request-id"}

        def named(text: str) -> str:
            for theirs, ours in words.items():
                text = text.replace(theirs, ours)
            return text

        details = tuple(Detail(named(one.path), named(one.message)) for one in error.details)
        return Invalid(named(error.message), details)
