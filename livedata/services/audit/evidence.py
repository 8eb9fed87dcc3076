"""Checks that cells rest on the pages that they name, and that a cell rests on every page.

The addresses at which rows were seen are checked too. A history may be far larger than the memory:
of its pages the last few are at hand, and of all the others a sum.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from msgspec.structs import replace

from livedata.model.ids import DatasetId, ObservationId, RunId
from livedata.model.row import NO_EVIDENCE, Evidence, RowEvidence
from livedata.rules.changes import invariants
from livedata.rules.changes.invariants import Layout, RowVersion, disagrees
from livedata.services.audit import records
from livedata.store.audit import observations, streams
from livedata.store.audit.streams import RevisionRow, RowRow
from livedata.store.database.backend import SYMPTOMS, Reader
from livedata.store.evidence import decode

KEPT = 64
"""How many pages are kept at a time: revisions of one Run come together, and it has 50 at most."""
PART = 10_000
"""How many pages are looked for at a time, if not all are named."""

_NEVER_READ = "has cells that were read, but no observation"
RUNS_KEPT = 64
"""Of so many Runs the pages are kept at a time: most rows were last seen by the same one."""
_ADDRESS = re.compile(r"https?://[^/?#\s]", re.IGNORECASE)
_LONGEST_SHOWN = 100


class ObservedTexts(NamedTuple):
    """An observation: whose it is, and its texts, item -> position -> text."""

    dataset: DatasetId
    run: RunId
    texts: Mapping[int, Mapping[int, object]]

    def text(self, item: int, position: int) -> object:
        """A text as stored: the text, a tuple with its beginning if it is cut, None without one."""
        return self.texts.get(item, {}).get(position)


class Named:
    """Whether every observation was named by a revision of the Run that made it.

    A sum of the ids tells it, however many there are: each is added when it is met, and taken away
    when a Run has named it.
    """

    def __init__(self) -> None:
        self._sums: Counter[DatasetId] = Counter()
        self._run: tuple[DatasetId, RunId | None] | None = None
        self._of_run: set[ObservationId] = set()

    def meet(self, dataset: DatasetId, observation: ObservationId) -> None:
        """There is such an observation."""
        self._sums[dataset] += _number(observation)

    def name(self, revision: RevisionRow, observation: ObservationId, page: ObservedTexts) -> None:
        """A revision names an observation; those of one Run come together."""
        if self._run != (revision.dataset_id, revision.run_id):
            self._end_run()
            self._run = (revision.dataset_id, revision.run_id)
        if page.run == revision.run_id:
            self._of_run.add(observation)

    def suspects(self) -> list[DatasetId]:
        """The datasets of which an observation may not be named."""
        self._end_run()
        return [dataset for dataset, left in self._sums.items() if left]

    def _end_run(self) -> None:
        if self._run is not None:
            self._sums[self._run[0]] -= sum(map(_number, self._of_run))
        self._of_run.clear()


class EvidenceJudge:
    """Judges the evidence of all revisions, feed by feed."""

    def __init__(self, reader: Reader, layouts: Mapping[DatasetId, Layout], named: Named) -> None:
        self._reader = reader
        self._layouts = layouts
        self._named = named
        self._kept: OrderedDict[ObservationId, ObservedTexts | None] = OrderedDict()

    def problems(self) -> Iterator[tuple[RevisionRow, str]]:
        """The revisions whose cells do not rest on what they name, and why."""
        for revision in streams.in_order_of_the_feed(self._reader):
            layout, after = self._layouts.get(revision.dataset_id), records.version(revision)
            if layout is None or after is None:
                continue
            # What was dropped is not read again: the row keeps it without its evidence.
            after = replace(after, cells=layout.shown(after.cells, revision.schema_version))
            if problem := self._unsupported(revision, layout, after):
                yield revision, problem
            # A row that is missing keeps all that it had: that is checked with its history.
            if revision.kind != "missing" and (names := self._differing(layout, after)):
                yield revision, f"has other cells than their evidence: {', '.join(names)}"

    def unnamed(self) -> Iterator[tuple[DatasetId, ObservationId]]:
        """The observations that no revision names; asked after :meth:`problems`."""
        for dataset in self._named.suspects():
            for observation in _unnamed(self._reader, dataset):
                yield dataset, observation

    def _unsupported(self, revision: RevisionRow, layout: Layout, after: RowVersion) -> str | None:
        wanted = invariants.read_mask(layout, after.cells)
        if after.evidence == NO_EVIDENCE:
            return _NEVER_READ if wanted else None
        for observation, _ in after.evidence.all_references():
            page = self._page(observation)
            if page is None or page.dataset != revision.dataset_id:
                return "points at an observation that its dataset does not have"
            self._named.name(revision, observation, page)
        absent = [
            position
            for position in records.positions(wanted)
            if not self._supported(layout, after.evidence, position)
        ]
        return f"has no evidence for the positions {absent}" if absent else None

    def _supported(self, layout: Layout, evidence: Evidence, position: int) -> bool:
        """Whether a cell has references, and all of them lead to a text."""
        references, position = evidence.references(position), layout.quoted[position]
        pages = [(self._page(observation), item) for observation, item in references]
        return bool(pages) and all(
            page is not None and page.text(item, position) is not None for page, item in pages
        )

    def _differing(self, layout: Layout, after: RowVersion) -> list[str]:
        """The names of the columns whose cells say something else than the page did."""
        # A quote that a cell rests on by itself supports it in other words than its own.
        if not isinstance(after.evidence, RowEvidence):
            return []
        page, item = self._page(after.evidence.observation), after.evidence.item
        names = []
        for position, column in enumerate(layout.columns[: len(after.cells.values)]):
            value, _ = after.cells.source(position)
            if value is None or column["ownership"] != "collected":
                continue
            if disagrees(column["type"], value, page and page.text(item, position)):
                names.append(column["name"])
        return names

    def _page(self, observation: ObservationId) -> ObservedTexts | None:
        if observation in self._kept:
            return self._kept[observation]
        self._kept[observation] = page = _load(self._reader, observation)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return page


def _number(observation: ObservationId) -> int:
    # A digit before it: an id of zeros must not vanish in a sum.
    return int.from_bytes(b"\1" + observation)


def _load(reader: Reader, observation: ObservationId) -> ObservedTexts | None:
    row = observations.observation(reader, observation)
    if row is None:
        return None
    dataset, run, text = row
    return ObservedTexts(dataset, run, records.entries(text) or {})


def _unnamed(reader: Reader, dataset: DatasetId) -> Iterator[ObservationId]:
    """The observations of a dataset that no revision names: so many at a time as fit the memory."""
    last = b""
    while part := observations.ids_after(reader, dataset, last, PART):
        left = set(part)
        for columns in observations.references(reader, dataset):
            left.difference_update(_referred(*columns))
        yield from (observation for observation in part if observation in left)
        last = part[-1]


def _referred(
    observation: ObservationId | None, item: int | None, cells: str | None
) -> set[ObservationId]:
    try:
        references = decode(observation, item, cells).all_references()
        return {named for named, _ in references}
    except SYMPTOMS:
        return set()


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
            if len(self._kept) > RUNS_KEPT:
                self._kept.popitem(last=False)
        return self._kept[run]


def _told(facts: object) -> AbstractSet[object] | None:
    pages = facts.get("pages") if isinstance(facts, dict) else None
    if not isinstance(pages, list) or not all(isinstance(page, dict) for page in pages):
        return None
    addresses = {page.get("finalUrl") for page in pages}
    # Runs of an older version, and those that were pruned, do not know.
    return addresses if addresses and None not in addresses else None
