"""Rules 13.8: a notice that tells some changes alone."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from livedata.model.errors import Invalid
from livedata.model.harvest import StopReason
from livedata.rules.declaration.notices import ChangeFilter
from livedata.services.audit.check import check_store
from livedata.services.notices import delivering, subscriptions
from livedata.store.database.store import Store
from tests import made
from tests.notices.conftest import Notify, kinds_told, told
from tests.services.table import A, B, C, Table, pages_of


def only(**wanted: Any) -> ChangeFilter:
    return ChangeFilter(**wanted)


def delivered(store: Store) -> list[dict[str, Any]]:
    """The data of every message that is delivered now."""
    data = []
    while (delivery := delivering.take(store)) is not None:
        data.append({**orjson.loads(delivery.event.body)["data"], "text": delivery.event.text})
        delivering.succeeded(store, delivery)
    return data


def test_only_changes_that_meet_the_condition_are_told(table: Table, notify: Notify) -> None:
    table.take(A, B, C)
    notify(change_filter=only(when=["price < 9"]), kinds=["changes"])
    table.take({**A, "price": 10}, {**B, "price": 11}, C)
    assert told(table.store) == []
    table.take({**A, "price": 8.5}, {**B, "price": 12}, C)
    assert told(table.store) == [("changes", "shop: 1 of 2 changes meets price < 9.")]
    (data,) = delivered(table.store)
    (change,) = data["changes"]
    assert (change["row"], change["matches"]) == (
        "A1",
        ["price fell below 9: 10 → 8.5"],
    )
    assert data["moreChanges"] == 0
    assert "matches" not in data
    assert data["text"].splitlines() == [
        "shop: 1 of 2 changes meets price < 9.",
        "- Lamp (A1) changed: price fell below 9: 10 → 8.5",
    ]
    table.take({**A, "price": 8}, {**B, "price": 13}, C)
    assert kinds_told(table.store) == ["changes"]
    assert check_store(table.store).problems == []


@pytest.mark.parametrize(
    ("wanted", "rows"),
    [
        ({"kinds": ["created"]}, ["C3"]),
        ({"kinds": ["created", "missing"]}, ["B2", "C3"]),
        ({"columns": ["price"]}, ["A1", "C3"]),
        ({"columns": ["title"]}, ["C3"]),
        ({"ignore": ["price"]}, ["B2", "C3"]),
        ({"ignore": ["title"]}, ["A1", "B2", "C3"]),
        ({"when": ["row is gone"]}, ["B2"]),
        ({"when": ["price falls"], "ignore": ["price"]}, []),
        ({"when": ["weight < 3"]}, None),
    ],
)
def test_kinds_columns_and_clauses_narrow_together(
    table: Table, notify: Notify, wanted: dict[str, Any], rows: list[str] | None
) -> None:
    table.take(A, B)
    if rows is None:
        with pytest.raises(Invalid, match="no such column"):
            notify(change_filter=only(**wanted))
        return
    notify(change_filter=only(**wanted), kinds=["changes"])
    table.take({**A, "price": 2}, C)
    data = delivered(table.store)
    assert sorted(change["row"] for each in data for change in each["changes"]) == rows


def test_only_the_columns_that_are_asked_for_are_in_the_message(
    table: Table, notify: Notify
) -> None:
    table.take(A)
    notify(change_filter=only(columns=["price"]), kinds=["changes"])
    table.take({**A, "title": "Lamp II", "price": 3})
    (data,) = delivered(table.store)
    assert [[*change["changed"]] for change in data["changes"]] == [["price"]]
    assert data["text"].splitlines()[1:] == ["- Lamp II (A1) changed: price: 10 → 3"]
    assert data["sentence"] == "shop: 1 of 1 change meets what this notice asks for."


def test_what_is_no_change_is_told_as_ever(table: Table, notify: Notify) -> None:
    table.take(A, B, C)
    notify(change_filter=only(when=["price < 1"]), threshold=1)
    attempt = table.begin()
    broken = StopReason("page_failed", made.BROKEN)
    table.finish(attempt, pages_of(attempt.recipe, [A], ending=broken))
    table.take({**A, "price": 9}, B, C)
    assert kinds_told(table.store) == ["failing", "recovered"]


def test_of_more_than_a_message_holds_the_rest_is_counted(table: Table, notify: Notify) -> None:
    notify(change_filter=only(when=["price < 150"]), kinds=["changes"])
    table.take(*[{**A, "sku": f"M{number:03}", "price": number} for number in range(200)])
    (data,) = delivered(table.store)
    assert data["sentence"] == "shop: 150 of 200 changes meet price < 150."
    assert (len(data["changes"]), data["moreChanges"]) == (100, 50)


def test_a_condition_of_all_datasets_is_one_for_those_that_have_its_columns(
    table: Table, notify: Notify, store: Store
) -> None:
    other = Table(store, made.declared(name="others"))
    table.add_column("mark")
    with pytest.raises(Invalid, match="no such column"):
        notify(change_filter=only(when=["mark is empty"]), datasets=[table.id, other.id])
    notify(change_filter=only(when=["mark is empty"]), kinds=["changes"])
    table.take(A)
    other.take(A)
    assert told(store) == [("changes", "shop: 1 of 1 change meets mark is empty.")]


def test_a_notice_with_a_condition_needs_a_dataset(store: Store, notify: Notify) -> None:
    with pytest.raises(Invalid, match="There is no dataset yet whose columns these could be"):
        notify(change_filter=only(when=["price < 9"]))
    assert list(subscriptions.listed(store, "local").notices) == []


@pytest.mark.parametrize("wanted", [{"columns": ["prize"]}, {"ignore": ["prize"]}])
def test_an_unknown_column_is_refused_with_those_that_there_are(
    table: Table, notify: Notify, wanted: dict[str, Any]
) -> None:
    with pytest.raises(Invalid, match=r"There is no column 'prize'. There is: sku, title, price"):
        notify(change_filter=only(**wanted), datasets=[table.id])
