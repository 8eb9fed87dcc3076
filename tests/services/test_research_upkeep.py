"""Research datasets are judged, pruned, exported, imported and deleted like all others."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from msgspec import json

from livedata.model import ids
from livedata.model.errors import NotFound
from livedata.rules.network.targets import TargetPolicy
from livedata.services import datasets, feed, queries
from livedata.services.archive import export_archive, import_archive
from livedata.services.archive_container import open_archive
from livedata.services.audit.check import check_store
from livedata.services.research import recording
from livedata.services.retention import forget_old
from livedata.store.database.store import Store
from livedata.store.held import serialize_harvest
from tests.made import make_store
from tests.services.conftest import Clock
from tests.services.research_table import ACME, BOLT, ResearchTable, answer, artifact_of, step_of
from tests.services.table import A, B, Table, pages_of

DAY = 86_400
RECORDS = ("artifacts", "research_steps", "research_attempts", "model_calls", "bodies", "entities")


@pytest.fixture
def table(store: Store) -> ResearchTable:
    made = ResearchTable(store)
    made.take({"Acme": ACME, "Bolt": BOLT})
    return made


def count(store: Store, *names: str) -> dict[str, int]:
    with store.reading() as reader:
        return {name: reader.value(f"SELECT count(*) FROM {name}") for name in names}


def test_a_deleted_dataset_leaves_nothing_of_its_research(table: ResearchTable) -> None:
    assert all(count(table.store, *RECORDS).values())
    datasets.remove(table.store, "local", table.id)
    assert set(count(table.store, *RECORDS).values()) == {0}
    assert check_store(table.store).problems == []


def test_artifacts_go_after_30_days_and_the_steps_of_an_accepted_run_after_90(
    table: ResearchTable, step: Clock
) -> None:
    rows = table.rows()
    failed = table.take({})
    assert failed["status"] == "failed"
    step(31 * DAY)
    forget_old(table.store)
    kept = count(table.store, "artifacts", "bodies", "research_steps", "entities", "model_calls")
    assert kept == {
        "artifacts": 0,
        "bodies": 0,
        "entities": 2,
        "model_calls": 2,
        # The two of the Run that was accepted.
        "research_steps": 2,
    }
    step(91 * DAY)
    forget_old(table.store)
    assert count(table.store, "research_steps") == {"research_steps": 0}
    assert table.rows() == rows
    assert check_store(table.store).problems == []


def test_a_body_that_is_used_again_stays(table: ResearchTable, step: Clock) -> None:
    step(29 * DAY)
    attempt = table.begin()
    table.remember(attempt)
    recording.record(table.store, attempt, step_of(artifacts=[artifact_of("{}")]))
    step(31 * DAY)
    forget_old(table.store)
    assert count(table.store, "artifacts", "bodies") == {"artifacts": 1, "bodies": 2}
    assert check_store(table.store).problems == []


@pytest.mark.one_database
def test_an_archive_takes_rows_history_and_identities_along(
    table: ResearchTable, tmp_path: Path
) -> None:
    table.take({"Acme": {**ACME, "City": "Genf"}}, gone=["Bolt"])
    file = tmp_path / "makers.zip"
    export_archive(table.store, "local", table.id, file)
    other = make_store(tmp_path / "other")
    with open_archive(file) as archive:
        import_archive(other, "carol", archive, TargetPolicy(), first_credits=10)
    for owner, store in (("local", table.store), ("carol", other)):
        listed = list(queries.every_row(store, owner, table.id))
        assert [row["identity"] is not None for row in listed] == [True, True]
    assert feed.changes(other, "carol", table.id, after=0, limit=100)["data"] == table.feed()
    assert check_store(other).problems == []
    other.close()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("DELETE FROM entities WHERE identity LIKE '%Acme%'", "stands for nobody"),
        ("UPDATE entities SET identity = '[]' WHERE identity LIKE '%Acme%'", "cannot be read"),
        ("UPDATE rows SET row_key = 'x' WHERE data LIKE '%Acme%'", "has no row"),
        ("DELETE FROM bodies", "has lost its body"),
        ("DELETE FROM bodies", "has lost what it knew"),
        ("UPDATE bodies SET body = :bytes", "is not what its hash says"),
        ("UPDATE research_steps SET facts = 'x'", "cannot be read"),
        ("UPDATE research_steps SET step = '{}'", "cannot be read"),
        ("UPDATE model_calls SET took = '{}'", "cannot be read"),
    ],
)
@pytest.mark.one_database
def test_damage_is_found_and_named(table: ResearchTable, damage: str, said: str) -> None:
    with table.store.writing() as writer:
        writer.execute(damage, **({"bytes": b"\0"} if ":bytes" in damage else {}))
    assert any(said in problem for problem in check_store(table.store).problems)


def test_a_store_with_an_open_run_is_sound(table: ResearchTable) -> None:
    attempt = table.begin()
    table.remember(attempt)
    table.record(attempt, "extract", answer())
    assert check_store(table.store).problems == []


@pytest.mark.one_database
def test_a_person_finds_a_row_by_the_name_of_its_entity(table: ResearchTable) -> None:
    for given in ("Acme", "acme", table.rows()["Acme"]["rowKey"]):
        row = queries.find_row(table.store, "local", table.id, given)
        assert ids.format_uuid(row) == table.rows()["Acme"]["id"]
    with pytest.raises(NotFound, match="There is no row 'Nobody'"):
        queries.find_row(table.store, "local", table.id, "Nobody")


def test_a_dataset_of_selectors_pays_nothing_for_research(store: Store) -> None:
    plain = Table(store)
    plain.take(A, B)
    attempt = plain.begin()
    harvest = pages_of(attempt.recipe, [A])
    assert set(count(store, *RECORDS).values()) == {0}
    # What is held of it is the list of its pages, as it was before there was research.
    text = zlib.decompress(serialize_harvest(harvest))
    assert text == json.encode(harvest.pages)
    assert b"research" not in text
    (page,) = json.decode(text)
    assert page["records"][0].keys() == {"number", "key", "values", "reasons", "texts", "quotes"}
    for row in plain.rows().values():
        assert row["identity"] is None
        assert plain.row(row["rowKey"])["observations"][0].get("method") == "deterministic"
