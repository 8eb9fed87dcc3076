"""A dataset that cannot be read fails alone: the Runs of the others go on."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from livedata.model import ids
from livedata.services import queries, runs
from livedata.services.audit.check import check_store
from livedata.store.database.store import Store
from tests.cli.shell import Shell
from tests.crawling import Crawling, shop_source
from tests.patience import until
from tests.runs.test_worker import working
from tests.shop import shop, some_items
from tests.site import Site


def plant(crawling: Crawling, statement: str) -> None:
    with closing(Store(crawling.store.url)) as other, other.writing() as writer:
        assert writer.written(statement) > 0


def two(crawling: Crawling, site: Site) -> None:
    """The datasets ``broken`` and ``sound`` with 7 rows each."""
    site.pages(shop(some_items(7)))
    for name in ("broken", "sound"):
        declared = {**shop_source(site.at("/page/1.html")), "name": name}
        crawling.run(crawling.create(declared, allow=site.host), allow=site.host)


SLOW_ON_SQLITE = (pytest.mark.sqlite, pytest.mark.slow)
OF_BROKEN = "(SELECT id FROM datasets WHERE name = 'broken')"


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("rows", "data", "'{'"),
        pytest.param("rows", "overrides", "CAST(x'ff' AS TEXT)", marks=SLOW_ON_SQLITE),
        ("recipes", "source", "'{'"),
        pytest.param("recipes", "source", "CAST(x'ff' AS TEXT)", marks=SLOW_ON_SQLITE),
        pytest.param("runs", "checks", "'{'", marks=pytest.mark.slow),
    ],
)
def test_a_dataset_that_cannot_be_read_is_told_and_the_others_are_run(
    crawling: Crawling,
    site: Site,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    table: str,
    column: str,
    value: str,
) -> None:
    two(crawling, site)
    plant(crawling, f"UPDATE {table} SET {column} = {value} WHERE dataset_id = {OF_BROKEN}")
    site.forget()
    monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", site.host)
    with Shell(tmp_path).start("run") as command:
        out, err = (text.decode() for text in command.communicate())
    assert command.returncode == (0 if table == "runs" else 1)
    assert "sound: succeeded, 0 new, 0 changed, 0 gone" in out
    if table != "runs":
        assert f"broken: The store is damaged: in the table {table}, row " in err
        assert "livedata check" in err
        with crawling.store.reading() as reader:
            assert reader.value("SELECT count(*) FROM runs WHERE completed_at IS NULL") == 0


def test_a_schedule_that_cannot_be_read_is_told_and_the_others_are_run(
    crawling: Crawling, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two(crawling, site)
    livedata = Shell(tmp_path)
    livedata("dataset", "update", "broken", "--status", "active", "--schedule", "30 6 * * *")
    plant(crawling, "UPDATE datasets SET schedule = 'x y z' WHERE name = 'broken'")
    monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", site.host)
    for ends in ("sound: succeeded, 0 new, 0 changed, 0 gone", ""):
        with livedata.start("run") as command:
            out, err = (text.decode() for text in command.communicate())
        assert command.returncode == 1
        assert out.startswith(ends)
        assert "broken: The store is damaged: in the table datasets, row " in err
        assert "Nothing is due" not in err
        livedata("dataset", "update", "sound", "--status", "paused")


def test_a_worker_ends_a_run_whose_dataset_cannot_be_read(
    crawling: Crawling, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.pages(shop(some_items(7)))
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    run, _ = runs.enqueue(crawling.store, "local", dataset)
    plant(crawling, "UPDATE recipes SET source = '{'")
    with working(tmp_path, site.host, monkeypatch):
        until(lambda: _ended(crawling, run))
    report = queries.run(crawling.store, "local", ids.RunId(ids.raw_id(run)))
    assert report["status"] == "failed"
    assert "in the table recipes, row " in (report["error"] or "")
    shown = Shell(tmp_path).out("runs", "show", run)
    assert "livedata check" in shown
    assert "preview" not in shown
    assert not any("Run" in problem for problem in check_store(crawling.store).problems)


def _ended(crawling: Crawling, run: str) -> bool:
    status = queries.run(crawling.store, "local", ids.RunId(ids.raw_id(run)))["status"]
    return status not in {"queued", "running"}
