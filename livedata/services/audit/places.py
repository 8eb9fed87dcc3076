"""Checks where rows were seen: at web addresses, and on pages that their last Runs have read."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Set as AbstractSet

from livedata.model.ids import RunId
from livedata.services.audit import records
from livedata.store.audit import streams
from livedata.store.audit.streams import RowRow
from livedata.store.database.backend import Reader

KEPT = 64
"""Of so many Runs the pages are kept at a time: most rows were last seen by the same one."""
_ADDRESS = re.compile(r"https?://[^/?#\s]", re.IGNORECASE)
_LONGEST_SHOWN = 100


def address_problem(url: str) -> str | None:
    """What is wrong with the address of a page, if anything: people follow it."""
    if _ADDRESS.match(url):
        return None
    shown = url if len(url) <= _LONGEST_SHOWN else f"{url[:_LONGEST_SHOWN]}…"
    return f"names {shown!r}, which is no http or https address"


class PlaceJudge:
    """Judges the addresses of the pages that rows name as their last."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._kept: OrderedDict[RunId, AbstractSet[object] | None] = OrderedDict()

    def problem(self, row: RowRow) -> str | None:
        """What is wrong with the address of a row, if anything."""
        return self._other_page(row) or address_problem(row.source_url)

    def _other_page(self, row: RowRow) -> str | None:
        if row.observed_by == row.last_run_id:
            if row.source_url == row.observed_url:
                return None
            return "names another page than its observation"
        # Of cells that did not change, the evidence is of an earlier Run; what was researched has
        # evidence for each cell.
        pages = None if row.observed_by is None else self._pages(row.last_run_id)
        if pages is None or row.source_url in pages:
            return None
        return "names a page that its last Run has not read"

    def _pages(self, run: RunId) -> AbstractSet[object] | None:
        """The addresses of the pages of a Run; None if it does not tell them."""
        if run not in self._kept:
            self._kept[run] = _told(records.loaded(streams.facts(self._reader, run) or "null"))
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return self._kept[run]


def _told(facts: object) -> AbstractSet[object] | None:
    pages = facts.get("pages") if isinstance(facts, dict) else None
    if not isinstance(pages, list) or not all(isinstance(page, dict) for page in pages):
        return None
    addresses = {page.get("finalUrl") for page in pages}
    # Runs of an older version, and those that were pruned, do not know.
    return addresses if addresses and None not in addresses else None
