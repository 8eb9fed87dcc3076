"""Each question of the pages asks whose it is, whoever has asked before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from livedata.model import ids
from livedata.model.errors import NotFound
from livedata.model.ids import DatasetId, Micros, OwnerName, RunId
from livedata.services import queries
from livedata.services.pages.facets import facets
from livedata.services.pages.history import Narrowing, earlier_runs, history, last_ends, run_ahead
from livedata.services.pages.report import report
from livedata.services.pages.table import TableQuery, table_page
from livedata.services.run_view import viewing
from tests.browsing.world import World

if TYPE_CHECKING:
    from livedata.store.database.store import Store

Ask = Callable[["Store", OwnerName, DatasetId, RunId], object]
QUESTIONS: dict[str, Ask] = {
    "a table": lambda store, owner, dataset, _: table_page(store, owner, dataset, TableQuery()),
    "a history": lambda store, owner, dataset, _: history(store, owner, dataset, Narrowing()),
    "Runs": lambda store, owner, dataset, _: earlier_runs(store, owner, dataset, 30),
    "ends": lambda store, owner, dataset, _: last_ends(store, owner, [dataset], 30),
    "values": lambda store, owner, dataset, _: facets(
        store,
        owner,
        dataset,
        TableQuery(),
        queries.dataset(store, owner, dataset)["columns"][0]["id"],
    ),
    "a Run ahead": lambda store, owner, dataset, _: run_ahead(
        store, owner, dataset, (Micros(0), ids.format_uuid(bytes(16))), 3
    ),
    "a report": lambda store, owner, dataset, _: report(store, owner, dataset, Micros(0)),
    "a Run": lambda store, owner, _, run: viewing(store, owner, run).__enter__(),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_of_alice_is_not_found_by_bob(store: Store, question: str) -> None:
    dataset = World(store, "alice").shop()
    listed = queries.runs(store, "alice", dataset, 30)
    (held,) = [RunId(ids.raw_id(run["id"])) for run in listed if run["status"] == "held"]
    ask = QUESTIONS[question]
    ask(store, OwnerName("alice"), dataset, held)
    with pytest.raises(NotFound):
        ask(store, OwnerName("bob"), dataset, held)
