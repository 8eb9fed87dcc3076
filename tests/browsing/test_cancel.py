"""A Run in progress on its page: how it gets on, and its button that cancels it."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from livedata.model import ids
from livedata.services import attempts, interruptions, queries, runs
from livedata.store.shown_runs import Progress
from tests import made
from tests.api.serving import Serving
from tests.browsing.chromium import looking
from tests.browsing.test_forms import FORGED

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

    from livedata.services.attempts import Attempt
    from livedata.store.database.store import Store
    from tests.browsing.visitor import Visitor

BUTTON = '<button class="quiet">Cancel</button>'


def begun(store: Store, owner: str) -> tuple[Attempt, str]:
    """An attempt at a Run that this process executes, and the page of the Run."""
    dataset = made.make_dataset(store, owner)
    run, _ = runs.enqueue(store, owner, dataset)
    attempt = attempts.begin(store, ids.RunId(ids.raw_id(run)))
    assert attempt is not None
    return attempt, f"/runs/{run}"


def status(store: Store, attempt: Attempt) -> str:
    return queries.run(store, attempt.owner, attempt.run)["status"]


def test_a_run_in_progress_says_how_it_gets_on(alice: Visitor, store: Store) -> None:
    attempt, path = begun(store, alice.owner)
    attempts.heartbeat(store, attempt, Progress(3, 60))
    page = alice.get(path)
    assert "<b>Running</b>: 3 pages with 60 items so far." in page
    assert re.search(r"<li>running for (?:under 0\.1|[\d.]+) s</li>", page)
    assert BUTTON in page
    shown = alice.as_json(path)["progress"]
    assert (shown["waits"], shown["cancelling"]) == (None, False)


@pytest.mark.one_database
def test_how_far_a_run_is_is_drawn_beside_the_rows_of_the_last_accepted_one(
    alice: Visitor, store: Store
) -> None:
    dataset = made.make_dataset(store, alice.owner, "drawn")
    made.take(store, dataset, owner=alice.owner)
    run, _ = runs.enqueue(store, alice.owner, dataset)
    path = f"/runs/{run}"
    assert "<progress" not in alice.get(path)  # it is queued
    again = attempts.begin(store, ids.RunId(ids.raw_id(run)))
    assert again is not None
    for items, drawn, said in (
        (2, 'value="2" max="3"', "2 of about 3 items, on 1 page so far."),
        (5, 'value="5" max="5"', "1 page with 5 items so far."),
    ):
        attempts.heartbeat(store, again, Progress(1, items))
        page = alice.get(path)
        assert f"<progress {drawn}" in page
        assert f"Running: {said}" in re.sub("<[^>]+>", "", page)
        assert "this page renews itself every 5 s" in page
    assert "See the Run that is running" not in alice.get(path)
    assert "See the Run that is running" in alice.get(f"/datasets/{ids.format_uuid(dataset)}")


def test_a_run_that_waits_says_for_what(alice: Visitor, bob: Visitor, store: Store) -> None:
    _, first = begun(store, alice.owner)
    other = made.make_dataset(store, alice.owner, "other")
    run, _ = runs.enqueue(store, alice.owner, other)
    told = "It waits for its turn at shop.example: another Run of that site is in progress."
    way = f'<a href="{first}">See the Run that has the turn</a>'
    assert f"<b>{told}</b> {way}</p>" in alice.get(f"/runs/{run}")
    # Of another owner's Run nothing is told but that it is there.
    his, _ = runs.enqueue(store, bob.owner, made.make_dataset(store, bob.owner, "his"))
    assert first not in bob.get(f"/runs/{his}")
    assert bob.post(f"/runs/{his}/cancel", bob.token("/")).status_code == 303
    third, _ = runs.enqueue(store, alice.owner, made.make_dataset(store, alice.owner, "third"))
    longer = '<data value="1">1</data> Run of that site waits longer.'
    assert f"<b>{told}</b> {longer} <a" in alice.get(f"/runs/{third}")
    assert alice.post(f"/runs/{run}/cancel", alice.token("/")).status_code == 303
    assert "The Run was cancelled." in alice.get(f"/runs/{run}")


def test_the_button_cancels_once(alice: Visitor, store: Store) -> None:
    attempt, path = begun(store, alice.owner)
    token = alice.token(path)
    answer = alice.post(f"{path}/cancel", token)
    assert (answer.status_code, answer.location) == (303, path)
    page = alice.get(path)
    assert "It is being cancelled" in page
    assert "data-again" in page
    assert BUTTON not in page
    again = alice.post(f"{path}/cancel", token)
    assert again.status_code == 409
    assert "This Run is being cancelled already" in again.text
    # To ask for that page again would be to send the form again.
    assert "data-again" not in again.text
    attempts.give_back(store, attempt)
    assert "The Run was cancelled." in alice.get(path)
    late = alice.post(f"{path}/cancel", token)
    assert late.status_code == 409
    assert "This Run has ended (failed), so there is nothing to cancel." in late.text


def test_bob_cannot_cancel_it(alice: Visitor, bob: Visitor, store: Store) -> None:
    attempt, path = begun(store, alice.owner)
    assert bob.post(f"{path}/cancel", bob.token("/")).status_code == 404
    assert bob.post(f"{path}/cancel", alice.token("/")).status_code == 403
    assert interruptions.asked(store) == set()
    assert status(store, attempt) == "running"


@pytest.mark.one_database
@pytest.mark.parametrize("case", FORGED)
def test_a_forged_form_cancels_nothing(alice: Visitor, store: Store, case: str) -> None:
    _, path = begun(store, alice.owner)
    headers, token = FORGED[case]
    form = {} if token is None else {"token": alice.token("/") if token == "own" else token}
    answer = alice.client.post(f"{path}/cancel", data=form, headers=headers)
    assert answer.status_code == 403
    alice.get(f"{path}/cancel", 405)
    assert interruptions.asked(store) == set()


@pytest.mark.slow
@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_click_cancels_a_run_and_the_page_tells_its_end(
    browser: Browser, tmp_path: Path, scripts: bool
) -> None:
    with closing(made.make_store(tmp_path)) as store, Serving(tmp_path) as server:
        attempt, path = begun(store, "local")
        base = f"http://127.0.0.1:{server.port}"
        with looking(browser, base, store, java_script_enabled=scripts) as visit:
            visit.open(path)
            visit.page.get_by_role("button", name="Cancel").dblclick()
            card = visit.page.get_by_role("region", name="Progress")
            expect(card).to_contain_text("It is being cancelled")
            assert interruptions.asked(store) == {attempt.run}
            attempts.give_back(store, attempt)
            if scripts and not visit.page.get_by_role("alert").count():
                expect(visit.page.get_by_text("The Run was cancelled.").first).to_be_visible()
            else:
                visit.page.get_by_role("link", name="Look again").click()
            expect(visit.page.get_by_text("The Run was cancelled.").first).to_be_visible()
            expect(card).to_have_count(0)
