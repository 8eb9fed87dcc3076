"""Many write a dataset at once, and followers read its feed meanwhile.

python -m tests.api.feed_followers              # 10,000 edits on both; exit code 1 if wrong
python -m tests.api.feed_followers 40 sqlite    # so many by each writer, on one database
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import TYPE_CHECKING

import click

from livedata.api import close_app, create_app
from livedata.services.audit.check import check_store
from livedata.store.database.store import Store
from tests.api.person import Person
from tests.databases import POSTGRES, SQLITE, running_server
from tests.made import store_in

if TYPE_CHECKING:
    from flask import Flask

WRITERS = 4
FOLLOWERS = 3
ITEMS = [{"sku": f"S{number}", "title": "Cup"} for number in range(WRITERS)]


class Feed:
    """A dataset of Alice with a row for each writer; each thread has a client of its own."""

    def __init__(self, app: Flask, alice: Person, edits: int) -> None:
        self.app, self.alice, self.edits = app, alice, edits
        self.everything = list(range(1, WRITERS * edits + len(ITEMS) + 1))
        self.path = alice.dataset()
        alice.take(self.path, ITEMS)
        self.note = alice.fields(self.path)["note"]
        self.finished = Event()

    def person(self) -> Person:
        return Person(self.app.test_client(), self.alice.store, "alice", self.alice.key)

    def write(self, number: int) -> None:
        """Edit one row again and again."""
        person = self.person()
        row = person.row(self.path, f"S{number}")
        expected = row["revisionId"]
        for turn in range(self.edits):
            body = {
                "expectedRevisionId": expected,
                "requestId": str(turn),
                "values": {self.note: f"note {turn}"},
            }
            expected = person.patch(f"{self.path}/rows/{row['id']}", body)["id"]

    def follow(self, seed: int) -> list[int]:
        """The sequences seen by a follower that sometimes restarts with its position alone."""
        person, chance = self.person(), random.Random(seed)
        seen: list[int] = []
        position, through = 0, ""
        while True:
            # Asked before the page is read: what is written in between is on this page or a later.
            ending = self.finished.is_set()
            limit = chance.randint(1, 7)
            page = person.get(f"{self.path}/changes?limit={limit}&after={position}{through}")
            seen += [change["sequence"] for change in page["data"]]
            if page["nextAfter"] is None:
                position, through = page["through"], ""
                if ending and not page["data"]:
                    return seen
            else:
                position, through = page["nextAfter"], f"&through={page['through']}"
            if chance.random() < 0.2:  # a restart: only the position was kept
                through = ""

    def run(self) -> list[list[int]]:
        """The sequences that each follower saw while the writers wrote."""
        with ThreadPoolExecutor(WRITERS + FOLLOWERS) as pool:
            followers = [pool.submit(self.follow, seed) for seed in range(FOLLOWERS)]
            try:
                for writer in [pool.submit(self.write, number) for number in range(WRITERS)]:
                    writer.result()
            finally:
                self.finished.set()
            return [follower.result() for follower in followers]


@contextmanager
def empty_store(database: str) -> Iterator[Store]:
    """An empty store on a database of this name."""
    with ExitStack() as stack:
        if database == SQLITE:
            url = store_in(Path(stack.enter_context(TemporaryDirectory())))
        else:
            server = stack.enter_context(running_server())
            url = server.url(server.create())
        yield stack.enter_context(closing(Store(url)))


def play(database: str, edits: int) -> str:
    """Let all of them write and follow; what is wrong, or nothing."""
    with empty_store(database) as store:
        app = create_app(store)
        feed = Feed(app, Person.meet(app.test_client(), store, "alice"), edits)
        seen = feed.run()
        close_app(app)
        wrong = [
            f"follower {number} saw others" for number, s in enumerate(seen) if s != feed.everything
        ]
        return "; ".join([*wrong, *check_store(store).problems])


def main(words: Sequence[str]) -> bool:
    """Print a line for each database; whether anything is wrong."""
    given, *databases = words or ("2500",)
    edits, failed = int(given), False
    for database in databases or (SQLITE, POSTGRES):
        began = time.monotonic()
        wrong = play(database, edits)
        failed |= bool(wrong)
        seen = wrong or f"{FOLLOWERS} followers saw each revision once and in order"
        click.echo(f"{database}: {WRITERS * edits} edits, {time.monotonic() - began:.0f} s: {seen}")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
