"""Migrates a filled store of each earlier version: killed on its way, and by four at once.

``python -m tests.migration_kills URL`` expects an empty database at URL; it becomes a store with
everything that a history has. From the newest to the first, it is taken back to each version, so
that it has all that this one can keep. Then a child that migrates it dies (SIGKILL); of the first
version the Nth child dies some statements later than the one before, until one gets through. At the
end another child migrates it, and the first and the last version four that start at once. For each
version one line of JSON on stdout: how the children ended and which version they left, and whether
the history is the same.
"""

from __future__ import annotations

import json
import sys
from contextlib import closing
from functools import partial
from multiprocessing import get_context

from alembic import command
from alembic.script import ScriptDirectory

from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.requests import UpdateDataset
from livedata.services import accounts, datasets, feed
from livedata.services.audit.check import check_store
from livedata.store import schedules
from livedata.store.database.migrate import config
from livedata.store.database.store import Store
from tests.act_kills import MOST
from tests.dying import die_at, in_child
from tests.made import declared, meet_owner
from tests.services.table import A, B, C, Table

FIRST = "0001"
EVERY = 7
"""A migration of all versions has some fifty statements, and each child begins anew."""
FEW = 4
"""So many statements every migration has."""
AT_ONCE = 4


def versions() -> list[str]:
    """Every version but the newest, which comes first."""
    scripts = ScriptDirectory.from_config(config()).walk_revisions()
    return [script.revision for script in scripts][1:]


def filled(store: Store) -> Table:
    """A table with all that is kept of one, and another with a Run in progress."""
    meet_owner(store, "local", 1000)
    accounts.create_key(store, "local", "mine")
    table = Table(store)
    many = [{**A, "sku": f"K{number}"} for number in range(20)]
    table.take(*many, A, B)
    table.edit("A1", {"title": "Lantern"})
    table.take(*many, A, C)
    held = table.take(A)
    assert held["status"] == "held"
    feed.keep_cursor(store, table.id, "reader", 3)
    wanted = read(UpdateDataset, {"status": "active", "schedule": "0 6 * * *"})
    datasets.update(store, "local", table.id, wanted)
    with store.writing() as writer:
        schedules.skip(writer, table.id, ids.Micros(ids.now()), "no_credits")
    Table(store, declared("second")).begin()
    return table


def main(url: str) -> None:
    """Fill a store, and migrate it from each version."""
    with closing(Store(url)) as store:
        table = filled(store)
        before = table.feed()
        for version in versions():
            _take_back(store, version)
            told: dict[str, object] = {"version": version, "children": _killed(url, version)}
            if Store(url)._backend.version() != version:
                _take_back(store, version)
            # Whoever migrates keeps the others out alike, whatever there is to do.
            is_first_or_last = version in (FIRST, versions()[0])
            told["atOnce"] = _at_once(url, AT_ONCE if is_first_or_last else 1)
            told["same"] = table.feed() == before
            told["problems"] = list(check_store(store).problems)
            print(json.dumps(told), flush=True)  # noqa: T201


def _take_back(store: Store, version: str) -> None:
    store.close()
    with store._backend.migrating() as connection:
        command.downgrade(config(connection), version)


def _killed(url: str, version: str) -> list[tuple[int, str | None]]:
    """(how it ended, the version of the store then) of each child that is killed on its way."""
    # From the first version they are killed at all its steps, until one gets through.
    points = range(1, MOST, EVERY) if version == FIRST else [FEW]
    children: list[tuple[int, str | None]] = []
    for point in points:
        code = in_child(partial(_migrate, url, point))
        children.append((code, Store(url)._backend.version()))
        if code == 0:
            break
    return children


def _at_once(url: str, count: int) -> list[int | None]:
    """How so many children ended that have migrated a store at the same time."""
    children = [
        get_context("fork").Process(target=_migrate, args=(url, None)) for _ in range(count)
    ]
    for child in children:
        child.start()
    for child in children:
        child.join()
    return [child.exitcode for child in children]


def _migrate(url: str, point: int | None) -> None:
    if point is not None:
        die_at(point)
    Store(url).ensure()


if __name__ == "__main__":
    main(sys.argv[1])
