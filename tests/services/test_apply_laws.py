"""Laws of applying a folder: twice is once, a plan says what is done, and it is all or nothing."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from livedata.formats.source_toml import write_declaration
from livedata.model.errors import ChangedMeanwhile, Invalid
from livedata.model.ids import DatasetId, raw_id
from livedata.model.source_file import SourceFile
from livedata.rules.declaration.declaration_text import DeclarationText
from livedata.rules.network.targets import TargetPolicy
from livedata.services import apply as applying
from livedata.services import queries, shares
from livedata.services.apply import FolderStep, Terms
from livedata.services.audit.check import check_store
from livedata.services.folder import FolderSource, Problems, judge
from livedata.services.notices import subscriptions
from livedata.store.database.store import Store
from tests import made
from tests.databases import everything
from tests.made import source_of
from tests.services.test_act_kills import assert_all_or_nothing, failing
from tests.services.test_races import at_once

_OWNERS = count(1)
_NAMES = ("lamps", "mugs", "shop")
Folder = Sequence[FolderSource]
TEXTS = st.sampled_from([None, "one", "two"])
NOTICES = st.fixed_dictionaries(
    {},
    optional={
        "on": st.sampled_from(["changes", "changes,failing"]),
        "when": st.sampled_from([["price < 5"], ["price < 5", "title is not empty"]]),
        "columns": st.just("price"),
        "digest": st.just("0 8 * * *"),
    },
)
SHARES = st.fixed_dictionaries(
    {}, optional={"columns": st.just("sku,price"), "where": st.just(["price < 9"])}
)
SCHEDULES = st.fixed_dictionaries(
    {},
    optional={
        "cron": st.sampled_from(["0 6 * * *", "0 7 * * *"]),
        "status": st.sampled_from(["active", "paused"]),
    },
)


@st.composite
def folders(draw: st.DrawFn) -> Folder:
    """Some sources, each with some tables beside it."""
    return [
        source_of(
            name,
            question=draw(TEXTS),
            label=draw(TEXTS),
            source={
                "itemSelector": draw(st.sampled_from(["li", "li.product"])),
                "maxPages": draw(st.sampled_from([1, 10])),
            },
            schedule=draw(SCHEDULES),
            notice=[
                {"name": f"{name} {number}", "command": "cat", **each}
                for number, each in enumerate(draw(st.lists(NOTICES, max_size=2)))
            ],
            share=[
                {"label": f"{number}", **each}
                for number, each in enumerate(draw(st.lists(SHARES, max_size=2)))
            ],
        )
        for name in draw(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=3, unique=True))
    ]


def seen(store: Store, owner: str) -> Mapping[str, Mapping[str, Any]]:
    """What there is of each dataset of an owner, by what sentences of a plan are about."""
    notices = subscriptions.listed(store, owner)
    told: list[dict[str, Any]] = [
        subscriptions.as_json(each, notices.datasets) for each in notices.notices
    ]
    found: dict[str, Mapping[str, Any]] = {}
    for dataset in queries.datasets(store, owner, 100):
        name = dataset["name"]
        key = DatasetId(raw_id(dataset["id"]))
        found[name] = {
            "source": queries.source(store, owner, key)["source"],
            "columns": dataset["columns"],
            **{part: dataset[part] for part in ("question", "status", "schedule")},
            "notices": [
                {part: value for part, value in each.items() if part != "nextDigestAt"}
                for each in told
                if [of["name"] for of in each["datasets"] or ()] == [name]
            ],
            "shares": shares.list_shares(store, owner, key),
        }
    return found


def changed(steps: Sequence[FolderStep]) -> list[str]:
    return [step.name for step in steps if step.action != "leave"]


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(before=folders(), after=folders(), prune=st.booleans())
def test_a_plan_says_just_what_apply_does_and_twice_is_once(
    store: Store, before: Folder, after: Folder, prune: bool
) -> None:
    owner, terms = f"owner {next(_OWNERS)}", Terms(TargetPolicy(), prune=prune)
    problems = Problems()
    judge([*after], terms.targets, problems)
    problems.check()
    applying.apply(store, owner, before, Terms(TargetPolicy()))
    had = seen(store, owner)
    planned = applying.plan(store, owner, after, terms)
    assert seen(store, owner) == had
    done, _ = applying.apply(store, owner, after, terms)
    assert [step.said for step in done] == [step.said for step in planned]
    has = seen(store, owner)
    # What is told is what is otherwise, and of each part of it there is a sentence.
    assert {name for name in has if has[name] != had.get(name)} == {*changed(planned)}
    for step in planned:
        is_, was = has[step.name], had.get(step.name)
        if was is not None:
            assert len(step.changes) >= sum(is_[part] != was[part] for part in is_)
    assert changed(applying.plan(store, owner, after, terms)) == []
    whole = everything(store)
    applying.apply(store, owner, after, terms)
    assert everything(store) == whole


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(folder=folders())
def test_what_dataset_source_prints_changes_nothing(store: Store, folder: Folder) -> None:
    owner, terms = f"owner {next(_OWNERS)}", Terms(TargetPolicy())
    applying.apply(store, owner, folder, terms)
    printed = []
    for dataset in queries.datasets(store, owner, 100):
        name = dataset["name"]
        declared = queries.source(store, owner, DatasetId(raw_id(dataset["id"])))
        written = DeclarationText(write_declaration(name, declared), f"{name}.toml")
        printed.append(
            FolderSource(f"{name}.toml", written.shaped(SourceFile, written.value()), written)
        )
    assert changed(applying.plan(store, owner, printed, terms)) == []


def test_of_two_at_once_one_wins_and_the_other_says_so(store: Store) -> None:
    for number in range(5):
        owner = f"at once {number}"
        folder = [source_of(name, notice=[{"name": name, "command": "cat"}]) for name in _NAMES]
        terms = Terms(TargetPolicy(), first_credits=1000)
        ends = at_once([lambda: applying.apply(store, owner, folder, terms)] * 4)  # noqa: B023
        done = [each for each in ends if isinstance(each, tuple)]
        others = [each for each in ends if not isinstance(each, tuple)]
        assert sum(changed(steps) != [] for steps, _ in done) == 1, ends
        assert all(isinstance(each, ChangedMeanwhile) for each in others), others
        assert all("apply once more" in str(each) for each in others)
        assert len(seen(store, owner)) == 3
    assert check_store(store).problems == []


def test_what_changes_between_plan_and_act_is_not_overwritten(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = [source_of("shop", question="one")]
    terms = Terms(TargetPolicy())
    applying.apply(store, "local", folder, terms)
    folder = [source_of("shop", question="two")]
    plan = applying.plan

    def planned_before(*args: Any) -> list[FolderStep]:
        steps = plan(*args)
        with store.writing() as writer:
            writer.execute("UPDATE datasets SET question = 'by hand'")
        return steps

    monkeypatch.setattr(applying, "plan", planned_before)
    with pytest.raises(ChangedMeanwhile, match="apply once more"):
        applying.apply(store, "local", folder, terms)
    assert seen(store, "local")["shop"]["question"] == "by hand"


def test_what_fails_in_the_middle_has_done_nothing(store: Store) -> None:
    made.make_dataset(store, name="old")
    before = everything(store)
    wrong = {"name": "n", "command": "cat", "when": ["nothing < 5"]}
    folder = [source_of("lamps"), source_of("old", notice=[wrong], source={"maxPages": 3})]
    with pytest.raises(Invalid):
        applying.apply(store, "local", folder, Terms(TargetPolicy()))
    assert everything(store) == before


@pytest.mark.slow
def test_a_folder_whose_process_is_killed_anywhere_is_applied_whole_or_not_at_all(
    store: Store,
) -> None:
    (act,) = failing(store, "kill", "apply")
    assert_all_or_nothing(act, -signal.SIGKILL, -signal.SIGKILL)
    assert act["again"] == "nothing"
