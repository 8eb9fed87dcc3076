"""A table grows: a revision adds and drops columns, and each door tells of it alike."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from livedata.cli.dataset.sqlite_writer import write_sqlite
from livedata.messages.validation import read
from livedata.model.errors import Invalid
from livedata.model.ids import DatasetId, OwnerName, RowId, RunId, format_timestamp, now, raw_id
from livedata.model.requests import CreateDataset
from livedata.model.row import RowEdit
from livedata.model.run import RowDeltas
from livedata.rules.declaration.notices import ChangeFilter
from livedata.rules.network.targets import TargetPolicy
from livedata.services import datasets, feed, queries, rows, runs, shares, snapshot
from livedata.services.archive import export_archive, import_archive
from livedata.services.archive_container import open_archive
from livedata.services.audit.check import check_store
from livedata.services.datasets import Revised
from livedata.services.notices import subscriptions
from livedata.store.database.damage import first_damage
from livedata.store.database.store import Store
from livedata.store.notices import Subscription
from tests.crawling import Crawling, shop_source
from tests.shop import Item, shop, some_items
from tests.site import Site

ALICE = OwnerName("local")


def without(declared: dict[str, Any], *names: str) -> dict[str, Any]:
    """A declaration without some columns and what reads them."""
    source = declared["source"]
    return {
        **declared,
        "columns": [each for each in declared["columns"] if each["name"] not in names],
        "source": {
            **source,
            "fields": [each for each in source["fields"] if each["name"] not in names],
        },
    }


def void(_done: object) -> None:
    """For what is done for its effect."""


class Table:
    """The shop's table in a store, with what it is declared as."""

    def __init__(self, crawling: Crawling, site: Site) -> None:
        self.crawling, self.site, self.store = crawling, site, crawling.store
        self.whole = shop_source(site.at("/page/1.html"))
        self.id: DatasetId

    def create(self, declared: dict[str, Any] | None = None) -> None:
        self.id = self.crawling.create(declared or self.whole, allow=self.site.host)

    def revise(self, declared: dict[str, Any]) -> Revised:
        body = read(CreateDataset, declared)
        targets = TargetPolicy.parse(self.site.host)
        return datasets.revise(self.store, ALICE, self.id, body, targets)

    def run(self) -> RowDeltas:
        run = self.crawling.run(self.id, allow=self.site.host)
        assert run["status"] == "succeeded", run["error"]
        return run["rowDeltas"]

    def field(self, name: str) -> str:
        return str(self.columns()[name]["id"])

    def columns(self) -> dict[str, Any]:
        shown = queries.dataset(self.store, ALICE, self.id)
        return {column["name"]: column for column in shown["columns"]}

    def rows(self) -> dict[str, Any]:
        every = queries.rows(self.store, ALICE, self.id, 1000)[0]
        return {row["rowKey"]: row for row in every}

    def changes(self, after: int = 0) -> Any:
        return feed.changes(self.store, ALICE, self.id, after=after, limit=1000)

    def check(self) -> None:
        """Nothing of the store contradicts the rest, and each record can be read."""
        assert check_store(self.store).problems == []
        with self.store.reading() as reader:
            assert first_damage(reader) is None


@pytest.fixture
def table(crawling: Crawling, site: Site) -> Table:
    return Table(crawling, site)


def sold_out(items: Sequence[Item], *without_price: int) -> list[Item]:
    """The same items, some of them without a price."""
    return [
        Item(item.sku, item.name, "" if place in without_price else item.price, item.stock)
        for place, item in enumerate(items)
    ]


def test_an_added_column_is_unknown_until_a_run_reads_it_and_tells_of_each_row_once(
    table: Table,
) -> None:
    table.site.pages(shop(sold_out(some_items(6), 1, 4)))
    table.create(without(table.whole, "price"))
    table.run()
    head = feed.head(table.store, ALICE, table.id)
    revised = table.revise(table.whole)
    assert [column["name"] for column in revised.revision.added] == ["price"]
    assert (revised.version, revised.dataset["schemaVersion"]) == (2, 2)
    price = table.field("price")
    for row in table.rows().values():
        assert row["data"][price] is None
        assert row["missingReasons"] == {price: "unknown"}
    assert feed.head(table.store, ALICE, table.id) == head, "a revision alone tells nobody"
    table.check()
    assert table.run() == {"new": 0, "changed": 4, "gone": 0}
    told = table.changes(after=head)["data"]
    assert [change["kind"] for change in told] == ["updated"] * 4
    for change in told:
        assert change["changedFieldIds"] == [price]
        assert change["before"].get(price) is None
        assert change["data"][price] is not None
        assert change["evidence"][price]
        assert change["schemaVersion"] == 2
    empty = [row for row in table.rows().values() if row["data"][price] is None]
    assert [row["missingReasons"][price] for row in empty] == ["unknown"] * 2
    table.check()
    assert table.run() == {"new": 0, "changed": 0, "gone": 0}
    assert feed.head(table.store, ALICE, table.id) == head + 4
    # A follower from the beginning sees the old changes with the columns of their time.
    first = table.changes()
    assert {schema["version"] for schema in first["schemas"]} == {1, 2}
    assert price not in first["data"][0]["data"]


def test_a_row_that_changes_otherwise_gets_the_reason_of_the_added_cell_too(table: Table) -> None:
    items = sold_out(some_items(3), 0)
    table.site.pages(shop(items))
    table.create(without(table.whole, "price"))
    table.run()
    table.revise(table.whole)
    table.site.pages(shop([Item(items[0].sku, "Another name", "", items[0].stock), *items[1:]]))
    assert table.run() == {"new": 0, "changed": 3, "gone": 0}
    row = table.rows()[items[0].sku]
    assert row["missingReasons"] == {table.field("price"): "not_found"}
    table.check()


def test_a_dropped_column_leaves_the_table_and_stays_in_the_history(table: Table) -> None:
    table.site.pages(shop(some_items(4)))
    table.create()
    table.run()
    price = table.field("price")
    before = {key: row["data"][price] for key, row in table.rows().items()}
    head = feed.head(table.store, ALICE, table.id)
    moment = format_timestamp(now())
    revised = table.revise(without(table.whole, "price"))
    assert [column["id"] for column in revised.revision.dropped] == [price]
    assert "price" not in table.columns()
    assert all(price not in row["data"] for row in table.rows().values())
    assert feed.head(table.store, ALICE, table.id) == head
    # At an earlier moment it is there, also although no revision came since.
    with snapshot.snapshot(table.store, ALICE, table.id, moment, "UTC") as then:
        assert {row["rowKey"]: row["data"][price] for row in then.rows} == before
    table.check()
    renamed = [Item(each.sku, f"{each.name}!", "1.00", each.stock) for each in some_items(4)]
    table.site.pages(shop(renamed))
    assert table.run() == {"new": 0, "changed": 4, "gone": 0}
    first, last = table.changes()["data"][0], table.changes(after=head)["data"][0]
    assert first["data"][price] in before.values()
    assert price not in last["data"]
    assert price not in last["before"]
    assert price not in last["evidence"]
    of_it = feed.changes(table.store, ALICE, table.id, limit=50, field_id=price)["data"]
    assert [change["kind"] for change in of_it] == ["created"] * 4
    with snapshot.snapshot(table.store, ALICE, table.id, str(head), "UTC") as then:
        assert {row["rowKey"]: row["data"][price] for row in then.rows} == before
    table.check()


def test_a_column_that_is_added_again_under_its_name_is_another_one(table: Table) -> None:
    table.site.pages(shop(some_items(3)))
    table.create()
    table.run()
    old = table.field("price")
    table.revise(without(table.whole, "price"))
    as_text = shop_source(table.site.at("/page/1.html"))
    as_text["columns"][2] = {"name": "price", "type": "string"}
    table.revise(as_text)
    new = table.field("price")
    assert new != old
    assert {row["data"][new] for row in table.rows().values()} == {None}
    table.check()
    assert table.run() == {"new": 0, "changed": 3, "gone": 0}
    assert all(isinstance(row["data"][new], str) for row in table.rows().values())
    told = table.changes(after=3)["data"]
    assert {tuple(change["changedFieldIds"]) for change in told} == {(new,)}
    table.check()


def test_labels_descriptions_and_the_order_come_from_the_file(table: Table) -> None:
    table.site.pages(shop(some_items(2)))
    table.create()
    table.run()
    declared = {**table.whole, "columns": [*reversed(table.whole["columns"])]}
    declared["columns"][1] = {
        **declared["columns"][1],
        "label": "Price in €",
        "description": "With tax.",
    }
    revised = table.revise(declared)
    assert (revised.version, revised.dataset["schemaVersion"]) == (None, 2)
    assert [*table.columns()] == ["stock", "price", "name", "sku"]
    assert table.columns()["price"]["label"] == "Price in €"
    assert revised.revision.sentences == [
        "label of price: price → Price in €",
        "description of price: none → With tax.",
        "order of the columns: stock, price, name, sku",
    ]
    # What a file leaves out stays as it is.
    again = table.revise({**table.whole, "columns": [*reversed(table.whole["columns"])]})
    assert not again.is_changed
    assert table.columns()["price"]["label"] == "Price in €"
    table.check()


WRONG = {
    "another type": (
        lambda declared: declared["columns"][2].update(type="string"),
        r'columns\[2\]\.type must stay "number", not become "string"',
    ),
    "another name of what is read alike": (
        lambda declared: (
            declared["columns"][2].update(name="cost"),
            declared["source"]["fields"][2].update(name="cost"),
        ),
        r'columns\[2\]\.name must stay "price", whose selector it reads',
    ),
    "another key": (
        lambda declared: (
            declared["columns"][0].update(key=False),
            declared["columns"][1].update(key=True),
            declared["source"].update(identity={"kind": "source-key", "field": "name"}),
        ),
        r"source\.identity must stay .* or every row would be new: for another key, make",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_stays_is_said_with_what_to_do(table: Table, wrong: str) -> None:
    change, said = WRONG[wrong]
    table.site.pages(shop(some_items(2)))
    table.create()
    table.run()
    declared = shop_source(table.site.at("/page/1.html"))
    declared["columns"] = [dict(each) for each in declared["columns"]]
    change(declared)  # type: ignore[no-untyped-call]
    with pytest.raises(Invalid, match=said) as refused:
        table.revise(declared)
    assert "--take-over" in refused.value.message
    assert table.columns().keys() == {"sku", "name", "price", "stock"}


def notice(table: Table, wanted: ChangeFilter, *, of_all: bool = False) -> Subscription:
    own = None if of_all else [queries.dataset(table.store, ALICE, table.id)["id"]]
    return Subscription("cheap", "file", "/tmp/told", ("changes",), own, 3, None, wanted)


NAMED = {
    "the condition of a notice": ChangeFilter(when=("price < 20",)),
    "the columns of a notice": ChangeFilter(columns=("price",)),
    "what a notice ignores": ChangeFilter(ignore=("price",)),
}


@pytest.mark.parametrize("named", NAMED)
@pytest.mark.parametrize("of_all", [False, True])
def test_a_column_that_a_notice_names_is_not_dropped(
    table: Table, named: str, of_all: bool
) -> None:
    table.create()
    subscriptions.add(table.store, ALICE, notice(table, NAMED[named], of_all=of_all), "UTC")
    with pytest.raises(Invalid, match=r"the notice 'cheap' names: change or remove"):
        table.revise(without(table.whole, "price"))
    assert "price" in table.columns()
    subscriptions.remove(table.store, ALICE, "cheap")
    assert table.revise(without(table.whole, "price")).is_changed


@pytest.mark.parametrize(("columns", "clauses"), [(("price",), ()), ((), ("price < 20",))])
def test_a_column_that_a_share_names_is_not_dropped(
    table: Table, columns: Sequence[str], clauses: Sequence[str]
) -> None:
    table.create()
    share, _ = shares.add(table.store, ALICE, table.id, columns, clauses, "for Bob")
    with pytest.raises(Invalid, match=r"the share 'for Bob' shows or asks for: revoke"):
        table.revise(without(table.whole, "price"))
    shares.revoke(table.store, ALICE, share["id"])
    assert table.revise(without(table.whole, "price")).is_changed


def test_a_run_that_began_before_writes_nothing_of_a_column_that_was_dropped(
    table: Table,
) -> None:
    table.site.pages(shop(some_items(3)))
    table.create()
    table.run()
    price = table.field("price")
    dearer = [Item(each.sku, each.name, "999.00", each.stock) for each in some_items(3)]
    table.site.pages(shop([*dearer, Item("new-1", "New", "5.00")]))
    narrower = without(table.whole, "price")
    run = table.crawling.run(
        table.id, allow=table.site.host, during=lambda _: void(table.revise(narrower))
    )
    assert run["rowDeltas"] == {"new": 1, "changed": 0, "gone": 0}, run["error"]
    assert all(price not in row["data"] for row in table.rows().values())
    table.check()


def test_a_run_that_began_before_leaves_an_added_column_unknown(table: Table) -> None:
    table.site.pages(shop(some_items(3)))
    table.create(without(table.whole, "price"))
    run = table.crawling.run(
        table.id, allow=table.site.host, during=lambda _: void(table.revise(table.whole))
    )
    assert run["rowDeltas"] == {"new": 3, "changed": 0, "gone": 0}, run["error"]
    price = table.field("price")
    assert {row["missingReasons"][price] for row in table.rows().values()} == {"unknown"}
    table.check()
    assert table.run() == {"new": 0, "changed": 3, "gone": 0}
    table.check()


def test_a_held_run_is_accepted_without_the_column_that_was_dropped(table: Table) -> None:
    table.site.pages(shop(some_items(40)))
    table.create()
    table.run()
    table.site.pages(shop([Item("a", "A", "1.00")]))
    held = table.crawling.run(table.id, allow=table.site.host)
    assert held["status"] == "held"
    table.revise(without(table.whole, "price"))
    table.check()
    runs.accept(table.store, ALICE, RunId(raw_id(held["id"])))
    assert [row["presence"] for row in table.rows().values()].count("present") == 1
    table.check()


def test_a_held_run_writes_nothing_into_a_column_that_was_added_again(table: Table) -> None:
    table.site.pages(shop(some_items(40)))
    table.create()
    table.run()
    table.site.pages(shop([Item("a", "A", "1.00")]))
    held = table.crawling.run(table.id, allow=table.site.host)
    table.revise(without(table.whole, "price"))
    as_text = shop_source(table.site.at("/page/1.html"))
    as_text["columns"][2] = {"name": "price", "type": "string"}
    table.revise(as_text)
    table.check()
    runs.accept(table.store, ALICE, RunId(raw_id(held["id"])))
    assert {row["data"][table.field("price")] for row in table.rows().values()} == {None}
    table.check()


def test_a_hand_edit_of_a_dropped_column_is_refused_and_an_old_one_shows_no_more(
    table: Table,
) -> None:
    table.site.pages(shop(some_items(2)))
    table.create()
    table.run()
    price = table.field("price")
    row = next(iter(table.rows().values()))
    key = RowId(raw_id(row["id"]))
    wanted = RowEdit(row["revisionId"], "first", {price: 3})
    edited = rows.edit(table.store, ALICE, table.id, key, wanted, None)
    table.revise(without(table.whole, "price"))
    detail = queries.row(table.store, ALICE, table.id, key)
    assert detail["overrides"] == {}
    assert queries.edited_cells(table.store, ALICE, table.id) == {}
    again = RowEdit(edited["id"], "second", {price: 4})
    with pytest.raises(Invalid, match=re.escape(price)):
        rows.edit(table.store, ALICE, table.id, key, again, None)
    table.check()
    table.run()
    table.check()


def test_rows_are_named_by_another_text_once_the_chosen_column_is_dropped(table: Table) -> None:
    table.site.pages(shop(some_items(2)))
    declared = shop_source(table.site.at("/page/1.html"))
    declared["columns"] = [*declared["columns"], {"name": "title", "type": "string"}]
    declared["source"]["fields"] += [{"name": "title", "read": {"selector": "h2"}}]
    table.create(declared)
    datasets.update(table.store, ALICE, table.id, None, label_column="title")
    table.revise(table.whole)
    named = queries.label_column(table.store, ALICE, table.id)
    assert named is not None
    assert named["name"] == "name"
    table.check()


@pytest.mark.one_database
def test_an_archive_and_a_file_of_sqlite_keep_what_was_dropped(
    table: Table, tmp_path: Path
) -> None:
    table.site.pages(shop(some_items(2)))
    table.create()
    table.run()
    price = table.field("price")
    table.revise(without(table.whole, "price"))
    table.site.pages(shop([Item(each.sku, "Other", "3.00") for each in some_items(2)]))
    table.run()
    export_archive(table.store, ALICE, table.id, tmp_path / "shop.zip")
    with closing(Store(f"sqlite:///{tmp_path}/other.db")) as other:
        targets = TargetPolicy.parse(table.site.host)
        with open_archive(tmp_path / "shop.zip") as archive:
            import_archive(other, ALICE, archive, targets)
        assert check_store(other).problems == []
        told = feed.changes(other, ALICE, table.id, limit=10)["data"]
        assert [price in change["data"] for change in told] == [True, True, False, False]
        assert told == table.changes()["data"]
    with snapshot.snapshot(table.store, ALICE, table.id) as shown:
        write_sqlite(shown, tmp_path / "shop.db", present=False)
    with closing(sqlite3.connect(tmp_path / "shop.db")) as file:
        columns = {name for _, name, *_ in file.execute("PRAGMA table_info(rows)")}
        assert "price" not in columns
        cells = file.execute("SELECT count(*) FROM changes WHERE field = 'price'")
        assert cells.fetchone() == (2,)
