"""A source for a list, proved by a trial: on the page, on the one after it, and past the last one.

Whatever is proposed has been read as a Run reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from livedata.extraction.lists.columns import ListColumn
from livedata.extraction.lists.fields import declared_read
from livedata.extraction.lists.identity.natures import counts_visits
from livedata.extraction.lists.keys import Key, NoKey, find_key, titles
from livedata.extraction.lists.paging import NumberedPages, end_selectors
from livedata.extraction.lists.proposal import ProposedList
from livedata.extraction.page import Page
from livedata.extraction.pagination import canonical_url
from livedata.messages.validation import read
from livedata.model.harvest import Harvest
from livedata.model.problem import Params, Problem
from livedata.model.recipe import Render
from livedata.model.requests import CreateDataset
from livedata.model.row import Scalar
from livedata.rules.network.targets import site_of
from spiders.cli.fetched_page import fetch_any_answer
from spiders.cli.trial import Trial, trial_recipe, try_out
from spiders.crawl.engine import CrawlEngine
from spiders.crawl.job import CrawlJob
from spiders.crawl.settings import FetchConfig

_PAGES: Final = 2
_ERRORS: Final = 400
_SINGLE: Final[Mapping[str, Any]] = {"kind": "none"}
_FAR: Final = 1_000
"""So many pages past the last one that is linked, a list has no page."""


class Proposed(Struct, frozen=True):
    """A source for a list, its trial, and what is unsure of it.

    `declaration` is in the names of the wire; `key` says why if its records have none.
    """

    proposal: ProposedList
    declaration: dict[str, Any]
    trial: Trial
    key: Key | NoKey
    doubts: Sequence[Problem]

    @property
    def ready(self) -> bool:
        """Whether a Run would accept it."""
        return isinstance(self.key, Key) and self.trial.verdict.outcome == "accept"

    @property
    def required(self) -> list[str]:
        """The columns of which an empty cell is a fault."""
        fields = self.declaration["source"]["fields"]
        return [field["name"] for field in fields if field.get("required")]


class Prover(Struct, frozen=True):
    """Makes sources of lists, and tries each on two pages before it is proposed."""

    engine: CrawlEngine
    fetching: FetchConfig
    url: str
    render: Render
    name: str

    async def prove(self, proposal: ProposedList) -> Proposed:
        """The source of a list, with the first way to go on that the second page proves."""
        doubts: list[Problem] = []
        for link in proposal.following:
            pagination = {"kind": "next-link", "selector": link.selector}
            trial = await self._tried(proposal, proposal.key, pagination)
            if _goes_on(trial):
                return await self._settled(proposal, pagination, trial, doubts)
            doubts.append(_unproved(link.url, trial.harvest))
        if proposal.numbered is not None:
            counted = await self._counted(proposal, proposal.numbered)
            if counted is not None:
                return await self._settled(proposal, *counted, doubts)
            params: Params = {"pattern": proposal.numbered.pattern, "last": proposal.numbered.last}
            doubts.append(Problem("lists.numbered", params))
        if proposal.elsewhere:
            away: Params = {
                "address": proposal.elsewhere,
                "host": site_of(proposal.elsewhere),
            }
            doubts.append(Problem("lists.elsewhere", away))
        trial = await self._tried(proposal, proposal.key, _SINGLE)
        return await self._settled(proposal, _SINGLE, trial, doubts)

    async def _counted(
        self, proposal: ProposedList, numbered: NumberedPages
    ) -> tuple[dict[str, Any], Trial] | None:
        """Pagination by the numbers of pages, if a page past the last one says that it is past."""
        past = await self._glance(numbered.page(numbered.last + _FAR))
        second = await self._glance(numbered.page(numbered.start + 1))
        first = await self._glance(numbered.page(numbered.start))
        if past is None or second is None or first is None:
            return None
        for selector in end_selectors(past, [first, second], proposal.selector):
            pagination = {
                "kind": "url-pattern",
                "pattern": numbered.pattern,
                "startPage": numbered.start,
                "endSelector": selector,
            }
            trial = await self._tried(proposal, proposal.key, pagination)
            # A first page with other records is not the one that the list was found on.
            if _goes_on(trial) and len(trial.harvest.pages[0].records) == len(proposal.rows):
                return pagination, trial
        return None

    async def _glance(self, url: str) -> Page | None:
        return await fetch_any_answer(self.engine, url, self.render, self.fetching)

    async def _settled(
        self,
        proposal: ProposedList,
        pagination: Mapping[str, Any],
        trial: Trial,
        doubts: Sequence[Problem],
    ) -> Proposed:
        """The source with the key that the records of all pages have, tried if that is another."""
        first, rows = rows_of(trial)
        key = find_key(proposal.columns, rows, first) if rows else proposal.key
        declaration = self._declared(proposal, key, rows, pagination)
        if declaration != self._declared(proposal, proposal.key, proposal.values, pagination):
            trial = await self._tried(proposal, key, pagination, rows)
        return Proposed(proposal, declaration, trial, key, [*doubts, *_doubts(proposal, key)])

    async def _tried(
        self,
        proposal: ProposedList,
        key: Key | NoKey,
        pagination: Mapping[str, Any],
        rows: Sequence[Sequence[Scalar]] = (),
    ) -> Trial:
        """A trial of the source with a key; `rows` are all that were read, if not only the page."""
        declaration = self._declared(proposal, key, rows or proposal.values, pagination)
        recipe = trial_recipe(read(CreateDataset, declaration), self.fetching.targets)
        return await try_out(self.engine, CrawlJob(recipe, self.fetching), _PAGES)

    def _declared(
        self,
        proposal: ProposedList,
        key: Key | NoKey,
        rows: Sequence[Sequence[Scalar]],
        pagination: Mapping[str, Any],
    ) -> dict[str, Any]:
        """The declaration of a list of this page."""
        url = self.url
        if pagination["kind"] == "url-pattern":
            url = pagination["pattern"].replace("{page}", str(pagination["startPage"]))
        return declare(self.name, url, self.render, proposal, key, pagination, rows)


def rows_of(trial: Trial) -> tuple[int, list[Sequence[Scalar]]]:
    """How many rows the first page has, and those of all pages.

    What stands on a later page as it did on one before, such as a record that is pinned, is one
    row, as in a Run.
    """
    rows: list[Sequence[Scalar]] = []
    known: set[tuple[Scalar, ...]] = set()
    first = 0
    for page in trial.harvest.pages:
        read = [record.values for record in page.records]
        rows += [values for values in read if tuple(values) not in known]
        known.update(map(tuple, read))
        first = first or len(rows)
    return first, rows


def _goes_on(trial: Trial) -> bool:
    """Whether the second page has records, others than the first, and does not lead back to it."""
    if len(trial.harvest.pages) < _PAGES:
        return False
    first, second = trial.harvest.pages[:_PAGES]
    # A Run takes a link back to another page for a loop, and fails its coverage.
    if any(canonical_url(link) == first.canonical for link in second.next_links[:1]):
        return False
    before, after = ({tuple(record.values) for record in page.records} for page in (first, second))
    # Some may stand on both: a record that is pinned, or that slid on between the two answers.
    return len(after - before) > len(after) / 2


def _unproved(address: str, harvest: Harvest) -> Problem:
    """Why what looks like the next page is none: how it was answered, or what is on it."""
    failure = harvest.failure
    if failure is not None and failure.number == _PAGES:
        status = failure.status
    else:
        failure = None
        status = next((page.status for page in harvest.pages if page.number == _PAGES), None)
    if status is not None and status >= _ERRORS:
        return Problem("lists.next_answered", {"address": address, "status": status})
    if failure is not None:
        return Problem("lists.next_unread", {"address": address}, evidence=(failure.problem,))
    return Problem("lists.unproved", {"address": address})


def _doubts(proposal: ProposedList, key: Key | NoKey) -> Iterator[Problem]:
    if proposal.aside:
        yield Problem("lists.aside", {})
    for selector in proposal.counters:
        yield Problem("lists.counter", {"selector": selector})
    for selector in proposal.shifted:
        yield Problem("lists.shifted", {"selector": selector})
    yield from _doubts_of_columns(proposal.columns)
    if isinstance(key, Key):
        together = " with ".join(key.names)
        for name, parameter in key.passed.items():
            moves: Params = {"name": name, "parameter": parameter, "names": together}
            yield Problem("lists.key_moves", moves)
        if not key.sure:
            yield Problem(f"lists.key_{key.standing}", {"names": together})
    total = len(proposal.rows)
    seldom = [
        column.name
        for position, column in enumerate(proposal.columns)
        if proposal.filled(position) < total / 2
    ]
    if seldom:
        yield Problem("lists.seldom", {"names": ", no ".join(seldom), "count": total})


def _doubts_of_columns(columns: Sequence[ListColumn]) -> Iterator[Problem]:
    """What may not be as a person wants it in the values of columns."""
    unnumbered = [column.name for column in columns if column.is_unnumbered]
    if unnumbered:
        yield Problem("lists.unnumbered", {"names": ", ".join(unnumbered)})
    for column in columns:
        if column.whole_in is not None:
            yield Problem("lists.cut", {"name": column.name, "attribute": column.whole_in})
        if column.sign is not None:
            yield Problem("lists.sign", {"name": column.name, "sign": column.sign})
        if column.goes_on and column.is_text:
            yield Problem("lists.goes_on", {"name": column.name, "count": column.goes_on})
    visits = [
        column.name
        for column in columns
        if column.is_text and counts_visits(column.name, list(column.values.values()))
    ]
    if visits:
        yield Problem("lists.visits", {"names": ", ".join(visits)})


def declare(
    name: str,
    url: str,
    render: Render,
    proposal: ProposedList,
    key: Key | NoKey,
    pagination: Mapping[str, Any],
    rows: Sequence[Sequence[Scalar]] = (),
) -> dict[str, Any]:
    """The declaration of a list, of which these `rows` were read if not only those of its page.

    Without a key its first column stands for one. Its key is required, and its title, if all rows
    have it: of other cells an empty one is no fault, such as the price of what is sold out.
    """
    names = key.names if isinstance(key, Key) else ()
    keys = names or (proposal.columns[0].name,)
    composite = len(keys) > 1
    required = {*names, *titles(proposal.columns, rows or proposal.values)}
    return {
        "name": name,
        "columns": [_column(column, column.name in keys) for column in proposal.columns],
        "source": {
            "version": 1,
            "url": url,
            "render": render,
            "itemSelector": proposal.selector,
            "fields": [_field(column, column.name in required) for column in proposal.columns],
            "identity": {"kind": "composite", "fields": list(keys)}
            if composite
            else {"kind": "source-key", "field": keys[0]},
            "pagination": dict(pagination),
        },
    }


def _column(column: ListColumn, key: bool) -> dict[str, Any]:
    declared: dict[str, Any] = {"name": column.name, "type": column.kind}
    if key:
        declared["key"] = True
    if column.label is not None and column.label != column.name:
        declared["label"] = column.label
    return declared


def _field(column: ListColumn, required: bool) -> dict[str, Any]:
    read_as = declared_read(column.selector, column.attribute)
    field: dict[str, Any] = {"name": column.name, "read": read_as}
    if required:
        field["required"] = True
    return field
