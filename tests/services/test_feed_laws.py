"""What holds of every page of every change feed, whatever the history."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from livedata.model import ids
from livedata.model.errors import Invalid, NotFound
from livedata.model.harvest import PageRead
from livedata.services import feed
from livedata.services.audit.check import check_store
from livedata.store.database.store import Store
from tests import made
from tests.services.table import A, B, C, Item, Table, pages_of

KEYS = ("a", 'b"10":{', "c")
TEXTS = st.one_of(
    st.none(),
    st.sampled_from(
        ["Lamp", "", '","', '"}', '"2":{"0":"x"', "\\", "ÄÖ€😀", "\x7f\n", "%s", "x" * 3000]
    ),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8),
)
PRICES = st.sampled_from([1, 2.5, 1e300, -0.0, 2**53, None])
CELLS = st.fixed_dictionaries({"title": TEXTS, "price": PRICES})
FOUND = st.dictionaries(st.sampled_from(KEYS), CELLS, max_size=3)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("run"), st.lists(FOUND, min_size=1, max_size=2), st.booleans()),
        st.tuples(st.just("edit"), st.sampled_from(KEYS), CELLS, TEXTS),
        st.tuples(st.just("reset"), st.sampled_from(KEYS), st.just("price"), st.none()),
        st.tuples(st.just("column"), st.none(), st.none(), st.none()),
    ),
    min_size=1,
    max_size=7,
)
COLUMNS: list[dict[str, object]] = [
    {"name": "sku", "type": "string", "key": True},
    {"name": "note", "type": "string", "ownership": "user"},
    {"name": "title", "type": "string"},
    {"name": "price", "type": "number"},
]


@pytest.mark.slow
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS)
def test_the_laws_hold_for_any_history(steps: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as home:
        store = made.make_store(Path(home))
        made.meet_owner(store, "local", 1000)
        declared: Any = made.declared(columns=COLUMNS)
        declared["source"]["minimumItems"] = 0
        table = Table(store, declared)
        for step in steps:
            perform(table, step)
        _hold(table)
        store.close()


def test_edits_over_what_could_not_be_read_and_rows_that_vanish_and_return(table: Table) -> None:
    table.take(A, B, C)
    _take(table, [C, A], unreadable=True)
    table.edit("C3", {"price": 3, "note": "mine"})
    table.edit("A1", {"title": None})
    _take(table, [{**C, "price": None}, B], unreadable=True)
    table.add_column("extra")
    table.edit("A1", {"extra": "x"})
    table.edit("C3", reset=["price"])
    table.take(A, {**B, "title": 'a",'}, C)
    assert {change["kind"] for change in table.feed()} >= {"created", "missing", "returned"}
    _hold(table)


def test_texts_that_were_cut_and_pages_of_many_items(table: Table) -> None:
    items: list[Item] = [{**A, "sku": f"k{number}", "price": number} for number in range(30)]
    table.take_pages(items[:15], [*items[15:], {**A, "title": "é" * 3000}])
    table.take({**items[12], "price": 7}, {**A, "title": '"1":{'})
    read = [entry for seen in _page(table)["observations"] for entry in seen["entries"]]
    assert {entry["truncated"] for entry in read} == {True, False}
    _hold(table)


def test_a_feed_without_revisions(table: Table) -> None:
    page = _page(table)
    assert (page["data"], page["schemas"], page["observations"]) == ([], [], [])
    _hold(table)


def test_a_revision_without_what_was_looks_it_up(table: Table) -> None:
    """As those have it that older versions wrote."""
    table.take(A, B)
    table.take({**A, "price": 7}, B)
    table.edit("B2", {"title": "Mine"})
    told = table.feed()
    with table.store.writing() as writer:
        writer.execute("UPDATE revisions SET was = NULL")
    assert table.feed() == told
    _hold(table)


@pytest.mark.parametrize(
    ("asked", "refused"),
    [
        ({"after": 9}, Invalid),
        ({"through": 9}, Invalid),
        ({"field_id": ids.format_uuid(ids.new_id())}, Invalid),
        ({"row_id": ids.new_id()}, NotFound),
    ],
)
def test_what_is_refused_is_refused(table: Table, asked: Any, refused: type[Exception]) -> None:
    with pytest.raises(refused):
        feed.changes_json(table.store, "local", table.id, **asked)


def test_another_owner_does_not_find_it(table: Table) -> None:
    with pytest.raises(NotFound):
        feed.changes_json(table.store, "bob", table.id)


def _hold(table: Table) -> None:
    """The laws: of the whole feed, and of any page of it."""
    assert not check_store(table.store).problems
    whole = _page(table, limit=10_000)["data"]
    by_id = {change["id"]: change for change in whole}
    collected = {
        column["id"] for column in table.dataset["columns"] if column["ownership"] == "collected"
    }
    for change in whole:
        _follows(change, by_id.get(change["previousRevisionId"]))
        read = {field for field, value in change["data"].items() if value is not None}
        assert change["evidence"].keys() >= (read & collected) - change["overrides"].keys()
    for limit in (1, 2, 7):
        pages: list[Any] = []
        after: int | None = 0
        while after is not None:
            page = _page(table, after=after, limit=limit)
            _resolves(page)
            pages += page["data"]
            after = page["nextAfter"]
        assert pages == whole
    _narrows(table, whole)


def _follows(change: Any, before: Any) -> None:
    """What stood before is what the revision before says."""
    assert change["before"] == (before and before["data"])
    assert change.get("beforeOverrides") == (before and before["overrides"])


def _resolves(page: Any) -> None:
    """A page tells every entry that it refers to, and no other."""
    entries = {
        (seen["id"], entry["id"]) for seen in page["observations"] for entry in seen["entries"]
    }
    assert entries == {
        (ref["observationId"], ref["entryId"]) for change in page["data"] for ref in _refs(change)
    }
    versions = {change["schemaVersion"] for change in page["data"]}
    assert [schema["version"] for schema in page["schemas"]] == sorted(versions)


def _refs(change: Any) -> list[Any]:
    overridden = [*change["overrides"].values(), *change.get("beforeOverrides", {}).values()]
    references = [*change["evidence"].values(), *(override["evidence"] for override in overridden)]
    return [ref for refs in references for ref in refs]


def _narrows(table: Table, whole: list[Any]) -> None:
    """The timeline of a row, a field or a cell is what of the whole feed concerns it."""
    rows = [None, *sorted({change["rowId"] for change in whole})[:4]]
    for row, field in product(rows, [None, *table.fields.values()]):
        narrowed = _page(table, row_id=row and ids.raw_id(row), field_id=field, limit=10_000)
        assert narrowed["data"] == [
            change
            for change in whole
            if row in {None, change["rowId"]}
            and (field is None or field in change["changedFieldIds"])
        ]
        _resolves(narrowed)


def _page(table: Table, **asked: Any) -> Any:
    return orjson.loads(feed.changes_json(table.store, "local", table.id, **asked))


def _run(table: Table, pages: list[dict[str, Item]], unreadable: bool) -> None:
    seen: set[str] = set()
    items: list[Item] = []
    for page in pages:
        items += [{"sku": key, **cells} for key, cells in page.items() if key not in seen]
        seen |= page.keys()
    _take(table, items, unreadable=unreadable)


def _take(table: Table, items: list[Item], *, unreadable: bool) -> None:
    """A Run on two pages; with `unreadable`, what is null could not be read."""
    attempt = table.begin()
    harvest = pages_of(attempt.recipe, items[:1], items[1:])
    if unreadable:
        harvest = replace(harvest, pages=[_unread(page) for page in harvest.pages])
    table.finish(attempt, harvest)


def _unread(page: PageRead) -> PageRead:
    for record in page.records:
        for number, value in enumerate(record.values):
            if value is None:
                record.reasons[number], record.texts[number] = "extraction_failed", "3 for 2"
    return page


def _edit(table: Table, key: str, cells: Item, note: str | None) -> None:
    if key in table.rows():
        with suppress(Invalid):
            table.edit(key, {**cells, "note": note})


def _reset(table: Table, key: str, name: str, _: None) -> None:
    if key in table.rows():
        with suppress(Invalid):
            table.edit(key, reset=[name])


def _column(table: Table, *_: None) -> None:
    table.add_column(f"user_{len(table.fields)}")


_STEPS: dict[str, Any] = {"run": _run, "edit": _edit, "reset": _reset, "column": _column}


def table_after(store: Store, steps: list[Any]) -> Table:
    """A table of its own that has been through these steps."""
    declared: Any = made.declared(name=f"any {ids.format_uuid(ids.new_id())}", columns=COLUMNS)
    declared["source"]["minimumItems"] = 0
    table = Table(store, declared)
    for step in steps:
        perform(table, step)
    return table


def perform(table: Table, step: Any) -> None:
    """Do what a step of a history says."""
    _STEPS[step[0]](table, *step[1:])
