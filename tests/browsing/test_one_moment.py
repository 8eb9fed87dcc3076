"""Each page is of one moment: one transaction has all that it shows, another the visit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from livedata.model import ids
from livedata.services import queries
from tests import made
from tests.browsing.world import World

if TYPE_CHECKING:
    from livedata.store.database.store import Store
    from tests.browsing.visitor import Visitor

MOST = 2
QUESTIONS = {"row", "rows", "each", "value"}


class Watched:
    """A store whose read transactions are counted; `asked` has each question with its values.

    `meanwhile` is called before each question with its number.
    """

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun = 0
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.meanwhile: Callable[[int], None] | None = None
        reading = store._backend.reading

        @contextmanager
        def watched() -> Iterator[Any]:
            self.begun += 1
            with reading() as reader:
                yield _Asked(reader, self)

        monkeypatch.setattr(store._backend, "reading", watched)

    def look(self, alice: Visitor, path: str) -> str:
        """The text of a page, and only what is asked for it."""
        self.begun = 0
        self.asked.clear()
        return alice.get(path)


class _Asked:
    """A transaction that says what it is asked."""

    def __init__(self, reader: Any, watched: Watched) -> None:
        self._reader, self._watched = reader, watched

    def __getattr__(self, name: str) -> Any:
        answer = getattr(self._reader, name)

        def asked(sql: str, /, **values: Any) -> Any:
            self._watched.asked.append((sql, values))
            if self._watched.meanwhile is not None:
                self._watched.meanwhile(len(self._watched.asked))
            return answer(sql, **values)

        return asked if name in QUESTIONS else answer


@pytest.fixture
def watched(store: Store, monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(store, monkeypatch)


def every_page(store: Store, owner: str) -> list[str]:
    """The address of each page of a store."""
    paths = ["/", "/usage"]
    for dataset in queries.datasets(store, owner, 10):
        path, raw = f"/datasets/{dataset['id']}", ids.DatasetId(ids.raw_id(dataset["id"]))
        paths += [path, f"{path}?sort=rowKey", f"{path}/changes", f"{path}/runs"]
        paths += [f"{path}/rows/{row['id']}" for row in queries.rows(store, owner, raw, 1)[0]]
        paths += [f"/runs/{run['id']}" for run in queries.runs(store, owner, raw, 30)]
    return paths


def test_no_page_begins_more_than_two_transactions(
    alice: Visitor, store: Store, watched: Watched
) -> None:
    World(store, alice.owner).fill()
    paths = every_page(store, alice.owner)
    many = {}
    for path in (*paths, *(f"{path}{'&' if '?' in path else '?'}as=json" for path in paths)):
        watched.look(alice, path)
        if watched.begun > MOST:
            many[path] = watched.begun
    assert len(paths) > 15
    assert many == {}


def test_a_page_of_a_run_reads_its_row_once(alice: Visitor, store: Store, watched: Watched) -> None:
    World(store, alice.owner).fill()
    for dataset in queries.datasets(store, alice.owner, 10):
        for run in queries.runs(store, alice.owner, ids.DatasetId(ids.raw_id(dataset["id"])), 30):
            watched.look(alice, f"/runs/{run['id']}")
            own = [
                sql
                for sql, values in watched.asked
                if "FROM runs" in sql and values.get("id") == ids.raw_id(run["id"])
            ]
            assert len(own) == 1, (run["status"], own)


def test_a_page_never_says_that_a_run_has_ended_in_two_ways(
    alice: Visitor, store: Store, watched: Watched
) -> None:
    run = made.take(store, made.make_dataset(store, alice.owner), owner=alice.owner)
    path = f"/runs/{run}?as=json"

    def end(status: str) -> None:
        with store.writing() as writer:
            writer.execute(
                "UPDATE runs SET status = :status WHERE id = :run",
                status=status,
                run=ids.raw_id(run),
            )

    watched.look(alice, path)
    for planted in range(1, len(watched.asked) + 1):
        end("failed")
        watched.meanwhile = lambda number, at=planted: end("succeeded") if number == at else None
        told = json.loads(watched.look(alice, path))
        watched.meanwhile = None
        assert told["data"]["status"] == told["trace"]["status"], planted
