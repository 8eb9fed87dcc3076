"""Looks at a page, or tries a declaration, for whoever chooses in a browser.

A worker starts it, `python -m spiders.cli.page_look`, with a task as a line of JSON on its stdin;
lines of JSON on stdout say how far it is, and at last what it saw. Of a dataset it reads the rows
and writes nothing. It ends with its stdin, so that it does not outlive the worker.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Final, TypeAlias

import msgspec

from livedata import config
from livedata.config import Settings
from livedata.extraction.lists.keys import Key, NoKey, proven_keys
from livedata.extraction.lists.page_lists import Lists
from livedata.extraction.lists.proposal import ProposedList
from livedata.messages import request
from livedata.messages.list_doubts import BROWSER, doubt_sentence, key_reason
from livedata.messages.templates import plural
from livedata.messages.validation import read
from livedata.model.errors import LivedataError
from livedata.model.harvest import PageRead
from livedata.model.ids import DatasetId
from livedata.model.look import ListOnPage, LookAnswer, LookTask, LookWish, PageLook, ProvenKey
from livedata.model.requests import CreateDataset
from livedata.model.row import Scalar
from livedata.rules.network.targets import url_problem
from livedata.services import queries
from livedata.services.kept_output import ProposedRowChange, shown_changes
from livedata.store.database.store import Database
from spiders.cli.fetched_page import FetchedPage, fetch_lists
from spiders.cli.init_report import begins, doubts, first_rows, why_not_ready
from spiders.cli.looking import end_with_stdin, is_read, name_of, proposal_of
from spiders.cli.no_list import no_list, unread
from spiders.cli.proving import Proposed, Prover, rows_of
from spiders.cli.revising import NotMended, Revising
from spiders.cli.trial import Trial, trial_recipe, try_out
from spiders.cli.trial_report import trial_json
from spiders.crawl.engine import CrawlEngine, crawl_engine, end_process
from spiders.crawl.job import CrawlJob
from spiders.crawl.settings import FetchConfig, fetch_config

MOST_LISTS: Final = 12
PREVIEWED: Final = 4
"""So many lists are shown with their first rows; it takes up to half a second for each."""
TRIED: Final = 2
"""So many pages of a declaration are read."""
MOST_CHANGES: Final = 100
"""So many of the rows that another source would change are shown; all are counted."""
_LONGEST_CELL: Final = 300
Proposals: TypeAlias = "Mapping[int, ProposedList | str]"
"""What is proposed of lists, by their numbers from 1; or why nothing is."""


def main() -> None:
    """Do the task that stands on stdin."""
    task = msgspec.json.decode(sys.stdin.buffer.readline(), type=LookTask)
    end_with_stdin()
    with crawl_engine() as engine:
        _write(_answered(engine, task))
    end_process(0, engine)


def _answered(engine: CrawlEngine, task: LookTask) -> LookAnswer:
    try:
        settings = config.load()
        fetching = fetch_config(settings)
        if task.dataset is not None:
            return _revised(engine, settings, task, task.dataset)
        if task.declaration is None:
            return LookAnswer(seen=engine.run(_look(engine, fetching, task.wish)))
        declared = read(CreateDataset, dict(task.declaration))
        return LookAnswer(tried=engine.run(_try(engine, fetching, declared)))
    except LivedataError as error:
        # The settings of a worker may differ from those of the server that was asked.
        return LookAnswer(error=error.message)


def _write(answer: LookAnswer) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    sys.stdout.buffer.flush()


def _say(far: str) -> None:
    _write(LookAnswer(far=far))


async def _look(engine: CrawlEngine, fetching: FetchConfig, wish: LookWish) -> PageLook:
    """What is on the page, and the proof of one of its lists."""
    problem = url_problem(wish.url, fetching.targets)
    if problem is not None:
        return PageLook(error=f"The address {request.predicate(problem)}.")
    _say("It reads the page.")
    like = [wish.like] if wish.like else []
    page = await fetch_lists(engine, wish.url, wish.render, fetching, like)
    lists = page.lists
    named = wish.number is not None or bool(wish.like)
    if lists is None or not is_read(lists, is_named=named):
        return PageLook(
            _listed(lists, _proposals(lists, wish.url)) if lists else (), error=_why(page, wish)
        )
    number = min(wish.number or 1, len(lists.seen))
    _say(f"The page has {plural(len(lists.seen), 'list')}; list {number} is proved.")
    proposals = _proposals(lists, wish.url, number)
    listed, proposal = _listed(lists, proposals), proposals[number]
    if isinstance(proposal, str):
        return PageLook(listed, number, error=proposal)
    name = name_of(lists, wish.url)
    prover = Prover(engine, fetching, wish.url, wish.render, name)
    return _proved(lists, listed, number, await prover.prove(proposal))


def _why(page: FetchedPage, wish: LookWish) -> str:
    """Why no list is read."""
    if page.lists is None:
        return unread(page.harvest.ending.problem)
    like = [wish.like] if wish.like else []
    return no_list(wish.url, page.lists, like, rendered=wish.render == "browser", ways=BROWSER)


def _proposals(lists: Lists, url: str, *numbers: int) -> Proposals:
    """What is proposed of the first lists, and of those with these numbers, each made once."""
    first = range(1, min(PREVIEWED, len(lists.seen)) + 1)
    return {each: proposal_of(lists, each, url, BROWSER) for each in {*first, *numbers}}


def _listed(lists: Lists, proposals: Proposals) -> list[ListOnPage]:
    """The lists of a page, those of which something is proposed with their first rows."""
    listed = []
    for number, seen in enumerate(lists.seen[:MOST_LISTS], 1):
        told = ListOnPage(number, seen.selector, seen.count, begins(lists, number))
        proposal = proposals.get(number)
        if isinstance(proposal, ProposedList):
            names, rows = _names(proposal), _rows(proposal)
            told = msgspec.structs.replace(told, names=names, rows=rows)
        listed.append(told)
    return listed


def _names(proposal: ProposedList) -> list[str]:
    return [column.name for column in proposal.columns]


def _rows(proposal: ProposedList) -> list[list[Scalar]]:
    return [[_cut(value) for value in row] for row in first_rows(proposal)]


def _proved(lists: Lists, listed: list[ListOnPage], number: int, proposed: Proposed) -> PageLook:
    """What was seen, with what the trial of the list has shown."""
    proposal, trial = proposed.proposal, proposed.trial
    unsure = (doubt_sentence(doubt, BROWSER) for doubt in doubts(lists, number, proposed))
    return PageLook(
        listed,
        number,
        declaration=proposed.declaration,
        names=_names(proposal),
        rows=_rows(proposal),
        filled=[trial.filled(position)[1] for position in range(len(proposal.columns))],
        records=len(trial.records),
        read=[(page.final_url, len(page.records)) for page in trial.harvest.pages],
        keys=list(_keys(proposed)),
        unsure=list(unsure),
        error=None if proposed.ready else why_not_ready(proposed),
    )


def _keys(proposed: Proposed) -> Iterator[ProvenKey]:
    """The key that is proposed, and the others that tell apart what was read."""
    if isinstance(proposed.key, NoKey):
        return
    first, rows = rows_of(proposed.trial)
    every: list[Key] = [proposed.key]
    every += proven_keys(proposed.proposal.columns, rows, first) if rows else []
    known = set[tuple[str, ...]]()
    for key in every:
        if key.names not in known:
            known.add(key.names)
            yield ProvenKey(key.names, key_reason(key.standing), key.sure)


def _cut(value: Scalar) -> Scalar:
    if isinstance(value, str) and len(value) > _LONGEST_CELL:
        return f"{value[:_LONGEST_CELL]}…"
    return value


async def _try(
    engine: CrawlEngine, fetching: FetchConfig, declared: CreateDataset
) -> dict[str, object]:
    """What a Run would say of the first pages of a declaration."""
    _say("It reads the first pages as a Run reads them.")
    recipe = trial_recipe(declared, fetching.targets)
    trial = await try_out(engine, CrawlJob(recipe, fetching, on_page=_tell_page), TRIED)
    return _told(trial)


def _revised(
    engine: CrawlEngine, settings: Settings, task: LookTask, dataset: DatasetId
) -> LookAnswer:
    """What a Run would say of the next source of a dataset, and what it would change."""
    with closing(Database(settings.database_url)) as db:
        owner, declaration = task.owner or "", task.declaration
        # Before anything is read: a revision that comes meanwhile is not covered by this trial.
        version = queries.recipe_version(db, owner, dataset)
        revising, suggestion = Revising(db, owner, dataset, settings), None
        if declaration is None:
            declared = queries.source(db, owner, dataset)
            _say("It looks for the known rows on the page as it is now.")
            mending = revising.mend(engine, revising.known(declared))
            if isinstance(mending, NotMended):
                return LookAnswer(error=mending.why)
            declaration, suggestion = {**declared, "source": mending.source}, mending.suggestion
        _say("It reads the whole list as a Run reads it.")
        trial, changes = revising.try_out(engine, declaration, _tell_page)
    told = {**_told(trial), "version": version, "suggestion": suggestion}
    if changes is not None:
        shown = shown_changes(changes.changes, changes.fields, 0, MOST_CHANGES)
        rows = [_cut_cells(row) for row in shown.rows]
        shown = msgspec.structs.replace(shown, rows=rows, columns=changes.columns)
        told["changes"] = msgspec.to_builtins(shown)
    return LookAnswer(seen=PageLook(declaration=declaration), tried=told)


def _cut_cells(row: ProposedRowChange) -> ProposedRowChange:
    cells = [
        msgspec.structs.replace(cell, before=_cut(cell.before), after=_cut(cell.after))
        for cell in row.cells
    ]
    return msgspec.structs.replace(row, cells=cells)


def _told(trial: Trial) -> dict[str, object]:
    """What a trial found, with as much of each cell as is shown."""
    told = trial_json(trial)
    rows = [{name: _cut(value) for name, value in row.items()} for row in told["rows"]]
    return {**told, "rows": rows}


def _tell_page(page: PageRead) -> None:
    _say(f"Page {page.number} is read: {plural(len(page.records), 'record')}.")


if __name__ == "__main__":
    main()
