"""What each owner may have: datasets, and Runs that have not ended."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from livedata import config
from livedata.model import ids
from livedata.model.account import Limits
from livedata.model.errors import Invalid, LimitReached
from livedata.model.ids import DatasetId, Micros
from livedata.model.look import LookWish, PageLook
from livedata.rules.network.targets import TargetPolicy
from livedata.services import accounts, datasets, looks, queries, runs, scheduler
from livedata.services.accounts import NearOwner
from livedata.services.archive import export_archive, import_archive
from livedata.services.archive_container import open_archive
from livedata.services.research import declaring
from livedata.store import datasets as dataset_store
from livedata.store import schedules
from livedata.store.database.store import Store
from tests import made
from tests.services.test_looks import begun
from tests.services.test_races import at_once, kinds

MANY = 6
HOUR = 3_600_000_000


@pytest.fixture
def limited(store: Store) -> Store:
    """A store in which each owner may have two datasets, and two open Runs."""
    store.limits = Limits(datasets=2, runs=2)
    made.meet_owner(store, "alice", 1_000)
    return store


def without_limits(store: Store, names: int, owner: str = "alice") -> list[DatasetId]:
    """So many datasets of an owner, made by who has no limits."""
    limits, store.limits = store.limits, Limits()
    try:
        return [made.make_dataset(store, owner, f"table {number}") for number in range(names)]
    finally:
        store.limits = limits


def test_one_dataset_too_many_is_refused(limited: Store) -> None:
    for name in "ab":
        made.make_dataset(limited, "alice", name)
    with pytest.raises(LimitReached, match=r"^alice has 2 datasets, as many as alice may"):
        made.make_dataset(limited, "alice", "c")
    made.make_dataset(limited, "bob", "c")


def test_an_owner_may_have_more_than_others_or_less_or_any_number(limited: Store) -> None:
    others = {"bob": Limits(datasets=1), "carol": Limits()}
    limited.limits = Limits(datasets=2, others=others)
    for owner, most in (("alice", 2), ("bob", 1), ("carol", 4)):
        for number in range(most):
            made.make_dataset(limited, owner, f"table {number}")
    made.make_dataset(limited, "carol", "another one")
    for owner in ("alice", "bob"):
        with pytest.raises(LimitReached, match=f"as many as {owner} may have"):
            made.make_dataset(limited, owner, "another one")


GIVEN: list[tuple[str, str, Limits]] = [
    ("datasets", '"7"', Limits(datasets=7)),
    ("datasets", "7", Limits(datasets=7)),
    ("datasets", '"off"', Limits()),
    (
        "runs",
        '"2, alice = 9, bob=OFF"',
        Limits(runs=2, others={"alice": Limits(runs=9), "bob": Limits()}),
    ),
    ("requests", '"alice=9"', Limits(others={"alice": Limits(requests=9)})),
    ("requests", '["a, b=c=9", 3]', Limits(requests=3, others={"a, b=c": Limits(requests=9)})),
]


@pytest.mark.parametrize(("what", "given", "limits"), GIVEN)
def test_a_setting_has_a_limit_and_others_by_the_names_of_owners(
    tmp_path: Path, what: str, given: str, limits: Limits
) -> None:
    (tmp_path / "config.toml").write_text(f"owner_{what} = {given}\n")
    assert config.load({"LIVEDATA_HOME": str(tmp_path)}).limits == limits
    assert limits.of("local") == Limits()


@pytest.mark.parametrize(
    "given",
    ["0", "-1", "1.5", "many", "1,2", "alice=", "alice=0", "a=1,a=2", "local=5", ",", "9" * 13],
)
def test_a_limit_that_is_none_is_refused_with_an_example(tmp_path: Path, given: str) -> None:
    environ = {"LIVEDATA_HOME": str(tmp_path), "LIVEDATA_OWNER_RUNS": given}
    with pytest.raises(Invalid) as refused:
        config.load(environ)
    assert refused.value.message == (
        "LIVEDATA_OWNER_RUNS must be a number from 1, or off, with others for owners but local by "
        f"their names, such as 100,alice=1000,bob=off, not {given!r}."
    )


def tried(store: Store) -> ids.LookId:
    """A look of Alice that has tried a declaration."""
    anywhere, declared = TargetPolicy(), made.declared()
    look = looks.ask(store, "alice", LookWish("https://shop.example/list"), anywhere)
    looks.finish(store, begun(store), seen=PageLook(number=1, declaration=declared))
    looks.try_out(store, "alice", look, declared, anywhere)
    looks.finish(store, begun(store), tried={"outcome": "accept"})
    return look


def test_each_way_to_make_a_dataset_meets_the_limit(limited: Store, tmp_path: Path) -> None:
    first, *_, last = without_limits(limited, 3)
    export_archive(limited, "alice", first, tmp_path / "table")
    datasets.remove(limited, "alice", first)
    look, anywhere = tried(limited), TargetPolicy()
    wanted = declaring.ResearchDeclaration("found", "Which?")
    create = partial(looks.create, targets=anywhere, zone="UTC")
    with open_archive(tmp_path / "table") as archive:
        bring_back = partial(import_archive, limited, "alice", archive, anywhere)
        ways: list[Callable[[], object]] = [
            bring_back,
            partial(declaring.add_draft, limited, "alice", wanted),
            partial(create, limited, "alice", look, "mine", ""),
        ]
        for way in ways:
            with pytest.raises(LimitReached, match=r"^alice has 2 datasets"):
                way()
        datasets.remove(limited, "alice", last)
        bring_back()
    assert len(queries.datasets(limited, "alice", 9)) == 2


def test_fires_and_people_who_ask_at_once_do_not_pass_the_limit(limited: Store) -> None:
    those = without_limits(limited, MANY)
    with limited.writing() as writer:
        for each in those[:3]:
            values = {"status": "active", "schedule": "0 0 1 1 *", "next_run_zone": "UTC"}
            dataset_store.change(writer, each, next_run_at=Micros(ids.now() - HOUR), **values)
    acts: list[Callable[[], object]] = [
        partial(runs.enqueue, limited, "alice", each) for each in those[3:]
    ]
    ends = at_once([*acts, lambda: [*scheduler.tick(limited, "UTC")]])
    assert kinds(ends).keys() <= {"tuple", "list", "LimitReached"}, ends
    with limited.reading() as reader:
        assert reader.value("SELECT count(*) FROM runs") == 2


def test_the_operator_has_no_limits(limited: Store) -> None:
    for name in "abc":
        runs.enqueue(limited, "local", made.make_dataset(limited, "local", name))


def test_creates_at_once_do_not_pass_the_limit(limited: Store) -> None:
    acts = [
        lambda name=f"t{number}": made.make_dataset(limited, "alice", name)
        for number in range(MANY)
    ]
    assert kinds(at_once(acts))["LimitReached"] == MANY - 2


def test_one_run_too_many_is_refused_until_one_has_ended(limited: Store) -> None:
    first, second, third = without_limits(limited, 3)
    run, _ = runs.enqueue(limited, "alice", first)
    runs.enqueue(limited, "alice", second)
    with pytest.raises(LimitReached, match=r"^alice has 2 Runs waiting or in progress"):
        runs.enqueue(limited, "alice", third)
    with pytest.raises(LimitReached):
        runs.take_up(limited, "alice", third, "third")
    runs.cancel(limited, ids.RunId(ids.raw_id(run)))
    runs.enqueue(limited, "alice", third)


def test_runs_queued_at_once_do_not_pass_the_limit(limited: Store) -> None:
    those = without_limits(limited, MANY)
    acts = [lambda each=each: runs.enqueue(limited, "alice", each) for each in those]
    assert kinds(at_once(acts)) == {"tuple": 2, "LimitReached": MANY - 2}


@pytest.mark.parametrize("batched", [True, False])
def test_a_fire_beyond_the_limit_is_skipped_and_noted(limited: Store, *, batched: bool) -> None:
    those = without_limits(limited, 4)
    then = Micros(ids.now() - HOUR)
    with limited.writing() as writer:
        for each in those:
            values = {"status": "active", "schedule": "0 0 1 1 *", "next_run_at": then}
            dataset_store.change(writer, each, next_run_zone="UTC", **values)
    if batched:
        fires = list(scheduler.tick(limited, "UTC"))
    else:
        taken = [scheduler.take_fire(limited, each, "UTC") for each in those]
        fires = [fire for fire in taken if fire]
    refused = [fire for fire in fires if isinstance(fire.refusal, LimitReached)]
    assert (len(fires), len(refused)) == (4, 2)
    with limited.reading() as reader:
        skips = [skip.reason for each in those for skip in schedules.skipped(reader, each, 9)]
        assert skips == ["too_many_runs"] * 2
        assert reader.value("SELECT count(*) FROM runs") == 2


def test_who_is_nearest_to_a_limit_is_told(limited: Store) -> None:
    first, _ = without_limits(limited, 2)
    without_limits(limited, 1, "bob")
    without_limits(limited, 3, "local")
    runs.enqueue(limited, "alice", first)
    near = accounts.nearest(limited, Limits(datasets=2, runs=2))
    assert near.datasets == [NearOwner("alice", 2, 2), NearOwner("bob", 1, 2)]
    assert near.runs == [NearOwner("alice", 1, 2)]
    # Of its own limit bob has more, and carol has none.
    others = {"bob": Limits(datasets=1), "carol": Limits(), "zoe": Limits(datasets=9)}
    near = accounts.nearest(limited, Limits(datasets=4, others=others))
    assert near.datasets == [NearOwner("bob", 1, 1), NearOwner("alice", 2, 4)]
    assert accounts.nearest(limited, Limits(others=others)).datasets == [NearOwner("bob", 1, 1)]
    assert accounts.nearest(limited, Limits()) == accounts.Nearest([], [])
