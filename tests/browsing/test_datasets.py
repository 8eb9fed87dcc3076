"""The list of all datasets: how each is doing, at a glance."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.requests import UpdateDataset
from livedata.pages.datasets import IN_SIGHT
from livedata.services import datasets, queries, runs, scheduler
from livedata.services.fires import timetable
from livedata.store import datasets as dataset_store
from livedata.store import schedules
from tests import made
from tests.browsing.test_changes import numbers
from tests.browsing.test_table import path_of
from tests.browsing.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

    from livedata.store.database.store import Store
    from tests.browsing.visitor import Visitor

_CHANGES = re.compile(r'<a href="([^"]+)"><data value="(\d+)">\d+</data> (\w+)<')


def test_the_last_run_that_changed_something_leads_to_what_it_changed(
    alice: Visitor, store: Store
) -> None:
    dataset = made.make_dataset(store, alice.owner)
    assert _CHANGES.search(alice.get("/")) is None
    made.take(store, dataset, owner=alice.owner)
    lamp, *others = made.ITEMS
    for _ in range(2):  # the second one finds nothing new
        made.take(store, dataset, [{**lamp, "price": 12}, *others], owner=alice.owner)
    match = _CHANGES.search(alice.get("/"))
    assert match is not None
    assert match.group(2, 3) == ("1", "changed")
    assert numbers(alice.get(match[1])) == [4]


def test_a_schedule_that_starts_no_run_for_want_of_credits_is_told_at_once(
    alice: Visitor, store: Store, clock: Callable[[int], None]
) -> None:
    dataset = made.make_dataset(store, alice.owner)
    wanted = read(UpdateDataset, {"status": "active", "schedule": "30 3 * * *"})
    datasets.update(store, alice.owner, dataset, wanted)
    with store.writing() as writer:
        writer.execute("UPDATE owners SET balance = 0")
    told = "no Run came of the last fire, "
    pages = ("/", path_of(dataset))
    assert [told in alice.get(page) for page in pages] == [False, False]
    clock(86_400)
    assert list(scheduler.tick(store, "UTC"))
    alice.sign_in()
    for page in pages:
        assert told in alice.get(page)
        assert ": no credits. " in alice.get(page)
        assert "livedata credits grant 1000 --owner alice" in alice.get(page)
    (answer,) = alice.as_json("/")["data"]
    assert (answer["skipped"]["fires"], answer["skipped"]["why"]) == (1, "no credits")
    clock(2 * 86_400)
    assert list(scheduler.tick(store, "UTC"))
    alice.sign_in()
    assert "the last 2 fires" in re.sub("</?data[^>]*>", "", alice.get("/"))
    # A Run that is queued once there are credits ends it.
    with store.writing() as writer:
        writer.execute("UPDATE owners SET balance = 10")
    runs.enqueue(store, alice.owner, dataset)
    assert ["no Run came" in alice.get(page) for page in pages] == [False, False]


def test_the_next_runs_stand_with_the_schedule_and_those_that_were_skipped(
    alice: Visitor, store: Store, clock: Callable[[int], None]
) -> None:
    dataset = made.make_dataset(store, alice.owner)
    wanted = read(UpdateDataset, {"status": "active", "schedule": "30 3 * * *"})
    datasets.update(store, alice.owner, dataset, wanted)
    runs.enqueue(store, alice.owner, dataset)
    clock(86_400)
    assert list(scheduler.tick(store, "UTC"))  # a Run is queued already
    alice.sign_in()
    fires = timetable(store, dataset, "UTC")
    upcoming = [ids.format_timestamp(fire) for fire in fires.upcoming]
    (skipped,) = fires.skipped
    (answer,) = alice.as_json("/")["data"]
    assert answer["nextRunAt"] == upcoming[0]
    beside = alice.as_json(path_of(dataset))
    assert beside["upcoming"] == upcoming
    assert beside["skipped"][0][1] == "the Run before it was still waiting"
    listed, table = alice.get("/"), alice.get(path_of(dataset))
    assert f'title="{upcoming[0]}">' in listed
    for page in (listed, table):
        assert '<span title="30 3 * * *">at 03:30 every day</span>, next <time' in page
    assert re.findall(r"<dt>Next Runs</dt>(.*?)</dd>", table)[0].count("<time") == 3
    places = [table.find(f'title="{fire}">') for fire in upcoming]
    assert -1 < places[0] < places[1] < places[2]
    told = f'title="{ids.format_timestamp(skipped.fired_at)}">.*the Run before it was still waiting'
    assert re.search(rf"<dt>Skipped</dt>.*{told}", table)


@pytest.mark.parametrize("status", ["draft", "paused"])
def test_a_schedule_that_waits_says_so_and_a_button_lets_it_start_runs(
    alice: Visitor, store: Store, status: str
) -> None:
    dataset = made.make_dataset(store, alice.owner)
    wanted = read(UpdateDataset, {"schedule": "0 */6 * * *"})
    datasets.update(store, alice.owner, dataset, wanted)
    with store.writing() as writer:
        dataset_store.change(writer, dataset, status=status)
    waits = f'every 6 hours</span>, <span class="end held">waits: {status}</span>'
    settings = f"{path_of(dataset)}/settings"
    for page in ("/", path_of(dataset)):
        assert waits in alice.get(page)
    assert "every 6 hours, starts no Run" in alice.get(settings)
    inside = alice.get(settings).partition("<button>Make it active")[0].rpartition("<form")[2]
    fields = dict(re.findall(r'name="([^"]+)" value="([^"]*)"', inside))
    assert alice.client.post(settings, data=fields).status_code == 303
    for page in ("/", path_of(dataset)):
        assert "every 6 hours</span>, next <time" in alice.get(page)
    assert "starts no Run" not in alice.get(settings)


def test_the_last_runs_stand_from_the_oldest_to_the_newest_and_each_leads_there(
    alice: Visitor, store: Store
) -> None:
    dataset = World(store, alice.owner).shop()
    expected = [
        (run["status"], f"/runs/{run['id']}")
        for run in queries.runs(store, alice.owner, dataset, 30)[::-1]
    ]
    for path in ("/", path_of(dataset)):
        strip = alice.get(path).partition('<ol class="strip"')[2].partition("</ol>")[0]
        assert re.findall(r'<a class="end (\w+)" href="([^"]+)"', strip) == expected


def test_a_table_names_the_command_that_writes_all_of_it(alice: Visitor, store: Store) -> None:
    dataset = made.make_dataset(store, alice.owner, name="-x")
    made.take(store, dataset, owner=alice.owner)
    command = "livedata dataset export --owner alice -- -x"
    assert f'<code dir="ltr">{command}</code>' in alice.get(path_of(dataset))


def test_datasets_are_paged_and_each_is_there_once(
    alice: Visitor, bob: Visitor, store: Store
) -> None:
    for number in range(60):
        made.make_dataset(store, alice.owner, name=f"number-{number}")
    pages = list(alice.pages("/"))
    names = [name for page in pages for name in re.findall(r"<bdi>(number-\d+)</bdi>", page)]
    assert len(pages) == 3
    assert sorted(names) == sorted(f"number-{number}" for number in range(60))
    first = bob.get("/")
    assert "There is no dataset yet." in first
    assert '<label for="url">Address of the page</label>' in first
    lost = bob.get("/datasets/nothing", 404)
    assert "What was here may be deleted" in lost
    assert "UUID" not in lost
    assert 'role="search"' in lost
    assert bob.post("/new", bob.token("/"), url="https://shop.example/list").status_code == 303


def test_a_table_without_rows_names_no_such_command(alice: Visitor, store: Store) -> None:
    dataset = made.make_dataset(store, alice.owner)
    assert "dataset export" not in alice.get(path_of(dataset))


def test_a_schedule_without_credits_stands_beside_its_dataset_from_the_first_fire_on(
    alice: Visitor, store: Store
) -> None:
    dataset = made.make_dataset(store, alice.owner)
    made.take(store, dataset, owner=alice.owner)
    with store.writing() as writer:
        now = writer.now()
        dataset_store.change(writer, dataset, status="active", schedule="30 3 * * *")
        schedules.skip(writer, dataset, now, "no_credits")
    page = alice.get("/")
    assert page.count("no credits") == 1
    assert '<span class="end failed">skipped</span>' in page
    made.take(store, dataset, owner=alice.owner)
    assert "skipped</span>" not in alice.get("/")


def lines(page: str) -> list[str]:
    """The datasets of a page, in order."""
    return re.findall(r'<th scope="row"><a href="/datasets/[-0-9a-f]+"[^>]*><bdi>([^<]*)<', page)


def test_the_datasets_stand_by_name_above_what_is_new_and_those_in_trouble_above_them(
    alice: Visitor, store: Store
) -> None:
    for name in ("lamps", "books", "teas"):
        made.take(store, made.make_dataset(store, alice.owner, name), owner=alice.owner)
    World(store, alice.owner).blocked(made.make_dataset(store, alice.owner, "mugs"))
    page = alice.get("/")
    assert lines(page)[:4] == ["books", "lamps", "mugs", "teas"]
    places = [
        page.find(each) for each in ('class="decision', ' class="stacked datasets"', 'id="new"')
    ]
    assert -1 < places[0] < places[1] < places[2]


def test_of_many_datasets_some_are_in_sight_and_the_others_open_below_them(
    alice: Visitor, store: Store
) -> None:
    for number in range(IN_SIGHT + 2):
        made.make_dataset(store, alice.owner, f"n{number:02}")
    assert '<details class="further">' not in alice.get("/")
    made.make_dataset(store, alice.owner, "n99")
    page = alice.get("/")
    assert re.sub("</?(data|span)[^>]*>", "", page).count(">3 more, from n08 on<") == 1
    before, _, behind = page.partition('<details class="further">')
    assert (len(lines(before)), len(lines(behind))) == (IN_SIGHT, 3)


def test_when_a_run_was_accepted_last_stands_beside_what_has_changed(
    alice: Visitor, store: Store
) -> None:
    dataset = made.make_dataset(store, alice.owner)

    def said() -> str:
        cell = alice.get("/").partition('data-label="Accepted">')[2].partition("</td>")[0]
        return " ".join(re.sub("<[^>]*>", "", cell).split())

    assert said() == "never"
    made.take(store, dataset, owner=alice.owner)
    assert said() == "just now, 3 new"
    made.take(store, dataset, owner=alice.owner)
    assert said() == "just now; 3 new just now"
    World(store, alice.owner).blocked(dataset)
    assert said() == "just now; 3 new just now"
