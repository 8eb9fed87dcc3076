"""Live progress of Runs: a line each on a terminal that moves, otherwise nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct, field
from typing_extensions import override

from livedata.messages.controls import escape_controls
from livedata.messages.research import UsageTotal
from livedata.messages.templates import plural
from livedata.model.harvest import PageRead
from livedata.model.run import Phase
from livedata.services.runs import Queued
from spiders.worker.running import OnProgress, Stage

if TYPE_CHECKING:
    from rich.progress import Progress as Lines
    from rich.progress import TaskID

    # Runs of selectors do not pay for the import.
    from livedata.model.research.record import ResearchStep

PATIENCE = 2.0
"""After so many seconds a line says how long a page takes."""
LONGEST_NAME = 30
_WORDS: Mapping[Phase, str] = {
    "planning": "planning",
    "configure": "planning",
    "pin": "planning",
    "search": "searching",
    "read": "reading",
    "extract": "extracting",
    "validate": "extracting",
    "preview": "putting rows together",
    "accept": "putting rows together",
}
_ORDER = tuple(_WORDS)


@contextmanager
def show_progress(queue: Sequence[Queued], *, quiet: bool) -> Iterator[OnProgress]:
    """Show what Runs are at if stderr is a terminal; the lines are gone at the end."""
    if quiet or not queue or not sys.stderr.isatty():
        yield lambda _queued, _page: None
        return
    with _moving_lines() as lines:
        tasks = {queued.run: _add_line(lines, queued.name) for queued in queue}

        def show(queued: Queued, page: PageRead | ResearchStep | Stage) -> None:
            # A Run that another process has taken is followed by the next one.
            if queued.run not in tasks:
                tasks[queued.run] = _add_line(lines, queued.name)
            task = tasks[queued.run]
            if isinstance(page, PageRead):
                _count_page(lines, task, page)
            elif not isinstance(page, Stage):
                _count_step(lines, task, page)
            elif page is Stage.WAITING:
                lines.update(task, waiting=True)
            elif page is Stage.STARTING_RESEARCH:
                lines.update(task, research=ResearchCounts(), waiting=False)
            else:
                lines.update(task, visible=False)

        yield show


@contextmanager
def show_pages(name: str, *, quiet: bool) -> Iterator[Callable[[PageRead], None]]:
    """Show what a trial of a source is at, as of a Run."""
    if quiet or not sys.stderr.isatty():
        yield lambda _page: None
        return
    with _moving_lines() as lines:
        task = _add_line(lines, name)
        yield lambda page: _count_page(lines, task, page)


@contextmanager
def _moving_lines() -> Iterator[Lines]:
    """Lines on stderr with something that moves, until the context ends."""
    # Only a terminal pays for the import.
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
    from rich.text import Text

    class State(ProgressColumn):
        """What a line is at; drawn ten times a second, so it counts the seconds of a slow page."""

        @override
        def render(self, task: Task) -> Text:
            return Text(_state(**task.fields))

    name = TextColumn("{task.description}", markup=False)
    # The plain spinner: every terminal can show it.
    columns = (SpinnerColumn("line"), name, State())
    with Progress(*columns, console=Console(stderr=True), transient=True) as lines:
        yield lines


def _add_line(lines: Lines, name: str) -> TaskID:
    """Add the line of a Run that begins."""
    name = escape_controls(name)[:LONGEST_NAME]
    return lines.add_task(
        name, pages=0, items=0, since=time.monotonic(), research=None, waiting=False
    )


def _count_page(lines: Lines, task: TaskID, page: PageRead) -> None:
    """Tell the line of a Run that a page was read."""
    items = lines.tasks[lines.task_ids.index(task)].fields["items"] + len(page.records)
    lines.update(task, pages=page.number, items=items, since=time.monotonic(), waiting=False)


def _count_step(lines: Lines, task: TaskID, step: ResearchStep) -> None:
    """Tell the line of a research Run that a step begins or has ended."""
    counts = lines.tasks[lines.task_ids.index(task)].fields["research"] or ResearchCounts()
    counts.include(step)
    lines.update(task, research=counts, waiting=False)


def _state(
    pages: int, items: int, since: float, research: ResearchCounts | None, *, waiting: bool
) -> str:
    if waiting:
        return "waiting, the site is being read by another Run"
    if research is not None:
        return str(research)
    read = f"{plural(pages, 'page')}, {plural(items, 'item')}"
    seconds = time.monotonic() - since
    slow = f"; page {pages + 1} takes {seconds:.0f} s so far" if seconds >= PATIENCE else ""
    return f"{read}{slow}"


class ResearchCounts(Struct):
    """The counts of a Run, from the steps that it is told of as they begin and end."""

    phase: Phase | None = None
    pages: int = 0
    windows: int = 0
    rows: int = 0
    taken: UsageTotal = field(default_factory=UsageTotal)
    under_way: dict[str, Phase] = field(default_factory=dict)
    """The steps that have not ended, by their ids."""

    def include(self, step: ResearchStep) -> None:
        """Count a step once it has ended."""
        if step.ended is None:
            self.under_way[step.id] = step.phase
        else:
            self.under_way.pop(step.id, None)
            self.pages += step.phase == "read" and step.status == "succeeded"
            self.windows += step.phase == "extract"
            self.rows += 0 if step.counts is None else step.counts.matched
            self.taken.include(step.calls)
        # Pages are read while those before them are extracted, which takes longer.
        self.phase = max(self.under_way.values(), key=_ORDER.index, default=step.phase)

    @override
    def __str__(self) -> str:
        """Such as "extracting: 3 pages, 7 windows, 52 rows, 12,345 tokens, $0.0210"."""
        if self.phase is None:
            return "starting"
        counts = (
            plural(self.pages, "page"),
            self._windows(),
            plural(self.rows, "row"),
        )
        return f"{_WORDS[self.phase]}: {', '.join(counts)}, {self.taken}"

    def _windows(self) -> str:
        """The windows that were answered, of how many if some are not: the first takes seconds."""
        asked = list(self.under_way.values()).count("extract")
        if not asked:
            return plural(self.windows, "window")
        return f"{self.windows} of {plural(self.windows + asked, 'window')}"
