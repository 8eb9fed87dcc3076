"""The Runs of a dataset, what one says of its end, and what a held one would change."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import orjson
import pytest
from markupsafe import escape

from livedata.messages.render import sentence
from livedata.model import ids
from livedata.model.harvest import StopReason
from livedata.model.requests import UpdateDataset
from livedata.model.research.record import ResearchFact
from livedata.model.run import Run
from livedata.pages.report import write
from livedata.pages.run import OF_A_KIND
from livedata.services import attempts, datasets, explanation, queries, retention
from livedata.services.pages.report import report
from livedata.services.research import recording
from livedata.services.research.declaring import ResearchDeclaration, add_draft
from livedata.store.shown_runs import Progress
from tests import made
from tests.browsing.addresses import OF_A_DATASET
from tests.browsing.picture import age
from tests.browsing.test_news import rows_of
from tests.browsing.visitor import Visitor
from tests.browsing.world import PICTURE, World
from tests.made import forget_would
from tests.services.research_table import (
    ACME,
    BOLT,
    PAGE,
    PLAN,
    ResearchTable,
    artifact_of,
    found_on,
    key_of,
    step_of,
)
from tests.services.test_causes import Shop

if TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Flask

    from livedata.store.database.store import Store
    from tests.crawling import Crawling
    from tests.site import Site


class Runs:
    """The Runs of a filled dataset of Alice, by their end."""

    def __init__(self, store: Store, owner: str) -> None:
        self.store, self.owner = store, owner
        self.dataset = World(store, owner).shop()
        listed = queries.runs(store, owner, self.dataset, 30)
        self.by_end = {str(run["status"]): f"/runs/{run['id']}" for run in listed}
        self.path = f"/datasets/{ids.format_uuid(self.dataset)}/runs"

    def run(self, end: str) -> Run:
        run = ids.RunId(ids.raw_id(self.by_end[end].rpartition("/")[2]))
        return queries.run(self.store, self.owner, run)

    def status(self, end: str) -> str:
        return self.run(end)["status"]


@pytest.fixture
def runs(store: Store, alice: Visitor) -> Runs:
    return Runs(store, alice.owner)


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("failed", ["The page is behind a login now.", "matched nothing", "Sign in", "Checks"]),
        ("blocked", ["The site answers 403: it refuses to give the page out.", "forbidden"]),
        (
            "held",
            [
                "39</data> rows would go. Until you decide, all ",
                "Accept this output",
                "37</data> gone",
            ],
        ),
        ("succeeded", ["40</data> new", "passed", "Steps"]),
        (
            "queued",
            [
                "<b>It waits for a worker",
                "</a> took under 0.1 s and left",
                "Look again",
            ],
        ),
    ],
)
def test_a_run_says_how_it_ended_and_why(
    alice: Visitor, runs: Runs, end: str, told: list[str]
) -> None:
    page = alice.get(runs.by_end[end])
    assert [text for text in told if text not in page] == []


@pytest.mark.one_database
def test_what_to_try_leads_to_the_page_that_does_it_and_else_has_its_command(
    alice: Visitor, runs: Runs
) -> None:
    run, dataset = runs.by_end["failed"], runs.path.removesuffix("/runs")
    told = alice.get(run).partition('aria-label="Decision"')[2].partition("</section>")[0]
    helps = told.partition("What helps:")[2]
    revise = "<bdi>Mend the source and keep rows and history</bdi>"
    assert f'<li><a href="{dataset}/settings#source">{revise}</a>.</li>' in helps
    assert '<a href="#kept"><bdi>Look at the page as it was</bdi></a>.' in helps
    assert '<h2 id="kept">The page that stopped it</h2>' in alice.get(run)


def test_a_held_run_folds_the_rows_that_go_and_says_what_is_odd_before(
    alice: Visitor, runs: Runs
) -> None:
    raw = alice.get(runs.by_end["held"])
    page = plain(raw)
    order = ["What looks odd", "What this output would change", "37 gone: Lamp 2, Lamp 3, "]
    places = [page.find(part) for part in order]
    assert places == sorted(places)
    assert places[0] > -1
    table = raw.partition('aria-label="What would change"')[2].partition("</table>")[0]
    assert re.findall(r'class="fresh \w+">(\w+)<', table) == ["changed"]
    fold = page.partition("37 gone: ")[2].partition("</details>")[0]
    assert fold.count("<li>") == 37


def test_a_held_run_says_what_each_cell_would_become(alice: Visitor, runs: Runs) -> None:
    would_change = (
        '<bdi>Title</bdi>: <span class="mark">stays as edited by hand; the site had</span> '
        '<bdi>another title</bdi> <span class="mark">and has</span> <bdi>Lamp 0</bdi>'
    )
    # Nothing is struck out that stays.
    assert would_change in alice.get(runs.by_end["held"])


def would_be(page: str) -> list[str]:
    """The figures of a held Run, in order."""
    told = page.partition("If it is accepted:</p>")[2].partition("</ul>")[0]
    return re.findall(r"<li[^>]*>(.*?)</li>", told)


def test_a_held_run_says_what_it_would_change_and_never_zeros(
    alice: Visitor, store: Store, runs: Runs
) -> None:
    zeros, told = "0 new, 0 changed, 0 gone", "0 new, 1 changed, 37 gone"
    held = plain(alice.get(runs.by_end["held"]))
    assert would_be(held) == ["0 new", "1 changed", "37 gone", "1 as before"]
    assert zeros not in held
    counts = r'data-label="(?:New|Changed|Gone)">([^<]*)</td>'
    (line,) = [line for line in plain(alice.get(runs.path)).split("<tr>") if "held</span>" in line]
    assert re.findall(counts, line) == ["(0)", "(1)", "(37)"]
    assert "In brackets: what a held Run would change" in alice.get(runs.path)
    # What an output that is let go of would have changed is still known.
    with store.writing() as writer:
        writer.execute("DELETE FROM held_outputs")
    gone = plain(alice.get(runs.by_end["held"]))
    assert f"{told} if it had been accepted" in gone


def test_rows_that_came_back_are_counted_apart_from_those_that_changed(
    alice: Visitor, store: Store
) -> None:
    dataset = made.make_dataset(store, alice.owner)
    lamp, chair, mug = made.ITEMS
    made.take(store, dataset, [lamp, chair, mug], owner=alice.owner)
    made.take(store, dataset, [lamp, chair], owner=alice.owner)
    table = f"/datasets/{ids.format_uuid(dataset)}"
    assert "2 rows, 1 gone</li>" in plain(alice.get(table))
    assert "Back</th>" not in alice.get(f"{table}/runs")
    run = made.take(store, dataset, [{**lamp, "price": 12}, chair, mug], owner=alice.owner)
    assert "3 rows</li>" in plain(alice.get(table))
    told = re.findall(r'<li class="\w+">(\d+ \w+)</li>', plain(alice.get(f"/runs/{run}")))
    assert told == ["1 changed", "1 back"]
    counts = r'data-label="(?:New|Changed|Gone|Back)">([^<]*)</td>'
    listed = plain(alice.get(f"{table}/runs")).split("<tr>")[2:]
    assert [re.findall(counts, line) for line in listed] == [
        ["0", "1", "0", "1"],
        ["0", "0", "1", "0"],
        ["3", "0", "0", "0"],
    ]


def test_a_run_in_progress_says_what_it_has_read_and_no_zeros(alice: Visitor, store: Store) -> None:
    dataset = made.make_dataset(store, alice.owner)
    path = f"/datasets/{ids.format_uuid(dataset)}/runs"
    run = alice.post(path, alice.token(path)).location
    for asked in (run, path):
        assert "0</data>" not in alice.get(asked)
    attempt = attempts.begin(store, ids.RunId(ids.raw_id(run.rpartition("/")[2])))
    assert attempt is not None
    assert "<b>Running</b>.</p>" in alice.get(run)
    attempts.heartbeat(store, attempt, Progress(3, 41))
    told = "3 pages with 41 items so far"
    assert f"<b>Running</b>: {told}.</p>" in alice.get(run)
    assert told in alice.get(path)
    for asked in (run, path):
        assert "0 new" not in plain(alice.get(asked))


@pytest.mark.one_database
@pytest.mark.parametrize("end", ["held", "failed", "blocked"])
def test_causes_come_in_their_order_and_a_check_says_whether_it_passed(
    alice: Visitor, runs: Runs, end: str
) -> None:
    page, answer = alice.get(runs.by_end[end]), alice.as_json(runs.by_end[end])
    run = ids.RunId(ids.raw_id(answer["data"]["id"]))
    causes = explanation.explanation(runs.store, runs.owner, run).causes
    assert [cause["message"] for cause in answer["causes"]] == list(map(sentence, causes))
    places = [page.find(escape(sentence(cause))) for cause in causes]
    assert places[0] > -1
    assert places == sorted(places)
    passed = re.findall(r'<li><span class="end \w+">(passed|failed)</span>', page)
    assert passed == [
        "passed" if check["passed"] else "failed" for check in answer["data"]["checks"]
    ]
    assert ("failed" in passed) == (end == "failed")


@pytest.mark.one_database
@pytest.mark.parametrize("end", ["held", "failed", "blocked"])
def test_a_run_that_was_not_accepted_gives_each_reason_once(
    alice: Visitor, runs: Runs, end: str
) -> None:
    page, answer = alice.get(runs.by_end[end]), alice.as_json(runs.by_end[end])
    error = answer["data"]["error"]
    # Of rows that would go it says so in fewer words, since what can be done stands below.
    causes = [cause["message"] for cause in answer["causes"]]
    for said in causes if end == "held" else [error, *causes]:
        assert page.count(str(escape(said))) == 1, said
    assert plain(page).count("rows would go.") == (end == "held")
    told = page.partition('aria-label="Decision"')[2].partition("</section>")[0]
    assert str(escape(answer["causes"][0]["message"])) in told
    assert "The same at a shell" in page.partition(told)[2]


def test_an_accepted_run_says_which_rows_it_changed_and_how(alice: Visitor, store: Store) -> None:
    dataset = made.make_dataset(store, alice.owner)
    items = [*World(store, alice.owner).items(30)]
    made.take(store, dataset, items, owner=alice.owner)
    later = [{**items[0], "price": 99}, *items[1:28], {**items[0], "sku": "NEW"}]
    run = f"/runs/{made.take(store, dataset, later, owner=alice.owner)}"
    page = alice.get(run)
    assert rows_of(page) == [
        ("NEW", "new"),
        ("K000", "changed"),
        ("K028", "gone"),
        ("K029", "gone"),
    ]
    assert re.search(r"<bdi>price</bdi>: <del>.*?</del> → <ins>.*?99.*?</ins>", page)
    assert f'/changes?run={run.removeprefix("/runs/")}">see the changes</a>' in page
    told = alice.as_json(run)["changed"]
    assert [(each["row"], each["kind"]) for each in told] == rows_of(page)
    # Of many the first of each kind; of a Run that changed nothing that it did not.
    first = queries.runs(store, alice.owner, dataset, 9)[-1]["id"]
    told_by = f"/datasets/{ids.format_uuid(dataset)}/changes?run={first}"
    page = alice.get(f"/runs/{first}")
    assert [kind for _, kind in rows_of(page)] == ["new"] * OF_A_KIND
    shown = re.sub("</?data[^>]*>", "", page)
    assert f'<li class="mark">10 of 30 shown, <a href="{told_by}">see all</a>' in shown
    same = made.take(store, dataset, later, owner=alice.owner)
    assert "Nothing: each row is as it was." in alice.get(f"/runs/{same}")


@pytest.mark.one_database
def test_pages_and_steps_are_folded_and_checks_where_all_passed(alice: Visitor, runs: Runs) -> None:
    folded = r'<details class="fold"[^>]*(?<! open)>\s*<summary><h2>(Pages|Steps|Checks)</h2>'
    for end in ("succeeded", "held"):
        assert set(re.findall(folded, alice.get(runs.by_end[end]))) >= {"Steps", "Checks"}
    # What went wrong is said above them; the Checks say which of them did not pass.
    assert set(re.findall(folded, alice.get(runs.by_end["failed"]))) == {"Pages", "Steps"}


@pytest.mark.one_database
def test_an_accepted_run_begins_with_what_it_read_and_that_its_checks_passed(
    alice: Visitor, runs: Runs
) -> None:
    page = plain(alice.get(runs.by_end["succeeded"]))
    assert "Complete: 40 items on 1 page." in page
    # The bar of a step of a Run of 4 ms has such words as its label.
    told = re.sub(r' aria-label="[^"]*"', "", page)
    assert told.count("4 of 4 passed") == told.count("4 of 4") == 1
    assert "Complete:" not in alice.get(runs.by_end["held"])


@pytest.mark.one_database
def test_a_held_run_leads_to_the_page_to_look_at_and_to_a_newer_run(
    alice: Visitor, runs: Runs
) -> None:
    page = alice.get(runs.by_end["held"])
    card = page.partition('aria-label="Decision"')[2].partition("</section>")[0]
    looked_at = f"Open {made.URL} and see whether the list has 2 or 39 items."
    assert looked_at in plain(card)
    assert f'<a href="{runs.by_end["queued"]}">A new Run is queued: see it</a>' in card
    # What removes rows is not what a hurried hand finds first.
    assert '<button class="quiet">Accept this output' in card
    assert "itemSelector</code> is the selector of the source that finds the items" in page
    assert "Keep 39 rows:</span> Leave it as it is" in plain(card)
    assert "Run again" not in card
    cancel = f"{runs.by_end['queued']}/cancel"
    assert alice.post(cancel, alice.token("/")).status_code == 303
    again = alice.get(runs.by_end["held"]).partition('id="acts"')[2].partition("</section>")[0]
    # Another look comes before an act that removes rows.
    assert "<button>Run again" in again


@pytest.mark.one_database
def test_a_run_is_called_by_its_day_and_never_by_its_id(alice: Visitor, runs: Runs) -> None:
    for path in runs.by_end.values():
        title = alice.get(path).partition("<title>")[2].partition("</title>")[0]
        assert re.search(r": Run of today \d\d:\d\d · livedata$", title)
    listed = re.sub("<[^>]+>", "", alice.get(runs.path))
    assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}", listed)


@pytest.mark.one_database
def test_the_kept_page_is_text_and_its_picture_is_ours(alice: Visitor, runs: Runs) -> None:
    assert "&lt;title&gt;Sign in&lt;/title&gt;" in alice.get(runs.by_end["failed"])
    answer = alice.client.get(f"{runs.by_end['failed']}/screenshot")
    assert (answer.mimetype, answer.data) == ("image/jpeg", PICTURE)
    alice.get(f"{runs.by_end['held']}/screenshot", 404)


@pytest.mark.one_database
def test_what_selectors_find_and_would_find_is_told(
    app: Flask, store: Store, crawling: Crawling, site: Site
) -> None:
    broken = Shop(crawling, site)
    renamed = 'class="tile&lt;i&gt; product-2"'
    broken.rewrite(
        lambda body: re.sub(
            r'<span class="price">.*?</span>', "", body.replace('class="product"', renamed)
        )
    )
    explained = broken.again()
    assert explained.suggestion is not None
    assert explained.suggestion["lost"] == ["price"]
    page = Visitor.meet(app, store, "local").get(f"/runs/{explained.run}")
    for each in explained.suggestion["replaced"]:
        before, after = (escape(each[side]) for side in ("before", "after"))
        assert f"<td><code>{before}</code></td><td><code>{after}</code></td>" in page
    assert "Not found on the page: <bdi>price</bdi>; its selector is left" in page
    assert explained.matches
    for match in explained.matches:
        assert f'<th scope="row"><bdi>{escape(match["target"])}</bdi></th><td' in page


def test_a_held_run_is_accepted_once(alice: Visitor, runs: Runs) -> None:
    held = runs.by_end["held"]
    token = alice.token(held)
    assert alice.post(f"{held}/accept", token).status_code == 303
    assert runs.status("held") == "succeeded"
    assert "What this output would change" not in alice.get(held)
    again = alice.post(f"{held}/accept", token)
    assert again.status_code == 409
    assert "not held, so there is nothing to accept" in again.text


def test_the_list_and_the_page_say_alike_how_long_a_run_took_whenever_it_is_accepted(
    alice: Visitor, store: Store, runs: Runs
) -> None:
    # It waits for two hours until it is accepted.
    age(store, days=1 / 12)
    held = runs.by_end["held"]
    assert alice.post(f"{held}/accept", alice.token(held)).status_code == 303
    took = re.search(r"took (under 0\.1 s|[\d.]+ s)<", alice.get(held))
    assert took is not None
    line = alice.get(runs.path).partition(f'href="{held}">')[2].partition("</tr>")[0]
    assert f'data-label="Took">{took[1]}</td>' in line
    assert '<rect width="' in line.partition('class="bar end succeeded">')[2]


@pytest.mark.one_database
def test_a_run_leads_to_the_ones_beside_it(alice: Visitor, runs: Runs) -> None:
    listed = [f"/runs/{run['id']}" for run in alice.as_json(runs.path)["data"]]
    for place, run in enumerate(listed):
        page = alice.get(run)
        earlier = re.findall(r'<a href="([^"]+)">← Earlier Run', page)
        later = re.findall(r'<a href="([^"]+)">Later Run →', page)
        assert (earlier, later) == (listed[place + 1 : place + 2], listed[:place][-1:])


def test_a_run_is_asked_for_and_not_twice_at_once(alice: Visitor, store: Store) -> None:
    path = f"/datasets/{ids.format_uuid(made.make_dataset(store, 'alice'))}/runs"
    assert "There was no Run yet." in alice.get(path)
    answer = alice.post(path, alice.token(path))
    assert answer.status_code == 303
    assert "<b>It waits" in alice.get(answer.location)
    again = alice.post(path, alice.token(path))
    assert again.status_code == 409
    assert 'role="alert"' in again.text


@pytest.mark.one_database
def test_each_page_of_a_dataset_asks_for_a_run_or_leads_to_the_open_one(
    alice: Visitor, store: Store
) -> None:
    dataset = f"/datasets/{ids.format_uuid(made.make_dataset(store, 'alice'))}"
    # Without a chosen row the page of edits leads to the table.
    pages = [f"{dataset}{more}" for more in OF_A_DATASET if more != "/edits"]
    form = f'<form class="now" method="post" action="{dataset}/runs">'
    assert all(alice.get(page).count(form) == 1 for page in pages)
    queued = alice.post(f"{dataset}/runs", alice.token(dataset)).location
    for page in (alice.get(each) for each in pages):
        assert form not in page
        assert f'<a class="now button quiet" href="{queued}">See the Run that is queued</a>' in page


def test_without_credits_no_run_is_asked_for(alice: Visitor, store: Store) -> None:
    path = f"/datasets/{ids.format_uuid(made.make_dataset(store, 'alice'))}/runs"
    with store.writing() as writer:
        writer.execute("UPDATE owners SET balance = 0")
    answer = alice.post(path, alice.token(path))
    assert answer.status_code == 409
    assert "credits" in answer.text


def test_bob_can_neither_see_nor_accept_it(alice: Visitor, bob: Visitor, runs: Runs) -> None:
    for path in (*runs.by_end.values(), f"{runs.by_end['failed']}/screenshot", runs.path):
        bob.get(path, 404)
    token = bob.token("/")
    assert bob.post(f"{runs.by_end['held']}/accept", token).status_code == 404
    assert bob.post(runs.path, token).status_code == 404
    assert runs.status("held") == "held"
    alice.get(runs.path)


def test_a_run_of_research_tells_its_story(alice: Visitor, store: Store) -> None:
    table = World(store, alice.owner).makers()
    (run, *_) = queries.runs(store, alice.owner, table.id, 1)
    page = alice.get(f"/runs/{run['id']}")
    told = (
        "What it did",
        "<li>120 tokens, $0.25</li>",
        '<dt>Kept</dt><dd><data value="1">1</data>: <bdi>Acme</bdi></dd>',
        "<q><bdi>",
    )
    assert [text for text in told if text not in page] == []
    # What it took is told once.
    assert (page.count("tokens"), page.count("$0.25")) == (1, 1)
    assert "changed" in alice.get(f"/datasets/{ids.format_uuid(table.id)}")


def test_a_row_of_research_goes_by_its_name_everywhere(alice: Visitor, store: Store) -> None:
    table = World(store, alice.owner).makers()
    path = f"/datasets/{ids.format_uuid(table.id)}"
    (row,) = queries.rows(store, alice.owner, table.id, 10)[0]
    told = report(store, alice.owner, table.id, ids.Micros(0))
    pages = [alice.get(each) for each in (path, f"{path}/changes", f"{path}/rows/{row['id']}")]
    for page in (*pages, write(told, told.since)):
        assert "<bdi>Acme</bdi>" in page
        assert "entity:" not in page


def test_the_datasets_begin_with_those_whose_last_run_was_not_accepted(
    alice: Visitor, runs: Runs
) -> None:
    first = alice.get("/")
    card, table = first.find('<section class="decision held"'), first.find("<table")
    assert -1 < card < first.find(f'href="{runs.by_end["held"]}">Decide') < table
    # What helps stands beside it as buttons.
    assert "<bdi>37 of 39 rows would be gone</bdi>" in first
    alice.post(f"{runs.by_end['held']}/accept", alice.token("/"))
    assert "Decide" not in alice.get("/")


def test_a_held_output_is_told_beside_a_newer_run_until_that_is_over(
    alice: Visitor, runs: Runs
) -> None:
    held, queued = runs.by_end["held"], runs.by_end["queued"]
    first = alice.get("/")
    card = first.partition('<section class="decision held"')[2].partition("</section>")[0]
    assert f'<a href="{queued}">A new Run is under way: see it' in card
    assert "Run again" not in card
    beside = f'<a class="pill end held" href="{held}">held'
    assert beside in first.partition('class="stacked datasets"')[2]
    table = runs.path.removesuffix("/runs")
    for page in (table, runs.path, f"{table}/changes", f"{table}/settings", queued):
        assert f"{beside}: decide</a>" in alice.get(page)
    assert f"{beside}: decide" not in alice.get(held)
    assert alice.post(f"{queued}/cancel", alice.token("/")).status_code == 303
    for page in (table, "/"):
        assert beside not in alice.get(page)


def test_a_table_is_up_to_date_only_while_a_schedule_keeps_it_so(
    alice: Visitor, store: Store
) -> None:
    dataset = made.make_dataset(store, alice.owner)
    made.take(store, dataset, owner=alice.owner)
    pages = ("/", f"/datasets/{ids.format_uuid(dataset)}")
    for page in pages:
        assert '<span class="pill">read <time' in alice.get(page)
    schedule = UpdateDataset(status="active", schedule="30 3 * * *")
    datasets.update(store, alice.owner, dataset, schedule)
    for page in pages:
        assert '<span class="pill end ok">up to date</span>' in alice.get(page)


@pytest.mark.one_database
def test_the_rows_are_drawn_over_time(alice: Visitor, runs: Runs) -> None:
    page = alice.get(runs.path)
    assert 'aria-label="From 40 to 39; the lowest is 39, the highest 40."' in page
    # A row less is no collapse: the scale begins at 0.
    assert '<span class="low"><data value="0">0</data></span>' in page
    assert page.find("</table>") < page.find("Rows over time")


@pytest.mark.one_database
def test_the_list_has_a_column_for_why_only_if_a_run_has_a_reason(
    alice: Visitor, store: Store, runs: Runs
) -> None:
    why = '<th scope="col">Why</th>'
    assert why in alice.get(runs.path)
    dataset = made.make_dataset(store, alice.owner, "well")
    made.take(store, dataset, World(store, alice.owner).items(3), owner=alice.owner)
    page = alice.get(f"/datasets/{ids.format_uuid(dataset)}/runs")
    assert why not in page
    assert page.count('<th scope="col"') == 7
    body = page.partition("<tbody>")[2].partition("</tbody>")[0]
    assert body.count("<td") == 7  # how long it took is drawn too


def test_runs_are_paged(alice: Visitor, store: Store) -> None:
    dataset = made.make_dataset(store, "alice")
    for _ in range(33):
        made.take(store, dataset, owner="alice")
    path = f"/datasets/{ids.format_uuid(dataset)}/runs"
    first, second = alice.pages(path)
    assert (first.count('href="/runs/'), second.count('href="/runs/')) == (30, 3)
    alice.get(f"{path}?after=nonsense", 400)


def test_what_a_held_run_of_research_would_change_is_told_by_name(
    alice: Visitor, store: Store
) -> None:
    table = ResearchTable(store, alice.owner)
    names = [f"Acme {number}" for number in range(10)]
    table.take({name: {"Founded": "1999", "City": "Bern"} for name in names})
    held = table.take({"Bolt": {"Founded": "2004", "City": "Basel"}}, gone=names[:9])
    assert held["status"] == "held"
    _, _, page = alice.get(f"/runs/{held['id']}").partition("What this output would change")
    told = {
        name: link
        for link, name in re.findall(
            r'<(?:th scope="row"|li)>(?:<a href="([^"]+)">)?<bdi>([^<]+)',
            page.partition("</details>")[0],
        )
    }
    assert {*names[:9], "Bolt"} == told.keys()
    # A row that is there already has a page.
    assert told.pop("Bolt") == ""
    assert [name for name, link in told.items() if name not in alice.get(link)] == []


def test_all_that_a_held_run_would_change_is_shown_page_by_page(
    alice: Visitor, store: Store
) -> None:
    dataset = made.make_dataset(store, alice.owner)
    items = World(store, alice.owner).items(250)
    made.take(store, dataset, items, owner=alice.owner)
    held = f"/runs/{made.take(store, dataset, items[:10], owner=alice.owner)}"
    pages = list(alice.pages(held))
    gone = re.compile(r'<li><a href="/datasets/[^"]+/rows/[^"]+"><bdi>([^<]+)')
    rows = [gone.findall(page.partition("240</data> gone: ")[2]) for page in pages]
    assert [len(page) for page in rows] == [100, 100, 40]
    assert len({row for page in rows for row in page}) == 240
    told = [re.sub("<[^>]+>", "", page) for page in pages]
    assert "Rows 1 to 100 of those stand here." in told[0]
    assert "Rows 201 to 240 of those stand here; see them from the first on." in told[2]
    shown = alice.as_json(f"{held}?after=100")
    assert (len(shown["held"]["rows"]), shown["next"]) == (100, f"{held}?after=200&as=json")
    assert alice.post(f"{held}/accept", alice.token(f"{held}?after=200")).status_code == 303


@pytest.mark.one_database
@pytest.mark.parametrize("after", ["", "-1", "1.5", "x", "99", "1" * 5000, "１"])
def test_a_place_that_a_held_output_does_not_have_is_refused(
    alice: Visitor, runs: Runs, after: str
) -> None:
    page = alice.get(f"{runs.by_end['held']}?after={after}", 400)
    assert "after is not the end of a page: begin at the first page again." in page


def test_a_held_run_says_that_its_output_is_kept_no_more(alice: Visitor, store: Store) -> None:
    dataset = made.make_dataset(store, alice.owner)
    items = World(store, alice.owner).items(40)
    made.take(store, dataset, items, owner=alice.owner)
    held = made.take(store, dataset, items[:2], owner=alice.owner)
    assert "Accept this output" in alice.get(f"/runs/{held}")
    made.take(store, dataset, items, owner=alice.owner)
    page = alice.get(f"/runs/{held}")
    assert "Its output is not kept: a newer Run was accepted" in page
    assert "Accept this output" not in page
    answer = alice.post(f"/runs/{held}/accept", alice.token("/"))
    assert (answer.status_code, "The output of this Run is not kept" in answer.text) == (409, True)


def test_nobody_is_told_to_accept_an_output_that_is_not_kept(alice: Visitor, store: Store) -> None:
    dataset = made.make_dataset(store, alice.owner)
    items = World(store, alice.owner).items(40)
    made.take(store, dataset, items, owner=alice.owner)
    held = made.take(store, dataset, items[:2], owner=alice.owner)
    accept = '<a href="#acts"><bdi>If the site is right, accept the output</bdi></a>'
    assert accept in alice.get(f"/runs/{held}")
    made.take(store, dataset, items, owner=alice.owner)
    page = alice.get(f"/runs/{held}")
    assert "accept it" not in page
    assert accept not in page
    assert "second complete Run" not in page
    assert '<a href="#acts"><bdi>Run again</bdi></a>' in page


@pytest.mark.one_database
def test_a_run_that_a_limit_ended_says_why_nothing_of_it_is_kept(
    alice: Visitor, store: Store
) -> None:
    dataset = made.make_dataset(store, alice.owner)
    ending = StopReason("max_pages", made.GOES_ON)
    run = made.take(store, dataset, owner=alice.owner, ending=ending)
    assert "Its output is not kept: its coverage was incomplete." in alice.get(f"/runs/{run}")


def test_a_held_run_without_recorded_figures_has_no_zeros(
    alice: Visitor, store: Store, runs: Runs
) -> None:
    forget_would(store, runs.by_end["held"].rpartition("/")[2])
    held, listed = plain(alice.get(runs.by_end["held"])), plain(alice.get(runs.path))
    assert would_be(held) == ["0 new", "1 changed", "37 gone", "1 as before"]
    (line,) = [line for line in listed.split("<tr>") if "held</span>" in line]
    assert re.findall(r'data-label="(?:New|Changed|Gone)">([^<]*)</td>', line) == ["?", "?", "?"]
    assert "With a question mark: of a held Run it was not recorded." in listed
    with store.writing() as writer:
        writer.execute("DELETE FROM held_outputs")
    assert "What it would change was not recorded." in alice.get(runs.by_end["held"])


def test_what_is_not_known_of_an_old_run_is_told(
    alice: Visitor, store: Store, runs: Runs, clock: Callable[[int], None]
) -> None:
    told = "noted of its pages is kept for 90 days only."
    assert told not in alice.get(runs.by_end["succeeded"])
    clock(100 * 86_400)
    retention.forget_old(store)
    alice.sign_in()
    assert told in alice.get(runs.by_end["succeeded"])


def test_a_run_of_research_says_what_it_searched_was_refused_kept_and_dropped(
    alice: Visitor, store: Store
) -> None:
    table = ResearchTable(store, alice.owner)
    asked = add_draft(store, alice.owner, ResearchDeclaration("asked", "Who makes lamps?", PLAN))
    table.id = ids.DatasetId(ids.raw_id(asked["id"]))
    attempt = table.begin()
    table.remember(attempt)
    other = f"{PAGE}/other"
    query = {
        "query": "lamp makers",
        "depth": "basic",
        "excludeDomains": [],
        "credits": 1.0,
        "results": [
            {"rank": rank, "url": url, "title": "Makers", "score": 0.5}
            for rank, url in enumerate((PAGE, other), 1)
        ],
    }
    search = artifact_of(orjson.dumps(query).decode(), "search.results")
    met = [
        ResearchFact("discovery", "candidate_found", search.id, url=url) for url in (PAGE, other)
    ]
    met += [ResearchFact("selection", "page_selected", search.id, url=url) for url in (PAGE, other)]
    recording.record(store, attempt, step_of("search", artifacts=[search], facts=met))
    read = [
        ResearchFact("retrieval", "page_read", "x", url=PAGE),
        ResearchFact("retrieval", "read_forbidden", "x", failure=True, url=other),
        ResearchFact("extraction", "row_offered", "x", url=PAGE, entity="Acme", candidate="Acme"),
        ResearchFact(
            "reconciliation",
            "row_kept",
            "x",
            url=PAGE,
            entity="Acme",
            key=key_of("Acme"),
            candidate="Acme",
        ),
        *_dropped("Bolt", "name_quote_not_on_page"),
        *_dropped("Cord", "name_quote_not_on_page"),
        *_dropped("Dim", "name_not_in_quote"),
    ]
    recording.record(store, attempt, step_of("read", facts=read))
    run = table.finish(attempt, found_on(attempt, {"Acme": ACME}))
    page = alice.get(f"/runs/{run['id']}")
    told = [
        "<dt>Asked</dt><dd>Who makes lamps?</dd>",
        "<dt>Searched</dt><dd>lamp makers, 2 results</dd>",
        "<dt>Offered</dt><dd>4</dd>",
        "<dt>Kept</dt><dd>1: Acme</dd>",
        "<dt>Dropped</dt><dd>1: The quote does not hold its name.</dd>",
        "<dt>Dropped</dt><dd>2: The quote of its name does not stand on the page.</dd>",
        f"<td>{PAGE}</td><td>checked</td><td></td>",
        f"<td>{other}</td><td>unreadable</td><td>The site refused the page.</td>",
        "<li>1 of 2 pages could not be read.</li>",
    ]
    assert [line for line in told if line not in plain(page)] == []


def test_rows_that_research_kept_or_left_are_no_loss(alice: Visitor, store: Store) -> None:
    table = ResearchTable(store, alice.owner)
    names = [f"Acme {number}" for number in range(10)]
    first = table.take(dict.fromkeys(names, ACME))
    assert "<dt>Kept</dt><dd>no row with new evidence</dd>" in alice.get(f"/runs/{first['id']}")
    attempt = table.begin()
    table.remember(attempt)
    recording.record(
        store,
        attempt,
        step_of("read", facts=[_kept("Bolt"), *_dropped("Cord", "name_not_in_quote")]),
    )
    run = table.finish(attempt, found_on(attempt, {"Bolt": BOLT}, gone=names[:9]))
    assert run["status"] == "held"
    held = "<dt>Kept</dt><dd>1: Bolt; nothing of it is saved, since the Run is held</dd>"
    assert held in plain(alice.get(f"/runs/{run['id']}"))
    assert alice.post(f"/runs/{run['id']}/accept", alice.token("/")).status_code == 303
    page = plain(alice.get(f"/runs/{run['id']}"))
    assert "<dt>Kept</dt><dd>1: Bolt</dd>" in page
    left = "<dt>Left as they were</dt><dd>1: Acme 9; nothing showed that they are gone</dd>"
    assert left in page
    _, _, lost = page.partition("Not in the output")
    assert re.findall(r'<th scope="row">([^<]+)', lost.partition("</table>")[0]) == [
        *names[:9],
        "Cord",
    ]


def plain(page: str) -> str:
    """A page without what stands around its texts."""
    return re.sub(r"</?(?:bdi|data|a)\b[^>]*>", "", page)


def _kept(name: str) -> ResearchFact:
    """A row that went into the output."""
    return ResearchFact(
        "reconciliation",
        "row_kept",
        "x",
        url=PAGE,
        entity=name,
        key=key_of(name),
        candidate=name,
    )


def _dropped(name: str, code: str) -> list[ResearchFact]:
    """A row that the model offered, and that was dropped."""
    offered = ResearchFact("extraction", "row_offered", "x", url=PAGE, entity=name, candidate=name)
    refused = ResearchFact("validation", code, "x", failure=True, entity=name, candidate=name)
    return [offered, refused]
