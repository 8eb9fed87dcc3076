"""Another source of a dataset: looked for or typed, tried, what it would change, and its use."""

from __future__ import annotations

from contextlib import closing
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect
from selectolax.lexbor import LexborHTMLParser

from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.requests import CreateDataset
from livedata.rules.network.targets import TargetPolicy
from livedata.services import datasets, looks, queries, runs
from tests import made
from tests.api.serving import Serving
from tests.browsing.chromium import looking
from tests.browsing.test_new import come, text_of
from tests.browsing.world import World
from tests.shop import Item, shop, some_items

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Browser

    from livedata.store.database.store import Store
    from tests.browsing.visitor import Visitor
    from tests.services.conftest import Clock
    from tests.site import Site


class Shop:
    """A dataset of Alice with forty rows, and the addresses of its preview."""

    def __init__(self, alice: Visitor, store: Store) -> None:
        self.store, self.owner, self.world = store, alice.owner, World(store, alice.owner)
        self.id = made.make_dataset(store, alice.owner, "lamps")
        made.take(store, self.id, self.world.items(40), owner=alice.owner)
        self.path = f"/datasets/{ids.format_uuid(self.id)}"
        self.preview = f"{self.path}/preview"

    @property
    def version(self) -> int:
        return queries.recipe_version(self.store, self.owner, self.id)

    @property
    def last_run(self) -> Any:
        return queries.dataset(self.store, self.owner, self.id)["lastRun"]

    def tried(self) -> str:
        """A preview that a Run would accept; its id."""
        return ids.format_uuid(self.world.preview(self.id))


@pytest.fixture
def lamps(alice: Visitor, store: Store) -> Shop:
    return Shop(alice, store)


def test_a_source_is_looked_for_by_a_worker_and_a_second_click_waits_for_the_same(
    alice: Visitor, store: Store, lamps: Shop
) -> None:
    token = alice.token(lamps.preview)
    assert "Look for a source that reads the page" in alice.get(lamps.preview)
    assert looks.of_dataset(store, alice.owner, lamps.id) is None  # to ask for a page does nothing
    for _ in range(2):
        assert alice.post(lamps.preview, token).location == lamps.preview
    shown = alice.get(lamps.preview)
    assert "It waits for a worker." in shown
    assert 'data-again="3"' in shown
    assert alice.as_json(lamps.preview)["data"]["status"] == "queued"
    # Another source, and another page, wait for it; the list of looks leads back to it.
    typed = source_of(alice, lamps)
    other = alice.post(lamps.preview, token, source=typed, version=str(lamps.version))
    assert other.status_code == 409
    assert "looks at one at a time" in other.text
    assert alice.post("/new", token, url="https://shop.example/").status_code == 409
    assert lamps.preview in alice.get("/new")
    assert alice.post(f"{lamps.preview}/stop", token).location == lamps.preview
    assert looks.STOPPED in alice.get(lamps.preview)
    assert (
        alice.post(lamps.preview, token, source=typed, version=str(lamps.version)).status_code
        == 303
    )


def source_of(alice: Visitor, lamps: Shop) -> str:
    """The source as Settings shows it."""
    area = LexborHTMLParser(alice.get(f"{lamps.path}/settings")).css_first("#toml")
    assert area is not None
    return area.text()


def test_what_it_would_change_is_shown_by_row_with_the_selectors(
    alice: Visitor, lamps: Shop
) -> None:
    lamps.tried()
    shown = text_of(alice.get(lamps.preview))
    for told in (
        "A Run would accept this.",
        "1 new 1 changed 1 gone 37 as before",
        "color would be added: 30 rows would get a value, 9 would stay without.",
        'price would be labelled "Price", and no longer "Price".',
        "itemSelectorlili.lamp",
        "Not found on it: stock",
        "Yes, remove 1 row",
        'itemSelector = "li.lamp"',
    ):
        assert told in shown, shown
    assert alice.as_json(lamps.preview)["changes"]["unchanged"] == 37


def test_before_anything_is_tried_it_says_what_is_read_now_and_folds_the_form(
    alice: Visitor, lamps: Shop
) -> None:
    raw = alice.get(lamps.preview)
    shown = text_of(raw)
    read = f"What is read now {made.URL}, each row from li: 40 items on 1 page in the last Run"
    # What finds least stands first.
    for told in (read, "price.price32 of 40 sku.sku40 of 40"):
        assert told in shown, shown
    form = raw.partition("Try another source that you type</h2></summary>")[2].partition(
        "</details>"
    )[0]
    assert 'itemSelector = "li"' in form.replace("&#34;", '"')
    assert "Try this source" in form
    lamps.tried()
    assert "What is read now" not in alice.get(lamps.preview)


def test_its_use_revises_the_dataset_and_runs_it_once(
    alice: Visitor, store: Store, lamps: Shop
) -> None:
    look, before, token = lamps.tried(), lamps.version, alice.token(lamps.preview)
    first, second = (alice.post(f"{lamps.preview}/use", token, look=look) for _ in range(2))
    assert first.status_code == second.status_code == 303
    assert first.location == second.location == f"/runs/{lamps.last_run['id']}"
    assert lamps.version == before + 1
    declared = queries.source(store, alice.owner, lamps.id)
    assert declared["source"]["itemSelector"] == "li.lamp"
    assert len(queries.runs(store, alice.owner, lamps.id, 10)) == 2
    assert looks.of_dataset(store, alice.owner, lamps.id) is None


def revise(alice: Visitor, lamps: Shop) -> None:
    """Somebody else revises the dataset meanwhile."""
    other = source_of(alice, lamps).replace('"li"', '"li.other"')
    form = {"source": other, "version": str(lamps.version)}
    assert alice.post(f"{lamps.path}/source", alice.token("/"), **form).status_code == 303


def start(alice: Visitor, lamps: Shop) -> None:
    runs.enqueue(lamps.store, alice.owner, lamps.id)


def spend(_: Visitor, lamps: Shop) -> None:
    with lamps.store.writing() as writer:
        writer.execute("UPDATE owners SET balance = 0 WHERE name = :owner", owner=lamps.owner)


def refuse(_: Visitor, lamps: Shop) -> None:
    """Let the trial have ended otherwise."""
    with lamps.store.writing() as writer:
        writer.execute("UPDATE looks SET tried = replace(tried, '\"accept\"', '\"failed\"')")


@pytest.mark.parametrize(
    ("meanwhile", "told"),
    [
        (revise, "Nothing was changed. The source was revised"),
        (start, "Nothing was changed. A Run"),
        (spend, "Nothing was changed. The balance"),
        (refuse, "Nothing was changed. A Run would accept nothing of this"),
    ],
)
def test_what_may_not_be_used_changes_nothing_and_says_why(
    alice: Visitor,
    lamps: Shop,
    meanwhile: Callable[[Visitor, Shop], None],
    told: str,
) -> None:
    look, token = lamps.tried(), alice.token(lamps.preview)
    meanwhile(alice, lamps)
    version, run = lamps.version, lamps.last_run
    answer = alice.post(f"{lamps.preview}/use", token, look=look)
    assert answer.status_code == 409
    assert told in text_of(answer.text), text_of(answer.text)
    assert (lamps.version, lamps.last_run) == (version, run)


def test_a_preview_is_gone_after_a_day(alice: Visitor, lamps: Shop, step: Clock) -> None:
    look, token = lamps.tried(), alice.token(lamps.preview)
    step(86_401)
    answer = alice.post(f"{lamps.preview}/use", token, look=look)
    assert answer.status_code == 409
    assert "was used, or is older than a day" in answer.text
    assert "A Run would accept this" not in alice.get(lamps.preview)


def test_what_is_typed_is_judged_by_line_and_stays(
    alice: Visitor, store: Store, lamps: Shop
) -> None:
    token, version, typed = alice.token(lamps.preview), lamps.version, source_of(alice, lamps)
    for wrong, told in (
        (typed.replace("itemSelector", "itemSelect"), "Line "),
        (typed.replace('"li"', '"li["'), "itemSelector"),
        ("x = ", "Line 1"),
        (
            typed.replace('type = "number"', 'type = "string"'),
            'must stay "number", not become "string"',
        ),
    ):
        answer = alice.post(lamps.preview, token, source=wrong, version=str(version))
        assert answer.status_code == 422, wrong
        assert told in text_of(answer.text), answer.text
        assert wrong in unescape(answer.text)
        assert looks.of_dataset(store, alice.owner, lamps.id) is None
    old = alice.post(lamps.preview, token, source=typed, version="99")
    assert old.status_code == 409
    assert "This has changed since you opened the page" in old.text


def test_a_dataset_without_rows_or_of_research_says_what_is_missing(
    alice: Visitor, store: Store
) -> None:
    World(store, alice.owner).makers()
    (research,) = queries.datasets(store, alice.owner, 10)
    path = f"/datasets/{research['id']}/preview"
    answer = alice.post(path, alice.token("/"))
    assert answer.status_code == 422
    assert "only selectors can be tried" in answer.text
    assert "formaction" not in alice.get(f"/datasets/{research['id']}/settings")


@pytest.mark.slow
@pytest.mark.parametrize(("scripts", "width"), [(True, 1280), (False, 390)])
def test_a_site_that_breaks_is_mended_in_a_browser_and_its_history_is_kept(
    browser: Browser,
    tmp_path: Path,
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    scripts: bool,
    width: int,
) -> None:
    monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", site.host)
    items = some_items(12)
    site.pages(shop(items))
    with closing(made.make_store(tmp_path)) as store, Serving(tmp_path, worker=True) as server:
        made.meet_owner(store, "local", 100)
        dataset = watched_shop(store, site)
        base = f"http://127.0.0.1:{server.port}"
        screen = {"width": width, "height": 800}
        with looking(browser, base, store, java_script_enabled=scripts, viewport=screen) as visit:
            run = visit.open(f"/datasets/{dataset}").get_by_role("button", name="Run now").first
            run.click()
            come(visit.page, "succeeded", scripts=scripts)
            # The site is made anew: other elements, another class, and a price that has fallen.
            site.pages(renewed([*items[:-1], Item(items[-1].sku, items[-1].name, "£1.00")]))
            visit.page.get_by_role("button", name="Run again").or_(
                visit.page.get_by_role("button", name="Run now")
            ).first.click()
            come(visit.page, "failed", scripts=scripts)
            visit.page.get_by_role("button", name="Mend the source").dblclick()
            come(visit.page, "What a Run would change", scripts=scripts)
            card = visit.page.get_by_role("region", name="What a Run would say")
            expect(card).to_contain_text("0 new 1 changed 0 gone 11 as before")
            visit.page.get_by_text("What each selector finds").click()
            expect(visit.page.get_by_role("region", name="Selectors")).to_contain_text("article")
            visit.page.get_by_role("button", name="Use this source and run it").dblclick()
            come(visit.page, "succeeded", scripts=scripts)
            visit.page.get_by_role("link", name="Changes", exact=True).click()
            expect(visit.page.get_by_role("region", name="Changes").first).to_contain_text("1")
        raw = ids.DatasetId(ids.raw_id(dataset))
        shown = queries.dataset(store, "local", raw)
        assert (shown["rowCount"], len(queries.runs(store, "local", raw, 10))) == (12, 3)
        assert (visit.elsewhere, visit.complaints) == ([], [])


def watched_shop(store: Store, site: Site) -> str:
    """A dataset of the shop of a site; its id."""
    declared = made.declared("goods", made.COLUMNS[:1])
    source = {
        "version": 1,
        "url": site.at("/page/1.html"),
        "itemSelector": "li.product",
        "fields": [
            {"name": "title", "read": {"kind": "text", "selector": "h2"}, "required": True},
            {"name": "price", "read": {"kind": "text", "selector": ".price"}, "required": True},
        ],
        "identity": {"kind": "source-key", "field": "title"},
        "pagination": {"kind": "next-link", "selector": "a.next"},
    }
    columns = [
        {"name": "title", "type": "string", "key": True},
        {"name": "price", "type": "number"},
    ]
    body = read(CreateDataset, {**declared, "columns": columns, "source": source})
    return datasets.create(store, "local", body, TargetPolicy.parse(site.host))["id"]


def renewed(items: list[Item]) -> dict[str, str]:
    """The shop with other markup."""
    pages = shop(items)
    changes = (
        ('<li class="product"', '<article class="card"'),
        ("</li>", "</article>"),
        ("<h2>", '<p class="name">'),
        ("</h2>", "</p>"),
        ('class="price"', 'class="cost"'),
        ('<ul class="products">', '<div class="grid">'),
        ("</ul>", "</div>"),
        ('class="next"', 'class="onward"'),
    )
    for path, text in pages.items():
        for before, after in changes:
            text = text.replace(before, after)
        pages[path] = text
    return pages
