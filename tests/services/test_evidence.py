"""Where each cell of a row was read: one observation per page, one entry per cell."""

from __future__ import annotations

from typing import Any

from livedata.model.harvest import Harvest
from livedata.services import feed
from tests.services.table import A, B, C, Item, Table, pages_of


def test_every_read_cell_has_an_entry_with_its_text(table: Table) -> None:
    table.take(A)
    row = table.row("A1")
    (observation,) = row["observations"]
    texts = {entry["id"]: entry["excerpt"] for entry in observation["entries"]}
    assert texts == {"1/sku": "A1", "1/title": "Lamp", "1/price": "10", "1/stock": "True"}
    for name, refs in table.named(row["evidence"]).items():
        assert refs == [{"observationId": observation["id"], "entryId": f"1/{name}"}]


def test_an_observation_says_which_run_saw_which_page(table: Table) -> None:
    attempt = table.begin()
    harvest = pages_of(attempt.recipe, [A])
    run = table.finish(attempt, harvest)
    (observation,) = table.row("A1")["observations"]
    assert observation["runId"] == run["id"]
    assert observation["sourceUrl"] == harvest.pages[0].final_url
    assert observation["contentDigest"] == harvest.pages[0].digest
    assert observation["method"] == "deterministic"
    assert not {"localId", "sourceKey", "scopeKey", "pageKey"} & observation.keys()


def test_there_is_one_observation_per_page_that_a_new_or_changed_row_points_at(
    table: Table,
) -> None:
    table.take_pages([A], [B, C])
    assert _count(table) == 2
    table.take_pages([A], [{**B, "price": 1}, C])
    assert _count(table) == 3


def test_a_changed_row_moves_its_evidence_as_a_whole_and_an_unchanged_one_keeps_its(
    table: Table,
) -> None:
    table.take(A, B)
    kept = table.row("B2")["evidence"]
    run = table.take(B, {**A, "price": 11})
    row = table.row("A1")
    (observation,) = row["observations"]
    assert observation["runId"] == run["id"]
    assert {ref["entryId"][:2] for refs in row["evidence"].values() for ref in refs} == {"2/"}
    assert table.row("B2")["evidence"] == kept


def test_a_missing_row_keeps_the_evidence_that_it_had(table: Table) -> None:
    table.take(A, B)
    evidence = table.row("A1")["evidence"]
    table.take(B)
    assert table.row("A1")["evidence"] == table.feed()[-1]["evidence"] == evidence


def test_a_returned_row_points_at_where_it_was_found_again(table: Table) -> None:
    table.take(A, B)
    table.take(B)
    run = table.take(A, B)
    assert [seen["runId"] for seen in table.row("A1")["observations"]] == [run["id"]]


def test_what_was_not_found_has_no_entry_and_what_could_not_be_read_has_one(table: Table) -> None:
    table.take(C)
    assert "price" not in table.named(table.row("C3")["evidence"])
    _take_text(table, {**C, "price": None}, "price", "3 for 2")
    row = table.row("C3")
    assert "price" in table.named(row["evidence"])
    assert "3 for 2" in [entry["excerpt"] for entry in row["observations"][0]["entries"]]


def test_user_cells_have_no_evidence(table: Table) -> None:
    table.take(A)
    table.edit("A1", {"note": "mine"})
    assert "note" not in table.named(table.row("A1")["evidence"])


def test_an_excerpt_is_cut_at_2048_bytes_between_two_characters(table: Table) -> None:
    text = "x" + "é" * 1500
    _take_text(table, {**A, "title": text}, "title", text)
    entries = {entry["id"]: entry for entry in table.row("A1")["observations"][0]["entries"]}
    title = entries["1/title"]
    assert title["truncated"] is True
    assert title["excerpt"] == "x" + "é" * 1023
    assert entries["1/sku"]["truncated"] is False
    assert table.cells("A1")["title"] == text


# What stands between two texts of JSON, alone and in parts; what a format would take for its own.
LIKE_JSON = ('","', '",', ',"', '"', "\\", '\\"', '\\","', '["', '"]', "},{", "%", "%b", "{0}", "é")


def test_texts_that_look_like_json_are_answered_as_they_were_read(table: Table) -> None:
    items = [{**A, "sku": f"k{number}", "title": text} for number, text in enumerate(LIKE_JSON)]
    table.take(*items, {**A, "sku": "long", "title": "x" * 3000})
    shown = [table.row(str(item["sku"]))["observations"][0]["entries"] for item in items]
    titles = [entry for entries in shown for entry in entries if entry["id"].endswith("/title")]
    assert [entry["excerpt"] for entry in titles] == [*LIKE_JSON]
    assert not any(entry["truncated"] for entry in titles)


def test_an_observation_in_an_answer_has_only_the_entries_it_refers_to(table: Table) -> None:
    table.take(A, B)
    entries = table.row("B2")["observations"][0]["entries"]
    assert {entry["id"][:2] for entry in entries} == {"2/"}
    row, price = table.rows()["B2"]["id"], table.fields["price"]
    page = _changes(table, row_id=bytes.fromhex(row.replace("-", "")), field_id=price)
    assert {entry["id"][:2] for entry in page["observations"][0]["entries"]} == {"2/"}


def test_a_page_of_the_feed_resolves_all_that_its_revisions_refer_to(table: Table) -> None:
    table.take(A, B)
    table.edit("A1", {"price": 5})
    table.take({**A, "price": 12}, B)
    page = _changes(table)
    known = {
        (observation["id"], entry["id"])
        for observation in page["observations"]
        for entry in observation["entries"]
    }
    named = {
        (ref["observationId"], ref["entryId"])
        for change in page["data"]
        for refs in _refs(change)
        for ref in refs
    }
    assert known == named


def _refs(change: Any) -> list[Any]:
    covered = [*change["overrides"].values(), *change.get("beforeOverrides", {}).values()]
    return [*change["evidence"].values(), *(kept["evidence"] for kept in covered)]


def _changes(table: Table, **narrowed: Any) -> Any:
    return feed.changes(table.store, "local", table.id, **narrowed)


def _count(table: Table) -> int:
    return len(table.dump()["observations"])


def _take_text(table: Table, item: Item, column: str, text: str) -> None:
    """A Run that finds `text` in one cell of `item`, and cannot read it where that is null."""
    attempt = table.begin()
    harvest: Harvest = pages_of(attempt.recipe, [item])
    place = [field.name for field in attempt.recipe.fields].index(column)
    record = harvest.pages[0].records[0]
    record.texts[place] = text
    record.reasons[place] = None if record.values[place] is not None else "extraction_failed"
    table.finish(attempt, harvest)
