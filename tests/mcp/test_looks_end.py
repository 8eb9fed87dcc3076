"""Rules 19.7: a look at a site ends with who asked for it, and a Run goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event

import pytest

from livedata.store.database.store import Store
from tests.mcp.wire import Wire, tool_call, wire
from tests.patience import until
from tests.shop import shop, some_items
from tests.site import Answer, Request, Site

pytestmark = pytest.mark.one_database
PAGES = shop(some_items(12))
WITHIN = 15
"""In seconds: those in which what was asked is still answered, and some for a slow machine."""
CANCELLED = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}'


class SlowSite:
    """A site of which the second page comes when it is let go."""

    def __init__(self, site: Site) -> None:
        self.first = site.at("/page/1.html")
        self.is_asked, self.is_let_go = Event(), Event()
        site.pages(PAGES)
        site.route("/page/2.html", self._answer)

    def _answer(self, request: Request) -> Answer:
        self.is_asked.set()
        self.is_let_go.wait(60)
        return Answer(body=PAGES[request.path])


@pytest.fixture
def slow(store: Store, site: Site, monkeypatch: pytest.MonkeyPatch) -> SlowSite:
    """The site on loopback, which may be read."""
    monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", site.host)
    store.ensure()
    return SlowSite(site)


def children(opened: Wire) -> list[int]:
    """The processes that the server has started."""
    tasks = Path(f"/proc/{opened.process.pid}/task").glob("*/children")
    return [int(child) for file in tasks for child in file.read_text().split()]


def is_there(process: int) -> bool:
    """Whether a process goes on."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def close(opened: Wire) -> None:
    assert opened.process.stdin is not None
    opened.process.stdin.close()
    assert opened.process.wait(WITHIN) == 0


def withdraw(opened: Wire) -> None:
    opened.send([CANCELLED]).join()


def terminate(opened: Wire) -> None:
    opened.process.terminate()
    opened.process.wait(WITHIN)


def kill(opened: Wire) -> None:
    opened.process.kill()
    opened.process.wait(WITHIN)


ENDS: Mapping[str, Callable[[Wire], None]] = {
    "stdin ends": close,
    "the call is cancelled": withdraw,
    "SIGTERM": terminate,
    "SIGKILL": kill,
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_look_at_a_slow_site_ends_with_who_asked(
    slow: SlowSite, tmp_path: Path, end: Callable[[Wire], None]
) -> None:
    with wire(tmp_path, "--write") as opened:
        opened.send([tool_call(5, "look_at_page", {"url": slow.first})]).join()
        assert slow.is_asked.wait(WITHIN)
        (look,) = children(opened)
        end(opened)
        until(lambda: not is_there(look), WITHIN)
        if opened.process.poll() is None:
            assert not opened.call("list_datasets").get("isError")


def test_a_call_that_waits_for_its_turn_is_answered_when_looks_are_cancelled(
    slow: SlowSite, tmp_path: Path
) -> None:
    with wire(tmp_path, "--write") as opened:
        looks = [tool_call(number, "look_at_page", {"url": slow.first}) for number in (5, 6)]
        opened.send(looks).join()
        until(lambda: len(children(opened)) == 2, WITHIN)
        opened.send([tool_call(7, "look_at_page", {"url": "http://10.0.0.1/"})]).join()
        opened.send([CANCELLED, CANCELLED.replace(b":5}", b":6}")]).join()
        assert "private address" in opened.answer_to(7)["content"][0]["text"]


def test_a_run_goes_on_when_stdin_ends(slow: SlowSite, tmp_path: Path) -> None:
    with wire(tmp_path, "--write") as opened:
        slow.is_let_go.set()
        found = opened.call("look_at_page", url=slow.first)["structuredContent"]
        name = found["declaration"]["name"]
        opened.call("create_dataset", declaration=found["declaration"])
        slow.is_let_go.clear()
        slow.is_asked.clear()
        opened.send([tool_call(5, "run_dataset", {"dataset": name})]).join()
        assert slow.is_asked.wait(WITHIN)
        (run,) = children(opened)
        close(opened)
        assert is_there(run)
    slow.is_let_go.set()
    until(lambda: not is_there(run), 30)
    with wire(tmp_path) as opened:
        explained = opened.call("explain_run", dataset=name)["structuredContent"]
        assert explained["status"] == "succeeded"
