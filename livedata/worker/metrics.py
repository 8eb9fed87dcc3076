"""The figures of a store, at an address that Prometheus asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from threading import Lock
from typing import Any

from livedata.model.errors import LivedataError
from livedata.model.problem import Remedy
from livedata.services.audit.vitals import Pulse, Watch
from livedata.store.database.store import Database

Address = tuple[str, int]

ENDS = ("succeeded", "failed", "blocked", "held")


@contextmanager
def serving_metrics(db: Database, address: Address) -> Iterator[Address]:
    """Answer at an address while the block is open; where that is.

    Raises LivedataError if the library is missing, or the address cannot be had.
    """
    client = _client()
    registry = client.CollectorRegistry()
    registry.register(MetricsCollector(client, db))
    host, port = address
    try:
        server, thread = client.start_http_server(port, addr=host, registry=registry)
    except OSError as error:
        raise _unusable(host, port, error.strerror or str(error)) from error
    except UnicodeError as error:  # a name that no machine can have
        raise _unusable(host, port, f"{host} is no host name") from error
    try:
        yield host, server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class MetricsCollector:
    """Collects the figures at each question; counts begin with this process."""

    def __init__(self, client: Any, db: Database) -> None:
        self._client = client
        self._watch = Watch(db)
        self._lock = Lock()
        self._ends: Counter[str] = Counter(dict.fromkeys(ENDS, 0))
        self._pages: Counter[str] = Counter(read=0)
        self._seconds = 0.0
        self._lost = 0

    def collect(self) -> Sequence[Any]:
        """The figures of now."""
        # Two who ask at once must not count a Run twice.
        with self._lock:
            try:
                pulse = self._look()
            except LivedataError:
                return [self._gauge("store_up", "Whether the store answers.", 0)]
            return [
                self._gauge("store_up", "Whether the store answers.", 1),
                self._gauge("queue_depth", "Runs that wait.", pulse.queued),
                self._gauge(
                    "queue_oldest_seconds",
                    "For how long the first of them has waited.",
                    pulse.oldest_seconds,
                ),
                self._gauge("schedules_late", "Schedules that nobody took in time.", pulse.late),
                self._gauge("outbox_depth", "Messages of notices that wait.", pulse.outbox),
                *self._counts(),
            ]

    def _look(self) -> Pulse:
        pulse, ended = self._watch.look()
        for run in ended:
            self._ends[run.end] += 1
            self._pages.update(run.pages)
            self._seconds += run.seconds
            self._lost += run.lost
        return pulse

    def _counts(self) -> Iterator[Any]:
        families = self._client.metrics_core
        runs = families.CounterMetricFamily(
            "livedata_runs", "Runs that have ended.", labels=["end"]
        )
        for end, count in self._ends.items():
            runs.add_metric([end], count)
        yield runs
        pages = families.CounterMetricFamily(
            "livedata_pages", "Pages of these Runs: read, or why not.", labels=["outcome"]
        )
        for outcome, count in self._pages.items():
            pages.add_metric([outcome], count)
        yield pages
        yield families.CounterMetricFamily(
            "livedata_leases_lost", "Starts of these Runs that died with their process.", self._lost
        )
        yield families.SummaryMetricFamily(
            "livedata_run_seconds",
            "How long these Runs took.",
            count_value=sum(self._ends.values()),
            sum_value=self._seconds,
        )

    def _gauge(self, name: str, about: str, value: float) -> Any:
        return self._client.metrics_core.GaugeMetricFamily(f"livedata_{name}", about, value)


def _unusable(host: str, port: int, reason: str) -> LivedataError:
    return LivedataError(
        f"Metrics cannot be served at {host}:{port}: {reason}. Choose another address with "
        "--metrics, such as 127.0.0.1:9090."
    )


def _client() -> Any:
    # As text: it is an extra, and neither a type checker nor a start needs it.
    try:
        return import_module("prometheus_client")
    except ModuleNotFoundError as error:
        raise LivedataError(
            "Metrics need the module prometheus-client, which is not installed.",
            remedies=(Remedy("install_metrics"),),
        ) from error
