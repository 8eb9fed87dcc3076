"""A dataset takes the place of another one, and what people made of its rows comes along."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from livedata.messages.findings import odd_sentences
from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.dataset import Dataset
from livedata.model.errors import (
    ChangedMeanwhile,
    Conflict,
    Invalid,
    LivedataError,
    NotFound,
    RunInProgress,
)
from livedata.model.harvest import StopReason
from livedata.model.requests import CreateDataset, UpdateDataset
from livedata.rules.declaration.notices import ChangeFilter
from livedata.rules.network.targets import TargetPolicy
from livedata.services import (
    accounts,
    datasets,
    fires,
    queries,
    runs,
    shares,
    takeover,
)
from livedata.services.audit.check import check_store
from livedata.services.notices import digests
from livedata.store import notices
from livedata.store.database.store import Store
from tests import made
from tests.notices.conftest import add_notice
from tests.services.research_table import ResearchTable
from tests.services.table import A, B, C, Item, Table, pages_of

HEIR: tuple[Mapping[str, object], ...] = (
    {"name": "link", "type": "string", "key": True},
    {"name": "title", "type": "string"},
    {"name": "price", "type": "number"},
    {"name": "stock", "type": "boolean"},
)
"""The columns of a table with another key than that of :mod:`tests.made`."""


def linked(*items: Item) -> list[Item]:
    """The same items as the table of the other key has them."""
    return [
        {**{name: value for name, value in item.items() if name != "sku"}, "link": f"/{number}"}
        for number, item in enumerate(items, 1)
    ]


def declared(columns: Sequence[Mapping[str, object]] = HEIR, name: str = "other") -> CreateDataset:
    return read(CreateDataset, made.declared(name, columns))


def take_over(
    table: Table, columns: Sequence[Mapping[str, object]] = HEIR, zone: str = "UTC"
) -> Table:
    """The table that has taken the place of another one."""
    source = declared(columns)
    plan = takeover.plan(table.store, "local", table.id, source, TargetPolicy())
    new = takeover.take_over(table.store, "local", table.id, source, plan, zone)
    return of(table.store, new)


def of(store: Store, dataset: Dataset) -> Table:
    heir = Table.__new__(Table)
    heir.store, heir.id = store, ids.DatasetId(ids.raw_id(dataset["id"]))
    return heir


def odd(table: Table, run: Mapping[str, Any]) -> list[str]:
    """What is told of a Run."""
    report = queries.run_report(table.store, "local", ids.RunId(ids.raw_id(run["id"])))
    return odd_sentences(report.facts)


def assert_sound(table: Table) -> None:
    assert check_store(table.store).problems == []


# What becomes of the two.


def test_the_new_one_has_name_schedule_and_status_and_the_old_one_is_paused(table: Table) -> None:
    table.take(A, B)
    wanted = read(UpdateDataset, {"status": "active", "schedule": "30 6 * * *", "question": "Q?"})
    datasets.update(table.store, "local", table.id, wanted)
    heir = take_over(table, zone="Europe/Berlin")
    new, old = heir.dataset, table.dataset
    assert (new["name"], new["status"], new["schedule"]) == ("shop", "active", "30 6 * * *")
    assert (new["question"], new["rowCount"]) == ("Q?", 0)
    assert (old["name"], old["status"], old["rowCount"]) == ("shop (old)", "paused", 2)
    assert fires.timetable(table.store, heir.id, "Europe/Berlin").upcoming
    assert not fires.timetable(table.store, table.id, "Europe/Berlin").upcoming
    assert_sound(table)


@pytest.mark.parametrize("status", ["draft", "active", "paused"])
def test_each_status_comes_along(table: Table, status: str) -> None:
    if status != "draft":
        datasets.update(table.store, "local", table.id, read(UpdateDataset, {"status": status}))
    assert take_over(table).dataset["status"] == status


def test_a_name_that_is_taken_gets_a_number_and_the_longest_one_is_cut(store: Store) -> None:
    longest = "x" * 120
    old = Table(store, made.declared(longest))
    Table(store, made.declared("x" * 114 + " (old)"))
    heir = take_over(old)
    assert heir.dataset["name"] == longest
    assert old.dataset["name"] == "x" * 112 + " (old 2)"


def test_rows_and_history_of_the_old_one_stay_as_they_are(table: Table) -> None:
    table.take(A, B)
    table.edit("A1", {"price": 9})
    rows, feed = table.rows(), table.feed()
    heir = take_over(table)
    heir.take(*linked(A, B))
    assert (table.rows(), table.feed()) == (rows, feed)


def test_the_columns_that_people_added_come_along(table: Table) -> None:
    table.add_column("seen", "boolean")
    heir = take_over(table)
    by_name = {column["name"]: column for column in heir.dataset["columns"]}
    assert list(by_name) == ["link", "title", "price", "stock", "note", "seen"]
    assert (by_name["seen"]["ownership"], by_name["seen"]["type"]) == ("user", "boolean")
    old_ids = {column["id"] for column in table.dataset["columns"]}
    assert not old_ids & {column["id"] for column in by_name.values()}


def test_the_column_that_names_rows_stays_the_same(store: Store) -> None:
    columns = [*made.COLUMNS, {"name": "brand", "type": "string"}]
    old = Table(store, made.declared(columns=columns))
    datasets.update(store, "local", old.id, None, label_column="brand")
    heir = take_over(old, [*HEIR, {"name": "brand", "type": "string"}])
    named_by = queries.label_column(store, "local", heir.id)
    assert named_by is not None
    assert named_by["name"] == "brand"
    assert_sound(old)


def test_a_share_keeps_its_address_and_shows_the_new_table(table: Table) -> None:
    table.take(A)
    share, token = shares.add(table.store, "local", table.id, ["title"], [], "sheet")
    heir = take_over(table)
    with table.store.reading() as reader:
        assert shares.open_share(reader, token).dataset == heir.id
    (listed,) = shares.list_shares(table.store, "local", heir.id)
    assert (listed["id"], listed["label"], listed["dataset"]) == (share["id"], "sheet", "shop")


def test_a_notice_of_the_old_one_tells_of_the_new_one(table: Table) -> None:
    table.take(A, B)
    other = Table(table.store, made.declared("else"))
    add_notice(table.store, "both", datasets=[table.id, other.id], kinds=["changes"])
    add_notice(table.store, "not this", datasets=[other.id], kinds=["changes"])
    heir = take_over(table)
    with table.store.reading() as reader:
        told = {notice.name: notice.datasets for notice in notices.readable(reader, "local")}
    mine, another = ids.format_uuid(heir.id), ids.format_uuid(other.id)
    assert told == {"both": [another, mine], "not this": [another]}


def test_a_digest_still_tells_what_it_has_gathered_of_the_old_one(table: Table) -> None:
    table.take(A)
    add_notice(table.store, datasets=[table.id], kinds=["changes"], digest="0 6 * * *")
    table.take({**A, "price": 11})
    take_over(table).take(*linked(A))
    with table.store.writing() as writer:
        writer.execute("UPDATE notices SET digest_at = 1000000")
    (digest,) = digests.tell_due(table.store, "UTC")
    assert digest.datasets == 2
    assert_sound(table)


# Hand edits.


@pytest.fixture
def edited(table: Table) -> Table:
    """Three rows, of which two are edited by hand."""
    table.take(A, B, C)
    table.edit("A1", {"price": 9, "note": "cheap"})
    table.edit("B2", {"title": None})
    return table


def test_hand_edits_come_along_with_the_first_accepted_run(edited: Table) -> None:
    heir = take_over(edited)
    run = heir.take(*linked(A, B, C))
    assert (heir.cells("/1")["price"], heir.cells("/1")["note"]) == (9, "cheap")
    assert heir.named(heir.row("/1")["overrides"])["price"]["value"] == 10
    assert heir.cells("/2")["title"] is None
    assert heir.row("/3")["overrides"] == {}
    assert run["rowDeltas"] == {"new": 3, "changed": 0, "gone": 0}
    assert odd(heir, run) == []
    assert_sound(edited)


def test_an_edit_that_comes_along_is_one_of_who_made_it(edited: Table) -> None:
    key = accounts.create_key(edited.store, "local", None)["id"]
    row = edited.rows()["C3"]
    body = {
        "expectedRevisionId": row["revisionId"],
        "requestId": "first",
        "values": {edited.fields["note"]: "by key"},
    }
    first = edited.send(row["id"], body, ids.KeyId(ids.raw_id(key)))
    heir = take_over(edited)
    heir.take(*linked(A, B, C))
    last = heir.feed()[-1]
    assert (last["origin"], last["kind"], last["runId"]) == ("user", "updated", None)
    # It names the edit that it repeats.
    assert (last["actorId"], last["requestId"]) == (key, first["id"])
    assert heir.changed(last) == ["note"]
    assert [change["sequence"] for change in heir.feed()] == [1, 2, 3, 4, 5, 6]
    assert_sound(edited)


def test_hand_edits_come_along_once(edited: Table) -> None:
    heir = take_over(edited)
    heir.take(*linked(A, B, C))
    heir.edit("/1", reset=["price"])
    before = heir.feed()[-1]["sequence"]
    heir.take(*linked(A, B, C))
    assert heir.feed(before) == []
    assert heir.cells("/1")["price"] == 10


def test_an_edit_that_is_made_before_the_first_run_comes_along_too(edited: Table) -> None:
    heir = take_over(edited)
    edited.edit("C3", {"price": 3})
    heir.take(*linked(A, B, C))
    assert heir.cells("/3")["price"] == 3


def test_a_run_that_is_not_accepted_takes_nothing_over(edited: Table) -> None:
    heir = take_over(edited)
    attempt = heir.begin()
    broken = pages_of(attempt.recipe, linked(A), ending=StopReason("page_failed", made.BROKEN))
    assert heir.finish(attempt, broken)["status"] == "failed"
    assert heir.rows() == {}
    heir.take(*linked(A, B, C))
    assert heir.cells("/1")["price"] == 9


def test_a_held_run_that_is_accepted_takes_over_too_and_tells_the_same(edited: Table) -> None:
    heir = take_over(edited)
    attempt = heir.begin()
    spend(edited.store)
    held = heir.finish(attempt, pages_of(attempt.recipe, linked(A, {**B, "price": 1}, C)))
    assert (held["status"], heir.rows()) == ("held", {})
    accounts.grant(edited.store, "local", 1)
    runs.accept(edited.store, "local", attempt.run)
    assert heir.cells("/1")["note"] == "cheap"
    assert heir.cells("/2")["title"] == "Chair"
    (told,) = odd(heir, held)
    assert told == (
        "The hand edits of 1 row were taken over from 'shop (old)'; those of 1 row were not, for "
        "no row here, or more than one, has the same source cells: 'B2'. What was not is still in "
        "'shop (old)'."
    )
    assert_sound(edited)


def spend(store: Store) -> None:
    """Take all credits away."""
    accounts.grant(store, "local", -queries.balance(store, "local"))


UNMATCHED: Mapping[str, tuple[list[Item], list[Item], list[str]]] = {
    "a cell of its source has moved": ([A, B], [{**A, "price": 11}, B], ["A1"]),
    "the site has it no more": ([A, B], [B], ["A1"]),
    "two new rows are alike": ([A, B], [A, B, A], ["A1"]),
    "two old rows are alike": ([A, {**A, "sku": "A2"}], [A], ["A1"]),
    "the source says nothing of it": ([{"sku": "A1"}, B], [{}, B], ["A1"]),
}


@pytest.mark.parametrize("why", UNMATCHED)
def test_an_edit_of_a_row_that_cannot_be_matched_stays_and_is_told(table: Table, why: str) -> None:
    before, after, keys = UNMATCHED[why]
    table.take(*before)
    table.edit("A1", {"note": "mine"})
    heir = take_over(table)
    run = heir.take(*linked(*after))
    assert all(heir.cells(key)["note"] is None for key in heir.rows())
    told, *_ = odd(heir, run)
    assert told.startswith("No hand edit was taken over from 'shop (old)'; those of 1 row were not")
    assert all(repr(key) in told for key in keys)
    assert table.cells("A1")["note"] == "mine"


def test_a_row_that_is_gone_is_no_other_row_for_one_that_is_there(table: Table) -> None:
    table.take({**A, "sku": "A0"})
    table.take(A)
    table.edit("A1", {"note": "mine"})
    heir = take_over(table)
    heir.take(*linked(A))
    assert heir.cells("/1")["note"] == "mine"


def test_rows_are_matched_by_what_the_source_says_below_an_edit(table: Table) -> None:
    table.take(A, B)
    table.edit("A1", {"title": "Chair", "price": 25.5, "stock": False})
    heir = take_over(table)
    heir.take(*linked(A, B))
    assert heir.cells("/1")["title"] == "Chair"
    assert heir.row("/2")["overrides"] == {}


UNFIT: Mapping[str, tuple[list[Mapping[str, object]], Item, str]] = {
    "of another type": ([{"name": "price", "type": "string"}], {"price": 9}, "price"),
    "that is not there": ([], {"price": 9}, "price"),
    "of the key": ([{"name": "price", "type": "number", "key": True}], {"price": 9}, "price"),
    "that is collected now": ([{"name": "note", "type": "string"}], {"note": "mine"}, "note"),
}


@pytest.mark.parametrize("which", UNFIT)
def test_a_value_for_a_column_that_cannot_have_it_stays_and_is_told(
    table: Table, which: str
) -> None:
    columns, values, name = UNFIT[which]
    table.take(A, B)
    table.edit("A1", {**values, "title": "Lantern"})
    # An edited part of the key of the new table is read all the same.
    keyed = any(column.get("key") for column in columns)
    first = {"name": "link", "type": "string", "key": not keyed}
    heir = take_over(table, [first, {"name": "title", "type": "string"}, *columns])
    # A text is what the site has, whatever is read from it.
    as_text = which == "of another type"
    shown = [{**item, "price": str(item["price"])} if as_text else item for item in (A, B)]
    run = heir.take(*linked(*shown))
    (row,) = (row for row in heir.rows().values() if heir.named(row["data"])["link"] == "/1")
    assert heir.named(row["data"])["title"] == "Lantern"
    assert heir.named(row["data"]).get(name) != values[name]
    (told,) = odd(heir, run)
    assert told == (
        f"The hand edits of 1 row were taken over from 'shop (old)'; values in {name} were not, "
        "for no cell here can have them. What was not is still in 'shop (old)'."
    )
    assert_sound(table)


def test_a_dataset_that_has_not_run_yet_hands_on_what_it_was_to_take_over(edited: Table) -> None:
    between = take_over(edited)
    heir = take_over(between, [{**HEIR[0], "name": "address"}, *HEIR[1:]])
    assert between.dataset["name"] == "shop (old 2)"
    between_run = between.take(*linked(A, B, C))
    assert (odd(between, between_run), between.cells("/1")["price"]) == ([], 10)
    heir.take(*({**item, "address": item["link"]} for item in linked(A, B, C)))
    assert heir.cells("/1")["price"] == 9
    assert_sound(edited)


def test_what_is_to_be_taken_over_is_not_deleted_before(edited: Table) -> None:
    heir = take_over(edited)
    with pytest.raises(Conflict, match="'shop' takes over the hand edits of this dataset"):
        datasets.remove(edited.store, "local", edited.id)
    heir.take(*linked(A, B, C))
    datasets.remove(edited.store, "local", edited.id)
    assert_sound(heir)


def test_the_new_one_may_be_deleted_before_its_first_run(edited: Table) -> None:
    heir = take_over(edited)
    datasets.remove(edited.store, "local", heir.id)
    datasets.remove(edited.store, "local", edited.id)
    assert_sound(edited)


def test_many_hand_edits_take_few_statements(table: Table) -> None:
    items: list[Item] = [{"sku": f"K{number}", "title": f"T{number}"} for number in range(300)]
    table.take(*items)
    for key in [f"K{number}" for number in range(0, 300, 10)]:
        table.edit(key, {"note": key})
    heir = take_over(table)
    heir.take(*linked(*items))
    assert heir.cells("/11")["note"] == "K10"
    assert sum(change["origin"] == "user" for change in heir.feed()) == 30
    assert_sound(table)


# What is refused; nothing has changed then.


def refused(table: Table, kind: type[LivedataError], source: CreateDataset | None = None) -> str:
    """What is told of a plan that cannot be made."""
    before = table.dump()
    with pytest.raises(kind) as raised:
        takeover.plan(table.store, "local", table.id, source or declared(), TargetPolicy())
    assert table.dump() == before
    return str(raised.value)


def test_a_source_of_the_same_table_is_one_to_revise(table: Table) -> None:
    said = refused(table, Invalid, read(CreateDataset, made.declared()))
    assert said == "it has the key and the columns of 'shop', so nothing has to be taken over."


def test_an_open_run_has_to_end_first(table: Table) -> None:
    runs.enqueue(table.store, "local", table.id)
    assert refused(table, RunInProgress) == (
        "A Run of this dataset is open; let it end, then take over."
    )


def test_a_held_run_of_the_old_one_can_still_be_accepted(table: Table) -> None:
    table.take(A)
    attempt = table.begin()
    spend(table.store)
    table.finish(attempt, pages_of(attempt.recipe, [A, B]))
    heir = take_over(table)
    accounts.grant(table.store, "local", 1)
    runs.accept(table.store, "local", attempt.run)
    assert (set(table.rows()), heir.rows()) == ({"A1", "B2"}, {})
    assert_sound(table)


def test_a_dataset_of_research_has_no_source_to_take_over(store: Store) -> None:
    makers = ResearchTable(store)
    with pytest.raises(Conflict, match="'makers' is a dataset of research"):
        takeover.plan(store, "local", makers.id, declared(), TargetPolicy())


def test_a_dataset_of_somebody_else_is_not_there(table: Table) -> None:
    with pytest.raises(NotFound):
        takeover.plan(table.store, "bob", table.id, declared(), TargetPolicy())


def test_a_notice_and_a_share_of_a_column_that_is_no_more_are_named(table: Table) -> None:
    store = table.store
    for name, wanted in {
        "clause": ChangeFilter(when=["sku changes"]),
        "columns": ChangeFilter(columns=["sku"]),
        "ignores": ChangeFilter(ignore=["sku"]),
        "fits": ChangeFilter(when=["price falls"]),
    }.items():
        add_notice(store, name, datasets=[table.id], change_filter=wanted)
    add_notice(store, "of all", change_filter=ChangeFilter(when=["sku changes"]))
    kept, _ = shares.add(store, "local", table.id, ["title"], [], "fits too")
    shares.add(store, "local", table.id, ["sku"], [], "by column")
    shares.add(store, "local", table.id, [], ["sku = A1"], "by clause")
    over, _ = shares.add(store, "local", table.id, ["sku"], [], "revoked")
    shares.revoke(store, "local", over["id"])
    with pytest.raises(Invalid) as raised:
        takeover.plan(store, "local", table.id, declared(), TargetPolicy())
    named = [
        detail.message.partition(" does not fit the source: ")[0] for detail in raised.value.details
    ]
    assert named == [
        *(f"The notice {name!r}" for name in ("clause", "columns", "ignores", "of all")),
        *(f"The share {name!r}" for name in ("by column", "by clause")),
    ]
    codes = [remedy.code for remedy in raised.value.remedies]
    assert codes == ["remove_notice"] * 4 + ["revoke_share"] * 2
    assert kept["id"] not in str(raised.value.remedies)


def test_a_notice_of_all_datasets_that_never_fitted_is_no_obstacle(table: Table) -> None:
    Table(table.store, made.declared("else", [*HEIR, {"name": "brand", "type": "string"}]))
    add_notice(table.store, change_filter=ChangeFilter(when=["brand changes"]))
    take_over(table)


def test_more_columns_than_a_dataset_may_have_are_refused(table: Table) -> None:
    many = [*HEIR, *({"name": f"c{number}", "type": "string"} for number in range(46))]
    assert refused(table, Invalid, declared(many)) == (
        "columns are 51 with those that were added by hand (note), and 50 is the most."
    )


CHANGES: Mapping[str, Callable[[Table], object]] = {
    "a share is added": lambda t: shares.add(t.store, "local", t.id, [], [], None),
    "a notice is added": lambda t: add_notice(t.store, datasets=[t.id]),
    "a column is added": lambda t: t.add_column("more"),
    "another dataset has the name": lambda t: Table(t.store, made.declared("shop (old)")),
    "somebody was faster": lambda t: take_over(t),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_changed_since_the_plan_is_not_taken_over(table: Table, change: str) -> None:
    table.take(A)
    source = declared()
    plan = takeover.plan(table.store, "local", table.id, source, TargetPolicy())
    CHANGES[change](table)
    before = table.dump()
    with pytest.raises(ChangedMeanwhile, match="'shop' has changed since its plan was made"):
        takeover.take_over(table.store, "local", table.id, source, plan, "UTC")
    assert table.dump() == before
