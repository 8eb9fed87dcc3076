from __future__ import annotations

import pytest

from tests.api.person import NOWHERE, Person


def test_runs_come_newest_first(alice: Person) -> None:
    path = alice.dataset()
    runs = [alice.take(path) for _ in range(3)]
    listed = alice.get(f"{path}/runs")["data"]
    assert [run["id"] for run in listed] == runs[::-1]
    assert [run["id"] for run in alice.get(f"{path}/runs?limit=2")["data"]] == runs[:0:-1]


@pytest.mark.one_database
@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "cursor=x", "status=queued"])
def test_a_question_that_is_malformed_is_400(alice: Person, query: str) -> None:
    alice.get(f"{alice.dataset()}/runs?{query}", 400)


def test_the_runs_of_what_is_not_there_are_404(alice: Person, bob: Person) -> None:
    alice.get(f"/datasets/{NOWHERE}/runs?limit=x", 404)
    bob.get(f"{alice.table()}/runs", 404)
