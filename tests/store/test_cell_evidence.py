"""A row whose cells were read at several places: stored, answered, edited, judged, kept."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from livedata.model.harvest import Quote
from livedata.model.ids import ObservationId
from livedata.services.audit.check import check_store
from livedata.services.commit import AcceptancePolicy
from livedata.store.database.store import Store
from livedata.store.evidence import decode, encode
from livedata.store.held import deserialize_harvest, serialize_harvest
from tests.services.table import A, B, Item, Table, pages_of

LAMP = {
    "sku": [(1, 1, "A1")],
    "title": [(1, 1, "Lamp"), (2, 7, "the Lamp")],
    "price": [(2, 3, "10")],
    "stock": [],
}


@pytest.fixture
def table(store: Store) -> Table:
    return Table(store)


def take_quoted(table: Table, item: Item, places: dict[str, list[tuple[int, int, str]]]) -> None:
    """A Run that finds an item whose cells are quoted from two pages, and one that is plain."""
    attempt = table.begin()
    harvest = pages_of(attempt.recipe, [item], [B])
    quotes = [[Quote(*place) for place in places[f.name]] for f in attempt.recipe.fields]
    first, second = harvest.pages
    record = replace(first.records[0], quotes=quotes)
    harvest = replace(harvest, pages=[replace(first, records=[record]), second])
    assert table.finish(attempt, harvest)["status"] == "succeeded"


def entries(table: Table, key: str) -> dict[str, list[str]]:
    """Column -> the texts that its references lead to."""
    row = table.row(key)
    texts = {
        (observation["id"], entry["id"]): entry["excerpt"]
        for observation in row["observations"]
        for entry in observation["entries"]
    }
    return {
        name: [texts[ref["observationId"], ref["entryId"]] for ref in refs]
        for name, refs in table.named(row["evidence"]).items()
    }


LAMP_ITEM = {**A, "stock": None}


def test_each_cell_leads_to_what_supports_it(table: Table) -> None:
    take_quoted(table, LAMP_ITEM, LAMP)
    assert entries(table, "A1") == {
        "sku": ["A1"],
        "title": ["Lamp", "the Lamp"],
        "price": ["10"],
    }
    assert len(table.row("A1")["observations"]) == 2
    assert check_store(table.store).problems == []


def test_the_change_feed_and_the_row_say_the_same(table: Table) -> None:
    take_quoted(table, LAMP_ITEM, LAMP)
    change, _ = table.feed()
    assert change["evidence"] == table.row("A1")["evidence"]


def test_an_edit_moves_the_evidence_below_it_and_a_reset_brings_it_back(table: Table) -> None:
    take_quoted(table, LAMP_ITEM, LAMP)
    read = table.row("A1")["evidence"]
    title = table.fields["title"]
    table.edit("A1", {"title": "Lantern"})
    row = table.row("A1")
    assert title not in row["evidence"]
    assert row["overrides"][title] == {"value": "Lamp", "evidence": read[title]}
    assert table.feed()[-1]["overrides"] == row["overrides"]
    assert check_store(table.store).problems == []
    table.edit("A1", reset=["title"])
    assert table.row("A1")["evidence"] == read
    assert check_store(table.store).problems == []


def test_a_row_that_is_gone_keeps_its_quotes_and_a_plain_run_replaces_them(table: Table) -> None:
    take_quoted(table, LAMP_ITEM, LAMP)
    read = table.row("A1")["evidence"]
    table.take(B)
    assert table.row("A1")["evidence"] == read
    table.take(A, B)
    assert entries(table, "A1") == {
        "sku": ["A1"],
        "title": ["Lamp"],
        "price": ["10"],
        "stock": ["True"],
    }
    assert check_store(table.store).problems == []


@pytest.mark.parametrize(
    "damage",
    [
        """UPDATE revisions SET evidence = replace(evidence, '"2":', '"9":')""",
        "UPDATE observations SET entries = '{}'",
        "DELETE FROM observations",
    ],
)
def test_a_cell_without_its_evidence_is_found_out(table: Table, damage: str) -> None:
    take_quoted(table, LAMP_ITEM, LAMP)
    with table.store.writing() as writer:
        writer.execute(damage)
    assert check_store(table.store).problems


def test_an_output_that_is_held_keeps_its_quotes(table: Table) -> None:
    attempt = table.begin()
    harvest = pages_of(attempt.recipe, [A])
    page = harvest.pages[0]
    record = replace(page.records[0], quotes=[[Quote(1, 1, "A1")], [], [], []])
    kept = replace(harvest, pages=[replace(page, records=[record])])
    assert deserialize_harvest(serialize_harvest(kept)).pages == kept.pages
    table.finish(attempt, harvest, AcceptancePolicy())


def test_a_row_of_one_item_is_stored_as_that_pair_only(table: Table) -> None:
    table.take(A)
    with table.store.reading() as reader:
        ((observation, item, cells),) = reader.rows(
            "SELECT observation_id, item, evidence FROM rows"
        )
    assert (len(observation), item, cells) == (16, 1, None)


@pytest.mark.parametrize(
    "columns",
    [
        (ObservationId(b"o" * 16), 3, None),
        (None, None, None),
        (None, None, f'{{"0":[["{"6f" * 16}",1]],"4":[["{"6f" * 16}",2],["{"61" * 16}",1]]}}'),
    ],
    ids=["one item", "nothing was read", "several places"],
)
def test_what_is_decoded_is_encoded_again(
    columns: tuple[ObservationId | None, int | None, str | None],
) -> None:
    assert tuple(encode(decode(*columns)).values()) == columns
