"""Datasets with rows, made without a crawl: a store, a declaration, and Runs of plain items."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from livedata.extraction.cells import row_key
from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.harvest import Harvest, PageRead, Record, StopReason
from livedata.model.problem import Problem, Remedy
from livedata.model.recipe import Recipe
from livedata.model.requests import CreateDataset
from livedata.model.source_file import SourceFile
from livedata.rules.declaration.declaration_text import DeclarationText
from livedata.rules.network.targets import TargetPolicy
from livedata.services import accounts, attempts, datasets, runs
from livedata.services.commit import AcceptancePolicy
from livedata.services.folder import FolderSource
from livedata.store import runs as run_store
from livedata.store.database.codec import dump_compressed
from livedata.store.database.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from livedata.model.research.recipe import ResearchRecipe
    from livedata.model.row import Scalar

URL = "https://shop.example/list"
COLUMNS: tuple[Mapping[str, object], ...] = (
    {"name": "sku", "type": "string", "key": True},
    {"name": "title", "type": "string"},
    {"name": "price", "type": "number"},
    {"name": "stock", "type": "boolean"},
    {"name": "note", "type": "string", "ownership": "user"},
)
ITEMS: tuple[Mapping[str, Scalar], ...] = (
    {"sku": "A1", "title": "Lamp", "price": 10, "stock": True},
    {"sku": "B2", "title": "Chair", "price": 25.5, "stock": False},
    {"sku": "C3", "title": "Mug", "price": None, "stock": True},
)


def store_in(home: Path) -> str:
    """The address of a store where the command line with ``LIVEDATA_HOME=home`` finds it."""
    return f"sqlite:///{home / 'livedata.db'}"


def make_store(home: Path) -> Store:
    """That store."""
    return Store(store_in(home))


def declared(
    name: str = "shop",
    columns: Iterable[Mapping[str, object]] = COLUMNS,
    *,
    required: Sequence[str] = (),
) -> dict[str, object]:
    """The body that creates a dataset of one page; each collected column reads ``.<its name>``."""
    columns = list(columns)
    collected = [column for column in columns if column.get("ownership") != "user"]
    return {
        "name": name,
        "columns": columns,
        "source": {
            "version": 1,
            "url": URL,
            "itemSelector": "li",
            "fields": [_field(str(column["name"]), required) for column in collected],
            "identity": {
                "kind": "source-key",
                "field": next(column["name"] for column in collected if column.get("key")),
            },
            "pagination": {"kind": "none"},
        },
    }


def source_of(name: str, **parts: Any) -> FolderSource:
    """A source of a folder, with what parts of it are given."""
    body: dict[str, Any] = declared(name)
    body["source"] |= parts.pop("source", {})
    if label := parts.pop("label", None):
        body["columns"] = [
            {**each, "label": label} if each["name"] == "price" else each
            for each in body["columns"]
        ]
    file = f"{name}.toml"
    source = read(SourceFile, body | {key: value for key, value in parts.items() if value})
    targets = [("command", "cat")] * len(source.notice or ())
    return FolderSource(file, source, DeclarationText("", file), targets)


GOES_ON = Problem("pagination.max_pages", {"max_pages": 1}, 1, URL)
"""What ends a Run at maxPages."""
LOOPS = Problem("pagination.loop", {"selector": "a.next", "known": 1}, 1, URL)
REFUSED = Problem("fetch.forbidden", {"status": 403}, 1, URL, remedies=(Remedy("see_in_browser"),))
BROKEN = Problem("fetch.error_status", {"status": 500}, 2, URL, remedies=(Remedy("run_later"),))
CANCELLED = Problem("run.cancelled")


def meet_owner(store: Store, owner: str, credits: int) -> None:
    """An owner with `credits`; one whom the store knows already keeps theirs."""
    with store.writing() as writer:
        accounts.meet_owner(writer, owner, credits)


def make_dataset(
    store: Store,
    owner: str = "local",
    name: str = "shop",
    columns: Iterable[Mapping[str, object]] = COLUMNS,
    *,
    required: Sequence[str] = (),
    balance: int = 1_000_000,
) -> ids.DatasetId:
    """A dataset without rows; its id. The owner is met with `balance` where they are new."""
    meet_owner(store, owner, balance)
    body = read(CreateDataset, declared(name, columns, required=required))
    return ids.DatasetId(ids.raw_id(datasets.create(store, owner, body, TargetPolicy())["id"]))


def take(
    store: Store,
    dataset: ids.DatasetId,
    items: Iterable[Mapping[str, Scalar]] = ITEMS,
    *,
    owner: str = "local",
    ending: StopReason = StopReason("natural_end"),  # noqa: B008 - it is frozen
    policy: AcceptancePolicy = AcceptancePolicy(),  # noqa: B008 - it is frozen
) -> str:
    """One whole Run that finds `items` on a single page; its id."""
    run, _ = runs.enqueue(store, owner, dataset)
    attempt = attempts.begin(store, ids.RunId(ids.raw_id(run)))
    assert attempt is not None
    attempts.finish(store, attempt, harvest(attempt.recipe, items, ending), policy)
    return run


def forget_would(store: Store, run: str) -> None:
    """Leave a held Run as a version recorded it that did not count what it would change."""
    raw = ids.RunId(ids.raw_id(run))
    with store.writing() as writer:
        facts = {**run_store.facts(writer, raw)[1]}
        del facts["would"]
        run_store.change(writer, raw, facts=dump_compressed(facts))


def harvest(
    recipe: Recipe | ResearchRecipe, items: Iterable[Mapping[str, Scalar]], ending: StopReason
) -> Harvest:
    """What a crawl hands over that found `items` on its single page."""
    assert isinstance(recipe, Recipe)  # of selectors: no crawl reads for a question
    records = [_record(recipe, number, item) for number, item in enumerate(items, 1)]
    matches = [
        sum(r.texts[index] is not None for r in records) for index in range(len(recipe.fields))
    ]
    digest = hashlib.sha256(repr(records).encode()).hexdigest()
    page = PageRead(1, URL, URL, URL, 200, "Shop", digest, ids.now(), records, matches)
    return Harvest([page], ending, attempts=1)


def _record(recipe: Recipe, number: int, item: Mapping[str, Scalar]) -> Record:
    values = [item.get(field.name) for field in recipe.fields]
    return Record(
        number,
        row_key([values[index] for index in recipe.key_indexes], composite=recipe.composite),
        values,
        ["not_found" if value is None else None for value in values],
        [None if value is None else str(value) for value in values],
    )


def _field(name: str, required: Sequence[str]) -> dict[str, object]:
    return {"name": name, "read": {"selector": f".{name}"}, "required": name in required}
