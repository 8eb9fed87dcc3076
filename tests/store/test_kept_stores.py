"""A store of each version that was released is migrated, is sound, and answers what it answered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

import livedata
from livedata.formats.source_toml import SCHEMA_LINE
from livedata.model.ids import Micros
from livedata.services import queries
from livedata.services.audit.check import check_store
from livedata.store.database.store import Store
from livedata.store.database.table import VERSION
from tests import made
from tests.services import conftest
from tests.store.keeping import KEPT, Kept, answers, named

BY_NAME = "the page /"
"""What stood newest first until it stood by name."""
RELEASED = sorted({file.name.partition("-")[0] for file in KEPT.glob("*.json.gz")})
set_clock = conftest.set_clock


@pytest.fixture(params=RELEASED)
def kept(request: pytest.FixtureRequest, database: str) -> Kept:
    """What is kept of a version on a database."""
    return Kept(request.param, database)


@pytest.fixture
def restored(kept: Kept, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """The address of its store, as that version left it."""
    return kept.restore(tmp_path, lambda: request.getfixturevalue("postgres"))


@pytest.fixture
def store(restored: str) -> Iterator[Store]:
    """The same store after it was migrated."""
    with closing(Store(restored)) as opened:
        opened.ensure()
        yield opened


def as_then(now: Any, then: Any) -> Any:
    """What is answered now, without the keys that no answer had then, and a source's first line."""
    if isinstance(now, list) and now[:1] == SCHEMA_LINE.splitlines():
        now = now[1:]
    match now, then:
        case dict(), dict():
            return {key: as_then(value, then[key]) for key, value in now.items() if key in then}
        case list(), list() if len(now) == len(then):
            return [as_then(*each) for each in zip(now, then, strict=True)]
        case _:
            return now


def test_stores_of_released_versions_are_kept() -> None:
    assert {"0.1.0", livedata.__version__} <= set(RELEASED)


def test_a_kept_store_answers_what_it_answered(
    kept: Kept, store: Store, tmp_path: Path, set_clock: conftest.SetClock
) -> None:
    told = kept.told()
    set_clock(lambda: Micros(told["moment"]))
    now = answers(store, tmp_path, told)
    assert len(told["answers"]) > 100
    by_name = sorted(told["answers"][BY_NAME]["data"], key=lambda each: str(each["name"]))
    told["answers"][BY_NAME]["data"] = by_name
    for asked, then in told["answers"].items():
        assert as_then(now[asked], then) == then, asked


def test_a_kept_store_is_sound_at_the_newest_version(store: Store) -> None:
    with store.reading() as reader:
        assert reader.value("SELECT version_num FROM alembic_version") == VERSION
    report = check_store(store)
    assert report.problems == []
    assert report.rows > 40


def test_a_kept_store_goes_on(store: Store) -> None:
    dataset = named(store, "empty")
    made.take(store, dataset)
    assert len(queries.rows(store, "local", dataset, 10)[0]) == len(made.ITEMS)
    assert check_store(store).problems == []


# What procrastinate has left


FOREIGN = {
    "a job of another task": "INSERT INTO procrastinate_jobs (queue_name, task_name) "
    "VALUES ('livedata', 'mails.send')",
    "a job in another queue": "INSERT INTO procrastinate_jobs (queue_name, task_name) "
    "VALUES ('default', 'livedata.run')",
    "a periodic task": "INSERT INTO procrastinate_periodic_defers (task_name, defer_timestamp) "
    "VALUES ('mails.digest', 1)",
    "a worker that lives": "INSERT INTO procrastinate_workers DEFAULT VALUES",
    "a table that refers to its jobs": "CREATE TABLE alembic_mails "
    "(job BIGINT REFERENCES procrastinate_jobs (id))",
    "a view of its jobs": "CREATE VIEW mails AS SELECT id FROM procrastinate_jobs",
}
LEFT = """
SELECT relname FROM pg_class WHERE relname LIKE 'procrastinate%'
UNION ALL SELECT proname FROM pg_proc WHERE proname LIKE 'procrastinate%'
UNION ALL SELECT typname FROM pg_type WHERE typname LIKE '%procrastinate%'
"""


def left(store: Store) -> list[str]:
    """What stands of procrastinate in the database of a store."""
    with store.reading() as reader:
        return [name for (name,) in reader.rows(LEFT)]


@pytest.mark.postgres
def test_the_tables_of_procrastinate_go_with_the_jobs_that_wait(
    restored: str, caplog: pytest.LogCaptureFixture
) -> None:
    with psycopg.connect(restored, autocommit=True) as driver:
        driver.execute(
            "INSERT INTO procrastinate_jobs (queue_name, task_name, lock, args) "
            """SELECT 'livedata', 'livedata.run', site, '{"run": "gone"}' FROM runs LIMIT 3"""
        )
        # A worker that was killed before the new version came.
        driver.execute(
            "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '1 hour')"
        )
    with closing(Store(restored)) as store:
        assert left(store) == []
        assert check_store(store).problems == []
    assert caplog.messages == []


@pytest.mark.postgres
@pytest.mark.parametrize("theirs", FOREIGN.values(), ids=FOREIGN.keys())
def test_the_tables_of_procrastinate_stay_for_another_program_that_uses_them(
    restored: str, theirs: str, caplog: pytest.LogCaptureFixture
) -> None:
    with psycopg.connect(restored, autocommit=True) as driver:
        driver.execute(theirs)
        tables = driver.execute(LEFT).fetchall()
    with closing(Store(restored)) as store:
        assert sorted(left(store)) == sorted(name for (name,) in tables)
        assert check_store(store).problems == []
    (said,) = caplog.messages
    assert "tables of procrastinate stay in this database" in said
