"""Sites that would wear a worker out: each Run ends in time, in little memory, beside the others.

The worker is a process of its own, as in production, so what it takes can be measured.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.requests import CreateDataset
from livedata.model.run import Run
from livedata.rules.network.targets import TargetPolicy
from livedata.services import datasets, queries, runs
from livedata.store.database.store import Store
from tests import faults
from tests.crawling import shop_source
from tests.made import make_store, meet_owner
from tests.runs.test_limits import seconds
from tests.runs.test_pagination_none import SINGLE, listing
from tests.runs.test_refusals import read_failures
from tests.site import Answer, Handler, Request, Site

pytestmark = [pytest.mark.timed, pytest.mark.one_database]

DEADLINE = 1.0
MOST = 64.0
HELD = 0.5
"""So long every hostile page waits before it begins: the other Run has its time meanwhile."""

HOSTILE: dict[str, tuple[Handler, str]] = {
    "endless": (faults.endless(), "limit_exceeded"),
    "announced as a gibibyte": (faults.big(1 << 30), "limit_exceeded"),
    "endless headers": (faults.endless_headers(), "limit_exceeded"),
    "endless hints": (faults.endless_hints(), "limit_exceeded"),
    "a header of a mebibyte": (faults.huge_headers(1 << 20), "limit_exceeded"),
    "dripping": (faults.drip(0.3), "timeout"),
    "never": (faults.never(), "timeout"),
    "slow headers": (faults.slow_headers(9), "timeout"),
    "a gzip bomb": (faults.gzip_bomb(1024), "limit_exceeded"),
    "a gzip bomb in gzip": (faults.gzip_bomb(1024, layers=2), "limit_exceeded"),
    "a deflate bomb": (faults.deflate_bomb(1024), "limit_exceeded"),
    "truncated": (faults.truncated(), "connection_reset"),
    "reset": (faults.reset(), "connection_reset"),
    "reset midway": (faults.reset(midway=True), "connection_reset"),
    "deep": (faults.fixed(body="<div>" * 400_000 + listing("a")), "limit_exceeded"),
    "deep in open links": (faults.fixed(body="<a><div>" * 400_000), "limit_exceeded"),
    "dense in attributes": (faults.fixed(body="<p a b c d e f g>" * 300_000), "limit_exceeded"),
    "dense in comments": (faults.fixed(body="<!-->x" * 800_000), "limit_exceeded"),
    "a million elements": (faults.fixed(body="<p>" * 1_000_000), "limit_exceeded"),
}
TWICE = {"timeout", "connection_reset"}
"""After these a page is asked for once more, with a deadline of its own."""

_NUMBERS = count(1)


@dataclass(frozen=True)
class Working:
    """A crawl worker, and the store that it works on."""

    store: Store
    process: int

    def enqueue(self, url: str) -> ids.RunId:
        """A Run of a new dataset."""
        # A port may come again, and a name may not.
        source = {**shop_source(url, pagination=SINGLE), "name": f"{url} {next(_NUMBERS)}"}
        made = datasets.create(
            self.store, "local", read(CreateDataset, source), TargetPolicy.parse("127.0.0.1")
        )
        dataset = ids.DatasetId(ids.raw_id(made["id"]))
        return ids.RunId(ids.raw_id(runs.enqueue(self.store, "local", dataset)[0]))

    def ended(self, *wanted: ids.RunId) -> list[Run]:
        """The Runs, once they are over."""
        end = time.monotonic() + 30
        while True:
            runs = [queries.run(self.store, "local", run) for run in wanted]
            if all(run["status"] not in {"queued", "running"} for run in runs):
                return runs
            assert time.monotonic() < end, runs
            time.sleep(0.02)

    def memory(self, what: str) -> float:
        """Its resident memory in MiB: ``VmRSS`` now, ``VmHWM`` the most since `forget`."""
        status = Path(f"/proc/{self.process}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith(what))
        return int(line.split()[1]) / 1024

    def forget(self) -> None:
        """From now on ``VmHWM`` counts anew (proc(5), clear_refs)."""
        Path(f"/proc/{self.process}/clear_refs").write_text("5")


@contextmanager
def worker(home: Path) -> Iterator[int]:
    environment = {
        **os.environ,
        "LIVEDATA_HOME": str(home),
        "LIVEDATA_ALLOW_HOSTS": "127.0.0.1",
        "LIVEDATA_PAGE_SECONDS": str(DEADLINE),
    }
    command = [sys.executable, "-m", "spiders"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=quiet) as process:
        try:
            yield process.pid
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def working(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Working]:
    """A worker that has read a page already: what it imports only then is there."""
    home = tmp_path_factory.mktemp("worker")
    store = make_store(home)
    meet_owner(store, "local", 1000)
    with worker(home) as process, Site() as site:
        crew = Working(store, process)
        site.page("/1", listing("a"))
        [run] = crew.ended(crew.enqueue(site.at("/1")))
        assert run["status"] == "succeeded", run["error"]
        yield crew
    store.close()


def held(handler: Handler) -> Handler:
    def handle(request: Request) -> Answer | None:
        request.wait(HELD)
        return handler(request)

    return handle


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_ends_in_time_and_in_64_mib_while_others_are_read(
    working: Working, site: Site, name: str
) -> None:
    handler, reason = HOSTILE[name]
    site.route("/1", held(handler))
    with Site() as other:
        other.page("/1", listing("ab"))
        working.forget()
        before = working.memory("VmRSS")
        hostile, good = working.ended(
            working.enqueue(site.at("/1")), working.enqueue(other.at("/1"))
        )
        most = working.memory("VmHWM")
    assert (hostile["status"], good["status"]) == ("failed", "succeeded")
    assert [failure[0] for failure in read_failures(working.store, hostile)] == [reason]
    attempts = 2 if reason in TWICE else 1
    assert seconds(hostile["startedAt"], hostile["completedAt"]) < attempts * DEADLINE + 1
    assert str(good["completedAt"]) < str(hostile["completedAt"])
    assert most - before <= MOST, f"{before:.0f} MiB, then {most:.0f} MiB"
