"""Checks cells against the texts that they were read from, and finds pages that no row names."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping

from livedata.model.ids import DatasetId, ObservationId
from livedata.rules.changes.evidence import RowEvidence
from livedata.rules.changes.invariants import Layout, RowVersion, disagrees
from livedata.services.audit import records
from livedata.store.audit import streams
from livedata.store.audit.streams import RevisionRow
from livedata.store.database.backend import Reader

KEPT = 64
"""How many pages are kept at a time: revisions of one Run come together, and it has 50 at most."""

_Entries = Mapping[str, Mapping[str, object]]


class Texts:
    """The texts of observations, of which the last ones asked for are kept."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._kept: OrderedDict[ObservationId, _Entries] = OrderedDict()

    def text(self, observation: ObservationId, item: int, position: int) -> object:
        """A text as stored: the text, a list with its beginning if it is cut, None without one."""
        entries = self._kept.get(observation)
        if entries is None:
            entries = records.loaded(streams.entries(self._reader, observation) or "{}") or {}
            self._kept[observation] = entries
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return entries.get(str(item), {}).get(str(position))


def differences(
    reader: Reader, layouts: Mapping[DatasetId, Layout]
) -> Iterator[tuple[RevisionRow, list[str]]]:
    """The revisions with cells that say something else than the page did, and their columns."""
    texts = Texts(reader)
    for revision in streams.in_order_of_the_feed(reader):
        layout, after = layouts.get(revision.dataset), records.version(revision)
        # A row that is missing keeps all that it had: that is checked with its history.
        if layout is None or after is None or revision.kind == "missing":
            continue
        names = [
            layout.columns[position]["name"] for position in _disagreeing(layout, after, texts)
        ]
        if names:
            yield revision, names


def _disagreeing(layout: Layout, after: RowVersion, texts: Texts) -> Iterator[int]:
    # A quote that a cell rests on by itself supports it in other words than its own.
    if not isinstance(after.evidence, RowEvidence):
        return
    observation, item = after.evidence
    for position, column in enumerate(layout.columns[: len(after.cells.values)]):
        value, _ = after.cells.source(position)
        if value is None or column["ownership"] != "collected":
            continue
        if disagrees(column["type"], value, texts.text(observation, item, position)):
            yield position
