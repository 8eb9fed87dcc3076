"""A person without a shell: from the address of a real page to a table that is read again."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from livedata.services import queries
from tests import made
from tests.api.serving import Serving
from tests.browsing.chromium import looking
from tests.browsing.person import AtChromium, Person, come, firefox

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from livedata.store.database.store import Store
    from tests.site import Site

pytestmark = pytest.mark.slow
BOOKS = Path(__file__).parents[1] / "lists" / "pages" / "books.html.gz"


@pytest.fixture
def address(site: Site, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where a real page is."""
    monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", site.host)
    site.page("/books", gzip.decompress(BOOKS.read_bytes()).decode())
    return site.at("/books")


@contextmanager
def served(home: Path) -> Iterator[tuple[Store, str]]:
    """A store with an owner who has credits, and the address of its server."""
    with closing(made.make_store(home)) as store, Serving(home, worker=True) as server:
        made.meet_owner(store, "local", 100)
        yield store, f"http://127.0.0.1:{server.port}"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_table_is_made_scheduled_shared_and_told_of(
    browser: Browser, tmp_path: Path, address: str, scripts: bool, width: int
) -> None:
    with served(tmp_path) as (store, base):
        screen = {"width": width, "height": 800}
        with looking(browser, base, store, java_script_enabled=scripts, viewport=screen) as visit:
            make_and_mind(AtChromium(visit.page, base), store, address)
        assert (visit.elsewhere, visit.complaints) == ([], [])


def test_firefox_does_the_same(tmp_path: Path, address: str) -> None:
    with served(tmp_path) as (store, base), firefox(base, store, 500) as person:
        make_and_mind(person, store, address)


def make_and_mind(person: Person, store: Store, address: str) -> None:
    """From the first page to a table that has a schedule, an address for others and a notice."""
    person.open("/")
    person.press("New table from an address")
    person.fill("Address of the page", address)
    person.press("Look at the page")
    come(person, "What is kept")
    person.press("Try these columns")
    come(person, "A Run would accept this")
    person.fill("Name of the table", "books")
    person.choose("When it is read again", "every 6 hours")
    person.press("Make the table and run it")
    come(person, "succeeded")
    (dataset,) = queries.datasets(store, "local", 10)
    assert (dataset["name"], dataset["schedule"]) == ("books", "0 */6 * * *")
    assert dataset["rowCount"] > 10
