"""Two commands in turn: what each costs as a whole process, and how the first stands to the second.

    python -m benchmarks.pair 'COMMAND A' 'COMMAND B' -n 11 --cpu 1.10

Absolute times drift with whatever else a machine does; the ratio within a pair hardly does. The
figures are medians, the ratio is the median of the ratios. Peak memory of a child includes what
its parent had when it was started, so this process imports nothing heavy.
"""

from __future__ import annotations

import argparse
import compileall
import os
import shlex
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Command:
    """A command to measure; `before` is done each time before it, and not measured."""

    args: Sequence[str | Path]
    before: Callable[[], None] = lambda: None
    env: Mapping[str, str] = field(default_factory=dict)
    exits: int = 0


@dataclass(frozen=True)
class Cost:
    """CPU seconds, wall seconds and the peak of the memory in MiB; or ratios of them."""

    cpu: float
    wall: float
    peak: float


@dataclass(frozen=True)
class Pair:
    """What both commands cost, and how the first stands to the second."""

    a: Cost
    b: Cost
    ratio: Cost


def compare(a: Command, b: Command, n: int = 11) -> Pair:
    """Measure `a` and `b` in turn, `n` times each after a first time that does not count."""
    measured = [(once(a), once(b)) for _ in range(n + 1)][1:]
    ratios = [Cost(x.cpu / y.cpu, x.wall / y.wall, x.peak / y.peak) for x, y in measured]
    return Pair(
        _medians([x for x, _ in measured]), _medians([y for _, y in measured]), _medians(ratios)
    )


def once(command: Command) -> Cost:
    """Run a command, with all that it starts. Raises RuntimeError where it ends otherwise."""
    command.before()
    start = time.perf_counter()
    child = subprocess.Popen(
        command.args,
        env=environment() | dict(command.env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert child.stderr is not None
    with child.stderr:
        said = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != command.exits:
        told = said.decode(errors="replace")[-1000:]
        raise RuntimeError(f"{shlex.join(map(str, command.args))}: {child.returncode}\n{told}")
    return Cost(used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024)


def environment() -> dict[str, str]:
    """The environment of what is measured: nothing that compiles each time, or sets livedata."""
    return {
        name: value
        for name, value in os.environ.items()
        if name != "PYTHONDONTWRITEBYTECODE" and not name.startswith("LIVEDATA_")
    }


def compiled() -> None:
    """Compile what this Python imports, once: else the first to import it pays for all others."""
    compileall.compile_dir(sysconfig.get_path("purelib"), quiet=2)
    for package in ("livedata", "spiders", "benchmarks"):
        compileall.compile_dir(ROOT / package, quiet=2)


def _medians(costs: Sequence[Cost]) -> Cost:
    return Cost(*(median(getattr(one, name) for one in costs) for name in ("cpu", "wall", "peak")))


def main() -> None:
    """Compare two commands; exit with 1 where a ratio is over its bound."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("a")
    parser.add_argument("b")
    parser.add_argument("-n", type=int, default=11)
    parser.add_argument("--before-a", default="true", help="done before A, and not measured")
    parser.add_argument("--before-b", default="true")
    for name in ("cpu", "wall", "peak"):
        parser.add_argument(f"--{name}", type=float, help=f"the bound of the ratio of {name}")
    asked = parser.parse_args()
    compiled()
    found = compare(_command(asked.a, asked.before_a), _command(asked.b, asked.before_b), asked.n)
    over = False
    for name in ("cpu", "wall", "peak"):
        a, b, ratio = (getattr(cost, name) for cost in (found.a, found.b, found.ratio))
        bound = getattr(asked, name)
        passed = bound is not None and ratio > bound
        over |= passed
        print(f"{name:4}  A {a:9.4f}  B {b:9.4f}  A/B {ratio:.3f}{'  over' if passed else ''}")
    sys.exit(over)


def _command(text: str, before: str) -> Command:
    return Command(shlex.split(text), lambda: _do(before))


def _do(before: str) -> None:
    subprocess.run(before, shell=True, check=True)


if __name__ == "__main__":
    main()
