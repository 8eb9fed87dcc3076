"""Engines of others execute Runs: each is handed over until it begins, whatever becomes of it."""

from __future__ import annotations

import logging
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from itertools import groupby, pairwise
from pathlib import Path
from threading import Event, Lock
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from click.testing import CliRunner

from livedata.cli import cli
from livedata.model import ids
from livedata.model.ids import RunId
from livedata.services import runs
from livedata.services.audit.check import check_store
from livedata.store.database.store import Store
from livedata.worker import engines
from livedata.worker.engines import Enqueuer, engine_of
from livedata.worker.supervisor import Dispatcher
from tests.crawling import Crawling, shop_source
from tests.patience import AT_ONCE, until
from tests.runs.test_pagination_none import SINGLE, listing
from tests.served import ROOT, ServedCommand
from tests.site import Answer, Request, Site

EXAMPLES = ROOT / "examples" / "engines"
SERVE = ("serve", "--port", "0", "--no-worker", "--enqueue")
TOLD = """
import os, sys
with open(sys.argv[1], "a") as told:
    told.write(f"{sys.argv[2]} {os.environ['LIVEDATA_RUN']}\\n")
"""
"""A program that writes into a file of which Run it is told."""


def queue(crawling: Crawling, site: Site, *names: str, **changes: object) -> list[str]:
    """Queue a Run of new datasets that all read one site; their ids."""
    queued = []
    for name in names:
        source = shop_source(site.at(f"/{name}/1"), **{"pagination": SINGLE, **changes})
        dataset = crawling.create({**source, "name": name}, allow=site.host)
        queued.append(runs.enqueue(crawling.store, "local", dataset)[0])
    return queued


def cancel(store: Store, run: str) -> None:
    runs.cancel(store, RunId(ids.raw_id(run)))


class Told:
    """What a command has written about the Runs that it was told of."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "told"
        self._file.touch()
        self.words = f"{sys.executable} -c {shlex.quote(TOLD)} {self._file} {{run}}"

    @property
    def runs(self) -> list[str]:
        """The Runs, each as often as it was told."""
        told = [line.split() for line in self._file.read_text().splitlines()]
        assert all(word == variable for word, variable in told)
        return [run for run, _ in told]


@contextmanager
def handing_over(
    store: Store, engine: engines.Engine, monkeypatch: pytest.MonkeyPatch, **constants: float
) -> Iterator[None]:
    """An enqueuer that goes round as in a server, but oftener."""
    for name, value in {"POLL": 0.05, **constants}.items():
        monkeypatch.setattr(engines, name, value)
    monkeypatch.setattr("livedata.worker.supervisor.ROUND", 0.02)
    enqueuer = Enqueuer(store, engine)
    dispatcher = Dispatcher(enqueuer.dispatch)
    dispatcher.start()
    try:
        yield
    finally:
        for each in (dispatcher, enqueuer):
            each.begin_stop()
        for each in (dispatcher, enqueuer):
            each.finish_stop(time.monotonic() + AT_ONCE)


def test_a_server_starts_a_command_once_for_each_run_that_may_start(
    crawling: Crawling, tmp_path: Path
) -> None:
    told = Told(tmp_path)
    with Site() as one, Site() as other:
        first, second = queue(crawling, one, "a", "b")
        [third] = queue(crawling, other, "c")
        url = {"LIVEDATA_DATABASE_URL": crawling.store.url}
        with ServedCommand(tmp_path, *SERVE, told.words, ready="livedata serves", **url) as served:
            until(lambda: Counter(told.runs) == {first: 1, third: 1})
            cancel(crawling.store, first)
            until(lambda: Counter(told.runs) == {first: 1, second: 1, third: 1})
            served.end()
            assert served.process.wait(AT_ONCE) == 0
            assert "go back" not in served.log()
        # Another server knows nothing of that, and hands over again what has not begun.
        with ServedCommand(tmp_path, *SERVE, told.words, ready="livedata serves", **url):
            until(lambda: Counter(told.runs) == {first: 1, second: 2, third: 2})


def test_what_does_not_begin_is_handed_over_again_after_longer_and_longer(
    crawling: Crawling, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments: list[float] = []

    class Forgetful:
        name = "an engine that forgets"

        def take(self, _run: str, _stopping: object) -> None:
            moments.append(time.monotonic())

    with Site() as site:
        [run] = queue(crawling, site, "a")
        with handing_over(crawling.store, Forgetful(), monkeypatch, AGAIN=0.4, LONGEST=0.8):
            until(lambda: len(moments) == 4)
            cancel(crawling.store, run)
    waited = [after - before for before, after in pairwise(moments)]
    assert all(seconds >= least for seconds, least in zip(waited, (0.4, 0.8, 0.8), strict=True))
    assert waited[2] < 1.6


def test_an_engine_that_is_away_delays_runs_and_is_told_and_nothing_is_lost(
    crawling: Crawling,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "livedata.engines")
    told, there = Told(tmp_path), tmp_path / "there"
    # A shell says why, on stderr.
    words = (
        f"sh -c 'test -e {there} || {{ echo token=hunter2 refused >&2; exit 3; }}; exec \"$@\"' -"
    )
    with ExitStack() as stack:
        sites = [stack.enter_context(Site()) for _ in range(3)]
        queued = [queue(crawling, site, f"d{n}")[0] for n, site in enumerate(sites)]
        engine = engine_of(f"{words} {told.words}")
        stack.enter_context(
            handing_over(crawling.store, engine, monkeypatch, RETRY=0.1, LONGEST_RETRY=0.4)
        )
        until(lambda: len(caplog.records) == 5)
        assert told.runs == []
        # Not one after the other for all that wait: the engine as a whole is tried more seldom.
        gaps = [record.created for record in caplog.records]
        assert gaps[4] - gaps[0] >= 0.1 + 0.2 + 0.4 + 0.4
        there.touch()
        until(lambda: sorted(told.runs) == sorted(queued))
    [first, *_] = caplog.messages
    assert "waits, for sh did not take it: The command ended with 3:" in first
    assert "refused" in first
    assert "hunter2" not in caplog.text
    assert all(vars(record)["event"].startswith("enqueue.") for record in caplog.records)


def test_one_run_that_an_engine_refuses_keeps_no_other_from_it(
    crawling: Crawling, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[str] = []
    refused: list[str] = []
    with ExitStack() as stack:
        sites = [stack.enter_context(Site()) for _ in range(4)]
        bad, *others = [queue(crawling, site, f"d{n}")[0] for n, site in enumerate(sites)]

        class Choosy:
            name = "an engine that refuses one"

            def take(self, run: str, _stopping: object) -> str | None:
                (refused if run == bad else taken).append(run)
                return "it is refused" if run == bad else None

        stack.enter_context(handing_over(crawling.store, Choosy(), monkeypatch, RETRY=0.05))
        until(lambda: len(refused) == 4)
        assert sorted(taken) == sorted(others)


def test_a_command_that_does_not_end_is_killed_after_a_while_and_when_the_server_ends(
    crawling: Crawling,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    began = tmp_path / "began"
    engine = engine_of(f"sh -c 'echo $$ >> {began}; sleep 600' {{run}}")
    with Site() as site:
        queue(crawling, site, "a")
        with handing_over(crawling.store, engine, monkeypatch, SECONDS=0.3, RETRY=0.05):
            until(lambda: len(caplog.messages) == 1)
        assert "did not end within 0.3 s, so it was killed" in caplog.messages[0]
        began.unlink()
        with handing_over(crawling.store, engine, monkeypatch, SECONDS=600):
            until(lambda: began.exists() and began.read_text().endswith("\n"))
    pid = began.read_text().strip()
    until(lambda: not Path(f"/proc/{pid}").exists(), AT_ONCE)
    assert len(caplog.messages) == 1


def test_runs_of_a_lost_process_are_handed_over_though_no_worker_is_there(
    crawling: Crawling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told(tmp_path)
    with Site() as site:
        [run] = queue(crawling, site, "a")
        with crawling.store.writing() as writer:
            writer.execute(
                "UPDATE runs SET status = 'running', attempt = 1, fence = 1, turn = site, "
                "lease_owner = 'elsewhere/1/1', lease_until = :past",
                past=ids.now() - 1_000_000,
            )
        with handing_over(crawling.store, engine_of(told.words), monkeypatch):
            until(lambda: told.runs == [run])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--enqueue", "true {run}"), "give --no-worker too"),
        (("--no-worker", "--enqueue", "no-such-thing {run}"), "no program no-such-thing"),
        (("--no-worker", "--enqueue", "sh -c 'x"), "No closing quotation"),
        (("--no-worker", "--enqueue", " "), "it names nobody"),
        (("--no-worker", "--enqueue", "celery://"), "stands the name of a task"),
        (("--no-worker", "--enqueue", "celery://a?broker=redis://h?x=1&y=2"), "write %26 for &"),
        (("--no-worker", "--enqueue", "celery://a?broker=rabbit://h"), "such a broker"),
    ],
)
def test_what_names_no_engine_is_refused(words: Sequence[str], said: str) -> None:
    ended = CliRunner().invoke(cli, ["serve", *words])
    assert ended.exit_code == 2
    assert said in " ".join(ended.output.replace("│", " ").split())


def test_what_celery_needs_is_said_where_it_is_missing() -> None:
    without = "import sys; sys.modules['celery'] = None; from livedata.cli import main; main()"
    words = [*SERVE, "celery://livedata.execute"]
    ended = subprocess.run(
        [sys.executable, "-c", without, *words], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert "pip install 'celery[redis]" in ended.stderr, ended.stderr


def test_a_broker_that_is_away_is_told_without_its_password() -> None:
    engine = engine_of("celery://livedata.execute?broker=redis://:hunter2@127.0.0.1:1/0")
    problem = engine.take("01a203f2-4fb6-70da-97a8-6687ad76c100", Event())
    assert problem is not None
    assert "Connection refused" in problem
    assert "hunter2" not in problem + engine.name


def test_keda_counts_the_runs_that_may_start(crawling: Crawling) -> None:
    [trigger] = scaled_job()["spec"]["triggers"]

    def counted() -> int:
        with crawling.store.reading() as reader:
            return int(reader.value(trigger["metadata"]["query"]))

    with Site() as one, Site() as other:
        assert counted() == 0
        first, _ = queue(crawling, one, "a", "b")
        queue(crawling, other, "c")
        assert counted() == len(runs.waiting(crawling.store, 9)) == 2
        with crawling.store.writing() as writer:
            writer.execute(
                "UPDATE runs SET status = 'running', turn = site WHERE id = :run",
                run=ids.raw_id(first),
            )
        assert counted() == len(runs.waiting(crawling.store, 9)) == 1


def scaled_job() -> dict[str, Any]:
    [job, _] = yaml.safe_load_all((EXAMPLES / "keda-scaledjob.yaml").read_text())
    assert isinstance(job, dict)
    return job


class Asked:
    """What sites were asked, by whom, and whether one was asked by two at once."""

    def __init__(self) -> None:
        self.by: list[tuple[str, str, str]] = []
        """The site, the dataset and the user agent of each request for a page of a list."""
        self.at_once: list[tuple[str, str]] = []
        self.opened = Event()
        """Until it is set no page comes."""
        self._lock = Lock()
        self._busy: dict[str, list[Request]] = {}

    def asks(self, agent: str) -> bool:
        """Whether somebody asks a page now."""
        with self._lock:
            busy = [request for those in self._busy.values() for request in those]
        return any(self._agent(request) == agent for request in busy)

    @staticmethod
    def _agent(request: Request) -> str:
        return request.headers["user-agent"]

    def put(self, site: Site, name: str) -> None:
        """Put a list of two pages on a site, which takes a moment for each."""
        link = f'<a class="next" href="/{name}/2">n</a>'
        for path, body in (("1", listing("ab", link)), ("2", listing("c"))):
            site.route(f"/{name}/{path}", partial(self._answer, site.host, body))

    def _answer(self, host: str, body: str, request: Request) -> Answer:
        with self._lock:
            # Who was killed in the middle asks no more.
            busy = [each for each in self._busy.get(host, []) if not each.raw.is_left()]
            self.at_once += [(each.path, request.path) for each in busy]
            self._busy[host] = [*busy, request]
            self.by.append((host, request.path.split("/")[1], self._agent(request)))
        while not self.opened.is_set() and not request.wait(0.02):
            pass
        request.wait(0.1)
        with self._lock:
            self._busy[host] = [each for each in self._busy[host] if each is not request]
        return Answer(body=body)

    @property
    def rounds(self) -> int:
        """How often the pages of one dataset followed those of another, over all sites."""
        by_site = sorted(self.by, key=lambda asked: asked[0])
        return sum(1 for _ in groupby(by_site, key=lambda asked: asked[:2]))


@contextmanager
def broker() -> Iterator[str]:
    """The address of a Redis of the test's own."""
    # A socket in a short path: a port could be somebody else's by now, a long path is refused.
    with tempfile.TemporaryDirectory(prefix="redis-") as folder:
        place = Path(folder) / "s"
        words = ("--port", "0", "--unixsocket", str(place), "--save", "", "--dir", folder)
        process = subprocess.Popen(["redis-server", *words], stdout=subprocess.DEVNULL)
        try:
            until(place.exists)
            yield f"redis+socket://{place}"
        finally:
            process.terminate()
            process.wait(AT_ONCE)


@contextmanager
def started(words: Sequence[str], agent: str, environ: dict[str, str]) -> Iterator[int]:
    """A process with all that it starts, in a group of its own; its pid."""
    process = subprocess.Popen(
        words,
        env={**environ, "LIVEDATA_USER_AGENT": agent},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process.pid
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(AT_ONCE)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def children(pid: int) -> list[int]:
    """The processes that one has started."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def of_celery(name: str, broker: str, environ: dict[str, str]) -> AbstractContextManager[int]:
    """A worker of Celery with the application of the example."""
    words = [sys.executable, "-m", "celery", "--workdir", str(EXAMPLES), "--app", "celery_app"]
    words += ["worker", "--concurrency", "2", "--hostname", f"{name}@here", "--loglevel", "ERROR"]
    words += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    return started(words, name, {**environ, "CELERY_BROKER_URL": broker})


@pytest.mark.parametrize(
    ("number", "each"),
    [
        (6, 4),
        pytest.param(
            20, 10, marks=(pytest.mark.slow, pytest.mark.one_database, pytest.mark.timeout(600))
        ),
    ],
)
def test_runs_by_two_workers_of_celery_and_one_of_ours_end_once_though_one_of_each_is_killed(
    crawling: Crawling, tmp_path: Path, number: int, each: int
) -> None:
    asked, store = Asked(), crawling.store
    with ExitStack() as stack:
        sites = [stack.enter_context(Site()) for _ in range(number)]
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environ = {**os.environ, "LIVEDATA_HOME": str(tmp_path), "PATH": path}
        environ |= {"LIVEDATA_DATABASE_URL": store.url, "LIVEDATA_AT_ONCE": "1"}
        environ["LIVEDATA_PAGE_SECONDS"] = "120"
        environ["LIVEDATA_ALLOW_HOSTS"] = ",".join(site.host for site in sites)
        redis = stack.enter_context(broker())
        first, _ = (stack.enter_context(of_celery(name, redis, environ)) for name in ("one", "two"))
        serve = [sys.executable, "-m", "livedata", *SERVE]
        engine = f"celery://livedata.execute?broker={redis}"
        stack.enter_context(started([*serve, engine], "nobody", environ))
        for place, site in enumerate(sites):
            names = [f"d{place}-{n}" for n in range(each)]
            for name in names:
                asked.put(site, name)
            queue(crawling, site, *names, pagination={"kind": "next-link", "selector": "a.next"})
        # Each of them is in the middle of a Run.
        until(lambda: asked.asks("one") and asked.asks("two"))
        here = [sys.executable, "-m", "livedata"]
        ours = stack.enter_context(started([*here, "worker", "--crawlers", "1"], "ours", environ))
        until(lambda: asked.asks("ours"))
        os.killpg(first, signal.SIGKILL)
        for child in children(ours):
            os.kill(child, signal.SIGKILL)
        asked.opened.set()
        until(lambda: not {*statuses(store)} & {"queued", "running"}, 500)
    assert Counter(statuses(store)) == {"succeeded": number * each}
    assert asked.at_once == []
    agents = Counter(agent for *_, agent in asked.by)
    assert agents.keys() == {"one", "two", "ours"}, agents
    with store.reading() as reader:
        charges = reader.rows(
            "SELECT run_id, count(*) FROM ledger WHERE kind = 'charge' GROUP BY 1"
        )
        assert [count for _, count in charges] == [1] * number * each
        # No Run of a site has begun before another one had ended, or was lost.
        assert asked.rounds <= reader.value("SELECT count(*) FROM attempts")
    assert check_store(store).problems == []


def statuses(store: Store) -> list[str]:
    with store.reading() as reader:
        return [status for (status,) in reader.rows("SELECT status FROM runs")]
