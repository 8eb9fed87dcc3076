"""The worker's part of looks: pages are read as a Run reads them, and nothing is lost or left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from livedata import config
from livedata.messages.validation import read
from livedata.model.ids import DatasetId, LookId, raw_id
from livedata.model.look import LookWish
from livedata.model.requests import CreateDataset
from livedata.services import datasets, looks, queries
from livedata.store.database.store import Store
from livedata.store.looks import StoredLook
from livedata.worker.looks import LONGEST, TOO_LONG, TOO_MUCH, LookWorker
from livedata.worker.supervisor import Dispatcher
from tests import faults, made
from tests.patience import until
from tests.served import ServedCommand
from tests.shop import shop, some_items
from tests.site import Site

PAGE = "/page/1.html"
PROGRAM = b"spiders.cli.page_look"


@pytest.fixture
def home(tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which the site may be read."""
    monkeypatch.setenv("LIVEDATA_HOME", str(tmp_path))
    monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", site.host)
    site.pages(shop(some_items(12)))
    return tmp_path


@contextmanager
def working(store: Store, memory: int = 2_000, longest: float = LONGEST) -> Iterator[None]:
    worker = LookWorker(store, memory, dict(os.environ), longest=longest)
    dispatcher = Dispatcher(worker.dispatch)
    dispatcher.start()
    try:
        yield
    finally:
        dispatcher.begin_stop()
        worker.begin_stop()
        dispatcher.finish_stop(time.monotonic() + 10)
        worker.finish_stop(time.monotonic() + 10)


def ask(store: Store, url: str, **wish: str) -> LookId:
    return looks.ask(store, "local", LookWish(url, **wish), config.load().targets)  # type: ignore[arg-type]


def show(store: Store, look: LookId) -> StoredLook:
    return looks.show(store, "local", look)


def over(store: Store, look: LookId) -> StoredLook:
    """The look, once it is over."""
    until(lambda: not show(store, look).is_open)
    return show(store, look)


def programs(home: Path) -> list[int]:
    """The processes that read websites for looks of this home."""
    those = []
    for folder in Path("/proc").iterdir():
        try:
            words, environ = (folder / "cmdline").read_bytes(), (folder / "environ").read_bytes()
        except OSError:
            continue
        if folder.name.isdecimal() and PROGRAM in words and str(home).encode() in environ:
            those.append(int(folder.name))
    return those


@pytest.mark.usefixtures("home")
def test_a_page_is_looked_at_its_list_proved_and_a_declaration_tried(
    store: Store, site: Site
) -> None:
    look = ask(store, site.at(PAGE))
    with working(store):
        seen = over(store, look).seen
        assert seen is not None
        assert seen.declaration is not None
        assert (seen.number, seen.error, seen.names[0]) == (1, None, "title")
        first = seen.lists[0]
        assert (first.selector, first.records, len(first.rows)) == ("li.product", 5, 5)
        assert first.rows[0] == seen.rows[0]
        assert [records for _, records in seen.read] == [5, 5]
        assert [(key.names, key.sure) for key in seen.keys] == [(["link"], True), (["title"], True)]
        looks.try_out(store, "local", look, seen.declaration, config.load().targets)
        tried = over(store, look).tried
        assert tried is not None
        assert (tried["outcome"], len(tried["rows"])) == ("accept", 5)
    with store.reading() as reader:
        # Nothing is charged, and no Run has been.
        assert reader.value("SELECT count(*) FROM ledger WHERE kind = 'charge'") == 0
        assert reader.value("SELECT count(*) FROM runs") == 0


@pytest.mark.one_database
@pytest.mark.usefixtures("home")
def test_another_list_is_read_by_its_number_or_by_a_text(store: Store, site: Site) -> None:
    targets = config.load().targets
    look = ask(store, site.at(PAGE), like="out of stock")
    with working(store):
        seen = over(store, look).seen
        assert seen is not None
        assert seen.lists
        looks.ask_again(store, "local", look, LookWish(site.at(PAGE), number=99), targets)
        last = over(store, look).seen
        assert last is not None
        assert last.number == len(last.lists)
        looks.ask_again(store, "local", look, LookWish(site.at(PAGE), like="nowhere"), targets)
        nothing = over(store, look).seen
        assert nothing is not None
        assert nothing.declaration is None
        assert nothing.error is not None
        assert nothing.error.endswith("without that text all lists are shown.")


@pytest.mark.usefixtures("home")
def test_a_source_of_a_dataset_is_looked_for_and_tried_beside_its_rows(
    store: Store, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIVEDATA_DATABASE_URL", store.url)
    made.meet_owner(store, "local", 100)
    targets, items = config.load().targets, some_items(12)
    declared = made.declared("goods", [{"name": "title", "type": "string", "key": True}])
    source: dict[str, object] = {
        "version": 1,
        "url": site.at(PAGE),
        "itemSelector": "li.gone",
        "fields": [{"name": "title", "read": {"kind": "text", "selector": "h2"}}],
        "identity": {"kind": "source-key", "field": "title"},
        "pagination": {"kind": "next-link", "selector": "a.next"},
    }
    body = read(CreateDataset, {**declared, "source": source})
    dataset = DatasetId(raw_id(datasets.create(store, "local", body, targets)["id"]))
    made.take(store, dataset, [{"title": item.name} for item in items[1:]])
    look = looks.try_source(store, "local", dataset, None, targets)
    with working(store):
        mended = over(store, look)
    assert mended.seen is not None
    assert mended.seen.declaration is not None
    assert mended.seen.declaration["source"]["itemSelector"] == "h2"
    tried = mended.tried
    assert tried is not None
    assert (tried["outcome"], tried["version"]) == ("accept", 1)
    changes = tried["changes"]
    assert [changes[name] for name in ("new", "changed", "gone", "unchanged")] == [1, 0, 0, 11]
    assert [row["called"]["name"] for row in changes["rows"]] == [items[0].name]
    # It is judged, and writes nothing: no source but the first, no Run, no charge.
    assert queries.recipe_version(store, "local", dataset) == 1
    with store.reading() as reader:
        assert reader.value("SELECT count(*) FROM runs") == 1
        assert reader.value("SELECT count(*) FROM ledger WHERE kind = 'charge'") == 1


@pytest.mark.slow
@pytest.mark.one_database
@pytest.mark.usefixtures("home")
def test_a_page_that_scripts_fill_is_read_after_them(store: Store, site: Site) -> None:
    rows = "<li class=row><a href=/i/'+n+'>Lamp '+n+'</a><b>'+n+'.50</b></li>"
    fill = f"for (let n = 1; n < 9; n++) document.querySelector('ul').innerHTML += '{rows}'"
    site.page("/filled", f"<!doctype html><title>Lamps</title><ul></ul><script>{fill}</script>")
    targets = config.load().targets
    look = ask(store, site.at("/filled"))
    with working(store):
        empty = over(store, look).seen
        assert empty is not None
        assert "look at it again after its scripts have run" in str(empty.error)
        wish = LookWish(site.at("/filled"), "browser")
        looks.ask_again(store, "local", look, wish, targets)
        filled = over(store, look).seen
    assert filled is not None
    assert (filled.records, filled.error) == (8, None)
    assert filled.declaration is not None
    assert filled.declaration["source"]["render"] == "browser"


@pytest.mark.one_database
@pytest.mark.usefixtures("home")
def test_what_may_not_be_read_is_not_asked_for(
    store: Store, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets = config.load().targets
    site.page("/robots.txt", "User-agent: *\nDisallow: /page/", content_type="text/plain")
    robots = ask(store, site.at(PAGE))
    with working(store):
        seen = over(store, robots).seen
    assert seen is not None
    assert "robots.txt" in str(seen.error)
    assert set(site.paths) == {"/robots.txt"}
    # A name is judged where it is dialled, and an address that was allowed before is not now.
    monkeypatch.delenv("LIVEDATA_ALLOW_HOSTS")
    port = site.host.partition(":")[2]
    asked = site.connections
    for url in (f"http://localhost:{port}{PAGE}", site.at(PAGE)):
        private = looks.ask(store, "local", LookWish(url), targets)
        with working(store):
            seen = over(store, private).seen
        assert seen is not None
        assert "private" in str(seen.error)
    assert site.connections == asked


def test_one_that_a_person_stops_ends_at_once_with_its_process(
    store: Store, site: Site, home: Path
) -> None:
    site.route(PAGE, faults.never())
    look = ask(store, site.at(PAGE))
    with working(store):
        until(lambda: PAGE in site.paths)
        assert show(store, look).far == "It reads the page."
        looks.stop(store, "local", look)
        until(lambda: not programs(home), 10)
        assert show(store, look).error == looks.STOPPED


def test_a_worker_that_stops_gives_it_back(store: Store, site: Site, home: Path) -> None:
    site.route(PAGE, faults.never())
    look = ask(store, site.at(PAGE))
    with working(store):
        until(lambda: PAGE in site.paths)
    assert (show(store, look).status, show(store, look).attempt) == ("queued", 0)
    assert programs(home) == []


def test_a_killed_worker_leaves_nothing_and_another_takes_its_look_up(
    store: Store, site: Site, home: Path
) -> None:
    site.route(PAGE, faults.never())
    look = ask(store, site.at(PAGE))
    command = (sys.executable, "-m", "livedata", "worker", "--crawlers", "1")
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as worker:
        until(lambda: PAGE in site.paths)
        assert len(programs(home)) == 1
        worker.kill()
    until(lambda: not programs(home))
    assert show(store, look).status == "running"
    site.pages(shop(some_items(12)))
    with ServedCommand(home, "worker", "--crawlers", "1", ready="works on"):
        again = over(store, look)
    assert again.seen is not None
    assert (again.error, again.attempt) == (None, 2)


def test_a_killed_process_is_started_again(store: Store, site: Site, home: Path) -> None:
    site.route(PAGE, faults.never())
    look = ask(store, site.at(PAGE))
    with working(store):
        until(lambda: PAGE in site.paths)
        site.pages(shop(some_items(12)))
        for pid in programs(home):
            os.kill(pid, signal.SIGKILL)
        assert over(store, look).seen is not None
    assert show(store, look).attempt == 2


@pytest.mark.one_database
@pytest.mark.usefixtures("home")
def test_one_whose_process_always_dies_is_told_as_lost(
    store: Store, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("livedata.worker.looks.COMMAND", (sys.executable, "-c", "print('no JSON')"))
    look = ask(store, site.at(PAGE))
    with working(store):
        assert over(store, look).error == looks.LOST.format(attempts=3)


@pytest.mark.one_database
def test_one_that_takes_too_long_or_too_much_is_ended(
    store: Store, site: Site, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.route(PAGE, faults.never())
    with working(store, longest=1):
        assert over(store, ask(store, site.at(PAGE))).error == TOO_LONG.format(seconds=1)
    with working(store, memory=20):
        assert over(store, ask(store, site.at(PAGE))).error == TOO_MUCH
    endless = "import sys\nwhile True: sys.stdout.write('x' * 10_000)"
    monkeypatch.setattr("livedata.worker.looks.COMMAND", (sys.executable, "-c", endless))
    with working(store):
        assert over(store, ask(store, site.at(PAGE))).error == TOO_MUCH
    assert programs(home) == []


@pytest.mark.one_database
@pytest.mark.usefixtures("home")
def test_two_owners_do_not_wait_for_each_other(store: Store, site: Site) -> None:
    with store.writing() as writer:
        writer.execute("INSERT INTO owners (name, balance, created_at) VALUES ('bob', 1, 1)")
    site.route("/never", faults.never())
    targets = config.load().targets
    looks.ask(store, "bob", LookWish(site.at("/never")), targets)
    with working(store):
        until(lambda: "/never" in site.paths)
        assert over(store, ask(store, site.at(PAGE))).seen is not None


@pytest.mark.usefixtures("home")
def test_what_a_worker_is_not_set_up_for_is_told_at_once(
    store: Store, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = ask(store, site.at(PAGE))
    monkeypatch.setenv("LIVEDATA_DELAY", "soon")
    with working(store):
        ended = over(store, look)
    assert "LIVEDATA_DELAY" in str(ended.error)
    assert ended.attempt == 1
