"""The settings in real Chromium, and texts in them that would do something if they were more."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.requests import UpdateDataset
from livedata.services import datasets, queries
from tests.api.serving import Serving
from tests.browsing.chromium import Looking, looking
from tests.browsing.payloads import ALL
from tests.browsing.test_hostile_texts import together
from tests.browsing.world import World
from tests.made import make_dataset, make_store

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from livedata.store.database.store import Store

pytestmark = pytest.mark.slow

TEXTS = [" ".join(" ".join(payloads).split()) for payloads in together(ALL)]
STRANGE = "iframe, object, embed, base, style, template, svg, img, form[action^=javascript]"


def submit(page: Page, name: str) -> None:
    with page.expect_navigation():
        page.get_by_role("button", name=name, exact=True).click()


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_person_changes_each_setting_and_deletes_the_dataset(
    browser: Browser, tmp_path: Path, scripts: bool
) -> None:
    with closing(make_store(tmp_path)) as store:
        World(store).makers()
        make_dataset(store, "local", "kitchen")
        with Serving(tmp_path) as server:
            base = f"http://127.0.0.1:{server.port}"
            with looking(browser, base, store, java_script_enabled=scripts) as visit:
                page = visit.open("/")
                page.get_by_role("link", name="kitchen").click()
                page.get_by_role("link", name="Settings").click()
                change_each(page)
                change_it_against_somebody_else(page)
                delete(page)
        assert [each["name"] for each in queries.datasets(store, "local", 9)] == ["makers"]
    assert (visit.elsewhere, strange(visit)) == ([], [])


def strange(visit: Looking) -> list[str]:
    """What the console said beside that a form was refused."""
    return [each for each in visit.complaints if "responded with a status of 4" not in each]


def change_each(page: Page) -> None:
    page.get_by_label("Question: what").fill("What does it cost?\nAnd why?")
    page.get_by_label("State").select_option(label="active: its schedule starts Runs")
    page.get_by_label("Schedule", exact=True).select_option(label="every 6 hours")
    submit(page, "Save")
    expect(page.get_by_role("status")).to_have_text("Saved.")
    expect(page.get_by_label("Schedule", exact=True)).to_have_value("0 */6 * * *")
    # Its five fields are asked for once they are to be typed.
    expect(page.get_by_label("As cron")).to_be_hidden()
    page.get_by_label("Schedule", exact=True).select_option(label="as cron:")
    expect(page.get_by_label("As cron")).to_be_visible()
    page.get_by_label("Schedule", exact=True).select_option(label="every 6 hours")
    expect(page.locator("time.exact")).to_have_count(3)
    unfold(page)
    page.get_by_label("Place of price").fill("1")
    page.get_by_label("Label of title").fill("Titel")
    page.get_by_label("Description of title").fill("As the page has it")
    page.get_by_label("A new column of your own").fill("mine")
    page.get_by_label("Its type").select_option("date")
    page.get_by_label("Rows are called by").select_option("note")
    submit(page, "Save the columns")
    expect(page.get_by_label("Place of price")).to_have_value("1")
    expect(page.get_by_role("row").nth(1)).to_contain_text("price")
    expect(page.get_by_role("row").last).to_contain_text("date, your own")
    expect(page.get_by_label("Rows are called by")).to_have_value("note")
    unfold(page)
    source = page.get_by_label("As TOML")
    source.fill(source.input_value().replace('itemSelector = "li"', 'itemSelector = "li.card"'))
    submit(page, "Revise the source")
    expect(page.get_by_label("As TOML, version 2")).to_contain_text('itemSelector = "li.card"')


def change_it_against_somebody_else(page: Page) -> None:
    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_label("Name", exact=True).fill("theirs")
    submit(other, "Save")
    other.close()
    page.get_by_label("Name", exact=True).fill("mine")
    submit(page, "Save")
    expect(page.get_by_role("alert")).to_contain_text("has changed since you opened the page")
    expect(page.get_by_text("It is now “theirs”.")).to_be_visible()
    expect(page.get_by_label("Name", exact=True)).to_have_value("mine")
    submit(page, "Save")
    expect(page.get_by_role("heading", level=1)).to_have_text("mine")


def unfold(page: Page) -> None:
    """Open whatever is folded."""
    for summary in page.locator("main details:not([open]) > summary").all()[::-1]:
        summary.click()


def delete(page: Page) -> None:
    unfold(page)
    submit(page, "Delete for good")
    expect(page.get_by_text("Nothing was deleted:")).to_be_visible()
    page.get_by_label("To delete it").fill("mine")
    submit(page, "Delete for good")
    expect(page.get_by_role("heading", level=1)).to_have_text("Datasets")


def test_no_text_that_is_saved_or_typed_does_anything(browser: Browser, tmp_path: Path) -> None:
    """Each in every field: as it stands, and as it comes back in a form that was refused."""
    with closing(make_store(tmp_path)) as store, Serving(tmp_path) as server:
        store.ensure()
        paths = {text: made_of(store, number, text) for number, text in enumerate(TEXTS)}
        with looking(browser, f"http://127.0.0.1:{server.port}", store) as visit:
            for text, path in paths.items():
                page = visit.open(path)
                assert_shows(page, text, times=3)
                for name in ("Name", "Question"):
                    page.get_by_role("textbox", name=name).first.fill(f" {text} {'x' * 1000}")
                submit(page, "Save")
                assert_shows(page, text, times=4)
                unfold(page)
                for name in ("Label of sku", "Description of sku", "A new column of your own"):
                    page.get_by_label(name).fill(f"{text} {'x' * 500}")
                submit(page, "Save the columns")
                assert_shows(page, text, times=5)
                unfold(page)
                page.get_by_label("As TOML").fill(text)
                submit(page, "Revise the source")
                assert_shows(page, text, times=4)
                unfold(page)
                page.get_by_label("To delete it").fill(f"not {text}")
                submit(page, "Delete for good")
                assert_shows(page, text, times=4)
        assert (visit.elsewhere, strange(visit)) == ([], [])


def made_of(store: Store, number: int, text: str) -> str:
    """The settings of a dataset that has a text wherever its owner may write one."""
    raw = make_dataset(store, "local", f"{number} {text}"[:120])
    shown = queries.dataset(store, "local", raw)
    listed: list[dict[str, object]] = [
        {"id": each["id"], "name": each["name"], "type": each["type"]} for each in shown["columns"]
    ]
    listed[1] |= {"label": text[:120], "description": text}
    body = {"question": text, "columns": listed, "expectedSchemaVersion": 1}
    datasets.update(store, "local", raw, read(UpdateDataset, body))
    return f"/datasets/{ids.format_uuid(raw)}/settings"


def assert_shows(page: Page, text: str, times: int) -> None:
    """So many fields hold a text at least, and it does nothing."""
    assert page.evaluate("window.ran") is None, text
    assert page.locator("main").count() == 1, text
    assert page.locator(f"main :is({STRANGE})").count() == 0, text
    fields = "main :is(input:not([type=hidden]), textarea)"
    values: list[str] = page.eval_on_selector_all(fields, "all => all.map(each => each.value)")
    assert sum(text in value for value in values) >= times, (text, values)
