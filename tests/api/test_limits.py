"""What each owner may have and ask for, over HTTP."""

from __future__ import annotations

from livedata.api.auth import RequestRates
from livedata.model.account import Limits
from livedata.model.errors import TooManyRequests
from livedata.store.database.store import Store
from tests.api.person import Person
from tests.made import declared

ALL = "/datasets"


def test_one_dataset_too_many_is_a_conflict(alice: Person, store: Store) -> None:
    store.limits = Limits(datasets=1)
    alice.dataset("a")
    answer = alice.post(ALL, declared("b"), status=409)
    assert answer["error"]["code"] == "limit_reached"


def test_one_run_too_many_is_a_conflict(alice: Person, store: Store) -> None:
    first, second = alice.dataset("a"), alice.dataset("b")
    store.limits = Limits(runs=1)
    alice.post(f"{first}/runs", status=202)
    answer = alice.post(f"{second}/runs", status=409)
    assert answer["error"]["code"] == "limit_reached"


def test_requests_beyond_the_limit_are_answered_429(
    alice: Person, bob: Person, store: Store
) -> None:
    store.limits = Limits(requests=1)
    answers = [alice.ask("GET", ALL) for _ in range(20)]
    refused = [answer for answer in answers if answer.status_code != 200]
    assert answers[0].status_code == 200
    assert {answer.status_code for answer in refused} == {429}
    assert refused[0].headers["Retry-After"] == "1"
    assert refused[0].headers["X-Credits-Remaining"] == "1000"
    assert refused[0].json is not None
    assert refused[0].json["error"]["code"] == "too_many_requests"
    assert bob.ask("GET", ALL).status_code == 200


def test_a_second_lets_as_many_requests_through_as_the_limit_says() -> None:
    rates = RequestRates()

    def passed(now: float) -> int:
        count = 0
        for _ in range(20):
            try:
                rates.take("alice", 5, now)
            except TooManyRequests:
                return count
            count += 1
        return count

    assert [passed(now) for now in (100.0, 100.5, 101.5, 900.0)] == [5, 2, 5, 5]


def test_a_refused_client_that_goes_on_is_let_through_all_the_same() -> None:
    rates = RequestRates()
    let_through = 0
    for tick in range(100):  # ten requests in each of ten seconds
        try:
            rates.take("alice", 2, 100 + tick / 10)
        except TooManyRequests:
            continue
        let_through += 1
    assert let_through in {20, 21, 22}
