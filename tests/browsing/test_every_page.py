"""What holds of each page, whatever it shows: found by following the links of a filled store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any, Literal

import pytest

from tests.api.serving import Serving
from tests.browsing.chromium import looking, serious_faults
from tests.browsing.world import World
from tests.made import make_store

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from livedata.store.database.store import Store

pytestmark = pytest.mark.slow

OUTLINE = """() => {
  const all = selector => [...document.querySelectorAll(selector)], faults = [];
  const demand = (holds, fault, element) =>
    holds || faults.push(`${fault}: ${element ? element.outerHTML.slice(0, 120) : ""}`);
  demand(document.documentElement.lang === "en", "no language");
  for (const one of ["h1", "main"]) demand(all(one).length === 1, `not one ${one}`);
  let level = 0;
  for (const heading of all("h1, h2, h3, h4")) {
    demand(Number(heading.tagName[1]) <= level + 1, "a level is left out", heading);
    level = Number(heading.tagName[1]);
  }
  for (const part of all("nav, [role=region]")) demand(part.ariaLabel, "no name", part);
  for (const field of all("input:not([type=hidden]), select, textarea"))
    demand(field.labels.length, "no label", field);
  for (const header of all("th")) demand(header.scope, "no scope", header);
  for (const link of all("a[href^='#']"))
    demand(document.getElementById(link.hash.slice(1)), "leads nowhere", link);
  for (const link of all("a[href]")) {
    // What is folded is not rendered, so that it has no inner text yet.
    const name = (link.ariaLabel || link.innerText || link.textContent || link.title).trim();
    demand(name && !/^(run|more|here|link)$/i.test(name), "leads anywhere", link);
  }
  return faults;
}"""
"""What a reader who cannot see a page meets of it."""
NARROW = {"width": 320, "height": 640}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with all that the pages show."""
    home = tmp_path_factory.mktemp("home")
    with closing(make_store(home)) as opened:
        opened.ensure()
        World(opened).fill()
        yield opened


@pytest.fixture(params=SCHEMES)
def scheme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def base_of(server: Serving) -> str:
    return f"http://127.0.0.1:{server.port}"


@pytest.mark.timeout(400)  # some fifty pages, and axe takes a second for each
def test_axe_finds_nothing_serious(browser: Browser, server: Serving, store: Store) -> None:
    faults = []
    with looking(browser, base_of(server), store) as visit:
        for path in visit.crawl():
            for scheme in SCHEMES:
                visit.page.emulate_media(color_scheme=scheme)
                faults += [f"{path}: {fault}" for fault in serious_faults(visit.page, scheme)]
    assert faults == []


def test_each_page_has_an_order_names_and_labels(
    browser: Browser, server: Serving, store: Store
) -> None:
    with looking(browser, base_of(server), store) as visit:
        faults = [
            f"{path}: {fault}"
            for path in visit.crawl(most=1)
            for fault in visit.page.evaluate(OUTLINE)
        ]
    assert faults == []


def test_nothing_serious_is_found_at_the_sign_in_and_in_an_error(
    browser: Browser, server: Serving, scheme: Any
) -> None:
    page = browser.new_page(color_scheme=scheme)
    for path in ("/sign-in", "/sign-in/link?token=x"):
        page.goto(f"{base_of(server)}{path}")
        assert serious_faults(page, scheme) == []
        assert page.evaluate(OUTLINE) == []
    page.close()


def test_no_page_moves_sideways_on_a_narrow_screen(
    browser: Browser, server: Serving, store: Store
) -> None:
    wide = []
    with looking(browser, base_of(server), store, viewport=NARROW) as visit:
        for path in visit.crawl():
            width = visit.page.evaluate("document.documentElement.scrollWidth")
            wide += [f"{path}: {width}"] if width > NARROW["width"] else []
    assert wide == []


def test_a_phone_shows_three_rows_below_one_line_of_navigation_and_one_of_tabs(
    browser: Browser, server: Serving, store: Store
) -> None:
    with looking(browser, base_of(server), store, viewport=PHONE) as visit:
        visit.follow("shop")
        lines = {
            name: visit.page.get_by_role("navigation", name=name)
            .get_by_role("link")
            .evaluate_all("links => new Set(links.map(link => link.offsetTop)).size")
            for name in ("livedata", "Dataset")
        }
        third = visit.page.get_by_role("region", name="Rows").get_by_role("row").nth(3)
        box = third.bounding_box()
    assert lines == {"livedata": 1, "Dataset": 1}
    assert box is not None
    assert box["y"] + box["height"] <= PHONE["height"]


def test_no_page_asks_anybody_else_or_breaks_its_policy(
    browser: Browser, server: Serving, store: Store
) -> None:
    with looking(browser, base_of(server), store) as visit:
        paths = list(visit.crawl())
    assert len(paths) > 5
    assert (visit.elsewhere, visit.complaints) == ([], [])


def test_every_page_is_whole_without_scripts(
    browser: Browser, server: Serving, store: Store
) -> None:
    without = {}
    with looking(browser, base_of(server), store, java_script_enabled=False) as visit:
        for path in visit.crawl():
            without[path] = visit.page.locator("h1").count()
    assert set(without.values()) == {1}
