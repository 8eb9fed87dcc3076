"""Kills the migration of an old store at many of its statements, one after another.

``python -m tests.migration_kills URL`` expects an empty database at URL; it becomes a store with
a history, of the first version. The Nth child dies (SIGKILL) some statements later than the one
before, until one gets through. One JSON object on stdout: how the children ended and which version
they left, and whether the history is the same.
"""

from __future__ import annotations

import json
import sys
from contextlib import closing

from alembic import command

from livedata.services.audit.check import check_store
from livedata.store.database.migrate import config
from livedata.store.database.store import Store
from tests.act_kills import MOST
from tests.dying import die_at, in_child
from tests.made import meet_owner
from tests.services.table import A, B, C, Table

FIRST = "0001"
EVERY = 7
"""A migration of all versions has some forty statements, and each child begins anew."""


def main(url: str) -> None:
    """Fill the store, take it back to the first version, and kill its way up."""
    with closing(Store(url)) as store:
        meet_owner(store, "local", 1000)
        table = Table(store)
        table.take(A, B)
        table.edit("A1", {"title": "Lantern"})
        table.take(A, C)
        before = table.feed()
        with store._backend.migrating() as connection:
            command.downgrade(config(connection), FIRST)
    children: list[tuple[int, str | None]] = []
    while not (children and children[-1][0] == 0) and len(children) < MOST:
        code = in_child(lambda: _migrate(url, 1 + EVERY * len(children)))
        children.append((code, Store(url)._backend.version()))
    problems = list(check_store(table.store).problems)
    told = {"children": children, "same": table.feed() == before, "problems": problems}
    print(json.dumps(told))  # noqa: T201


def _migrate(url: str, point: int) -> None:
    die_at(point)
    Store(url).ensure()


if __name__ == "__main__":
    main(sys.argv[1])
