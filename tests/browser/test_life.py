"""The browser's life: shared, cancelled, killed, missing, and gone when nobody needs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event

import pytest
import tomli_w
from msgspec.structs import replace

from livedata.messages.render import sentence
from livedata.services import runs
from spiders.browser import rendering, shared_browser
from tests.browser.scripted import rendered, scripted, single
from tests.crawling import Crawling
from tests.patience import AT_ONCE, LONG, until
from tests.runs.test_cancel import Work
from tests.runs.test_pagination_none import listing
from tests.runs.test_refusals import read_failures
from tests.site import Answer, Handler, Request, Site

NEXT = '<a class="next" href="/2">Next</a>'


def browsers(of: int) -> set[int]:
    """The processes of Chromium below a process that have not ended."""
    parents: dict[int, tuple[int, str]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().partition("(")[2].rpartition(") ")
        except OSError:  # it ended meanwhile
            continue
        state, parent = rest.split()[:2]
        if state != "Z":
            parents[int(stat.parent.name)] = (int(parent), name)

    def below(process: int) -> bool:
        return process == of or (process in parents and below(parents[process][0]))

    return {each for each, (_, name) in parents.items() if "chrom" in name and below(each)}


class RenderedWork(Work):
    """Several browser Runs in one executor."""

    def add_rendered(self, url: str, name: str) -> None:
        dataset = self.crawling.create({**rendered(url), "name": name}, allow=self.allow)
        self.queue.append(runs.take_up(self.crawling.store, "local", dataset, name))


def busy(work: Work) -> Handler:
    """A page that keeps its tab busy for ever, cancelled while it does."""

    def handle(_: Request) -> Answer:
        def stop() -> None:
            work.stopped = time.monotonic()
            work.executor.cancel()

        work.crawling.loop.call_soon_threadsafe(work.crawling.loop.call_later, 0.5, stop)
        return Answer(200, "<!doctype html><p>x</p><script>for (;;);</script>")

    return handle


@pytest.mark.parametrize("page", ["/robots.txt", "/1", "/2"])
@pytest.mark.parametrize("kind", ["silent", "busy"])
def test_cancel_ends_a_browser_run_at_once(
    crawling: Crawling, site: Site, page: str, kind: str
) -> None:
    if (page, kind) == ("/robots.txt", "busy"):
        page = "/1"
    browser = crawling.engine.run(crawling.engine.browser.start(""))
    work = RenderedWork(crawling, site)
    work.add_rendered(site.at("/1"), "shop")
    site.page("/1", listing("a", NEXT))
    site.route(page, busy(work) if kind == "busy" else work.meets(work.executor.cancel))
    [run] = work.run()
    assert time.monotonic() - work.stopped < AT_ONCE
    assert crawling.story(run).stop["rule"] == "cancelled"
    assert browser.contexts == []


def test_cancel_does_not_wait_for_the_browser_to_start(
    crawling: Crawling, site: Site, tmp_path: Path
) -> None:
    crawling.engine.run(crawling.engine.browser.close())
    slow, started = tmp_path / "slow-chromium", tmp_path / "started"
    slow.write_text(f"#!/bin/sh\necho $$ > {started}\nexec sleep {LONG}\n")
    slow.chmod(0o700)
    work = RenderedWork(crawling, site)
    work.executor.fetching = replace(work.executor.fetching, browser=str(slow))
    work.add_rendered(site.at("/1"), "shop")

    def stop() -> None:
        if started.exists() and started.read_text():
            work.stopped = time.monotonic()
            work.executor.cancel()
        else:
            crawling.loop.call_later(0.02, stop)

    crawling.loop.call_soon(stop)
    [run] = work.run()
    assert time.monotonic() - work.stopped < AT_ONCE
    assert crawling.story(run).stop["rule"] == "cancelled"
    assert site.paths == []
    os.kill(int(started.read_text()), signal.SIGKILL)


def test_two_runs_at_once_share_the_browser_and_no_cookies(crawling: Crawling, site: Site) -> None:
    browser = crawling.engine.run(crawling.engine.browser.start(""))
    before = browsers(os.getpid())
    seen: dict[str, list[str]] = {}

    def page(request: Request) -> Answer:
        host, path = request.headers["host"], request.path
        seen.setdefault(host, []).append(request.headers.get("cookie", ""))
        request.wait(0.3)
        body = listing("a", NEXT) if path == "/1" else listing("b")
        return Answer(200, body, {"Set-Cookie": f"who={host.partition(':')[2]}"})

    with Site() as other:
        work = RenderedWork(crawling, site, other)
        for name, where in (("a", site), ("b", other)):
            where.route("/1", page)
            where.route("/2", page)
            work.add_rendered(where.at("/1"), name)
        done = work.run()
        assert [run["status"] for run in done] == ["succeeded"] * 2, [run["error"] for run in done]
        # Cookies know no ports: in one context the second site would be sent the first one's.
        for host, cookies in seen.items():
            assert cookies == ["", f"who={host.partition(':')[2]}"]
    assert browser.contexts == []
    assert before & browsers(os.getpid())


def test_a_browser_that_is_killed_fails_its_run_and_the_next_one_works(
    crawling: Crawling, site: Site
) -> None:
    crawling.engine.run(crawling.engine.browser.start(""))

    def kill(request: Request) -> Answer:
        for process in browsers(os.getpid()):
            os.kill(process, signal.SIGKILL)
        request.wait(0.2)
        return Answer(200, listing("b"))

    site.page("/1", listing("a", NEXT))
    site.route("/2", kill)
    dataset = crawling.create(rendered(site.at("/1")), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    assert run["status"] == "failed"
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["unknown"]
    assert "the browser ended" in str(run["error"])
    site.page("/2", listing("b"))
    assert crawling.run(dataset, allow=site.host)["status"] == "succeeded"
    assert crawling.engine.run(crawling.engine.browser.start("")).contexts == []


def test_a_browser_that_stands_still_fails_its_run_in_time_and_the_next_one_works(
    crawling: Crawling, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_browser, "_PATIENCE", 0.3)
    monkeypatch.setattr(rendering, "_CLOSING", 0.1)
    crawling.engine.run(crawling.engine.browser.start(""))
    stopped = browsers(os.getpid())

    def stop(_: Request) -> Answer:
        for process in stopped:
            os.kill(process, signal.SIGSTOP)
        return Answer(200, listing("b"))

    site.route("/1", stop)
    dataset = crawling.create(single(site.at("/1")), allow=site.host)
    run = crawling.run(dataset, allow=site.host, how={"run_timeout": 1.0})
    assert run["status"] == "failed"
    assert "the Run has taken the 1 s that it may" in str(run["error"])
    site.page("/1", listing("b"))
    assert crawling.run(dataset, allow=site.host)["status"] == "succeeded"
    for process in stopped & browsers(os.getpid()):
        os.kill(process, signal.SIGKILL)


def test_no_process_is_left_when_the_browser_is_closed(crawling: Crawling, site: Site) -> None:
    site.page("/1", scripted(listing("ab")))
    run = crawling.run(crawling.create(single(site.at("/1")), allow=site.host), allow=site.host)
    assert run["status"] == "succeeded", run["error"]
    assert browsers(os.getpid())
    crawling.engine.run(crawling.engine.browser.close())
    until(lambda: not browsers(os.getpid()))


def test_a_browser_that_is_not_there_is_said_before_anything_is_asked(
    crawling: Crawling, site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    crawling.engine.run(crawling.engine.browser.close())
    monkeypatch.setattr(shared_browser, "ON_PATH", ())
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    run = crawling.run(crawling.create(single(site.at("/1")), allow=site.host), allow=site.host)
    assert (run["status"], run["checks"]) == ("failed", [])
    assert str(run["error"]).endswith("no browser is installed here.")
    assert crawling.remedies(run) == ["install_browser"]
    assert site.paths == []
    crawling.engine.run(crawling.engine.browser.close())


def test_without_the_extra_the_run_says_how_to_install_it(
    crawling: Crawling, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawling.engine.run(crawling.engine.browser.close())
    monkeypatch.setitem(sys.modules, "playwright.async_api", None)
    run = crawling.run(crawling.create(single(site.at("/1")), allow=site.host), allow=site.host)
    assert str(run["error"]).endswith("that part of livedata is not installed.")
    assert crawling.remedies(run) == ["install_browser_support"]
    assert site.paths == []


@pytest.mark.parametrize("named", ["/nowhere/chromium", "/etc/passwd"])
def test_a_setting_that_names_no_program_is_said(named: str) -> None:
    with pytest.raises(shared_browser.NoBrowser) as raised:
        shared_browser.executable(named)
    assert f"that is set, {named}, is not a program" in sentence(raised.value.problem)


def test_the_browser_that_is_named_goes_before_those_on_the_path(tmp_path: Path) -> None:
    own = tmp_path / "chromium"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    assert shared_browser.executable(str(own)) == str(own)
    assert shared_browser.executable("") != str(own)


def source_file(folder: Path, url: str) -> Path:
    file = folder / "source.toml"
    file.write_bytes(tomli_w.dumps(single(url)).encode())
    return file


def command(home: Path, file: Path, **settings: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "LIVEDATA_HOME": str(home), **settings}
    return subprocess.Popen(
        [sys.executable, "-m", "livedata", "preview", str(file)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_of_those_on_the_path_the_lighter_one_is_taken_else_playwrights_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shared_browser.executable("") is None
    for name in ("chromium", "chromium-headless-shell"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        assert shared_browser.executable("") == str(program)


def test_a_preview_without_a_browser_says_so_in_one_line(site: Site, tmp_path: Path) -> None:
    named = {"LIVEDATA_BROWSER": "/nowhere/chromium", "LIVEDATA_ALLOW_HOSTS": site.host}
    running = command(tmp_path, source_file(tmp_path, site.at("/1")), **named)
    out, err = running.communicate(timeout=30)
    assert running.returncode == 3
    assert "that is set, /nowhere/chromium, is not a program" in out + err
    assert "LIVEDATA_BROWSER names it" in err
    assert site.paths == []


def test_a_process_that_is_killed_takes_its_browser_with_it(site: Site, tmp_path: Path) -> None:
    asked = Event()

    def never(request: Request) -> None:
        asked.set()
        request.wait()

    site.route("/1", never)
    file = source_file(tmp_path, site.at("/1"))
    running = command(tmp_path, file, LIVEDATA_ALLOW_HOSTS=site.host)
    assert asked.wait(30)
    left = browsers(running.pid)
    assert left
    running.kill()
    running.communicate()
    until(lambda: not any(map(alive, left)))


def alive(process: int) -> bool:
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(") ")[2][0] != "Z"


def test_a_plain_run_imports_nothing_of_the_browser() -> None:
    code = (
        "import sys, spiders.cli.run, spiders.cli.preview, spiders.__main__\n"
        "print([name for name in sys.modules if 'playwright' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
