"""Two commands in turn: what each costs as a whole process, and how the first stands to the second.

    python -m benchmarks.pair 'COMMAND A' 'COMMAND B' -n 11 --cpu 1.10

The figures are medians, and the ratio is the median of the ratios of the pairs. Absolute times
change with the load of the machine; the ratio within a pair hardly does.
"""

# Nothing heavy is imported here: the peak memory of a child includes what its parent had when it
# was started.

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
    """A command to measure. `before` is called before each time, and is not measured."""

    args: Sequence[str | Path]
    before: Callable[[], None] = lambda: None
    env: Mapping[str, str] = field(default_factory=dict)
    exits: int = 0


@dataclass(frozen=True)
class Cost:
    """CPU seconds, wall seconds and peak memory in MiB, or the ratios of two such costs."""

    cpu: float
    wall: float
    peak: float


@dataclass(frozen=True)
class Pair:
    """The costs of two commands, and the ratio of the first to the second."""

    a: Cost
    b: Cost
    ratio: Cost


def compare(a: Command, b: Command, n: int = 11) -> Pair:
    """Measure `a` and `b` in turn, `n` times each."""
    # The first time is left out: it fills the caches of the disk.
    measured = [(once(a), once(b)) for _ in range(n + 1)][1:]
    ratios = [Cost(x.cpu / y.cpu, x.wall / y.wall, x.peak / y.peak) for x, y in measured]
    return Pair(
        _medians([x for x, _ in measured]), _medians([y for _, y in measured]), _medians(ratios)
    )


def once(command: Command) -> Cost:
    """Run a command and measure it. Raises RuntimeError for another exit code than expected."""
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
        output = child.stderr.read()
    # wait4 and not wait: it answers with the resources of this child and all that it started.
    _, status, used = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != command.exits:
        tail = output.decode(errors="replace")[-1000:]
        raise RuntimeError(f"{shlex.join(map(str, command.args))}: {child.returncode}\n{tail}")
    return Cost(used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024)


def environment() -> dict[str, str]:
    """The environment of measured commands: this one, without settings of livedata."""
    # PYTHONDONTWRITEBYTECODE would make each process compile what it imports.
    return {
        name: value
        for name, value in os.environ.items()
        if name != "PYTHONDONTWRITEBYTECODE" and not name.startswith("LIVEDATA_")
    }


def compiled() -> None:
    """Compile all packages, so that no measured command pays for it."""
    compileall.compile_dir(sysconfig.get_path("purelib"), quiet=2)
    for package in ("livedata", "spiders", "benchmarks"):
        compileall.compile_dir(ROOT / package, quiet=2)


def _medians(costs: Sequence[Cost]) -> Cost:
    return Cost(
        *(median(getattr(cost, name) for cost in costs) for name in ("cpu", "wall", "peak"))
    )


def main() -> None:
    """Compare two commands, and exit with 1 if a ratio is over its bound."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("a")
    parser.add_argument("b")
    parser.add_argument("-n", type=int, default=11)
    parser.add_argument("--before-a", default="true", help="done before A, and not measured")
    parser.add_argument("--before-b", default="true")
    for name in ("cpu", "wall", "peak"):
        parser.add_argument(f"--{name}", type=float, help=f"the bound of the ratio of {name}")
    options = parser.parse_args()
    compiled()
    pair = compare(
        _command(options.a, options.before_a), _command(options.b, options.before_b), options.n
    )
    over = False
    for name in ("cpu", "wall", "peak"):
        first, second, ratio = (getattr(cost, name) for cost in (pair.a, pair.b, pair.ratio))
        bound = getattr(options, name)
        is_over = bound is not None and ratio > bound
        over |= is_over
        state = "  over" if is_over else ""
        print(f"{name:4}  A {first:9.4f}  B {second:9.4f}  A/B {ratio:.3f}{state}")
    sys.exit(over)


def _command(text: str, before: str) -> Command:
    return Command(shlex.split(text), lambda: _do(before))


def _do(before: str) -> None:
    subprocess.run(before, shell=True, check=True)


if __name__ == "__main__":
    main()
