"""A dataset that goes through an archive is what it was: its ids, history, evidence, readers."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.dataset import Dataset
from livedata.model.errors import Conflict, NameTaken
from livedata.model.requests import UpdateDataset
from livedata.rules.network.targets import TargetPolicy
from livedata.services import accounts, datasets, feed, queries, scheduler
from livedata.services.archive import export_archive, import_archive
from livedata.services.archive_container import open_archive
from livedata.services.audit.check import check_store
from livedata.services.audit.vitals import Watch
from livedata.store import archived_tables
from livedata.store.database.store import Store
from livedata.store.tables import metadata
from tests import made
from tests.dying import in_child
from tests.services.table import A, B, C, Table


def fill(table: Table) -> ids.KeyId:
    """Everything that a history has; the key with which a cell was edited."""
    table.take(A, B, C)
    key = accounts.create_key(table.store, "local", "mine")["id"]
    actor = ids.KeyId(ids.raw_id(key))
    row = table.rows()["A1"]
    body = {
        "expectedRevisionId": row["revisionId"],
        "requestId": "one",
        "values": {table.fields["title"]: 'Lämp "x" \\u0000'},
    }
    table.send(row["id"], body, actor)
    table.add_column("more")
    table.edit("B2", {"more": "mine", "price": 1.0})
    table.take(A, {**B, "price": 3}, {"sku": "D4", "title": "😀", "price": 1e300})
    table.edit("B2", reset=["price"])
    table.take({**A, "price": 11}, B, C)
    feed.keep_cursor(table.store, table.id, "reader", 4)
    wanted = read(UpdateDataset, {"status": "active", "schedule": "0 6 * * *"})
    datasets.update(table.store, "local", table.id, wanted)
    return actor


def seen(store: Store, owner: str, dataset: ids.DatasetId) -> dict[str, Any]:
    """All that readers see of a dataset, byte for byte."""
    rows = list(queries.every_row(store, owner, dataset))
    raw = [ids.RowId(ids.raw_id(row["id"])) for row in rows]
    with store.reading() as reader:
        cursors = reader.rows("SELECT name, position FROM cursors")
    about = queries.dataset(store, owner, dataset)
    return {
        "feed": list(_pages(store, owner, dataset)),
        "rows": orjson.dumps(rows),
        "details": orjson.dumps([queries.row(store, owner, dataset, row) for row in raw]),
        "dataset": orjson.dumps({**about, "status": "", "name": ""}),
        "cursors": cursors,
        "source": queries.source(store, owner, dataset)["source"],
    }


def _pages(store: Store, owner: str, dataset: ids.DatasetId) -> Iterator[bytes]:
    after: int | None = 0
    while after is not None:
        page = feed.changes_json(store, owner, dataset, after=after, limit=3)
        yield page
        after = orjson.loads(page)["nextAfter"]


def ledger(table: Table) -> list[Any]:
    """What was granted and charged."""
    return table.dump()["ledger"]


def exported(table: Table, folder: Path) -> Path:
    """The archive of a table."""
    file = folder / "shop.zip"
    export_archive(table.store, "local", table.id, file)
    return file


def imported(store: Store, file: Path, owner: str = "local", **named: Any) -> Dataset:
    """The dataset of an archive, in a store."""
    with open_archive(file) as archive:
        return import_archive(store, owner, archive, TargetPolicy(), **named)


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Store]:
    """Another store, in a file."""
    (tmp_path / "other").mkdir()
    with closing(made.make_store(tmp_path / "other")) as store:
        made.meet_owner(store, "carla", 7)
        yield store


def test_a_dataset_is_in_another_store_and_of_another_owner_what_it_was(
    table: Table, other: Store, tmp_path: Path
) -> None:
    fill(table)
    before = seen(table.store, "local", table.id)
    watch = Watch(other)
    dataset = imported(other, exported(table, tmp_path), "carla", name="mine", first_credits=5)
    assert (dataset["name"], dataset["status"], dataset["schedule"]) == (
        *("mine", "paused"),
        "0 6 * * *",
    )
    assert seen(other, "carla", table.id) == before
    assert check_store(other).problems == []
    assert queries.usage(other, "carla")["balance"] == 7
    # No process takes its fire, and what ended elsewhere has not ended here.
    assert list(scheduler.tick(other, "UTC")) == []
    assert watch.look()[1] == []


def test_a_dataset_that_was_deleted_comes_back_as_it_was_and_goes_on(
    table: Table, tmp_path: Path
) -> None:
    fill(table)
    before, cost = seen(table.store, "local", table.id), ledger(table)
    file = exported(table, tmp_path)
    datasets.remove(table.store, "local", table.id)
    imported(table.store, file)
    assert seen(table.store, "local", table.id) == before
    # Nothing is charged: what it cost stands in the ledger since then.
    assert ledger(table) == cost
    again = feed.head(table.store, "local", table.id)
    assert table.take({**A, "price": 12}, B, C)["rowDeltas"]["changed"] == 1
    assert table.feed(again)[0]["sequence"] == again + 1
    table.edit("A1", {"note": "still mine"})
    assert check_store(table.store).problems == []


@pytest.mark.one_database
def test_what_was_deleted_may_come_back_under_another_owner(table: Table, tmp_path: Path) -> None:
    fill(table)
    file = exported(table, tmp_path)
    datasets.remove(table.store, "local", table.id)
    imported(table.store, file, "carla", first_credits=3)
    assert check_store(table.store).problems == []
    assert queries.usage(table.store, "carla")["balance"] == 3


@pytest.mark.one_database
def test_an_imported_dataset_may_be_exported_again(
    table: Table, other: Store, tmp_path: Path
) -> None:
    fill(table)
    before = seen(table.store, "local", table.id)
    imported(other, exported(table, tmp_path))
    export_archive(other, "local", table.id, tmp_path / "second.zip")
    datasets.remove(table.store, "local", table.id)
    imported(table.store, tmp_path / "second.zip")
    assert seen(table.store, "local", table.id) == before


def test_what_the_store_has_already_is_refused_and_nothing_is_written(
    table: Table, tmp_path: Path
) -> None:
    fill(table)
    file, before = exported(table, tmp_path), table.dump()
    with pytest.raises(Conflict, match=r"has the dataset .* already; nothing was imported"):
        imported(table.store, file)
    with pytest.raises(Conflict, match="already, of another owner; nothing was imported"):
        imported(table.store, file, "carla", name="shop")
    datasets.remove(table.store, "local", table.id)
    Table(table.store)
    left = table.dump()
    with pytest.raises(NameTaken, match="Give another name with --name"):
        imported(table.store, file)
    assert table.dump() == left
    assert before != left


@pytest.mark.one_database
def test_ids_that_another_dataset_has_are_refused(table: Table, tmp_path: Path) -> None:
    fill(table)
    file = exported(table, tmp_path)
    datasets.remove(table.store, "local", table.id)
    second = Table(table.store, made.declared("second"))
    second.take(A)
    with open_archive(file) as archive:
        (first, *_) = archive.lines("rows.jsonl")
    with table.store.writing() as writer:
        key = ids.raw_id(orjson.loads(first)["id"])
        writer.execute("UPDATE revisions SET row_id = :key", key=key)
        writer.execute("UPDATE rows SET id = :key", key=key)
    before = table.dump()
    with pytest.raises(Conflict, match="has ids that another dataset of this store has"):
        imported(table.store, file)
    assert table.dump() == before


def test_an_import_that_is_killed_leaves_nothing(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(table)
    file = exported(table, tmp_path)
    datasets.remove(table.store, "local", table.id)
    before, url = table.dump(), table.store.url
    truly = archived_tables.index_fields

    def die_in_the_store(writer: Any, dataset: ids.DatasetId, width: int) -> None:
        truly(writer, dataset, width)
        if writer.value("SELECT count(*) FROM owners WHERE name = 'local'"):
            os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(archived_tables, "index_fields", die_in_the_store)
    assert in_child(lambda: _import(url, file)) == -signal.SIGKILL
    assert table.dump() == before
    monkeypatch.undo()
    imported(table.store, file)
    assert check_store(table.store).problems == []


LEFT_BEHIND = {
    "datasets": {
        *("owner", "status", "next_run_at", "next_run_zone", "imported_head", "heard_at"),
        "takes_over",
    },
    "runs": {
        *("status", "alone", "lease_owner", "lease_until", "lease_origin", "error", "turn"),
        *("problem", "idempotency_hash", "imported_at", "fresh", "rowid", "cancel_asked_at"),
        *("only_hosts", "followed", "owner"),
    },
}
"""What is of the store that a dataset is in, or says what no accepted Run has."""
OF_ANOTHER_KIND = {
    *("owners", "api_keys", "ledger", "attempts", "held_outputs", "failed_pages"),
    *("skipped_fires", "revision_fields"),
    # By these a Run is explained and replayed where it was made.
    *("bodies", "artifacts", "research_attempts", "research_steps", "model_calls"),
    # They tell somebody of this store, let somebody in, or say what an owner has used here, or
    # whose Run was last at a site.
    *(
        "site_turns",
        "research_days",
        "notices",
        "notice_streams",
        "outbox",
        "feed_tokens",
        "shares",
        "browser_sessions",
        "sign_in_links",
        "looks",
    ),
}
"""The tables of the store, of Runs that were not accepted, and those that are made again."""


def test_an_archive_has_every_column_that_is_of_a_dataset() -> None:
    columns = {name: set(table.columns.keys()) for name, table in metadata.tables.items()}
    archived = {
        table.name: {*table.columns, *LEFT_BEHIND.get(table.name, ())}
        for table in archived_tables.ARCHIVED_TABLES
    }
    for name in archived.keys() - {"datasets"}:
        archived[name].add("dataset_id")
    assert archived == {
        name: names for name, names in columns.items() if name not in OF_ANOTHER_KIND
    }


LINES = {
    "datasets": "id name columns field_ids question? schedule? schema_version recipe_version "
    "row_count head rows_updated_at created_at updated_at label_column? "
    "dropped_columns?",
    "bots": "id created_at",
    "recipes": "id version created_at source",
    "schemas": "id version created_at columns",
    "runs": "id recipe_version attempt fence new_rows changed_rows gone_rows queued_at started_at "
    "completed_at site checks stop? facts?",
    "observations": "id run_id source_url entries observed_at digest",
    "rows": "id revision_id first_run_id last_run_id observation_id? row_key data presence status "
    "source_url reasons? overrides? evidence? observed_at updated_at item?",
    "revisions": "id row_id previous_id? observation_id? run_id? actor_id? origin kind data "
    "presence reasons? overrides? evidence? was? request_id? sequence schema_version changed "
    "created_at item? request_hash?",
    "entities": "key identity number",
    "cursors": "name position updated_at",
}
"""The lines of archives that others have already, with ``?`` at what may be null."""


def test_the_lines_of_an_archive_stay_as_others_have_them() -> None:
    assert [table.name for table in archived_tables.ARCHIVED_TABLES] == [*LINES]
    for table in archived_tables.ARCHIVED_TABLES:
        written = (f"{name}{'?' * kind.endswith('?')}" for name, kind in table.columns.items())
        assert " ".join(written) == LINES[table.name], table.name


@pytest.mark.one_database
def test_a_dataset_that_never_ran_goes_too(table: Table, other: Store, tmp_path: Path) -> None:
    assert imported(other, exported(table, tmp_path))["rowCount"] == 0
    assert check_store(other).problems == []


def _import(url: str, file: Path) -> None:
    imported(Store(url), file)
