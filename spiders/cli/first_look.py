"""A first look at a page: the lists on it, and a source that reads one of them, proved by a trial.

Whatever is proposed has been read as a Run reads it, on the page and on the one after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from livedata.extraction.lists.columns import Column
from livedata.extraction.lists.keys import Key, NoKey, find_key
from livedata.extraction.lists.proposal import ProposedList
from livedata.extraction.lists.seen import Lists, find_lists
from livedata.extraction.page import Page
from livedata.messages.validation import read
from livedata.model.harvest import Harvest
from livedata.model.problem import Params, Problem
from livedata.model.recipe import Recipe, Render
from livedata.model.requests import CreateDataset
from spiders.cli.trial import Trial, trial_recipe, try_out
from spiders.crawl.engine import CrawlEngine
from spiders.crawl.job import CrawlJob
from spiders.crawl.settings import FetchConfig

_NOTHING: Final = "livedata-nothing"
"""A selector that matches nothing, so that a page is kept whole."""
_PAGES: Final = 2
_SINGLE: Final[Mapping[str, Any]] = {"kind": "none"}


class Look(Struct, frozen=True):
    """What was seen of a page: its harvest, and its lists if it could be read."""

    harvest: Harvest
    page: Page | None
    lists: Lists | None


class Proposed(Struct, frozen=True):
    """A source for a list, its trial, and what is unsure of it.

    `declaration` is in the names of the wire; `key` says why if its records have none.
    """

    found: ProposedList
    declaration: dict[str, Any]
    trial: Trial
    key: Key | NoKey
    doubts: Sequence[Problem]

    @property
    def ready(self) -> bool:
        """Whether a Run would take it over."""
        return isinstance(self.key, Key) and self.trial.verdict.outcome == "accept"


async def look_at(
    engine: CrawlEngine, url: str, render: Render, fetching: FetchConfig, like: Sequence[str] = ()
) -> Look:
    """Read one page as a Run does, and find its lists; with `like` those that hold these texts."""
    blank = Recipe(
        version=1,
        url=url,
        render=render,
        item_selector=_NOTHING,
        fields=(),
        identity=(),
        composite=False,
        pagination=None,
        max_pages=1,
        max_items=1,
        minimum_items=0,
        proxy="auto",
        ignore_robots=False,
    )
    harvest = await engine.crawl(CrawlJob(blank, fetching))
    snapshot = next((seen for seen in reversed(harvest.seen) if seen.parsed), None)
    if not harvest.pages or snapshot is None:
        return Look(harvest, None, None)
    page = Page(snapshot.markup, "text/html; charset=utf-8", snapshot.final_url)
    return Look(harvest, page, find_lists(page, like))


class Prover(Struct, frozen=True):
    """Makes sources of lists, and tries each on two pages before it is proposed."""

    engine: CrawlEngine
    fetching: FetchConfig
    url: str
    render: Render
    name: str

    async def prove(self, found: ProposedList) -> Proposed:
        """The source of a list, with the first way to go on that the second page proves."""
        doubts: list[Problem] = []
        for link in found.following:
            pagination = {"kind": "next-link", "selector": link.selector}
            trial = await self._tried(self.declared(found, found.key, pagination))
            if _goes_on(trial):
                return await self._settled(found, pagination, trial, doubts)
            doubts.append(Problem("lists.unproved", {"address": link.url}))
        if found.numbered is not None:
            numbered = found.numbered
            params: Params = {"pattern": numbered.pattern, "last": numbered.last}
            doubts.append(Problem("lists.numbered", params))
        trial = await self._tried(self.declared(found, found.key, _SINGLE))
        return await self._settled(found, _SINGLE, trial, doubts)

    def declared(
        self, found: ProposedList, key: Key | NoKey, pagination: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The declaration of a list of this page."""
        return declare(self.name, self.url, self.render, found, key, pagination)

    async def _settled(
        self,
        found: ProposedList,
        pagination: Mapping[str, Any],
        trial: Trial,
        doubts: Sequence[Problem],
    ) -> Proposed:
        """The source with the key that the records of all pages have, tried if that is another."""
        rows = [record.values for record in trial.records]
        key = find_key(found.columns, rows) if rows else found.key
        declaration = self.declared(found, key, pagination)
        if key != found.key or trial.verdict.outcome != "accept":
            trial = await self._tried(declaration)
        return Proposed(found, declaration, trial, key, [*doubts, *_doubts(found, key)])

    async def _tried(self, declaration: Mapping[str, Any]) -> Trial:
        recipe = trial_recipe(read(CreateDataset, dict(declaration)), self.fetching.targets)
        return await try_out(self.engine, CrawlJob(recipe, self.fetching), _PAGES)


def _goes_on(trial: Trial) -> bool:
    """Whether the second page has records, and others than the first."""
    if len(trial.harvest.pages) < _PAGES:
        return False
    first, second = (
        {tuple(record.values) for record in page.records} for page in trial.harvest.pages[:_PAGES]
    )
    return len(second - first) > len(second) / 2


def _doubts(found: ProposedList, key: Key | NoKey) -> Iterator[Problem]:
    if found.aside:
        yield Problem("lists.aside", {})
    if isinstance(key, Key) and len(key.names) > 1:
        yield Problem("lists.composite_key", {"names": " with ".join(key.names)})
    total = len(found.rows)
    for at, column in enumerate(found.columns):
        filled = found.filled(at)
        if filled < total / 2:
            params: Params = {"name": column.name, "filled": filled, "count": total}
            yield Problem("lists.seldom", params)


def declare(
    name: str,
    url: str,
    render: Render,
    found: ProposedList,
    key: Key | NoKey,
    pagination: Mapping[str, Any],
) -> dict[str, Any]:
    """The declaration of a list; without a key its first column stands for one."""
    keys = key.names if isinstance(key, Key) else (found.columns[0].name,)
    composite = len(keys) > 1
    return {
        "name": name,
        "columns": [_column(column, column.name in keys) for column in found.columns],
        "source": {
            "version": 1,
            "url": url,
            "render": render,
            "itemSelector": found.selector,
            "fields": [
                _field(column, column.name in keys or found.filled(at) == len(found.rows))
                for at, column in enumerate(found.columns)
            ],
            "identity": {"kind": "composite", "fields": list(keys)}
            if composite
            else {"kind": "source-key", "field": keys[0]},
            "pagination": dict(pagination),
        },
    }


def _column(column: Column, key: bool) -> dict[str, Any]:
    declared: dict[str, Any] = {"name": column.name, "type": column.kind}
    if key:
        declared["key"] = True
    if column.label is not None and column.label != column.name:
        declared["label"] = column.label
    return declared


def _field(column: Column, required: bool) -> dict[str, Any]:
    reads: dict[str, Any] = {}
    if column.selector:
        reads["selector"] = column.selector
    if column.attribute is not None:
        reads |= {"kind": "attribute", "attribute": column.attribute}
    field: dict[str, Any] = {"name": column.name, "read": reads}
    if required:
        field["required"] = True
    return field
