"""A table from an address: a page is looked at, its columns are chosen and tried, a table made."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from playwright.sync_api import expect
from selectolax.lexbor import LexborHTMLParser

from livedata.model import ids
from livedata.services import looks, queries, retention
from tests import made
from tests.api.serving import Serving
from tests.browsing.chromium import looking
from tests.browsing.test_forms import FORGED
from tests.browsing.world import World
from tests.shop import shop, some_items

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from livedata.store.database.store import Store
    from livedata.store.looks import StoredLook
    from tests.browsing.visitor import Visitor
    from tests.services.conftest import Clock
    from tests.site import Site

ADDRESS = "https://shop.example/list"
BOXES = {"keep-0": "yes", "keep-1": "yes", "keep-2": "yes"}
TITLES = {"title-0": "Sku", "title-1": "Title", "title-2": "Price"}


@pytest.fixture
def seen(alice: Visitor, store: Store) -> str:
    """The page of a look of Alice that has tried what a Run would accept."""
    return path_of(World(store, alice.owner).looks()[0])


def path_of(look: ids.LookId) -> str:
    return f"/new/{ids.format_uuid(look)}"


def text_of(page: str) -> str:
    """What a page says."""
    main = LexborHTMLParser(page).css_first("main")
    assert main is not None
    return " ".join(main.text().split())


def look_at(store: Store, path: str, owner: str = "alice") -> StoredLook:
    return looks.show(store, owner, ids.LookId(ids.raw_id(path.rpartition("/")[2])))


def datasets(store: Store, owner: str = "alice") -> list[Any]:
    return queries.datasets(store, owner, 10)


def test_a_page_is_named_and_waits_for_a_worker(alice: Visitor, store: Store) -> None:
    assert 'value="https://shop.example/list"' in alice.get(f"/new?url={quote(ADDRESS)}")
    assert looks.kept(store, "alice") == []  # to ask for a page does nothing
    answer = alice.post("/new", alice.token("/new"), url=" shop.example/list ", scripts="yes")
    assert answer.status_code == 303
    (look,) = looks.kept(store, "alice")
    assert (look.wish.url, look.wish.render) == (ADDRESS, "browser")
    page = alice.get(answer.location)
    assert "It waits for a worker." in page
    assert 'data-again="3"' in page
    assert answer.location in alice.get("/new")
    assert alice.as_json(answer.location)["data"]["status"] == "queued"


def test_a_second_click_leads_to_the_same_look_and_another_page_has_to_wait(
    alice: Visitor,
) -> None:
    token = alice.token("/new")
    first, second = (alice.post("/new", token, url=ADDRESS).location for _ in range(2))
    assert first == second
    other = alice.post("/new", token, url="https://other.example/")
    assert other.status_code == 409
    assert "looks at one at a time" in other.text
    assert 'value="https://other.example/"' in other.text
    assert alice.post(f"{first}/stop", token).status_code == 303
    assert looks.STOPPED in alice.get(first)
    assert alice.post("/new", token, url="https://other.example/").status_code == 303


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("", "The address must begin with"),
        ("http://127.0.0.1:8000/", "The address"),
        ("http://169.254.169.254/latest/meta-data/", "The address"),
        ("http://[::1]/", "The address"),
        ("http://0x7f000001/", "The address"),
        ("https://user:secret@shop.example/", "The address"),
        ("javascript:alert(1)", "The address must begin with"),
        ("file:///etc/passwd", "The address must begin with"),
        ("https://shop.example/\x00", "The address"),
        ("https://shop.example/" + "x" * 3_000, "An address has at most 2,048 characters."),
    ],
)
def test_what_no_table_may_read_is_refused_in_a_sentence(
    alice: Visitor, store: Store, url: str, told: str
) -> None:
    answer = alice.post("/new", alice.token("/new"), url=url)
    assert answer.status_code == 422
    assert told in answer.text
    assert looks.kept(store, "alice") == []


@pytest.mark.one_database
def test_a_look_says_how_far_it_is(alice: Visitor, store: Store, step: Clock) -> None:
    path = alice.post("/new", alice.token("/new"), url=ADDRESS).location
    step(60)
    assert "None has come: one is part of" in alice.get(path)
    attempt = looks.begin(store)
    assert attempt is not None
    looks.renew(store, attempt, "The page has 2 lists.")
    page = alice.get(path)
    assert "The page has 2 lists." in page
    assert "running since" in page
    looks.lose(store, attempt)
    assert "It waits for a worker, after it was interrupted." in alice.get(path)


def test_lists_are_shown_as_rows_with_their_proof(alice: Visitor, seen: str) -> None:
    page = text_of(alice.get(seen))
    for told in (
        "A Run would accept this: 40 records on the first page.",
        "List 1: 80 records were read: 40 on the page, 40 on page 2.",
        "is a number or a code of the record; filled and unique in 80 records",
        "List 2: 12 links in a",
        "Names, types and the key of its columns cannot be changed",
        "Lamp 3",
    ):
        assert told in page, told


def test_the_verdict_comes_first_and_the_table_is_made_there_by_the_one_button(
    alice: Visitor, seen: str
) -> None:
    page = alice.get(seen)
    order = [
        *("A Run would accept this", 'id="make"', "Make the table and run it", "The first rows"),
        *("What is kept", 'name="keep-0"', "Key: what tells the records apart"),
        *('<summary id="again"><h2>Is another list meant?</h2>12 links, 4 table cells', "List 2"),
    ]
    places = [page.find(part) for part in order]
    assert places == sorted(places)
    assert places[0] > -1
    verdict = page.partition('aria-label="What a Run would say"')[2].partition("</section>")[0]
    assert '<option value="0 6 * * *" selected>' in verdict
    assert '<a href="#columns">choose other columns</a>' in verdict
    main = page.partition("<main")[2]
    assert main.count("<button>") == 1


def test_what_is_filled_is_counted_once_over_all_pages_that_were_read(
    alice: Visitor, seen: str
) -> None:
    page = text_of(alice.get(seen))
    assert "Filled, 2 pages" in page
    assert "64 of 80" in page
    assert "of 40" not in page.replace("8 of 40 records of the first page", "")


def test_where_no_list_is_it_says_what_repeats_and_asks_again_with_the_address(
    alice: Visitor, store: Store
) -> None:
    none = path_of(World(store, alice.owner).looks()[2])
    page = alice.get(none)
    order = [
        *("No list found on this page", "What repeats on the page", "12 links in <code"),
        *("<bdi>Home", "Read this list", "4 table cells in <code"),
        *("Look again</h2>", f'value="{ADDRESS}?none"', 'id="like"', "<button>Look again"),
    ]
    places = [page.find(part) for part in order]
    assert -1 not in places
    assert places == sorted(places)
    assert page.partition("<main")[2].count("<button>") == 1
    assert "List 2" not in page
    verdict = page.partition('aria-label="What is wrong"')[2].partition("</section>")[0]
    assert text_of(f"<main>{verdict.partition('>')[2]}</main>").endswith("(a, 12 times).")


def test_the_steps_say_where_one_is(alice: Visitor, store: Store) -> None:
    tried, refused, none = map(path_of, World(store, alice.owner).looks())
    for path, step in (("/new", "Address"), (none, "List"), (refused, "Try"), (tried, "Create")):
        assert f'<li aria-current="step">{step}</li>' in alice.get(path)


def test_a_column_shows_three_of_its_values(alice: Visitor, seen: str) -> None:
    assert "K000 · K001 · K002" in text_of(alice.get(seen))


@pytest.mark.one_database
def test_the_columns_to_choose_are_as_wide_as_a_phone(browser: Browser, tmp_path: Path) -> None:
    with closing(made.make_store(tmp_path)) as store, Serving(tmp_path) as server:
        path = path_of(World(store).looks()[0])
        base, phone = f"http://127.0.0.1:{server.port}", {"width": 390, "height": 844}
        with looking(browser, base, store, viewport=phone) as visit:
            visit.open(path)
            widths = visit.page.locator(".kept-columns [data-label]:not(.number)").evaluate_all(
                "cells => cells.map(cell => cell.offsetWidth)"
            )
    assert len(widths) == 6
    assert min(widths) > 300


def test_a_trial_that_is_refused_says_what_to_do_next(alice: Visitor, store: Store) -> None:
    refused = path_of(World(store, alice.owner).looks()[1])
    page = alice.get(refused)
    verdict = page.partition('aria-label="What a Run would say"')[2].partition("</section>")[0]
    # The identity of the records was at fault: the keys and the button stand where that is said.
    places = [verdict.find(part) for part in ("would not accept", 'id="key"', "Try again")]
    assert -1 not in places
    assert places == sorted(places)
    assert page.count("Try again") == page.partition("<main")[2].count("<button>") == 1
    assert "Make the table" not in page
    # What is needed seldom is folded.
    fold = page.partition('<summary id="again">')[2].partition("</details>")[0]
    assert f'action="{refused}/again"' in fold
    assert "Run the scripts of the page first" in fold
    assert "Read this list" in fold
    token = alice.token(refused)
    assert alice.post(f"{refused}/again", token, scripts="yes").status_code == 303
    assert look_at(store, refused).wish.render == "browser"


def test_columns_are_ticked_and_renamed_and_the_key_chosen(
    alice: Visitor, store: Store, seen: str
) -> None:
    form = {**BOXES, **TITLES, "title-1": "Name of it", "key": "1"}
    answer = alice.post(f"{seen}/try", alice.token(seen), **form)
    assert (answer.status_code, answer.location) == (303, seen)
    chosen = look_at(store, seen).chosen
    assert chosen is not None
    assert chosen["source"]["identity"]["fields"] == ["name_of_it", "price"]
    assert chosen["columns"][1]["label"] == "Name of it"
    # It is queued: nothing can be made of what was tried before.
    early = alice.post(f"{seen}/create", alice.token("/new"), name="early")
    assert early.status_code == 409
    attempt = looks.begin(store)
    assert attempt is not None
    looks.finish(store, attempt, tried={**TRIED, "outcome": "failed", "error": "It is empty."})
    page = alice.get(seen)
    assert "A Run would not accept this." in page
    assert 'value="Name of it"' in page
    assert re.search(r'name="key" value="1" checked', page)
    refused = alice.post(f"{seen}/create", alice.token(seen), name="mine")
    assert refused.status_code == 409
    assert datasets(store) == []


TRIED: dict[str, Any] = {"checks": [], "fields": [], "rows": [], "pages": [], "odd": []}


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({}, "columns must be one at least"),
        ({"keep-1": "yes", **TITLES}, "sku is the key, or part of it"),
        ({**BOXES, **TITLES, "title-1": "  "}, "the name of title must not be empty"),
        ({**BOXES, **TITLES, "key": "9"}, "the key must be one of those that are shown"),
        ({**BOXES, **TITLES, "title-1": "x" * 121}, "has more than 120 letters"),
    ],
)
def test_what_is_chosen_wrongly_stays_in_the_form(
    alice: Visitor, store: Store, seen: str, form: dict[str, str], told: str
) -> None:
    sent = {**({} if form else {"title-0": "Sku", "title-1": "", "title-2": ""}), **form}
    answer = alice.post(f"{seen}/try", alice.token(seen), **sent)
    assert answer.status_code == 422
    assert told in answer.text
    assert "data-again" not in answer.text
    assert look_at(store, seen).status == "over"


def test_another_list_is_asked_for(alice: Visitor, store: Store, seen: str) -> None:
    token = alice.token(seen)
    assert alice.post(f"{seen}/again", token, list="2").status_code == 303
    assert look_at(store, seen).wish.number == 2
    looks.stop(store, "alice", look_at(store, seen).id)
    assert alice.post(f"{seen}/again", token, like=" a  text ", scripts="yes").status_code == 303
    wish = look_at(store, seen).wish
    assert (wish.like, wish.render, wish.url) == ("a text", "browser", f"{ADDRESS}?tried")
    looks.stop(store, "alice", look_at(store, seen).id)
    for wrong in ({"list": "x"}, {"list": "9999"}, {"like": "x" * 300}):
        assert alice.post(f"{seen}/again", token, **wrong).status_code == 422


def test_a_table_is_made_once_and_its_first_run_is_shown(
    alice: Visitor, store: Store, seen: str
) -> None:
    token = alice.token(seen)
    form = {"name": "my lamps", "schedule": "0 */6 * * *"}
    first, second = (alice.post(f"{seen}/create", token, **form) for _ in range(2))
    assert first.status_code == second.status_code == 303
    (dataset,) = datasets(store)
    assert (dataset["name"], dataset["schedule"]) == ("my lamps", "0 */6 * * *")
    assert first.location == second.location == f"/runs/{dataset['lastRun']['id']}"
    alice.get(first.location)
    # Whoever comes back is led to the table.
    assert alice.client.get(seen).location == f"/datasets/{dataset['id']}"
    assert seen not in alice.get("/new")


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"name": "", "schedule": ""}, "name must not be empty"),
        ({"name": "shop", "schedule": ""}, "There is a dataset named"),
        ({"name": "mine", "schedule": "other", "cron": "every day"}, "must have five fields"),
        ({"name": "mine", "schedule": "other", "cron": "0 0 30 2 *"}, "this one never comes"),
    ],
)
def test_a_wrong_name_or_schedule_is_told_and_what_was_typed_stays(
    alice: Visitor, store: Store, seen: str, form: dict[str, str], told: str
) -> None:
    made.make_dataset(store, "alice")
    answer = alice.post(f"{seen}/create", alice.token(seen), **form)
    assert answer.status_code in {409, 422}
    assert told in answer.text
    assert f'value="{form.get("cron", "")}"' in answer.text
    assert len(datasets(store)) == 1


def test_what_alice_looks_at_is_not_there_for_bob(
    alice: Visitor, bob: Visitor, store: Store, seen: str
) -> None:
    assert "There is no such look" in bob.get(seen, 404)
    for act in ("again", "try", "stop", "create"):
        assert bob.post(f"{seen}/{act}", bob.token("/new"), name="his").status_code == 404
    assert "shop.example/list" not in bob.get("/new")
    assert datasets(store) == datasets(store, "bob") == []
    assert alice.get(seen)


def test_a_look_is_gone_after_a_day(alice: Visitor, store: Store, seen: str, step: Clock) -> None:
    step(86_401)
    assert "each is kept for a day" in alice.get(seen, 404)
    assert alice.post(f"{seen}/create", alice.token("/new"), name="late").status_code == 404
    assert retention.forget_old(store)["looks"] == 3
    assert "Looked at today" not in alice.get("/new")


@pytest.mark.one_database
@pytest.mark.parametrize("case", FORGED)
def test_a_forged_form_looks_at_nothing(alice: Visitor, store: Store, case: str) -> None:
    headers, token = FORGED[case]
    form = {"url": ADDRESS}
    if token is not None:
        form["token"] = alice.token("/") if token == "own" else token
    assert alice.client.post("/new", data=form, headers=headers).status_code == 403
    assert looks.kept(store, "alice") == []


@pytest.mark.one_database
def test_a_bookmark_leads_here_with_the_address_of_another_page(alice: Visitor) -> None:
    page = alice.get("/new")
    assert "javascript:location.href=&#34;http://localhost/new?url=&#34;" in page
    # A browser that another site leads here asks again, with its cookie.
    there = alice.client.get(f"/new?url={quote(ADDRESS)}", headers={"Sec-Fetch-Site": "cross-site"})
    assert there.status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_person_makes_a_table_of_an_address(
    browser: Browser, tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch, scripts: bool
) -> None:
    monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", site.host)
    site.pages(shop(some_items(12)))
    with closing(made.make_store(tmp_path)) as store, Serving(tmp_path, worker=True) as server:
        made.meet_owner(store, "local", 100)
        base = f"http://127.0.0.1:{server.port}"
        with looking(browser, base, store, java_script_enabled=scripts) as visit:
            page = visit.page
            page.get_by_label("Address of the page").fill(site.at("/page/1.html"))
            page.get_by_role("button", name="Look at the page").dblclick()
            come(page, "What is kept", scripts=scripts)
            page.get_by_role("checkbox", name="Keep stock").uncheck()
            page.get_by_label("Name of title").fill("Thing")
            page.get_by_role("radio").nth(1).check()
            page.get_by_role("button", name="Try these columns").click()
            come(page, "The first rows", scripts=scripts)
            expect(page.get_by_text("A Run would accept this")).to_be_visible()
            page.get_by_label("Name of the table").fill("things")
            page.get_by_label("When it is read again").select_option(label="every 6 hours")
            page.get_by_role("button", name="Make the table and run it").dblclick()
            come(page, "succeeded", scripts=scripts)
            page.get_by_role("link", name="things").first.click()
            expect(page.get_by_role("rowheader", name="Copper chair 102")).to_be_visible()
            expect(page.get_by_text("every 6 hours").first).to_be_visible()
        (dataset,) = datasets(store, "local")
        assert [column["name"] for column in dataset["columns"]] == ["Thing", "link", "price"]
        assert [column["key"] for column in dataset["columns"]] == [True, False, False]
        assert dataset["rowCount"] == 12
        assert (visit.elsewhere, visit.complaints) == ([], [])


def come(page: Page, heading: str, *, scripts: bool) -> None:
    """Wait for a heading: the page asks again by itself, or a person does."""
    wanted = page.get_by_role("heading", name=heading)
    for _ in range(600):
        if wanted.count():
            return
        if not scripts and page.get_by_role("link", name="Look again").count():
            page.get_by_role("link", name="Look again").click()
        page.wait_for_timeout(100)
    raise AssertionError(f"{heading!r} does not come: {page.inner_text('main')[:500]}")
