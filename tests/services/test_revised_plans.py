"""Plans of research datasets may ask for more, or for less; rows and history stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.errors import ChangedMeanwhile, Invalid
from livedata.model.requests import UpdateDataset
from livedata.model.research.declaration import PlanFile
from livedata.services import datasets, feed, queries, runs, shares
from livedata.services.audit.check import check_store
from livedata.services.research import declaring
from tests.services.research_table import ACME, BOLT, PAGE, PLAN, ResearchTable, found_on

if TYPE_CHECKING:
    from livedata.model.dataset import Column
    from livedata.store.database.store import Store

FOUNDED, CITY = PLAN["attributes"]
STAFF = {"label": "Staff", "description": "How many work there"}


@pytest.fixture
def table(store: Store) -> ResearchTable:
    made = ResearchTable(store)
    made.take({"Acme": ACME, "Bolt": BOLT})
    return made


def revise(table: ResearchTable, *attributes: Any, **changes: Any) -> int | None:
    """Pin the plan with these attributes; its version."""
    plan = {**PLAN, "urls": [PAGE], "attributes": list(attributes), **changes}
    return declaring.revise(table.store, table.owner, table.id, read(PlanFile, plan)).version


def names(table: ResearchTable) -> list[str]:
    return [column["name"] for column in table.dataset["columns"]]


def column(table: ResearchTable, name: str) -> Column:
    return next(each for each in table.dataset["columns"] if each["name"] == name)


def test_an_attribute_that_is_added_is_unknown_until_a_run_is_accepted(
    table: ResearchTable,
) -> None:
    before = table.dataset
    assert revise(table, STAFF, FOUNDED, CITY) == 2
    after = table.dataset
    # Whatever the order of the plan, what is new stands at the end.
    assert names(table) == ["name", "evidence", "source", "founded", "city", "staff"]
    assert after["columns"][:5] == before["columns"]
    assert after["schemaVersion"] == before["schemaVersion"] + 1
    staff = column(table, "staff")
    assert (staff["type"], staff["description"]) == ("string", STAFF["description"])
    for row in table.rows().values():
        assert row["data"][staff["id"]] is None
        assert row["missingReasons"][staff["id"]] == "unknown"
    assert len(table.feed()) == 2
    assert check_store(table.store).problems == []


def test_the_next_accepted_run_writes_a_revision_for_each_row_that_gets_a_value(
    table: ResearchTable,
) -> None:
    revise(table, FOUNDED, CITY, STAFF)
    head = feed.changes(table.store, table.owner, table.id, after=0, limit=1)["through"]
    run = table.take({"Acme": {**ACME, "Staff": "12"}, "Bolt": {**BOLT, "Staff": None}})
    assert run["rowDeltas"] == {"new": 0, "changed": 1, "gone": 0}
    page = feed.changes(table.store, table.owner, table.id, after=head, limit=100)
    (change,) = page["data"]
    staff = column(table, "staff")["id"]
    assert (change["kind"], change["changedFieldIds"]) == ("updated", [staff])
    assert (change["before"] or {}).get(staff) is None
    assert change["data"][staff] == "12"
    assert change["schemaVersion"] == table.dataset["schemaVersion"]
    assert table.cells("Acme")["Staff"] == "12"
    assert table.cells("Bolt")["Staff"] is None
    # A second Run finds the same, and writes nothing.
    table.take({"Acme": {**ACME, "Staff": "12"}, "Bolt": {**BOLT, "Staff": None}})
    assert len(table.feed()) == 3
    assert check_store(table.store).problems == []


def test_a_row_that_no_page_offers_stands_without_the_new_column(table: ResearchTable) -> None:
    revise(table, FOUNDED, CITY, STAFF)
    table.take({"Acme": {**ACME, "Staff": "12"}})
    staff = column(table, "staff")["id"]
    row = table.rows()["Bolt"]
    assert (row["presence"], row["missingReasons"][staff]) == ("present", "unknown")
    assert table.cells("Bolt")["City"] == "Basel"


def test_an_attribute_that_is_dropped_stays_in_the_history(table: ResearchTable) -> None:
    city = column(table, "city")["id"]
    table.edit("Acme", "City", "Genf")
    revise(table, FOUNDED)
    assert names(table) == ["name", "evidence", "source", "founded"]
    assert all(city not in row["data"] for row in table.rows().values())
    run = table.take({"Acme": {"Founded": "2000"}, "Bolt": {"Founded": "2004"}})
    assert run["rowDeltas"] == {"new": 0, "changed": 1, "gone": 0}
    history = table.feed()
    assert history[0]["data"][city] == "Bern"
    assert history[2]["data"][city] == "Genf"
    assert check_store(table.store).problems == []


def test_an_attribute_that_comes_back_has_a_column_of_its_own(table: ResearchTable) -> None:
    before = column(table, "city")["id"]
    revise(table, FOUNDED)
    assert revise(table, FOUNDED, CITY) == 3
    after = column(table, "city")["id"]
    assert after != before
    assert [row["data"][after] for row in table.rows().values()] == [None, None]
    table.take({"Acme": ACME, "Bolt": BOLT})
    assert table.cells("Acme")["City"] == "Bern"
    assert check_store(table.store).problems == []


def test_a_column_has_the_description_of_the_plan_until_a_person_gives_it_another(
    table: ResearchTable,
) -> None:
    revise(table, FOUNDED, {**CITY, "description": "Its seat"})
    assert column(table, "city")["description"] == "Its seat"
    columns = [dict(each) for each in table.dataset["columns"]]
    columns[4]["description"], columns[4]["label"] = "Where they sit", "Town"
    version = table.dataset["schemaVersion"]
    wanted = read(UpdateDataset, {"expectedSchemaVersion": version, "columns": columns})
    datasets.update(table.store, table.owner, table.id, wanted)
    revise(table, FOUNDED, {**CITY, "description": "Its home"})
    city = column(table, "city")
    assert (city["label"], city["description"]) == ("Town", "Where they sit")
    source = queries.source(table.store, table.owner, table.id)["source"]
    assert source["plan"]["attributes"][1]["description"] == "Its home"


def add_by_hand(table: ResearchTable, *wanted: str) -> None:
    """User columns of these names."""
    columns = [*table.dataset["columns"]]
    added = [{"name": name, "type": "string", "ownership": "user"} for name in wanted]
    version = table.dataset["schemaVersion"]
    body = {"expectedSchemaVersion": version, "columns": [*columns, *added]}
    datasets.update(table.store, table.owner, table.id, read(UpdateDataset, body))


def test_a_new_attribute_takes_no_name_that_a_user_column_has(table: ResearchTable) -> None:
    add_by_hand(table, "staff")
    revise(table, FOUNDED, CITY, STAFF)
    assert names(table)[-2:] == ["staff", "staff_2"]
    assert column(table, "staff_2")["label"] == "Staff"


def test_a_table_has_50_columns_at_most(table: ResearchTable) -> None:
    add_by_hand(table, *(f"note_{number}" for number in range(45)))
    with pytest.raises(
        Invalid, match="attributes would make 51 columns, those filled by hand too; at most 50 fit"
    ):
        revise(table, FOUNDED, CITY, STAFF)
    assert revise(table, FOUNDED, STAFF) == 2
    assert len(names(table)) == 50


@pytest.mark.parametrize(
    ("attributes", "changes", "why"),
    [
        ([FOUNDED], {"nameLabel": "Firm"}, 'nameLabel must stay "Company"'),
        (
            [FOUNDED, CITY],
            {"rowIdentity": {**PLAN["rowIdentity"], "kind": "other"}},
            'rowIdentity.kind must stay "company", or every row would be new',
        ),
        (
            [FOUNDED, CITY],
            {"rowIdentity": {**PLAN["rowIdentity"], "scopeFields": ["City"]}},
            "rowIdentity.scopeFields must stay none, or every row would be new",
        ),
    ],
)
def test_what_makes_a_row_stays(
    table: ResearchTable, attributes: list[Any], changes: dict[str, Any], why: str
) -> None:
    before = table.dataset
    with pytest.raises(Invalid, match=why):
        revise(table, *attributes, **changes)
    assert table.dataset == before


def test_the_same_plan_in_another_order_is_no_other_table(table: ResearchTable) -> None:
    before = table.dataset
    assert revise(table, FOUNDED, CITY) is None
    assert revise(table, CITY, FOUNDED) == 2
    assert table.dataset["columns"] == before["columns"]
    assert table.dataset["schemaVersion"] == before["schemaVersion"]


def test_a_run_that_was_open_writes_no_column_that_was_dropped_meanwhile(
    table: ResearchTable,
) -> None:
    city = column(table, "city")["id"]
    attempt = table.begin()
    table.remember(attempt)
    table.record(attempt)
    revise(table, {**FOUNDED, "description": "When it was founded"}, STAFF)
    found = found_on(attempt, {"Acme": {"Founded": "2001", "City": "Genf"}, "Bolt": BOLT})
    run = table.finish(attempt, found)
    assert run["rowDeltas"] == {"new": 0, "changed": 1, "gone": 0}
    change = table.feed()[-1]
    assert change["changedFieldIds"] == [column(table, "founded")["id"]]
    assert city not in change["data"]
    assert table.cells("Acme")["Staff"] is None
    assert check_store(table.store).problems == []


def test_an_output_that_was_held_is_accepted_without_what_was_dropped(
    table: ResearchTable,
) -> None:
    names_of_more = {f"Maker {number}": ACME for number in range(8)}
    table.take({"Acme": ACME, "Bolt": BOLT, **names_of_more})
    held = table.take({"Acme": {"Founded": "2001", "City": "Genf"}}, gone=["Bolt", *names_of_more])
    assert held["status"] == "held"
    revise(table, FOUNDED, STAFF)
    runs.accept(table.store, table.owner, ids.RunId(ids.raw_id(held["id"])))
    assert table.cells("Acme") == {
        "Company": "Acme",
        "Evidence": "Acme, a maker",
        "Source": PAGE,
        "Founded": "2001",
        "Staff": None,
    }
    assert check_store(table.store).problems == []


def test_an_attribute_that_an_address_shows_is_not_dropped(table: ResearchTable) -> None:
    before = table.dataset
    share, _ = shares.add(table.store, table.owner, table.id, ["city"], [], None)
    with pytest.raises(Invalid, match="city"):
        revise(table, FOUNDED)
    assert table.dataset == before
    shares.revoke(table.store, table.owner, share["id"])
    assert revise(table, FOUNDED) == 2


def test_of_two_plans_for_one_version_the_second_is_told_of_the_first(
    table: ResearchTable,
) -> None:
    plan = read(PlanFile, {**PLAN, "urls": [PAGE], "attributes": [FOUNDED, CITY, STAFF]})
    declaring.revise(table.store, table.owner, table.id, plan, after=1)
    other = read(PlanFile, {**PLAN, "urls": [PAGE], "attributes": [FOUNDED]})
    with pytest.raises(ChangedMeanwhile):
        declaring.revise(table.store, table.owner, table.id, other, after=1)
    assert names(table)[-1] == "staff"
