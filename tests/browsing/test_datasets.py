"""The list of all datasets: how each is doing, at a glance."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests import made
from tests.browsing.test_changes import numbers
from tests.browsing.test_table import path_of

if TYPE_CHECKING:
    from livedata.store.database.store import Store
    from tests.browsing.visitor import Visitor

_CHANGES = re.compile(
    r'<a href="([^"]+)"><data class="number" value="(\d+)">\d+</data> (changes?)<'
)


def test_the_last_run_that_changed_something_leads_to_what_it_changed(
    alice: Visitor, store: Store
) -> None:
    dataset = made.make_dataset(store, alice.owner)
    assert _CHANGES.search(alice.get("/")) is None
    made.take(store, dataset, owner=alice.owner)
    lamp, *others = made.ITEMS
    for _ in range(2):  # the second one finds nothing new
        made.take(store, dataset, [{**lamp, "price": 12}, *others], owner=alice.owner)
    match = _CHANGES.search(alice.get("/"))
    assert match is not None
    assert match.group(2, 3) == ("1", "change")
    assert numbers(alice.get(match[1])) == [4]


def test_a_table_names_the_command_that_writes_all_of_it(alice: Visitor, store: Store) -> None:
    dataset = made.make_dataset(store, alice.owner, name="-x")
    made.take(store, dataset, owner=alice.owner)
    command = "livedata dataset export --owner alice -- -x"
    assert f'<code dir="ltr">{command}</code>' in alice.get(path_of(dataset))


def test_datasets_are_paged_and_each_is_there_once(
    alice: Visitor, bob: Visitor, store: Store
) -> None:
    for at in range(60):
        made.make_dataset(store, alice.owner, name=f"number-{at}")
    pages = list(alice.pages("/"))
    names = [name for page in pages for name in re.findall(r"<bdi>(number-\d+)</bdi>", page)]
    assert len(pages) == 3
    assert sorted(names) == sorted(f"number-{at}" for at in range(60))
    assert "There is no dataset yet." in bob.get("/")


def test_a_table_without_rows_names_no_such_command(alice: Visitor, store: Store) -> None:
    dataset = made.make_dataset(store, alice.owner)
    assert "dataset export" not in alice.get(path_of(dataset))
