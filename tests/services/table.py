"""A dataset of plain items, asked and changed by the names of its columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from msgspec.structs import replace

from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.dataset import Dataset
from livedata.model.harvest import Harvest, StopReason
from livedata.model.recipe import Recipe
from livedata.model.requests import CreateDataset, EditRow, UpdateDataset
from livedata.model.research.recipe import ResearchRecipe
from livedata.model.row import Change, Row, RowDetail, RowRevision, Scalar
from livedata.model.run import Run
from livedata.rules.network.targets import TargetPolicy
from livedata.services import attempts, datasets, feed, queries, rows, runs
from livedata.services.attempts import Attempt
from livedata.services.commit import AcceptancePolicy
from livedata.store.database.store import Store
from tests import made
from tests.databases import Dump, everything

Item = Mapping[str, Scalar]

NATURAL = StopReason("natural_end")
DEFAULT_POLICY = AcceptancePolicy()
A, B, C = made.ITEMS
LEDGER_START = 1000
"""The credits that `local` has in a new store of the tests."""
_REQUESTS = count(1)


class Table:
    """One dataset of `local`; without a declaration, that of :mod:`tests.made`."""

    def __init__(self, store: Store, declared: Mapping[str, Any] | None = None) -> None:
        self.store = store
        body = read(CreateDataset, declared or made.declared())
        created = datasets.create(store, "local", body, TargetPolicy())
        self.id = ids.DatasetId(ids.raw_id(created["id"]))

    @property
    def dataset(self) -> Dataset:
        return queries.dataset(self.store, "local", self.id)

    @property
    def fields(self) -> dict[str, str]:
        """Column name -> field id."""
        return {column["name"]: column["id"] for column in self.dataset["columns"]}

    def take(self, *items: Item) -> Run:
        """A Run that finds `items` on its single page."""
        return self.take_pages(items)

    def take_pages(self, *pages: Sequence[Item], policy: AcceptancePolicy = DEFAULT_POLICY) -> Run:
        """A Run that finds `pages`."""
        attempt = self.begin()
        return self.finish(attempt, pages_of(attempt.recipe, *pages), policy)

    def begin(self) -> Attempt:
        """A Run that is queued and started."""
        run, _ = runs.enqueue(self.store, "local", self.id)
        attempt = attempts.begin(self.store, ids.RunId(ids.raw_id(run)))
        assert attempt is not None
        return attempt

    def finish(
        self, attempt: Attempt, harvest: Harvest, policy: AcceptancePolicy = DEFAULT_POLICY
    ) -> Run:
        """The Run as it ended with `harvest`."""
        attempts.finish(self.store, attempt, harvest, policy)
        return queries.run(self.store, "local", attempt.run)

    def rows(self) -> dict[str, Row]:
        """Every row by key."""
        return {row["rowKey"]: row for row in queries.every_row(self.store, "local", self.id)}

    def row(self, key: str) -> RowDetail:
        """One row with its evidence."""
        row_id = queries.find_row(self.store, "local", self.id, key)
        return queries.row(self.store, "local", self.id, row_id)

    def cells(self, key: str) -> dict[str, Scalar]:
        """What one row shows, by column name."""
        return self.named(self.rows()[key]["data"])

    def feed(self, after: int = 0) -> list[Change]:
        """Every revision after a sequence."""
        page = feed.changes(self.store, "local", self.id, after=after, limit=100)
        data = page["data"]
        while page["nextAfter"] is not None:
            page = feed.changes(self.store, "local", self.id, after=page["nextAfter"], limit=100)
            data += page["data"]
        return data

    def history(self, key: str) -> list[str]:
        """The kinds of the revisions of one row."""
        row = self.rows()[key]["id"]
        return [change["kind"] for change in self.feed() if change["rowId"] == row]

    def named(self, by_field: Mapping[str, Any]) -> dict[str, Any]:
        """What stands by field id, by column name."""
        names = {field: name for name, field in self.fields.items()}
        return {names[field]: value for field, value in by_field.items()}

    def changed(self, revision: RowRevision) -> list[str]:
        """The names of the fields that a revision says it changed."""
        return list(self.named(dict.fromkeys(revision["changedFieldIds"])))

    def edit(
        self, key: str, values: Item | None = None, reset: Iterable[str] = (), **body: Any
    ) -> RowRevision:
        """Edit a row by column names; `body` adds to what is sent or replaces it."""
        row, fields = self.rows()[key], self.fields
        sent: dict[str, Any] = {
            "expectedRevisionId": row["revisionId"],
            "requestId": f"request {next(_REQUESTS)}",
        }
        if values:
            sent["values"] = {fields[name]: value for name, value in values.items()}
        if reset:
            sent["resetFieldIds"] = [fields[name] for name in reset]
        return self.send(row["id"], sent | body)

    def send(
        self, row: str, body: Mapping[str, Any], actor: ids.KeyId | None = None
    ) -> RowRevision:
        """Send the body of an edit as it is."""
        wanted = read(EditRow, dict(body)).row_edit()
        return rows.edit(self.store, "local", self.id, ids.RowId(ids.raw_id(row)), wanted, actor)

    def add_column(self, name: str, kind: str = "string") -> Dataset:
        """Give the dataset a user column."""
        now = self.dataset
        kept = [{key: column[key] for key in ("id", "name", "type")} for column in now["columns"]]
        new = {"name": name, "type": kind, "ownership": "user"}
        body = {"expectedSchemaVersion": now["schemaVersion"], "columns": [*kept, new]}
        return datasets.update(self.store, "local", self.id, read(UpdateDataset, body))

    def dump(self, *without: str) -> Dump:
        """Every table but some, for a comparison."""
        return everything(self.store, without)


def pages_of(
    recipe: Recipe | ResearchRecipe, *pages: Sequence[Item], ending: StopReason = NATURAL
) -> Harvest:
    """What a crawl hands over that found `pages`, each at its own address."""
    read_pages = []
    for number, items in enumerate(pages, 1):
        (page,) = made.harvest(recipe, items, NATURAL).pages
        url = made.URL if number == 1 else f"{made.URL}?page={number}"
        read_pages.append(replace(page, number=number, url=url, final_url=url, canonical=url))
    return Harvest(read_pages, ending, attempts=len(pages))
