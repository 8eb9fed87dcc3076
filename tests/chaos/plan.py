"""What fails in a chaos run, in which order, and for how long."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import click

from tests.chaos.judge import Outage
from tests.chaos.network import Machine
from tests.chaos.world import PAUSE, World, until

AWAY = 5.0
"""The seconds for which the server is down, and after which a supervisor is started again."""
PARTED = 90.0
FROZEN = 120.0
IN_PROGRESS = range(3, 6)
"""How many Runs a machine has when it is lost: with more, their sites alone would be a dip."""
WARM_UP = 180.0
"""The seconds before the first fault in which is seen what is usual."""
REST = 45.0
"""The seconds between two faults at least, in a run that is long enough for all of them."""


@dataclass(frozen=True)
class Fault:
    """Something that fails, and what it takes."""

    name: str
    seconds: float
    happen: Callable[[World], None]


def _part(world: World) -> None:
    """A machine reaches the site, but no server any more."""
    machine = world.machines[0]
    _wait_until_busy(world, machine)
    with world.network.parted(machine, [server.machine for server in world.servers]):
        PAUSE.wait(PARTED)


def _kill_crawler(world: World) -> None:
    machine = world.machines[0]
    _wait_until_busy(world, machine)
    for pid in machine.processes("-m spiders"):
        os.kill(pid, signal.SIGKILL)


def _kill_supervisor(world: World) -> None:
    """As the kernel does that has no memory left; whoever watches the unit starts it again."""
    machine = world.machines[1]
    _wait_until_busy(world, machine)
    for pid in machine.processes("livedata worker"):
        os.kill(pid, signal.SIGKILL)
    PAUSE.wait(AWAY)
    world.start_worker(machine)


def _freeze(world: World) -> None:
    """A machine stands still, and goes on as if nothing had been."""
    machine = world.machines[1]
    _wait_until_busy(world, machine)
    machine.freeze()
    PAUSE.wait(FROZEN)
    machine.thaw()


def _restart(world: World) -> None:
    with _outage(world, "the server was stopped as if it crashed"):
        world.servers[0].stop()
        PAUSE.wait(AWAY)
        world.servers[0].start()


def _fail_over(world: World) -> None:
    """The machine of the server loses its power, and the other one has the store from then on."""
    with _outage(world, "the machine of the server died, the other server took over"):
        world.servers[0].machine.die()
        world.servers[1].promote()


KILL_CRAWLER = Fault("kill -9 of a crawl worker", 0, _kill_crawler)
KILL_SUPERVISOR = Fault("kill -9 of a supervisor, which is started again", AWAY, _kill_supervisor)
RESTART = Fault("immediate stop of the server, and start", AWAY, _restart)
FAIL_OVER = Fault("failover: the first server dies, the second is promoted", AWAY, _fail_over)
ALL: Sequence[Fault] = (
    Fault("partition of machine one from the servers", PARTED, _part),
    KILL_CRAWLER,
    KILL_SUPERVISOR,
    Fault("SIGSTOP of machine two", FROZEN, _freeze),
    RESTART,
    FAIL_OVER,
)
LONGEST_OF_FEW = 10.0
"""In a run that is too short for all, only faults that are over sooner than this happen."""


def chosen(minutes: float, *, failover: bool) -> tuple[Sequence[Fault], float, float]:
    """The faults of a run of so many minutes, when the first comes, and the pause after each."""
    faults = [fault for fault in ALL if failover or fault is not FAIL_OVER]
    seconds = minutes * 60
    left = seconds - WARM_UP - sum(fault.seconds for fault in faults)
    if (rest := left / len(faults)) >= REST:
        return faults, WARM_UP, rest
    few = [fault for fault in faults if fault.seconds < LONGEST_OF_FEW]
    each = seconds / len(few)
    return few, each / 2, each


def play(world: World, faults: Sequence[Fault], first: float, rest: float) -> None:
    """Let the faults happen, one after the other."""
    world.patience = min(world.patience, rest)
    PAUSE.wait(first)
    world.story.first_fault = time.time()
    for fault in faults:
        click.echo(f"{time.strftime('%H:%M:%S', time.gmtime())} {fault.name}")
        began = time.monotonic()
        fault.happen(world)
        PAUSE.wait(max(0.0, rest + fault.seconds - (time.monotonic() - began)))


@contextmanager
def _outage(world: World, name: str) -> Iterator[None]:
    began = time.time()
    yield
    world.story.outages = [*world.story.outages, Outage(name, began, time.time())]


def _wait_until_busy(world: World, machine: Machine) -> None:
    """Wait until a machine has some Runs in progress, and not too many."""
    until(lambda: world.in_progress(machine) in IN_PROGRESS, world.patience)
