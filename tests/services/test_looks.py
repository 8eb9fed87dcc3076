"""Looks at pages: one at a time for each owner, taken up again, and made a dataset of once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from livedata.model import ids
from livedata.model.errors import (
    Conflict,
    InsufficientCredits,
    Invalid,
    LostLease,
    NameTaken,
    NotFound,
)
from livedata.model.look import LookWish, PageLook
from livedata.rules.network.targets import TargetPolicy
from livedata.services import looks, queries, shares
from livedata.services.audit.check import check_store
from livedata.services.looks import LookAttempt, LookInProgress
from livedata.services.retention import forget_old
from livedata.store.database.store import Store
from livedata.store.looks import StoredLook
from tests.made import COLUMNS, declared, make_dataset, meet_owner
from tests.services.conftest import Clock
from tests.services.table import Table

WISH = LookWish("https://shop.example/list")
OTHER = LookWish("https://shop.example/other")
ANYWHERE = TargetPolicy()
DAY = 86_400


def ask(store: Store, wish: LookWish = WISH, owner: str = "local") -> ids.LookId:
    return looks.ask(store, owner, wish, ANYWHERE)


def show(store: Store, look: ids.LookId) -> StoredLook:
    return looks.show(store, "local", look)


def begun(store: Store) -> LookAttempt:
    """The attempt at the look that waits longest, of this process."""
    attempt = looks.begin(store)
    assert attempt is not None
    return attempt


def lapse(store: Store) -> None:
    """Let every lease be over."""
    with store.writing() as writer:
        writer.execute("UPDATE looks SET lease_until = 1")


def tried(store: Store, outcome: str = "accept") -> ids.LookId:
    """A look that has tried a declaration, with this outcome."""
    look = ask(store)
    seen = PageLook(number=1, declaration=declared())
    looks.finish(store, begun(store), seen=seen)
    looks.try_out(store, "local", look, declared(), ANYWHERE)
    looks.finish(store, begun(store), tried={"outcome": outcome})
    return look


def create(store: Store, look: ids.LookId, name: str = "mine", schedule: str = "") -> ids.DatasetId:
    return looks.create(store, "local", look, name, schedule, targets=ANYWHERE, zone="UTC")


def test_an_owner_has_one_at_a_time_and_a_second_click_leads_to_it(store: Store) -> None:
    meet_owner(store, "bob", 10)
    look = ask(store)
    assert ask(store) == look
    with pytest.raises(LookInProgress):
        ask(store, OTHER)
    ask(store, OTHER, "bob")
    looks.stop(store, "local", look)
    assert ask(store, OTHER) != look


def test_of_an_owner_only_the_newest_are_kept(store: Store) -> None:
    every = []
    for number in range(23):
        every.append(ask(store, LookWish(f"https://shop.example/{number}")))
        looks.stop(store, "local", every[-1])
    assert [look.id for look in looks.kept(store, "local")] == every[:-21:-1]


@pytest.mark.parametrize(
    "act",
    [
        lambda store, look: looks.show(store, "bob", look),
        lambda store, look: looks.stop(store, "bob", look),
        lambda store, look: looks.ask_again(store, "bob", look, OTHER, ANYWHERE),
        lambda store, look: looks.try_out(store, "bob", look, declared(), ANYWHERE),
        lambda store, look: looks.create(
            store, "bob", look, "his", "", targets=ANYWHERE, zone="UTC"
        ),
    ],
    ids=["show", "stop", "again", "try", "create"],
)
def test_a_look_of_alice_is_not_there_for_bob(
    store: Store, act: Callable[[Store, ids.LookId], object]
) -> None:
    meet_owner(store, "bob", 10)
    look = tried(store)
    with pytest.raises(NotFound):
        act(store, look)
    assert looks.kept(store, "bob") == []
    assert show(store, look).tried == {"outcome": "accept"}


@pytest.mark.one_database
@pytest.mark.parametrize(
    "wish",
    [
        LookWish("http://127.0.0.1/"),
        LookWish("http://2130706433/"),
        LookWish("https://user:secret@shop.example/"),
        LookWish("javascript:alert(1)"),
        LookWish("file:///etc/passwd"),
        LookWish(""),
        LookWish("https://shop.example/" + "x" * 2_100),
        LookWish("https://shop.example/", like="x" * 201),
    ],
)
def test_what_no_dataset_may_read_is_refused_at_once(store: Store, wish: LookWish) -> None:
    with pytest.raises(Invalid):
        ask(store, wish)
    assert looks.begin(store) is None


def test_one_that_is_lost_is_taken_up_again_and_told_as_lost_after_the_third_time(
    store: Store,
) -> None:
    look = ask(store)
    first = begun(store)
    looks.take_back(store)
    assert show(store, look).status == "running"  # its process lives
    for _ in range(2):
        lapse(store)
        looks.take_back(store)
        assert show(store, look).status == "queued"
        begun(store)
    with pytest.raises(LostLease):
        looks.finish(store, first, error="late")
    lapse(store)
    looks.take_back(store)
    lost = show(store, look)
    assert (lost.status, lost.attempt) == ("over", 3)
    assert lost.error == looks.LOST.format(attempts=3)
    assert looks.begin(store) is None


def test_one_whose_process_dies_is_queued_again_by_its_worker(store: Store) -> None:
    look = ask(store)
    for _ in range(3):
        assert show(store, look).status == "queued"
        looks.lose(store, begun(store))
    assert show(store, look).error == looks.LOST.format(attempts=3)


def test_one_that_is_given_back_has_used_no_attempt(store: Store) -> None:
    look = ask(store)
    for _ in range(5):
        looks.give_back(store, begun(store))
    assert (show(store, look).status, show(store, look).attempt) == ("queued", 0)


def test_one_that_is_stopped_writes_nothing_more_even_if_it_is_asked_for_again(
    store: Store,
) -> None:
    look = ask(store)
    attempt = begun(store)
    looks.renew(store, attempt, "It reads.")
    assert show(store, look).far == "It reads."
    assert looks.is_wanted(store, attempt)
    looks.stop(store, "local", look)
    assert show(store, look).error == looks.STOPPED
    looks.ask_again(store, "local", look, OTHER, ANYWHERE)
    begun(store)
    assert not looks.is_wanted(store, attempt)
    with pytest.raises(LostLease):
        looks.renew(store, attempt, None)
    with pytest.raises(LostLease):
        looks.finish(store, attempt, seen=PageLook())
    assert show(store, look).wish == OTHER


def test_a_trial_keeps_what_was_seen_and_another_look_does_not(store: Store) -> None:
    look = tried(store)
    assert show(store, look).seen is not None
    looks.ask_again(store, "local", look, OTHER, ANYWHERE)
    # A second click changes nothing of what is queued.
    looks.ask_again(store, "local", look, WISH, ANYWHERE)
    again = show(store, look)
    assert (again.wish, again.seen, again.chosen, again.tried) == (OTHER, None, None, None)


def test_a_dataset_is_made_once_with_its_schedule_and_its_first_run(store: Store) -> None:
    look = tried(store)
    dataset = create(store, look, schedule="0 6 * * *")
    assert create(store, look, "another") == dataset
    (made,) = queries.datasets(store, "local", 10)
    assert (made["name"], made["status"], made["schedule"]) == ("mine", "active", "0 6 * * *")
    assert made["lastRun"] is not None
    assert made["lastRun"]["status"] == "queued"
    over = show(store, look)
    assert (over.seen, over.chosen, over.tried, over.dataset) == (None, None, None, dataset)
    assert looks.kept(store, "local") == []
    with pytest.raises(NotFound):
        looks.ask_again(store, "local", look, WISH, ANYWHERE)
    assert check_store(store).problems == []


def test_without_a_schedule_it_is_a_draft(store: Store) -> None:
    create(store, tried(store))
    (made,) = queries.datasets(store, "local", 10)
    assert (made["status"], made["schedule"]) == ("draft", None)


def test_without_credits_nothing_is_made(store: Store) -> None:
    look = tried(store)
    with store.writing() as writer:
        writer.execute("UPDATE owners SET balance = 0")
    with pytest.raises(InsufficientCredits):
        create(store, look, schedule="0 6 * * *")
    assert queries.datasets(store, "local", 10) == []
    assert show(store, look).tried is not None


@pytest.mark.parametrize(
    ("name", "schedule", "error"),
    [
        ("shop", "", NameTaken),
        ("", "", Invalid),
        ("x" * 121, "", Invalid),
        ("mine", "0 0 30 2 *", Invalid),
        ("mine", "@daily", Invalid),
    ],
)
def test_what_is_wrong_makes_no_dataset_and_keeps_the_look(
    store: Store, name: str, schedule: str, error: type[Exception]
) -> None:
    make_dataset(store)
    look = tried(store)
    with pytest.raises(error):
        create(store, look, name, schedule)
    assert [each["name"] for each in queries.datasets(store, "local", 10)] == ["shop"]
    assert show(store, look).tried is not None


@pytest.mark.parametrize("outcome", ["failed", "blocked", "held"])
def test_what_a_run_would_not_accept_makes_no_dataset(store: Store, outcome: str) -> None:
    with pytest.raises(Conflict):
        create(store, tried(store, outcome))
    assert queries.datasets(store, "local", 10) == []


def test_what_was_not_tried_makes_no_dataset(store: Store) -> None:
    look = ask(store)
    looks.finish(store, begun(store), seen=PageLook(declaration=declared()))
    with pytest.raises(Conflict):
        create(store, look)
    looks.try_out(store, "local", look, declared(), ANYWHERE)
    with pytest.raises(Conflict):
        create(store, look)


def test_a_look_is_gone_after_a_day(store: Store, step: Clock) -> None:
    ids_of = [tried(store)]
    create(store, ids_of[0])
    ids_of.append(ask(store, OTHER))
    step(DAY + 1)
    for look in ids_of:
        with pytest.raises(NotFound):
            show(store, look)
    assert looks.kept(store, "local") == []
    assert forget_old(store)["looks"] == 2
    assert rows_of(store) == []


def rows_of(store: Store) -> Sequence[Any]:
    with store.reading() as reader:
        return reader.rows("SELECT id FROM looks")


def test_a_source_that_was_tried_drops_no_column_that_an_address_came_to_need(
    store: Store,
) -> None:
    table = Table(store)
    kept = [each for each in COLUMNS if each["name"] != "price"]
    looks.try_source(store, "local", table.id, declared(columns=kept), ANYWHERE)
    attempt = begun(store)
    version = queries.recipe_version(store, "local", table.id)
    looks.finish(store, attempt, tried={"outcome": "accept", "version": version})
    shares.add(store, "local", table.id, ["price"], [], None)
    with pytest.raises(Invalid, match="price"):
        looks.use(store, "local", attempt.look, ANYWHERE)
    assert "price" in table.fields
    assert queries.recipe_version(store, "local", table.id) == version
