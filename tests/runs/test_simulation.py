"""The laws of the simulation of many workers: ``python -m benchmarks.simulate``."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.simulate import Costs, Plan, Result, Simulation, here

SMALL = Plan(datasets=400, on_sites=60, owners=3, machines=2, workers=2, at_once=4, spread=60.0)
PLANS = st.builds(
    replace,
    st.just(SMALL),
    datasets=st.integers(1, 300),
    on_sites=st.integers(1, 80),
    owners=st.integers(1, 5),
    machines=st.integers(1, 4),
    cores=st.integers(1, 4),
    workers=st.integers(1, 3),
    at_once=st.integers(1, 8),
    server_cores=st.integers(1, 4),
    schedulers=st.integers(1, 3),
    pages=st.integers(1, 4),
    spread=st.sampled_from([0.0, 10.0, 600.0]),
    hours=st.integers(1, 2),
    one_machine=st.booleans(),
)


def simulated(plan: Plan) -> Result:
    """What comes of a plan."""
    return Simulation(plan).run()


@settings(max_examples=60, deadline=None)
@given(PLANS)
def test_each_run_begins_and_ends_once_after_it_was_due(plan: Plan) -> None:
    result = simulated(plan)

    hours = 1 if plan.one_machine else plan.hours
    assert len(result.runs) == plan.datasets * hours
    assert all(run.due <= run.begun < run.ended for run in result.runs)


@settings(max_examples=60, deadline=None)
@given(PLANS)
def test_no_site_is_asked_by_two_at_once(plan: Plan) -> None:
    at_site = defaultdict(list)
    for run in simulated(plan).runs:
        at_site[id(run.site)].append((run.begun, run.ended))

    for each in at_site.values():
        assert all(before[1] <= after[0] for before, after in pairwise(sorted(each)))


@settings(max_examples=30, deadline=None)
@given(PLANS)
def test_work_is_conserved(plan: Plan) -> None:
    result, costs = simulated(plan), plan.costs
    further = 0 if plan.one_machine else (plan.pages - 1) * costs.page

    each = (costs.reading + costs.storing + further) * plan.crowded
    assert result.worker_cpu == pytest.approx(len(result.runs) * each)
    assert result.server_cpu >= len(result.runs) * costs.serving * 0.999
    # Nobody computes for longer than there are cores.
    on = plan.cores if plan.one_machine else plan.machines * plan.cores
    assert result.worker_cpu <= on * result.took * 1.001


@pytest.mark.parametrize("pages", [1, 5])
def test_more_workers_have_never_fewer_runs(pages: int) -> None:
    plan = replace(SMALL, spread=0.0, on_sites=400, machines=1, cores=16, pages=pages)
    rates = [simulated(replace(plan, workers=count)).rate for count in (1, 2, 4, 8, 16)]

    # Whose batch comes first may cost the last Run a moment.
    assert all(more >= fewer * 0.97 for fewer, more in pairwise(rates)), rates
    assert rates[-1] > rates[0]


def test_a_site_has_its_runs_one_after_the_other() -> None:
    plan = replace(SMALL, datasets=50, on_sites=1, spread=0.0, pages=1, answer=1.0)

    assert 50 < simulated(plan).took < 60


def test_one_owner_has_as_many_runs_as_charges_fit() -> None:
    slow = replace(Costs(), trip=0.01, held=3, flush=0.0, charged=0.0)
    plan = replace(SMALL, on_sites=400, spread=0.0, machines=8, cores=8, pages=1, costs=slow)

    of_one = simulated(replace(plan, owners=1))
    assert of_one.rate == pytest.approx(1 / 0.03, rel=0.1)
    assert simulated(replace(plan, owners=40)).rate > 2 * of_one.rate


def test_a_spread_lets_runs_begin_when_they_are_due() -> None:
    plan = replace(SMALL, datasets=2_000, on_sites=2_000)

    at_once, spread = (simulated(replace(plan, spread=seconds)) for seconds in (0.0, 360.0))
    assert spread.late(0.99) < 5 < at_once.late(0.99)


def test_a_second_worker_on_two_cores_brings_what_the_cores_allow() -> None:
    one, two, four = (here(count, 300, 2, Costs()) for count in (1, 2, 4))
    costs = Costs()

    whole = costs.reading + costs.storing + costs.serving + costs.site
    assert one < 1 / (costs.reading + costs.storing)
    assert one < two < 2 / whole
    # More workers than cores are in each other's way, and no others are.
    assert [replace(SMALL, cores=2, workers=n).crowded for n in (1, 2, 4)] == [1, 1, 1.2]
    assert two * 0.8 < four < two
