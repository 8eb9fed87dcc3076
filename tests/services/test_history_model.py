"""Runs, edits, resets and new columns in any order, against a model of a few lines."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from typing_extensions import override

from livedata.services.audit.check import check_store
from tests import made
from tests.services.table import Table

KEYS = ("a", "b", "c", "d")
TITLES = st.sampled_from(["Lamp", "Mug", None])
PRICES = st.sampled_from([1, 2.5, None])
FOUND = st.dictionaries(st.sampled_from(KEYS), st.tuples(TITLES, PRICES), max_size=4)
COLUMNS: list[dict[str, object]] = [
    {"name": "sku", "type": "string", "key": True},
    {"name": "note", "type": "string", "ownership": "user"},
    {"name": "title", "type": "string"},
    {"name": "price", "type": "number"},
]
COLLECTED = ("title", "price")


@dataclass
class Modelled:
    """A row as it should be: what the source says, what was written by hand, and its history."""

    source: dict[str, Any]
    by_hand: dict[str, Any] = field(default_factory=dict)
    mine: dict[str, Any] = field(default_factory=dict)
    present: bool = True
    status: str = "new"
    kinds: list[str] = field(default_factory=lambda: ["created"])

    def find(self, source: dict[str, Any]) -> None:
        """A Run sees the row."""
        if not self.present:
            self._becomes("changed", "returned")
        elif source != self.source:
            self._becomes("changed", "updated")
        else:
            self.status = "unchanged"
        self.source, self.present = source, True

    def miss(self) -> None:
        """A Run does not see it."""
        if self.present:
            self._becomes("gone", "missing")
        self.present = False

    def _becomes(self, status: str, kind: str) -> None:
        self.status = status
        self.kinds.append(kind)

    @property
    def shown(self) -> dict[str, Any]:
        """What it shows, nulls left out."""
        cells = {**self.source, **self.mine, **self.by_hand}
        return {name: value for name, value in cells.items() if value is not None}


class History(RuleBasedStateMachine):
    """One table and its model, step by step."""

    def __init__(self) -> None:
        super().__init__()
        self.home = tempfile.TemporaryDirectory()
        self.store = made.make_store(Path(self.home.name))
        made.meet_owner(self.store, "local", 1000)
        declared: Any = made.declared(columns=COLUMNS)
        declared["source"]["minimumItems"] = 0
        self.table = Table(self.store, declared)
        self.model: dict[str, Modelled] = {}
        self.user_columns = ["note"]

    @override
    def teardown(self) -> None:
        self.store.close()
        self.home.cleanup()

    @rule(read=FOUND)
    def run(self, read: dict[str, tuple[Any, Any]]) -> None:
        items = {key: {"title": title, "price": price} for key, (title, price) in read.items()}
        run = self.table.take(*({"sku": key, **cells} for key, cells in items.items()))
        assert run["status"] == "succeeded"
        for key in self.model.keys() - items.keys():
            self.model[key].miss()
        for key, cells in items.items():
            if key in self.model:
                self.model[key].find(cells)
            else:
                self.model[key] = Modelled(cells)

    @precondition(lambda self: self.model)
    @rule(data=st.data(), title=TITLES, price=PRICES)
    def override_cells(self, data: st.DataObject, title: Any, price: Any) -> None:
        key = data.draw(st.sampled_from(sorted(self.model)))
        values = {"title": title, "price": price}
        named = data.draw(st.sets(st.sampled_from(COLLECTED), min_size=1))
        chosen = {name: values[name] for name in named}
        self.table.edit(key, chosen)
        self.model[key].by_hand.update(chosen)
        self.model[key].kinds.append("updated")

    @precondition(lambda self: self.model)
    @rule(data=st.data(), value=st.sampled_from(["x", "y", None]))
    def write_user_cell(self, data: st.DataObject, value: Any) -> None:
        key = data.draw(st.sampled_from(sorted(self.model)))
        column = data.draw(st.sampled_from(self.user_columns))
        self.table.edit(key, {column: value})
        self.model[key].mine[column] = value
        self.model[key].kinds.append("updated")

    @precondition(lambda self: any(row.by_hand for row in self.model.values()))
    @rule(data=st.data())
    def reset(self, data: st.DataObject) -> None:
        overridden = sorted(key for key, row in self.model.items() if row.by_hand)
        key = data.draw(st.sampled_from(overridden))
        name = data.draw(st.sampled_from(sorted(self.model[key].by_hand)))
        self.table.edit(key, reset=[name])
        del self.model[key].by_hand[name]
        self.model[key].kinds.append("updated")

    @precondition(lambda self: len(self.user_columns) < 4)
    @rule()
    def add_column(self) -> None:
        self.user_columns.append(f"more{len(self.user_columns)}")
        self.table.add_column(self.user_columns[-1])

    @invariant()
    def the_rows_are_those_of_the_model(self) -> None:
        rows = self.table.rows()
        assert rows.keys() == self.model.keys()
        for key, row in rows.items():
            shown = {name: cell for name, cell in self.table.cells(key).items() if cell is not None}
            modelled = self.model[key]
            assert shown == {"sku": key, **modelled.shown}
            assert (row["status"], row["presence"] == "present") == (
                modelled.status,
                modelled.present,
            )
        present = sum(row.present for row in self.model.values())
        assert self.table.dataset["rowCount"] == present

    @invariant()
    def the_feed_from_0_gives_the_rows_as_listed(self) -> None:
        replayed: dict[str, Any] = {}
        kinds: dict[str, list[str]] = {}
        for change in self.table.feed():
            before = replayed.get(change["rowId"])
            assert change["before"] == (before["data"] if before else None)
            replayed[change["rowId"]] = change
            kinds.setdefault(change["rowId"], []).append(change["kind"])
        rows = self.table.rows()
        assert len(replayed) == len(rows)
        for key, row in rows.items():
            last = replayed[row["id"]]
            assert row["data"] == {**dict.fromkeys(row["data"]), **last["data"]}
            for name in ("presence", "missingReasons"):
                assert row[name] == last[name]
            assert (row["revisionId"], row["updatedAt"]) == (last["id"], last["createdAt"])
            assert kinds[row["id"]] == self.model[key].kinds

    @invariant()
    def what_is_overridden_is_what_the_model_says(self) -> None:
        for key, modelled in self.model.items():
            kept = self.table.named(self.table.row(key)["overrides"])
            covered = {name: modelled.source[name] for name in modelled.by_hand}
            assert {name: override["value"] for name, override in kept.items()} == covered

    @invariant()
    def check_finds_nothing(self) -> None:
        assert check_store(self.store).problems == []


@pytest.mark.slow
def test_any_history_is_that_of_the_model() -> None:
    run_state_machine_as_test(
        History,
        settings=settings(
            max_examples=12,
            stateful_step_count=15,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
