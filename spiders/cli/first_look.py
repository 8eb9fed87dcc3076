"""A first look at a page: the lists on it, and a source that reads one of them, proved by a trial.

Whatever is proposed has been read as a Run reads it, on the page and on the one after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import Struct

from livedata.extraction.lists.keys import Key, NoKey, find_key
from livedata.extraction.lists.proposal import ListedColumn, Lists, ProposedList, find_lists, propose
from livedata.extraction.page import Page
from livedata.messages.validation import read
from livedata.model.harvest import Harvest
from livedata.model.problem import Problem
from livedata.model.recipe import Recipe, Render
from livedata.model.requests import CreateDataset
from spiders.cli.trial import Trial, trial_recipe, try_out
from spiders.crawl.engine import CrawlEngine
from spiders.crawl.job import CrawlJob
from spiders.crawl.settings import FetchConfig

NOTHING: Final = "livedata-nothing"
"""A selector that matches nothing, so that a page is kept whole."""
_PAGES: Final = 2


_WHY: Final = {
    "not_filled": "is empty in some",
    "not_unique": "repeats",
    "counted": "only counts the records",
    "too_long": "is a long text",
    "dated": "is a moment",
}


class Look(Struct, frozen=True):
    """What was seen of a page: its harvest, and its lists if it could be read."""

    harvest: Harvest
    page: Page | None
    lists: Lists | None


class Proposed(Struct, frozen=True):
    """A source for a list, its trial, and what speaks against it.

    `declaration` is in the names of the wire; `unkeyed` says why its records have no key.
    """

    found: ProposedList
    declaration: dict[str, Any]
    trial: Trial
    unkeyed: Problem | None
    doubts: Sequence[Problem]

    @property
    def ready(self) -> bool:
        """Whether a Run would take it over."""
        return self.unkeyed is None and self.trial.verdict.outcome == "accept"


async def look_at(
    engine: CrawlEngine, url: str, render: Render, fetching: FetchConfig, like: Sequence[str] = ()
) -> Look:
    """Read one page as a Run does, and find its lists."""
    blank = Recipe(1, url, render, NOTHING, (), (), False, None, 1, 1000, 0, "auto", False)
    harvest = await engine.crawl(CrawlJob(blank, fetching))
    snapshot = next((seen for seen in reversed(harvest.seen) if seen.parsed), None)
    if not harvest.pages or snapshot is None:
        return Look(harvest, None, None)
    page = Page(snapshot.markup, "text/html; charset=utf-8", snapshot.final_url)
    return Look(harvest, page, find_lists(page, like))


async def prove(
    engine: CrawlEngine, name: str, render: Render, found: ProposedList, fetching: FetchConfig, url: str
) -> Proposed:
    """The source of a list, with the pagination that a trial of two pages proves."""
    key = found.key
    best: tuple[dict[str, Any], Trial] | None = None
    for pagination, address in _paginations(found, url):
        declaration = declare(name, address, render, found, key, pagination)
        trial = await _tried(engine, declaration, fetching)
        proved = pagination["kind"] == "none" or _goes_on(trial)
        if proved:
            best = declaration, trial
            break
    assert best is not None  # a single page is always the last thing to try
    declaration, trial = best
    again = _key_of(found.columns, found, trial)
    if again != key and isinstance(again, Key):
        key = again
        declaration = declare(name, declaration["source"]["url"], render, found, key, declaration["source"]["pagination"])
        trial = await _tried(engine, declaration, fetching)
    return Proposed(found, declaration, trial, _unkeyed(again), list(_doubts(found, trial, again, declaration)))


def _key_of(columns: Sequence[ListedColumn], found: ProposedList, trial: Trial) -> Key | NoKey:
    """The key of the records of all pages that were read."""
    rows = [record.values for record in trial.records]
    return find_key(found.found, rows) if rows else found.key


def _paginations(found: ProposedList, url: str) -> Iterator[tuple[dict[str, Any], str]]:
    for link in found.following:
        yield {"kind": "next-link", "selector": link.selector}, url
    yield {"kind": "none"}, url


def _goes_on(trial: Trial) -> bool:
    """Whether the second page has records, and others than the first."""
    pages = trial.harvest.pages
    if len(pages) < _PAGES or not pages[1].records:
        return False
    first = {tuple(record.values) for record in pages[0].records}
    second = {tuple(record.values) for record in pages[1].records}
    return len(second - first) > len(second) / 2


async def _tried(engine: CrawlEngine, declaration: dict[str, Any], fetching: FetchConfig) -> Trial:
    recipe = trial_recipe(read(CreateDataset, declaration), fetching.targets)
    return await try_out(engine, recipe, fetching, _PAGES, lambda _page: None)


def declare(
    name: str,
    url: str,
    render: Render,
    found: ProposedList,
    key: Key | NoKey,
    pagination: dict[str, Any],
) -> dict[str, Any]:
    """The declaration of a list; without a key its first column stands for one."""
    keys = key.names if isinstance(key, Key) else (found.columns[0].name,)
    identity: dict[str, Any] = (
        {"kind": "source-key", "field": keys[0]}
        if len(keys) == 1
        else {"kind": "composite", "fields": list(keys)}
    )
    return {
        "name": name,
        "columns": [_column(column, column.name in keys) for column in found.columns],
        "source": {
            "version": 1,
            "url": url,
            "render": render,
            "itemSelector": found.selector,
            "fields": [_field(column, column.name in keys) for column in found.columns],
            "identity": identity,
            "pagination": pagination,
        },
    }


def _column(column: ListedColumn, key: bool) -> dict[str, Any]:
    declared: dict[str, Any] = {"name": column.name, "type": column.type}
    if key:
        declared["key"] = True
    if column.label and column.label != column.name:
        declared["label"] = column.label
    return declared


def _field(column: ListedColumn, key: bool) -> dict[str, Any]:
    reads: dict[str, Any] = {"selector": column.selector} if column.selector else {}
    if column.attribute is not None:
        reads |= {"kind": "attribute", "attribute": column.attribute}
    field: dict[str, Any] = {"name": column.name, "read": reads}
    if column.required or key:
        field["required"] = True
    return field


def _unkeyed(key: Key | NoKey) -> Problem | None:
    if isinstance(key, Key):
        return None
    near = ", ".join(f"{name} {_WHY[why]}" for name, why in list(key.reasons.items())[:4])
    return Problem("lists.no_key", {"near": near or "all are numbers or images"})


def _doubts(
    found: ProposedList, trial: Trial, key: Key | NoKey, declaration: dict[str, Any]
) -> Iterator[Problem]:
    if isinstance(key, Key) and len(key.names) > 1:
        yield Problem("lists.composite_key", {"names": ", ".join(key.names)})
    if declaration["source"]["pagination"]["kind"] == "none" and found.numbered is not None:
        yield Problem("lists.numbered", {"pattern": found.numbered.pattern, "last": found.numbered.last})
