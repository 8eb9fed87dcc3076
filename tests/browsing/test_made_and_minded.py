"""A person without a shell: from the address of a real page to a table that is read again."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest

from livedata.model.ids import DatasetId, format_uuid, raw_id
from livedata.services import feed, queries, shares
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
def real(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A site with a real page, and what hears of its changes."""
    monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", site.host)
    site.page("/books", gzip.decompress(BOOKS.read_bytes()).decode())
    site.page("/hook", "heard")
    return site


@contextmanager
def served(home: Path) -> Iterator[tuple[Store, str]]:
    """A store with an owner who has credits, and the address of its server."""
    with closing(made.make_store(home)) as store, Serving(home, worker=True) as server:
        made.meet_owner(store, "local", 100)
        yield store, f"http://127.0.0.1:{server.port}"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_table_is_made_scheduled_shared_and_told_of(
    browser: Browser, tmp_path: Path, real: Site, scripts: bool, width: int
) -> None:
    with served(tmp_path) as (store, base):
        screen = {"width": width, "height": 800}
        with looking(browser, base, store, java_script_enabled=scripts, viewport=screen) as visit:
            make_and_mind(AtChromium(visit.page, base), store, real)
        assert (visit.elsewhere, visit.complaints) == ([], [])


@pytest.mark.parametrize(("scripts", "width"), [(True, 1280), (False, 390)])
def test_ten_rows_are_edited_at_once_and_what_is_new_in_twelve_tables_is_one_click_away(
    browser: Browser, tmp_path: Path, scripts: bool, width: int
) -> None:
    with closing(made.make_store(tmp_path)) as store, Serving(tmp_path) as server:
        made.meet_owner(store, "local", 1_000)
        tables = [made.make_dataset(store, "local", f"shop {number}") for number in range(12)]
        for number, table in enumerate(tables):
            items = [
                {**made.ITEMS[0], "sku": f"K{row}", "title": f"Lamp {row}"} for row in range(10)
            ]
            made.take(store, table, items)
            made.take(store, table, [{**items[0], "price": 100 + number}, *items[1:]])
        base, screen = f"http://127.0.0.1:{server.port}", {"width": width, "height": 800}
        with looking(browser, base, store, java_script_enabled=scripts, viewport=screen) as visit:
            person = AtChromium(visit.page, base)
            person.press("What is new")
            shown = person.read()
            assert [number for number in range(12) if f"shop {number}" not in shown] == []
            person.open(f"/datasets/{format_uuid(tables[0])}")
            edit_ten(person, "Edit 10 rows" if scripts else "Edit the ticked rows")
        columns = queries.dataset(store, "local", tables[0])["columns"]
        note = next(column["id"] for column in columns if column["name"] == "note")
        changed = queries.rows(store, "local", tables[0], 100)[0]
        assert [row["data"][note] for row in changed] == ["seen"] * 10
        assert feed.head(store, "local", tables[0]) == 21  # ten rows, one price, ten edits
        assert (visit.elsewhere, visit.complaints) == ([], [])


def edit_ten(person: Person, button: str) -> None:
    """Set a column of one's own in all rows that are shown."""
    person.press("Edit rows")
    person.press("Choose all 10 shown")
    person.press(button)
    person.choose("Column", "note")
    person.choose("Change", "Set to")
    person.fill("New value", "seen")
    person.press("See what would change")
    assert "10 of 10 rows would change" in person.read()
    person.press("Change 10 rows")


def test_firefox_does_the_same(tmp_path: Path, real: Site) -> None:
    with served(tmp_path) as (store, base), firefox(base, store, 500) as person:
        make_and_mind(person, store, real)


def make_and_mind(person: Person, store: Store, site: Site) -> None:
    """From the first page to a table that has a schedule, an address for others and a notice."""
    address = site.at("/books")
    person.open("/")
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
    share_and_be_told(person, store, dataset["id"], site)


def share_and_be_told(person: Person, store: Store, dataset: str, site: Site) -> None:
    """An address for others, and a notice of which a test arrives."""
    person.press("books")
    person.press("Shares")
    person.unfold("Share this table")
    person.fill("Name", "a sheet")
    person.press("Make an address")
    shown = come(person, "The address is open.")
    raw = DatasetId(raw_id(dataset))
    assert [share["label"] for share in shares.list_shares(store, "local", raw)] == ["a sheet"]
    made_address = re.search(r"http://\S+/share/\S+\.csv", shown)
    assert made_address is not None, shown
    with urlopen(made_address[0].rstrip(".,")) as answer:
        assert len(answer.read().decode().splitlines()) > 10
    person.press("Notices")
    person.fill("Name, such as", "prices")
    person.fill("Its address, such as", site.at("/hook"))
    person.tick("Changes")
    person.tick("Only these:")
    person.tick("books")
    person.press("Add the notice")
    come(person, "The notice is on.")
    person.press("Send a test now")
    come(person, "delivered")
    assert "/hook" in site.paths
