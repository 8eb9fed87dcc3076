"""Kills an act of the services at every statement, or takes its disk away.

``python -m tests.act_kills URL FAULT ACT...`` expects an empty store at URL. With the fault
``kill`` the Nth child dies (SIGKILL) at the Nth statement, the last one right after the act; with
``full`` it may write no file longer than N steps; with ``broken`` all that it writes from the 5Nth
statement on fails (EIO). Nothing is repaired meanwhile: each child finds the store as those before
it have left it, until one has changed it. Then the act is done once more.
One line of JSON for each act on stdout.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.errors import StoreUnavailable
from livedata.model.harvest import StopReason
from livedata.model.ids import DatasetId, Micros
from livedata.model.requests import CreateDataset, UpdateDataset
from livedata.model.row import RowEdit
from livedata.rules.network.targets import TargetPolicy
from livedata.services import (
    apply,
    attempts,
    datasets,
    queries,
    retention,
    rows,
    runs,
    scheduler,
    shares,
    takeover,
)
from livedata.services.apply import Terms
from livedata.services.audit.check import check_store
from livedata.services.commit import AcceptancePolicy
from livedata.services.notices import digests
from livedata.store import schedules
from livedata.store.database.store import Store
from tests.broken_disk import break_disk
from tests.databases import everything
from tests.dying import die_at, fail_at, in_child
from tests.made import COLUMNS, ITEMS, declared, harvest, make_dataset, source_of, take
from tests.notices.conftest import add_notice

STEP = 16 * 1024
NO_ROOM = 7
MOST = 400
"""An act that never gets through ends the test too."""
ANYTHING = AcceptancePolicy(mass_loss=None)
LATER = Micros(ids.now() + 91 * 86_400_000_000)
"""When all that is kept for a time is old."""
SHRINKING = ("runs", "attempts", "skipped_fires")
"""The tables that lose what is old, here."""
Act = Callable[[Store], Any]


def finishing(store: Store, owner: str = "local") -> Act:
    """The end of a Run with new rows, which a notice tells."""
    dataset = make_dataset(store, owner)
    add_notice(store, owner=owner, kinds=["changes"])
    take(store, dataset, owner=owner)
    run, _ = runs.enqueue(store, owner, dataset)
    attempt = attempts.begin(store, ids.RunId(ids.raw_id(run)))
    assert attempt is not None
    items = [{"sku": f"K{number}", "title": "x" * 20_000} for number in range(6)]
    seen = harvest(attempt.recipe, items, StopReason("natural_end"))
    return lambda store: attempts.finish(store, attempt, seen, ANYTHING)


def heir(owner: str) -> CreateDataset:
    """A source of the dataset of :mod:`tests.made` with another key."""
    columns = [{**column, "key": column["name"] == "title"} for column in COLUMNS]
    return read(CreateDataset, declared("heir of " + owner, columns))


def taking_over(store: Store, owner: str = "eve") -> Act:
    """What takes the place of a dataset that has a notice, a share and hand edits."""
    dataset = made_by_hand(store, owner)
    source = heir(owner)
    plan = takeover.plan(store, owner, dataset, source, TargetPolicy())
    return lambda store: takeover.take_over(store, owner, dataset, source, plan, "UTC")


def finishing_heir(store: Store) -> Act:
    """The end of the first Run of what has taken its place."""
    new = taking_over(store, "fay")(store)
    dataset = ids.DatasetId(ids.raw_id(new["id"]))
    run, _ = runs.enqueue(store, "fay", dataset)
    attempt = attempts.begin(store, ids.RunId(ids.raw_id(run)))
    assert attempt is not None
    seen = harvest(attempt.recipe, ITEMS, StopReason("natural_end"))
    return lambda store: attempts.finish(store, attempt, seen, ANYTHING)


def made_by_hand(store: Store, owner: str) -> DatasetId:
    """A dataset with rows, of which one is edited by hand."""
    dataset = make_dataset(store, owner)
    wanted = read(UpdateDataset, {"status": "active", "schedule": "0 6 * * *"})
    datasets.update(store, owner, dataset, wanted)
    add_notice(store, owner=owner, datasets=[dataset], kinds=["changes"], digest="0 6 * * *")
    shares.add(store, owner, dataset, ["title"], [], None)
    take(store, dataset, owner=owner)
    columns = queries.dataset(store, owner, dataset)["columns"]
    note = next(column["id"] for column in columns if column["name"] == "note")
    for row in queries.every_row(store, owner, dataset):
        edit = RowEdit(str(row["revisionId"]), "once", {note: row["rowKey"]})
        rows.edit(store, owner, dataset, ids.RowId(ids.raw_id(row["id"])), edit, None)
    return dataset


def due(store: Store, owner: str) -> None:
    """Make the one dataset of an owner, which is due."""
    dataset = make_dataset(store, owner)
    wanted = read(UpdateDataset, {"status": "active", "schedule": "0 6 * * *"})
    datasets.update(store, owner, dataset, wanted)
    with store.writing() as writer:
        writer.execute(
            "UPDATE datasets SET next_run_at = 1000000 WHERE owner = :owner", owner=owner
        )


def ticking(store: Store) -> Act:
    """A look at the schedules."""
    due(store, "ann")
    return lambda store: list(scheduler.tick(store, "UTC"))


def claiming(store: Store) -> Act:
    """What ``livedata run`` takes up."""
    due(store, "bob")
    return lambda store: scheduler.claim_due(store, "bob")


def telling(store: Store) -> Act:
    """The fire of a digest of two datasets, of which one has changed since the last."""
    for name in ("a", "b"):
        dataset = make_dataset(store, "dan", name=name)
        take(store, dataset, owner="dan")
    add_notice(store, owner="dan", kinds=["changes"], digest="0 6 * * *")
    take(store, dataset, [{"sku": "K1", "title": "new"}], owner="dan", policy=ANYTHING)
    with store.writing() as writer:
        writer.execute("UPDATE notices SET digest_at = 1000000 WHERE digest IS NOT NULL")
    return lambda store: list(digests.tell_due(store, "UTC"))


def pruning(store: Store) -> Act:
    """Letting go of what has become old, two of a kind at a time."""
    dataset = make_dataset(store, "cid")
    for _ in range(5):
        take(store, dataset, owner="cid")
    with store.writing() as writer:
        for number in range(5):
            schedules.skip(writer, dataset, Micros(number), "no_credits")
    retention.BATCH = 2
    return lambda store: list(retention._forget(store, LATER))


def applying(store: Store) -> Act:
    """A folder that makes, revises and pauses datasets, with schedules, notices and shares."""
    for name in ("old", "shop"):
        make_dataset(store, "eve", name=name)
    folder = [
        source_of(
            name,
            source={"itemSelector": "li.product"},
            schedule={"cron": "0 6 * * *", "status": "active"},
            notice=[{"name": name, "command": "cat", "when": ["price < 5"]}],
            share=[{"label": "sheet"}],
        )
        for name in ("lamps", "shop")
    ]
    terms = Terms(TargetPolicy(), prune=True)
    return lambda store: apply.apply(store, "eve", folder, terms)


ACTS: Mapping[str, Callable[[Store], Act]] = {
    "finish": finishing,
    "tick": ticking,
    "claim": claiming,
    "digest": telling,
    "apply": applying,
    "take over": taking_over,
    "finish heir": finishing_heir,
}


def without_room(point: int) -> None:
    """Write no file that is longer than so many steps."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (point * STEP, resource.RLIM_INFINITY))


FAULTS: Mapping[str, Callable[[int], None]] = {
    "kill": die_at,
    "full": without_room,
    # Nothing reaches the disk before the commit: some of the statements stand for all.
    "broken": lambda point: fail_at(5 * point, break_disk),
}


def rounds(store: Store, act: str, fault: str) -> dict[str, object]:
    """How a child ended for each point at which an act can fail, until one gets through."""
    done = ACTS[act](store)
    before = everything(store)
    children: list[tuple[int, bool]] = []
    while not (children and children[-1][1]) and len(children) < MOST:
        code = in_child(lambda: _fail(store.url, done, fault, len(children) + 1))
        children.append((code, everything(store) != before))
    after = everything(store)
    new = {table: len(after[table]) - len(before[table]) for table in ("runs", "outbox")}
    try:
        done(store)
        again = "nothing" if everything(store) == after else "something"
    except Exception as error:  # noqa: BLE001  (the test says which it expects)
        again = type(error).__name__
    return {"children": children, "again": again, "new": new}


def pruned(store: Store) -> dict[str, object]:
    """How much was still old after each child that pruned, until nothing was."""
    prune = pruning(store)
    left = [old(store)]
    history = everything(store, SHRINKING)
    while any(left[-1].values()) and len(left) < MOST:
        in_child(lambda: _fail(store.url, prune, "kill", len(left)))
        left.append(old(store))
    return {"left": left, "kept": everything(store, SHRINKING) == history}


def old(store: Store) -> dict[str, int]:
    """How much of each kind is old."""
    with store.reading() as reader:
        counts: Counter[str] = Counter()
        for kind, temporary, kept_for in retention._BY_AGE:
            counts[kind] += temporary.count(reader, LATER - kept_for)
    return {**counts, retention.FACTS: sum(map(len, retention._old_facts(store, LATER)))}


def _fail(url: str, act: Act, fault: str, point: int) -> None:
    """Do an act that fails at a point; it ends this process."""
    store = Store(url)  # never closed, and not the one of the parent
    FAULTS[fault](point)
    try:
        act(store)
    except StoreUnavailable:
        os._exit(NO_ROOM)
    if fault == "kill":
        os.kill(os.getpid(), signal.SIGKILL)


def main(url: str, fault: str, *acts: str) -> None:
    """Let each act fail, and judge the store at the end."""
    with closing(Store(url)) as store:
        for act in acts:
            seen = pruned(store) if act == "prune" else rounds(store, act, fault)
            print(json.dumps(seen), flush=True)  # noqa: T201
        assert check_store(store).problems == []


if __name__ == "__main__":
    main(*sys.argv[1:])
