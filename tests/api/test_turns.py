"""Requests of one owner, however many and heavy, keep no other owner waiting."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waitress.adjustments import Adjustments

from livedata.api import create_app
from livedata.api.auth import COOKIE, MEET
from livedata.api.connection import Request, credential
from livedata.api.turns import OF_ONE, THREADS, Acquaintances, RequestTask, Threads, Turns
from livedata.pages import add_pages
from livedata.services import accounts, shares
from livedata.services.notices import feeds
from livedata.services.pages import sessions
from livedata.store.database.store import Store
from tests import attack, made
from tests.api.serving import Serving
from tests.attack import Attacked

FEW = 1.0
"""The seconds in which another owner is answered."""


@given(st.lists(st.sampled_from("abc")), st.data())
def test_those_who_wait_go_round_and_nobody_has_more_than_a_share(
    asked: list[str], data: st.DataObject
) -> None:
    turns = Turns(str, lambda who: turns.ended(who))
    running: list[RequestTask] = []
    passed: Counter[str] = Counter()
    for who in asked:
        turns.append(who)
    while len(turns) or running:
        if turns and (not running or data.draw(st.booleans())):
            task = turns.popleft()
            running.append(task)
            # Whoever waits and may be answered sees each other one at most once.
            able = {who for who in turns._waiting if turns._answered[who] < OF_ONE}
            passed = Counter({who: passed[who] + 1 for who in able - {task.who}})
            assert max(passed.values(), default=0) <= 2
        else:
            ended = running.pop(data.draw(st.integers(0, len(running) - 1)))
            ended.release(ended.who)
        assert max(Counter(task.who for task in running).values(), default=0) <= OF_ONE
    assert not turns


def test_of_credentials_only_the_last_are_known() -> None:
    known = Acquaintances(2)
    for number in range(3):
        known.meet(f"key {number}", f"owner {number}")
    assert [known.who(f"key {number}") for number in range(3)] == [None, "owner 1", "owner 2"]


def test_of_credentials_the_one_that_was_idle_the_longest_is_forgotten_first() -> None:
    known = Acquaintances(2)
    for key in ("often", "once", "often", "another"):
        known.meet(key, f"owner of {key}")
    assert [known.who(key) for key in ("often", "once")] == ["owner of often", None]


def _shown(first_line: str, *headers: str) -> str:
    """What a request shows of its owner."""
    request = Request(Adjustments())
    request.received(
        "\r\n".join((f"GET {first_line} HTTP/1.1", *headers, "", "")).encode("latin-1")
    )
    return credential(request.path, request.query, request.headers)


@pytest.mark.parametrize(
    "same",
    [
        [
            ("/", "Cookie: livedata=abc"),
            ("/datasets", "Cookie: livedata=abc; j=1"),
            ("/?a=1", "Cookie: j=2; livedata=abc; livedata=other"),
            ("/", 'Cookie: livedata="a\\142c"'),
            ("/", "Cookie: livedata=abc", "Authorization: Bearer 1"),
        ],
        [
            ("/v1/usage", "Authorization: Bearer ld_1"),
            ("/v1/datasets", "Authorization: bearer   ld_1", "Cookie: livedata=abc"),
            ("//v1/usage?j=2", "Authorization: BEARER ld_1"),
        ],
        [
            ("/feeds/one.atom?token=abc",),
            ("/feeds/one.json?j=2&token=abc&token=other", "Authorization: Bearer 1"),
            ("/feeds/two.atom?%74oken=%61bc", "Cookie: livedata=abc"),
        ],
    ],
    ids=["a session", "a key", "a feed"],
)
def test_what_a_request_shows_of_its_owner_is_the_secret_that_opens_it_and_nothing_else(
    same: list[tuple[str, ...]],
) -> None:
    shown = {_shown(*each) for each in same}
    assert len(shown) == 1
    assert shown.pop().endswith(("abc", "ld_1"))


@pytest.mark.parametrize(
    "asked",
    [
        ("/",),
        ("/", "Cookie: j=1; livedata-visit=abc"),
        ("/", "Cookie: livedata=\xff"),
        ("/", "Authorization: Bearer ld_1"),
        ("/v1/usage", "Cookie: livedata=abc"),
        ("/v1/usage", "Authorization: Basic ld_1"),
        ("/feeds/one.atom", "Cookie: livedata=abc"),
    ],
)
def test_a_request_without_the_secret_that_would_open_it_shows_nothing(
    asked: tuple[str, ...],
) -> None:
    assert _shown(*asked) == ""


def test_those_who_read_feeds_of_an_owner_are_one_once_they_have_asked(store: Store) -> None:
    app, known = create_app(store), Acquaintances()
    made.meet_owner(store, "bob", 100)
    for name in ("one", "two"):
        dataset = made.make_dataset(store, "bob", name, made.COLUMNS)
        token = feeds.open_feed(store, "bob", dataset)
        address = feeds.addresses("", dataset, token)["atom"]
        path, _, query = address.partition("?")
        shown = credential(path, query, {})
        meet = partial(known.meet, shown)
        assert known.who(shown) is None
        wrong = app.test_client().get(f"{address}x", environ_overrides={MEET: meet})
        assert (wrong.status_code, known.who(shown)) == (404, None)
        right = app.test_client().get(address, environ_overrides={MEET: meet})
        assert (right.status_code, known.who(shown)) == (200, "readers of bob")


def test_the_browsers_of_an_owner_take_no_turn_of_its_programs(store: Store) -> None:
    app, known = create_app(store), Acquaintances()
    add_pages(app)
    made.meet_owner(store, "bob", 100)
    key = accounts.create_key(store, "bob", "mine")["key"]
    session = sessions.follow_link(store, sessions.make_link(store, "bob"))
    assert session is not None
    client = app.test_client()
    client.set_cookie(COOKIE, session)
    for path, headers, who in (
        ("/v1/datasets", {"AUTHORIZATION": f"Bearer {key}"}, "programs of bob"),
        ("/", {"COOKIE": f"{COOKIE}={session}"}, "browsers of bob"),
    ):
        shown = credential(path, "", headers)
        meet = partial(known.meet, shown)
        answer = client.get(path, headers=headers, environ_overrides={MEET: meet})
        assert (answer.status_code, known.who(shown)) == (200, who)


def test_those_who_read_a_shared_table_take_no_turn_of_its_owner(store: Store) -> None:
    app, known = create_app(store), Acquaintances()
    dataset = made.make_dataset(store, "bob", "one", made.COLUMNS)
    _, token = shares.add(store, "bob", dataset, (), (), None)
    path = f"/share/{token}/one.csv"
    meet = partial(known.meet, credential(path, "", {}))
    assert app.test_client().get(path, environ_overrides={MEET: meet}).status_code == 200
    assert known.who(credential(path, "", {})) == "readers of bob"


class Channel:
    """A connection whose request takes until it is let go on."""

    def __init__(self, key: str, peer: str = "10.0.0.1") -> None:
        self.key, self.peer = key, peer
        self.begun, self.go_on = threading.Event(), threading.Event()

    def credential(self) -> str:
        return self.key

    def service(self) -> None:
        self.begun.set()
        self.go_on.wait(20)

    def cancel(self) -> None:
        self.go_on.set()


@pytest.mark.parametrize(
    "crowd",
    [
        {"key": "Bearer of Bob"},
        {"key": "unknown", "peer": "10.0.0.2"},
        {"key": ""},
    ],
    ids=["an owner", "an address", "nobody"],
)
def test_another_owner_is_answered_while_all_requests_of_a_crowd_stand_still(
    crowd: dict[str, Any],
) -> None:
    known = Acquaintances()
    known.meet("Bearer of Alice", "alice")
    known.meet("Bearer of Bob", "bob")
    threads = Threads(known)
    many = [Channel(**crowd) for _ in range(3 * THREADS)]
    hers = Channel("Bearer of Alice")
    try:
        for channel in [*many, hers]:
            threads.add_task(channel)
        assert hers.begun.wait(5)
        assert sum(channel.begun.is_set() for channel in many) <= OF_ONE
        for channel in many:
            channel.go_on.set()
        assert all(channel.begun.wait(5) for channel in many)
    finally:
        for channel in [*many, hers]:
            channel.go_on.set()
        threads.shutdown(timeout=5)


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Serving, Attacked]]:
    home = tmp_path_factory.mktemp("attacked")
    asked = attack.fill(Path(home))
    with Serving(home) as serving:
        attack.waits(serving.port, asked.alice, 0)  # now all is imported, and the server knows her
        yield serving, asked


@pytest.mark.slow
@pytest.mark.one_database
def test_every_attack_is_sent(attacked: tuple[Serving, Attacked]) -> None:
    sent = [name for together in attack.TOGETHER.values() for name in together]
    assert sorted(sent) == sorted(attacked[1].attacks)


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.one_database
@pytest.mark.parametrize("together", attack.TOGETHER)
def test_an_owner_is_answered_beside_attacks_of_another(
    attacked: tuple[Serving, Attacked], together: str
) -> None:
    serving, asked = attacked
    asks = [ask for name in attack.TOGETHER[together] for ask in asked.attacks[name]]
    with attack.flood(serving.port, asks, THREADS + 4):
        time.sleep(0.5)
        taken = attack.waits(serving.port, asked.alice, 0)
    attack.settle(serving.port, asks)
    assert {status for _, status in taken} <= {f"200 {each.path}" for each in asked.alice}
    assert attack.percentile(taken)[0] < FEW, attack.percentile(taken)
