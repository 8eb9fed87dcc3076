from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cli.shell import lines
from tests.made import ITEMS, make_dataset, take

if TYPE_CHECKING:
    from collections.abc import Mapping

    from livedata.model.row import Scalar
    from livedata.store.database.store import Store
    from tests.cli.shell import Shell

STALE = ("rows", "list", "shop", "--stale")
LAMP, *OTHERS = ITEMS


def shop(price: Scalar) -> list[Mapping[str, Scalar]]:
    """The items with the lamp at this price."""
    return [{**LAMP, "price": price}, *OTHERS]


def test_an_edit_whose_source_has_moved_is_listed(livedata: Shell, store: Store) -> None:
    dataset = make_dataset(store)
    take(store, dataset)
    livedata("rows", "edit", "shop", "A1", "price=12", "title=Light")
    moved = take(store, dataset, shop(11))
    take(store, dataset, shop(11))
    (override,) = livedata.json(*STALE)
    assert (override["rowKey"], override["column"], override["value"]) == ("A1", "price", 12)
    assert (override["sourceThen"], override["sourceNow"], override["agrees"]) == (10, 11, False)
    assert override["sinceRunId"] == moved
    assert lines(livedata.out(*STALE))[1] == ["Light", "A1", "price", "12", "10", "11", "no", moved]


def test_a_source_that_came_to_agree_is_listed_as_such(livedata: Shell, store: Store) -> None:
    dataset = make_dataset(store)
    take(store, dataset)
    livedata("rows", "edit", "shop", "A1", "price=12")
    take(store, dataset, shop(12))
    assert [override["agrees"] for override in livedata.json(*STALE)] == [True]


def test_a_value_that_vanished_from_the_source_is_listed(livedata: Shell, store: Store) -> None:
    dataset = make_dataset(store)
    take(store, dataset)
    livedata("rows", "edit", "shop", "A1", "price=12")
    take(store, dataset, shop(None))
    assert lines(livedata.out(*STALE))[1][3:6] == ["12", "10", "(empty)"]


def test_an_edit_that_was_made_again_or_whose_source_came_back_is_not_listed(
    livedata: Shell, store: Store
) -> None:
    dataset = make_dataset(store)
    take(store, dataset)
    livedata("rows", "edit", "shop", "A1", "price=12")
    take(store, dataset, shop(11))
    livedata("rows", "edit", "shop", "A1", "price=13")
    assert livedata.json(*STALE) == []
    take(store, dataset, shop(14))
    take(store, dataset, shop(11))
    assert livedata.json(*STALE) == []
    assert "another source value" in livedata(*STALE).stderr


def test_a_reset_cell_is_not_listed(livedata: Shell, store: Store) -> None:
    dataset = make_dataset(store)
    take(store, dataset)
    livedata("rows", "edit", "shop", "A1", "price=12")
    take(store, dataset, shop(11))
    livedata("rows", "reset", "shop", "A1", "price")
    assert livedata.json(*STALE) == []


def test_the_limit_and_the_other_filters(livedata: Shell, store: Store) -> None:
    dataset = make_dataset(store)
    take(store, dataset)
    livedata("rows", "edit", "shop", "A1", "price=12", "title=Light")
    take(store, dataset, [{**LAMP, "price": 1, "title": "Torch"}, *OTHERS])
    assert len(livedata.json(*STALE, "--limit", "1")) == 1
    assert "There are 2" in livedata(*STALE, "--limit", "1").stderr
    livedata.error(*STALE, "--status", "new", code=2)
    livedata.error(*STALE, "--owner", "bob")
