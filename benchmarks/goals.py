"""The goals for speed and size: each has a bound that must hold, and an aim that is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.pair import Pair


@dataclass(frozen=True)
class Goal:
    """A goal: what is measured, its bound and aim, and their unit."""

    what: str
    bound: float
    aim: float
    unit: str = "x"


# Ratios within a pair, because absolute times depend on the machine.
GOALS: Mapping[int | str, Goal] = {
    1: Goal("first Run, CPU, against a plain Scrapy spider", 0.60, 0.50),
    2: Goal("first Run, CPU, against Scrapy and sqlite-utils upsert", 1.00, 0.90),
    3: Goal("first Run, CPU, against Scrapy and a dlt merge", 0.60, 0.50),
    4: Goal("unchanged Run, CPU, against a plain Scrapy spider", 0.65, 0.55),
    5: Goal("10 % changed, 1 % gone, CPU, against a plain Scrapy spider", 1.00, 0.90),
    6: Goal("first Run, peak memory, against a plain Scrapy spider", 1.30, 1.10),
    7: Goal("taking over 1000 new rows, CPU, against plain SQL", 1.5, 1.15),
    8: Goal("taking over 1000 unchanged rows, CPU, against plain SQL", 2.5, 1.6),
    9: Goal("reading 50 pages, CPU, against parsel's .css()", 0.80, 0.40),
    10: Goal("first Run at 50 ms an answer, wall, against a plain Scrapy spider", 1.05, 1.02),
    11: Goal("the same of numbered pages, against a spider that asks two at once", 1.15, 1.05),
    12: Goal("--help, CPU, against import click", 1.5, 1.25),
    13: Goal("--version and a usage error, CPU, against import click", 1.3, 1.15),
    14: Goal("a read command, CPU, against sqlite-utils rows", 2.0, 1.0),
    15: Goal("start of serve to its first 200, against importing what it needs", 1.5, 1.2),
    16: Goal("a page of changes, p50, a million of them against a thousand", 1.15, 1.05),
    17: Goal("reading all changes, the last tenth against the first", 1.10, 1.03),
    18: Goal("a page of changes, p50, against the same page made of stored JSON", 2.0, 1.5),
    "19a": Goal("a page of changes, p50, against a table of Datasette", 0.60, 0.40),
    "19b": Goal("a page of changes, p99, against a table of Datasette", 0.80, 0.50),
    20: Goal("a page of 100,000 rows, p50, the last against the first", 1.15, 1.05),
    "21a": Goal("the timeline of a row, p50, against a page of all changes", 2.0, 1.3),
    "21b": Goal("the timeline of a field, p50, against a page of all changes", 4.0, 2.0),
    24: Goal("memory of a worker, after its 1990th Run against after its 250th", 1.05, 1.01),
    27: Goal("size of the store after a first Run, against JSON lines", 12, 5),
    28: Goal("what an unchanged Run of 1000 rows adds to the store", 256, 32, "KiB"),
    29: Goal("an answer with the balance, p50, a long ledger against an empty one", 1.10, 1.02),
    30: Goal("an edit of a row, CPU, against changes --json", 1.5, 1.2),
    "31a": Goal("wall time of a small Run, one crawl worker, on SQLite", 30.3, 27.8, "ms"),
    "31b": Goal("the same on PostgreSQL", 43.3, 35, "ms"),
    "32a": Goal("wall time of a small Run, two crawl workers against one, on SQLite", 1.0, 0.8),
    "32b": Goal("the same on PostgreSQL", 1.0, 0.8),
    "33a": Goal("CPU of a small Run, on SQLite", 18, 10, "ms"),
    "33b": Goal("the same on PostgreSQL", 18, 10, "ms"),
    "34a": Goal("from 202 to the begin of a Run, an idle worker, on SQLite", 300, 150, "ms"),
    "34b": Goal("the same on PostgreSQL", 50, 20, "ms"),
    "35a": Goal("what may start, while 5,000 Runs wait, on SQLite", 20, 10, "ms"),
    "35b": Goal("the same on PostgreSQL", 20, 10, "ms"),
    "36a": Goal("CPU of an idle crawl worker a minute, on SQLite", 0.15, 0.10, "s"),
    "36b": Goal("the same on PostgreSQL", 0.15, 0.10, "s"),
    "37a": Goal("CPU of a supervisor with 1,000 schedules a minute, on SQLite", 0.3, 0.2, "s"),
    "37b": Goal("the same on PostgreSQL", 0.3, 0.2, "s"),
    38: Goal("first Run of 50 pages, CPU, PostgreSQL against SQLite", 1.15, 1.05),
    39: Goal("changes --json, CPU, PostgreSQL against SQLite", 2.5, 2.0),
    "40a": Goal("what an unchanged Run of 20 rows adds to the store", 1_500, 1_300, "bytes"),
    "40b": Goal("what is left of that after prune", 800, 700, "bytes"),
    41: Goal("wall time of replaying 300 answers from a tape", 2.0, 1.0, "s"),
    42: Goal("first research Run, CPU, against a spider that asks the same", 1.5, 1.2),
    43: Goal("first research Run, peak memory", 220, 180, "MiB"),
    44: Goal("diagnostics of a research Run with the summary of 500 entities", 100, 60, "ms"),
    45: Goal("what a first research Run of 25 pages adds to the store", 3, 2, "MiB"),
    46: Goal("what an unchanged research Run of 25 pages adds to the store", 256, 128, "KiB"),
    47: Goal("init of a page, CPU, against preview of it", 1.5, 1.2),
    48: Goal("a page for people, p50, a million changes against a thousand", 1.5, 1.1),
    49: Goal("a table page of 100 rows, p50, against its JSON", 2.0, 1.5),
    50: Goal("what a table page weighs with all that it loads", 130, 100, "KB"),
    51: Goal("a table of 1000 rows at another moment, CPU, against as it is", 3.0, 1.5),
    52: Goal("what a notice would have told of 100,000 changes, CPU", 2.0, 1.0, "s"),
    53: Goal("a shared table that is the same, 304, CPU", 3.0, 1.5, "ms"),
    54: Goal("a shared table of 100,000 rows, until its first byte", 100, 50, "ms"),
    55: Goal("a shared table of 100,000 rows, peak memory above idle", 64, 32, "MiB"),
    56: Goal("an agent's first answer, CPU from the start, against import mcp.server", 1.3, 1.0),
    57: Goal("a question of an agent for 50 rows, CPU", 15, 5, "ms"),
    58: Goal("what an agent reads for 100 rows", 8, 7, "KB"),
    59: Goal("what is new over 100 datasets, until the first byte of its page", 150, 50, "ms"),
    60: Goal("what that page weighs with all that it loads", 130, 120, "KB"),
    61: Goal("the API beside 16 browsers that load that page without a pause, p99", 300, 150, "ms"),
    62: Goal("what a folder of 100 sources would change, CPU", 1.0, 0.6, "s"),
    63: Goal("applying a folder of 100 sources, CPU", 3.0, 1.0, "s"),
    "64a": Goal("wall time of a small Run, two crawl workers, on PostgreSQL", 10, 7, "ms"),
    "64b": Goal("the same, four", 10, 7, "ms"),
    "65a": Goal("the same, one, with the server 3 ms away", 40, 30, "ms"),
    "65b": Goal("the same, two", 20, 15, "ms"),
    "65c": Goal("the same, four", 11.1, 10, "ms"),
}


class Report:
    """A printer of figures; `over` says if any figure so far is over its bound."""

    def __init__(self) -> None:
        self.over = False

    def pair(self, number: int, pair: Pair, detail: str = "") -> None:
        """Print the figure of a goal on the CPU time of two commands."""
        seconds = f"{pair.a.cpu:.3f} s against {pair.b.cpu:.3f} s"
        self.figure(number, pair.ratio.cpu, ", ".join(filter(None, (detail, seconds))))

    def figure(self, number: int | str, value: float, detail: str) -> None:
        """Print a goal with its figure."""
        goal = GOALS[number]
        self.over |= value > goal.bound
        state = "over" if value > goal.bound else "ok" if value > goal.aim else "ok, aim met"
        bound, aim = (f"{limit:g} {goal.unit}" for limit in (goal.bound, goal.aim))
        print(f"{number:>3}  {goal.what}")
        print(f"     {value:.2f} {goal.unit}  (bound {bound}, aim {aim})  {state}")
        print(f"     {detail}", flush=True)

    def note(self, text: str) -> None:
        """Print a remark about the figure before it."""
        print(f"     {text}", flush=True)
