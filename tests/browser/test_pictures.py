"""What a browser showed of the page that stopped a Run is kept as a picture."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from livedata.model import ids
from livedata.model.diagnosis.explanation import FailedPage
from livedata.model.errors import NotFound
from livedata.model.harvest import LONGEST_SCREENSHOT
from livedata.model.run import Run
from livedata.services import explanation
from spiders.browser import tab
from tests import faults
from tests.browser.scripted import rendered, scripted, single
from tests.browser.test_refusals import script
from tests.cli.shell import Shell
from tests.crawling import Crawling
from tests.patience import AT_ONCE, LONG
from tests.runs.test_pagination_none import listing
from tests.runs.test_refusals import NEXT, read_failures, steps
from tests.site import Forbidden, Handler, Site

RESTLESS = "<script>setInterval(() => fetch('/x'), 100)</script>"
NOISE = """<!doctype html><canvas width=1280 height=720></canvas><script>
const pen = document.querySelector('canvas').getContext('2d');
const image = pen.createImageData(1280, 720);
for (let at = 0; at < image.data.length; at++)
  image.data[at] = at % 4 < 3 ? Math.random() * 256 : 255;
pen.putImageData(image, 0, 0);
</script>"""


def size(picture: bytes) -> tuple[int, int]:
    """Width and height of a JPEG; raises where it is none."""
    assert picture[:3] == b"\xff\xd8\xff"
    assert picture[-2:] == b"\xff\xd9"
    place = 2
    while not 0xC0 <= picture[place + 1] <= 0xC2:
        place += 2 + struct.unpack(">H", picture[place + 2 : place + 4])[0]
    height, width = struct.unpack(">HH", picture[place + 5 : place + 9])
    return width, height


def kept(crawling: Crawling, run: Run) -> FailedPage:
    return explanation.failed_page(crawling.store, "local", ids.RunId(ids.raw_id(run["id"])))


def run_of(crawling: Crawling, site: Site, handler: Handler, *, timeout: float = LONG) -> Run:
    site.route("/1", handler)
    dataset = crawling.create(single(site.at("/1")), allow=site.host)
    return crawling.run(dataset, allow=site.host, timeout=timeout)


REFUSED: dict[str, tuple[Handler, str]] = {
    "no items any more": (faults.fixed(body=scripted("<h2>All new</h2>")), "failed"),
    "403": (faults.status(403), "blocked"),
    "500": (faults.status(500), "failed"),
    "a challenge": (faults.challenge(), "blocked"),
    "JSON": (faults.fixed(body='{"a": 1}', headers={"Content-Type": "text/plain"}), "failed"),
}


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait longer for a picture: a machine may be slow."""
    monkeypatch.setattr(tab, "PAINTING", AT_ONCE)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("case", REFUSED)
def test_explain_writes_the_picture_of_the_page_that_stopped_a_run(
    crawling: Crawling, site: Site, tmp_path: Path, case: str
) -> None:
    handler, status = REFUSED[case]
    run = run_of(crawling, site, handler)
    assert run["status"] == status
    livedata, file = Shell(tmp_path), tmp_path / "page.jpg"
    livedata("runs", "explain", run["id"], "--screenshot", str(file))
    assert size(file.read_bytes()) == (1280, 720)
    assert file.stat().st_size <= LONGEST_SCREENSHOT


@pytest.mark.usefixtures("patient")
def test_it_is_the_page_that_the_check_points_at(crawling: Crawling, site: Site) -> None:
    """A page in the middle that looks well: its picture is not that of the first or last one."""
    site.page("/1", scripted(listing("a", NEXT)))
    site.page("/2", scripted(listing(["", "b"], '<a class="next" href="/3">n</a>')))
    site.page("/3", scripted(listing("c")))
    dataset = crawling.create(rendered(site.at("/1")), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    page = kept(crawling, run)
    assert (run["status"], page.number) == ("failed", 2)
    assert page.screenshot is not None
    assert size(page.screenshot) == (1280, 720)


@pytest.mark.usefixtures("patient")
def test_a_picture_that_would_be_too_long_is_a_smaller_one(crawling: Crawling, site: Site) -> None:
    page = kept(crawling, run_of(crawling, site, faults.fixed(body=NOISE)))
    assert page.screenshot is not None
    assert size(page.screenshot) in {(640, 360), (320, 180)}
    assert len(page.screenshot) <= LONGEST_SCREENSHOT


@pytest.mark.timed
@pytest.mark.usefixtures("patient")
def test_a_page_that_never_settles_is_kept_as_it_is_at_the_end(
    crawling: Crawling, site: Site
) -> None:
    restless = scripted("<h2>Nothing here</h2>", tail=RESTLESS)
    run = run_of(crawling, site, faults.fixed(body=restless), timeout=4)
    assert read_failures(crawling.store, run)[0][:2] == ("timeout", None)
    page = kept(crawling, run)
    assert "Nothing here" in page.markup
    assert page.screenshot is not None
    assert size(page.screenshot) == (1280, 720)


@pytest.mark.parametrize("text", ["for (;;);", "for (;;) alert('x')"])
def test_a_page_that_hangs_its_tab_ends_in_time_without_one(
    crawling: Crawling, site: Site, tmp_path: Path, text: str
) -> None:
    """In time is soon after its deadline; it is asked for twice."""
    crawling.engine.run(crawling.engine.browser.start(""))
    run = run_of(crawling, site, script(text), timeout=2)
    [read] = [step for step in steps(crawling.store, run) if step["phase"] == "read"]
    assert read["endedAt"] - read["startedAt"] < (2 * 2 + AT_ONCE) * 1_000_000
    assert {failure[0] for failure in read_failures(crawling.store, run)} == {"timeout"}
    message = Shell(tmp_path).error("runs", "explain", run["id"], "--screenshot", "x")
    assert "No page of this Run is kept" in message


def test_a_page_that_is_not_painted_in_time_is_kept_without_one(
    crawling: Crawling, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tab, "PAINTING", 0)
    run = run_of(crawling, site, faults.fixed(body=scripted("<h2>All new</h2>")))
    assert "All new" in kept(crawling, run).markup
    message = Shell(tmp_path).error("runs", "explain", run["id"], "--screenshot", "x")
    assert "No screenshot is kept" in message


def test_a_page_that_moved_on_where_robots_txt_was_not_asked_is_not_kept(
    crawling: Crawling, site: Site
) -> None:
    site.page("/robots.txt", "User-agent: *\nDisallow: /2", content_type="text/plain")
    site.page("/2", f"<!doctype html><p>secret{RESTLESS}")
    run = run_of(crawling, site, script("location = '/2'"), timeout=2)
    assert read_failures(crawling.store, run)[0][0] == "timeout"
    with pytest.raises(NotFound, match="No page of this Run is kept"):
        kept(crawling, run)


def test_painting_reaches_no_private_server(
    crawling: Crawling, site: Site, forbidden: Forbidden
) -> None:
    """What comes into view only when it is painted is loaded by the way out too."""
    lazy = f"<p>x</p><img loading=lazy src='{forbidden.at('/lazy')}' width=9 height=9>"
    run = run_of(crawling, site, faults.fixed(body=f"<!doctype html>{lazy}"))
    assert kept(crawling, run).screenshot is not None
    assert forbidden.hits == 0
