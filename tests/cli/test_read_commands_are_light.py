from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.made import make_dataset, take

if TYPE_CHECKING:
    from livedata.store.database.store import Store
    from tests.cli.shell import Shell

HEAVY = {
    "alembic",
    "flask",
    "pydantic",
    "rich",
    "scrapy",
    "sqlalchemy",
    "sqlmodel",
    "twisted",
}


CLIENTS = {"httpx2", "jsonschema_rs", "openai", "pydantic_ai"}
RESEARCH = (
    *("livedata.model.research", "livedata.research", "livedata.rules.research"),
    *("livedata.services.research", "livedata.store.research", "spiders.research"),
)
SETTINGS = {"livedata.model.research", "livedata.model.research.settings"}
"""What reads all settings knows these too."""


@pytest.mark.one_database
@pytest.mark.parametrize(
    "args",
    [
        ("--help",),
        ("dataset", "list"),
        ("rows", "list", "shop"),
        ("rows", "show", "shop", "A1"),
        ("rows", "edit", "shop", "A1", "title=X"),
        ("runs", "list", "shop"),
        ("changes", "shop", "--json"),
    ],
    ids=" ".join,
)
def test_a_command_on_selectors_imports_nothing_of_research(
    livedata: Shell, store: Store, args: tuple[str, ...]
) -> None:
    take(store, make_dataset(store))
    imported = livedata.imported_after(*args)
    assert not imported & CLIENTS
    assert {name for name in imported if name.startswith(RESEARCH)} - SETTINGS == set()


@pytest.mark.parametrize(
    "args",
    [
        ("dataset", "list"),
        ("dataset", "show", "shop"),
        ("dataset", "export", "shop"),
        ("rows", "list", "shop"),
        ("rows", "show", "shop", "A1"),
        ("runs", "list", "shop"),
        ("runs", "show", "shop"),
        ("changes", "shop", "--json"),
        ("changes",),
        ("changes", "--names"),
        ("key", "list"),
        ("usage",),
        ("doctor",),
        ("prune", "--dry-run"),
    ],
    ids=" ".join,
)
def test_a_question_imports_the_driver_alone(
    livedata: Shell, store: Store, args: tuple[str, ...]
) -> None:
    take(store, make_dataset(store))
    assert not livedata.modules_after(*args) & HEAVY
