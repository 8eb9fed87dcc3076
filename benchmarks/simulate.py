"""How many Runs a second so many machines have, and how late they begin: a simulation.

python -m benchmarks.simulate [--datasets 1000000] [--machines 5] [--workers 4] [--spread 360]
python -m benchmarks.simulate --check      # one, two and four workers here, against what they do
python -m benchmarks.simulate --measure    # the CPU of a Run, part by part, for the table below

Schedules fire in batches, workers claim Runs of free sites, pages come at the pace that a site
allows, and each transaction takes CPU of a worker and of the server, waits for the network and the
disk, and holds its owner for the charge. What is not simulated is in docs/scale.md.
"""

from __future__ import annotations

import argparse
import heapq
import os
import random
import sys
import time
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from benchmarks import workers
from benchmarks.databases import LEFT_OUT, POSTGRES, Made, databases, has_server
from benchmarks.soak import sites
from livedata.model import ids
from livedata.model.ids import DatasetId, Micros
from livedata.services import scheduler
from livedata.store import queue
from livedata.store.database.store import Store

HOUR: Final = 3600.0
CHECKED: Final = (1, 2, 4)
WITHIN: Final = 0.20
BATCH: Final = scheduler.BATCH
SWITCH: Final = sys.getswitchinterval()
"""For so long a thread keeps the interpreter while another one waits."""
CONNECTIONS: Final = 2
"""So many a crawl worker holds: one for its transactions, one for calls."""


@dataclass(frozen=True)
class Costs:
    """What each part of a Run takes, in seconds; docs/scale.md says how each was found."""

    reading: float = 0.0064
    """CPU in the main thread of a worker, for a Run of one page with 5 rows."""
    page: float = 0.014
    """CPU in a worker for each page more, with 20 rows."""
    storing: float = 0.0042
    """CPU in the thread of a worker that has its transactions."""
    serving: float = 0.0036
    """CPU of the server for a Run: queued, begun and ended."""
    site: float = 0.0007
    """CPU of what serves a page, where that is on the same machine."""
    claim: float = 0.001
    """CPU of the server for a claim, however many Runs it takes."""
    fire: float = 0.0003
    """Of a scheduler and the server together, for a Run that it queues."""
    crowding: float = 0.2
    """The part by which CPU in workers grows where there are twice as many of them as cores."""
    flush: float = 0.001
    """Until what a transaction has written is on the disk."""
    trip: float = 0.0003
    """Of the network to the server, there and back."""
    waits: int = 11
    """So often a Run waits for an answer of the server."""
    charged: float = 0.0005
    """CPU of the server while it holds the owner."""
    held: int = 2
    """So often a Run waits for the server while it holds the owner, without the flush."""

    def slower(self, times: float) -> Costs:
        """The same on a processor that takes so many times as long."""
        of_cpu = ("reading", "page", "storing", "serving", "site", "claim", "fire", "charged")
        return replace(self, **{name: getattr(self, name) * times for name in of_cpu})


@dataclass(frozen=True)
class Plan:
    """What is simulated."""

    datasets: int = 1_000_000
    on_sites: int = 100_000
    owners: int = 100
    machines: int = 5
    cores: int = 4
    workers: int = 4
    """On each machine."""
    at_once: int = 32
    """Runs of a worker."""
    server_cores: int = 8
    schedulers: int = 1
    pages: int = 3
    pause: float = 0.25
    answer: float = 0.5
    """Seconds until a page is there."""
    spread: float = 360.0
    every: float = HOUR
    hours: int = 1
    one_machine: bool = False
    """Workers, the server and the sites share the cores of one machine, and all is queued."""
    costs: Costs = field(default_factory=Costs)

    @property
    def crowded(self) -> float:
        """How many times the CPU of a worker with a core for itself one takes here."""
        return 1 + self.costs.crowding * max(0.0, self.workers / self.cores - 1)


class Places:
    """So many at a time, in the order in which they come."""

    def __init__(self, count: int) -> None:
        self.free = count
        self.waiting: deque[Process] = deque()


Process: TypeAlias = Generator["float | Places", None, None]


class Clock:
    """Runs processes, each of which yields the seconds that it takes, or a place that it wants."""

    def __init__(self) -> None:
        self.now = 0.0
        self._order = 0
        self._next: list[tuple[float, int, Process]] = []

    def start(self, process: Process, after: float = 0.0) -> None:
        """Let a process go on after so many seconds."""
        self._order += 1
        heapq.heappush(self._next, (self.now + after, self._order, process))

    def leave(self, places: Places) -> None:
        """Give a place back, to who waits for it first."""
        if places.waiting:
            self.start(places.waiting.popleft())
        else:
            places.free += 1

    def run(self) -> None:
        """Go on until nothing is left to do."""
        while self._next:
            self.now, _, process = heapq.heappop(self._next)
            self._advance(process)

    def _advance(self, process: Process) -> None:
        for wanted in process:
            if isinstance(wanted, float):
                self.start(process, wanted)
                return
            if not wanted.free:
                wanted.waiting.append(process)
                return
            wanted.free -= 1


@dataclass(slots=True)
class Site:
    """A site, which one Run at a time asks."""

    waiting: deque[SimulatedRun] = field(default_factory=deque)
    asked_by: SimulatedRun | None = None


@dataclass(slots=True)
class SimulatedRun:
    """A Run, and when it was due, begun and ended."""

    site: Site
    owner: Places
    due: float
    begun: float = -1.0
    ended: float = -1.0


@dataclass(slots=True)
class Worker:
    """A crawl worker: one thread has its transactions, and one at a time computes."""

    cores: Places
    room: int
    reading: Places = field(default_factory=lambda: Places(1))
    storing: Places = field(default_factory=lambda: Places(1))
    computing: Places = field(default_factory=lambda: Places(1))
    """The interpreter, for which both threads wait."""
    is_claiming: bool = False


@dataclass(frozen=True)
class Result:
    """What came of it."""

    runs: Sequence[SimulatedRun]
    worker_cpu: float
    server_cpu: float
    took: float

    @property
    def rate(self) -> float:
        """Runs a second, from the first begin to the last end."""
        first = min(run.begun for run in self.runs)
        return len(self.runs) / (max(run.ended for run in self.runs) - first)

    def late(self, share: float) -> float:
        """The seconds from due to begun that so large a share of the Runs does not exceed."""
        waited = sorted(run.begun - run.due for run in self.runs)
        return waited[min(len(waited) - 1, int(share * len(waited)))]


class Simulation:
    """Runs of a plan from their fires to their ends."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.costs, self.clock = plan, plan.costs, Clock()
        self.server = Places(plan.cores if plan.one_machine else plan.server_cores)
        self.sites = [Site() for _ in range(plan.on_sites)]
        self.owners = [Places(1) for _ in range(plan.owners)]
        self.ready: deque[Site] = deque()
        self.runs: list[SimulatedRun] = []
        self.worker_cpu = self.server_cpu = 0.0
        self.idle: list[Worker] = []
        for _ in range(1 if plan.one_machine else plan.machines):
            cores = self.server if plan.one_machine else Places(plan.cores)
            self.idle += [Worker(cores, plan.at_once) for _ in range(plan.workers)]

    def run(self) -> Result:
        """Simulate all hours, until the last Run has ended."""
        if self.plan.one_machine:
            for number in range(self.plan.datasets):
                self._queue(number, 0.0)
        else:
            fires = self._fires()
            for mine in range(self.plan.schedulers):
                self.clock.start(self._schedule(fires[mine :: self.plan.schedulers]))
        self.clock.run()
        return Result(self.runs, self.worker_cpu, self.server_cpu, self.clock.now)

    def _fires(self) -> list[tuple[float, int]]:
        """When which dataset is due, each at the same part of the spread in each interval."""
        by_chance = random.Random(1).random
        plan = self.plan
        spread = min(plan.spread, plan.every)
        parts = [by_chance() * spread for _ in range(plan.datasets)]
        times = [hour * plan.every for hour in range(plan.hours)]
        return sorted((start + part, n) for start in times for n, part in enumerate(parts))

    def _schedule(self, fires: Sequence[tuple[float, int]]) -> Process:
        """Queue what is due, a batch in a transaction."""
        done = 0
        while done < len(fires):
            # A scheduler looks each second.
            if (early := fires[done][0] - self.clock.now) > 0:
                yield max(early, 1.0)
            batch = [each for each in fires[done : done + BATCH] if each[0] <= self.clock.now]
            yield from self._serve(self.costs.fire * len(batch))
            yield self.costs.trip + self.costs.flush
            for due, number in batch:
                self._queue(number, due)
            done += len(batch)

    def _queue(self, number: int, due: float) -> None:
        site = self.sites[number % len(self.sites)]
        run = SimulatedRun(site, self.owners[number % len(self.owners)], due)
        self.runs.append(run)
        site.waiting.append(run)
        if site.asked_by is None and len(site.waiting) == 1:
            self._offer(site)

    def _offer(self, site: Site) -> None:
        """Call a worker with room to a Run that may begin."""
        self.ready.append(site)
        if self.idle:
            self._call(self.idle.pop())

    def _call(self, worker: Worker) -> None:
        worker.is_claiming = True
        self.clock.start(self._claim(worker))

    def _claim(self, worker: Worker) -> Process:
        """Begin as many Runs as there is room for, while any may begin."""
        while worker.room and self.ready:
            yield worker.storing
            begun: list[SimulatedRun] = []
            while len(begun) < worker.room and self.ready:
                site = self.ready.popleft()
                run = site.waiting.popleft()
                assert site.asked_by is None
                site.asked_by = run
                begun.append(run)
            worker.room -= len(begun)
            # A third of what the transactions of a Run take is at its begin.
            share, costs = len(begun) / 3, self.costs
            served = costs.claim + costs.serving * share
            yield from self._ask(worker, costs.waits // 3, costs.storing * share, served)
            yield costs.flush
            self.clock.leave(worker.storing)
            for run in begun:
                run.begun = self.clock.now
                self.clock.start(self._execute(worker, run))
        worker.is_claiming = False
        if worker.room:
            self.idle.append(worker)

    def _execute(self, worker: Worker, run: SimulatedRun) -> Process:
        plan, costs = self.plan, self.costs
        if plan.one_machine:
            yield from self._read(worker, costs.reading / 2)
            yield self.server
            yield costs.site
            self.clock.leave(self.server)
            yield from self._read(worker, costs.reading / 2)
        else:
            yield plan.answer + (plan.pages - 1) * max(plan.pause, plan.answer)
            yield from self._read(worker, costs.reading + costs.page * (plan.pages - 1))
        yield from self._end(worker, run)

    def _read(self, worker: Worker, seconds: float) -> Process:
        yield worker.reading
        while seconds > 0:
            yield from self._compute(worker, min(seconds, SWITCH))
            seconds -= SWITCH
        self.clock.leave(worker.reading)

    def _end(self, worker: Worker, run: SimulatedRun) -> Process:
        """Write what a Run found, then charge its owner, and call for who waits for the site."""
        costs = self.costs
        yield worker.storing
        before = costs.waits - costs.waits // 3 - costs.held
        served = costs.serving * 2 / 3 - costs.charged
        yield from self._ask(worker, before, costs.storing * 2 / 3, served)
        yield run.owner
        yield from self._ask(worker, costs.held, 0.0, costs.charged)
        yield costs.flush
        self.clock.leave(run.owner)
        self.clock.leave(worker.storing)
        run.ended = self.clock.now
        run.site.asked_by = None
        worker.room += 1
        if worker.room == 1 and not worker.is_claiming:
            self.idle.append(worker)
        if run.site.waiting:
            self._offer(run.site)
        elif self.ready and self.idle:
            self._call(self.idle.pop())

    def _ask(self, worker: Worker, times: int, computed: float, served: float) -> Process:
        """Ask the server so many times; after each answer the thread waits for the interpreter."""
        for _ in range(times):
            if computed:
                yield from self._compute(worker, computed / times)
            yield from self._serve(served / times)
            yield self.costs.trip

    def _compute(self, worker: Worker, seconds: float) -> Process:
        seconds *= self.plan.crowded
        yield worker.computing
        yield worker.cores
        yield seconds
        self.worker_cpu += seconds
        self.clock.leave(worker.cores)
        self.clock.leave(worker.computing)

    def _serve(self, seconds: float) -> Process:
        yield self.server
        yield seconds
        self.server_cpu += seconds
        self.clock.leave(self.server)


def here(count: int, runs: int, cores: int, costs: Costs) -> float:
    """Runs a second of so many workers on one machine, with a server that does not flush."""
    plan = Plan(
        datasets=runs,
        on_sites=workers.SITES,
        owners=1,
        cores=cores,
        workers=count,
        at_once=4,
        one_machine=True,
        costs=replace(costs, flush=0.0, trip=0.00005),
    )
    return Simulation(plan).run().rate


def check(made: Made, hosts: Sequence[str], runs: int) -> bool:
    """Compare with what workers do here; whether any is farther off than it may be."""
    far = False
    print(f"others take {_taken():.1f} of {_cores()} cores: what is left is all that workers have")
    found = {count: workers.throughput(made, hosts, runs, count) for count in CHECKED}
    own = Costs().reading + Costs().storing
    costs = Costs().slower(found[1][1] / 1000 / own)
    print(f"a Run takes {found[1][1]:.1f} ms of CPU in a worker, {own * 1000:.1f} in the table")
    for count, (wall, _) in found.items():
        measured, simulated = 1000 / wall, here(count, runs, _cores(), costs)
        off = simulated / measured - 1
        far |= abs(off) > WITHIN
        print(
            f"{count} workers: {measured:.0f} Runs a second, {simulated:.0f} simulated ({off:+.0%})"
        )
    return far


def _taken() -> float:
    """The cores that other programs take, while this one waits."""
    before = _busy()
    time.sleep(2)
    return (_busy() - before) / 2


def _busy() -> float:
    """The CPU seconds of all programs until now."""
    user, nice, system = Path("/proc/stat").read_text().split()[1:4]
    return (int(user) + int(nice) + int(system)) / workers.TICKS


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def measure(made: Made, hosts: Sequence[str], runs: int) -> None:
    """Print the CPU that each part of a Run takes, with one, two and four workers."""
    for count in CHECKED:
        with made.store() as store, ExitStack() as stack:
            pids = workers.ready(store, hosts, made.home, stack, count)
            before = _parts(pids)
            start = time.monotonic()
            _queue(store, workers.all_datasets(store)[4 * count :][:runs])
            _wait(store)
            took = time.monotonic() - start
            after = _parts(pids)
        parts = {what: (after[what] - before[what]) * 1000 / runs for what in after}
        told = ", ".join(f"{what} {value:.2f} ms" for what, value in parts.items())
        print(f"{count} workers, {runs / took:.0f} Runs a second: {told}")


def _queue(store: Store, wanted: Sequence[DatasetId]) -> None:
    with store.writing() as writer:
        rows = writer.rows("SELECT id, name FROM datasets")
        sites_of = {dataset: name.split("/")[2] for dataset, name in rows}
        for dataset in wanted:
            queue.add(writer, dataset, 1, sites_of[dataset], writer.now())
        queue.call(writer)


def _wait(store: Store) -> None:
    workers.wait(store, "SELECT count(*) FROM runs WHERE status IN ('queued', 'running')", 0)


def _parts(pids: Sequence[int]) -> dict[str, float]:
    """The CPU seconds until now of the threads of workers, the server, this process and all."""
    main = sum(_cpu(Path(f"/proc/{pid}/task/{pid}/stat")) for pid in pids)
    whole = sum(workers.cpu(pid) for pid in pids)
    server = 0.0
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (each / "comm").read_text() == "postgres\n":
                server += _cpu(each / "stat")
    return {
        "reading": main,
        "storing": whole - main,
        "serving": server,
        "site": workers.cpu(os.getpid()),
        "everybody": _busy(),
    }


def _cpu(stat: Path) -> float:
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / workers.TICKS


def fires(made: Made) -> None:
    """Print what a fire takes of a scheduler and the server together."""
    with made.store() as store:
        with store.writing() as writer:
            writer.execute(
                "UPDATE datasets SET status = 'active', schedule = '0 * * * *', "
                "next_run_at = :now, next_run_zone = 'UTC'",
                now=Micros(ids.now() - 1_000_000),
            )
        start = time.perf_counter()
        count = len([*scheduler.tick(store, "UTC")])
        print(f"a fire: {(time.perf_counter() - start) * 1000 / count:.2f} ms of {count}")


def tell(plan: Plan, result: Result) -> None:
    """Print what came of a plan."""
    held = plan.machines * plan.workers * CONNECTIONS
    cpu = result.worker_cpu / (plan.machines * plan.cores * result.took)
    print(
        f"{len(result.runs):,} Runs, {result.rate:.0f} a second, the last ended after "
        f"{result.took:.0f} s\n"
        f"begun late: half {result.late(0.5):.1f} s, 99 of 100 {result.late(0.99):.1f} s\n"
        f"{plan.machines} machines of {plan.cores} cores, {cpu:.0%} busy; the server's "
        f"{plan.server_cores}, {result.server_cpu / plan.server_cores / result.took:.0%}\n"
        f"connections of workers: {held}"
    )


def main() -> None:
    """Simulate, or compare, and exit with 1 if what is compared is too far off."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for each in fields(Plan):
        if isinstance(each.default, int | float) and not isinstance(each.default, bool):
            kind = type(each.default)
            name = f"--{each.name.replace('_', '-')}"
            parser.add_argument(name, type=kind, default=each.default, help=f"({each.default})")
    parser.add_argument("--check", action="store_true", help="compare with workers here")
    parser.add_argument("--measure", action="store_true", help="the CPU of a Run, part by part")
    parser.add_argument("--runs", type=int, default=600, help="how many Runs are compared (600)")
    options = vars(parser.parse_args())
    is_check, is_measure, runs = (options.pop(name) for name in ("check", "measure", "runs"))
    if not is_check and not is_measure:
        plan = Plan(**options)
        tell(plan, Simulation(plan).run())
        return
    if not has_server():
        print(LEFT_OUT)
        return
    filled = partial(workers.fill, count=runs + 16)
    with sites(workers.SITES) as hosts, databases(lambda s: filled(hosts, store=s)) as all_made:
        made = next(each for each in all_made if each.name == POSTGRES)
        if is_measure:
            measure(made, hosts, runs)
            fires(made)
        sys.exit(is_check and check(made, hosts, runs))


if __name__ == "__main__":
    main()
