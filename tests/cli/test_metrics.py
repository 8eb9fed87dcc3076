"""``--metrics``: the figures of the store, at an address that Prometheus asks."""

from __future__ import annotations

import socket
import sys
import threading
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest

from livedata.hints import Subject, hint
from livedata.model import ids
from livedata.model.errors import LivedataError
from livedata.model.harvest import StopReason
from livedata.services import attempts, runs
from livedata.services.audit.vitals import Watch
from livedata.services.commit import AcceptancePolicy
from livedata.store import datasets
from livedata.store.database.store import Store
from livedata.worker.metrics import serving_metrics
from tests import made
from tests.made import make_dataset, take

if TYPE_CHECKING:
    from tests.cli.shell import Shell

NOWHERE = ("127.0.0.1", 0)
MINUTE = 60_000_000
DAY = 24 * 60 * MINUTE


def asked(address: tuple[str, int]) -> dict[str, float]:
    """Sample -> its value, as the address gives them."""
    with urlopen(f"http://127.0.0.1:{address[1]}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    samples = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(value) for name, _, value in samples}


def test_runs_that_end_are_counted_from_the_start_on(store: Store) -> None:
    dataset = make_dataset(store)
    take(store, dataset)
    with serving_metrics(store, NOWHERE) as address:
        before = asked(address)
        assert before['livedata_runs_total{end="succeeded"}'] == 0
        take(store, dataset)
        take(store, dataset, [])
        take(store, dataset, ending=StopReason("page_failed", made.BROKEN))
        after = asked(address)
        assert asked(address) == after
    assert after["livedata_store_up"] == 1
    assert after['livedata_runs_total{end="succeeded"}'] == 1
    assert after['livedata_runs_total{end="failed"}'] == 2
    assert after["livedata_run_seconds_count"] == 3
    assert after['livedata_pages_total{outcome="read"}'] == 3
    assert (after["livedata_queue_depth"], after["livedata_schedules_late"]) == (0, 0)
    assert after["livedata_leases_lost_total"] == 0


def test_what_waits_and_what_is_late_is_told(store: Store) -> None:
    dataset = make_dataset(store)
    with serving_metrics(store, NOWHERE) as address:
        runs.enqueue(store, "local", dataset)
        with store.writing() as writer:
            hour_ago = ids.Micros(ids.now() - 3_600_000_000)
            writer.execute("UPDATE runs SET queued_at = :then", then=hour_ago)
            datasets.change(
                writer, dataset, status="active", schedule="0 6 * * *", next_run_at=hour_ago
            )
        now = asked(address)
    assert (now["livedata_queue_depth"], now["livedata_schedules_late"]) == (1, 1)
    assert 3_600 <= now["livedata_queue_oldest_seconds"] < 3_700


def test_a_run_that_was_open_at_the_start_is_counted_once_when_it_ends(store: Store) -> None:
    dataset = make_dataset(store)
    run, _ = runs.enqueue(store, "local", dataset)
    watch = Watch(store)
    assert watch.look()[1] == []
    attempt = attempts.begin(store, ids.RunId(ids.raw_id(run)))
    assert attempt is not None
    with store.writing() as writer:
        writer.execute("UPDATE runs SET attempt = 2")
    harvest = made.harvest(attempt.recipe, made.ITEMS, StopReason("natural_end"))
    attempts.finish(store, attempt, harvest, AcceptancePolicy())
    (ended,) = watch.look()[1]
    assert (ended.end, ended.lost, dict(ended.pages)) == ("succeeded", 1, {"read": 1})
    assert watch.look()[1] == []


@pytest.mark.parametrize("back", [30 * MINUTE, 60 * MINUTE, 30 * DAY])
def test_a_clock_that_is_set_back_counts_no_run_twice(
    store: Store, monkeypatch: pytest.MonkeyPatch, back: int
) -> None:
    truly, dataset = ids.now, make_dataset(store)
    monkeypatch.setattr(ids, "now", lambda: ids.Micros(truly() - 20 * MINUTE))
    watch = Watch(store)
    first = take(store, dataset)
    monkeypatch.setattr(ids, "now", truly)
    second = take(store, dataset)
    assert len(watch.look()[1]) == 2
    monkeypatch.setattr(ids, "now", lambda: ids.Micros(truly() - back))
    assert watch.look()[1] == []
    third = take(store, dataset)
    assert len({first, second, third}) == 3
    assert len(watch.look()[1]) == 1
    monkeypatch.setattr(ids, "now", truly)
    assert watch.look()[1] == []


def test_a_run_after_a_step_back_of_an_hour_is_counted_at_the_next_look(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    truly, dataset = ids.now, make_dataset(store)
    watch = Watch(store)
    take(store, dataset)
    assert len(watch.look()[1]) == 1
    monkeypatch.setattr(ids, "now", lambda: ids.Micros(truly() - 60 * MINUTE))
    take(store, dataset)
    assert len(watch.look()[1]) == 1


def test_two_who_ask_at_once_count_no_run_twice(store: Store) -> None:
    dataset = make_dataset(store)
    with serving_metrics(store, NOWHERE) as address:
        for _ in range(5):
            take(store, dataset)
        threads = [threading.Thread(target=asked, args=(address,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert asked(address)['livedata_runs_total{end="succeeded"}'] == 5


def test_a_store_that_does_not_answer_is_a_figure(store: Store) -> None:
    make_dataset(store)
    with serving_metrics(store, NOWHERE) as address:
        with store.writing() as writer:
            writer.execute("ALTER TABLE runs RENAME TO gone")
        store.close()
        assert asked(address) == {"livedata_store_up": 0}


def test_an_address_that_is_taken_is_said_plainly(store: Store) -> None:
    with socket.create_server(NOWHERE) as taken:
        address = ("127.0.0.1", taken.getsockname()[1])
        with (
            pytest.raises(LivedataError, match="Metrics cannot be served at"),
            serving_metrics(store, address),
        ):
            pass


@pytest.mark.parametrize("host", ["..", 64 * "a"])
def test_a_name_that_no_machine_can_have_is_said_plainly(livedata: Shell, host: str) -> None:
    said = f"{host}:9090: {host} is no host name."
    assert said in livedata.error("worker", "--metrics", f"{host}:9090")
    assert said in livedata.error("serve", "--no-worker", "--host", host, "--port", "9090")


def test_without_the_library_it_is_one_sentence(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with (
        pytest.raises(LivedataError, match="need the module prometheus-client") as caught,
        serving_metrics(store, NOWHERE),
    ):
        pass
    (remedy,) = caught.value.remedies
    assert " -m pip install 'prometheus-client" in hint(remedy, Subject())


@pytest.mark.parametrize("given", ["9090", ":9090", "127.0.0.1:", "127.0.0.1:99999", "a:b"])
def test_what_is_no_address_is_refused_with_an_example(livedata: Shell, given: str) -> None:
    said = livedata.error("worker", "--metrics", given, code=2)
    assert "is no address; give one such as 127.0.0.1:9090" in said
