"""Live progress of Runs: one line on a terminal, otherwise nothing."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from livedata.cli.output.escapes import escape_controls
from livedata.cli.output.values import pluralize
from livedata.model.harvest import PageRead
from livedata.services.runs import Queued
from spiders.worker.executor import Progress


def progress_for(queue: Sequence[Queued], *, quiet: bool) -> Progress:
    """Live progress if stderr is a terminal; otherwise nothing is printed."""
    if quiet or not queue or not sys.stderr.isatty():
        return lambda _queued, _page: None
    return _Live(queue)


class _Live:
    """One line that is overwritten at each page."""

    def __init__(self, queue: Sequence[Queued]) -> None:
        self._items = {queued.run: 0 for queued in queue}

    def __call__(self, queued: Queued, page: PageRead | None) -> None:
        name = escape_controls(queued.name)
        if page is None:
            self._write(f"{name}: waiting, the site is being read by another Run …")
            return
        self._items[queued.run] += len(page.records)
        self._write(f"{name}: page {page.number}, {pluralize(self._items[queued.run], 'item')} …")

    def _write(self, line: str) -> None:
        # The cursor goes back to the start, so the next message overwrites the line. That works on
        # one line of a terminal only, so a long one is cut.
        sys.stderr.write(f"\r\x1b[2K{line[:100]}\r")
        sys.stderr.flush()
