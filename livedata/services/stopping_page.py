"""The page that stopped a Run: judged as a whole, and then cut down to what is kept."""

from __future__ import annotations

from dataclasses import replace

from livedata.model.harvest import Harvest
from livedata.model.ids import DatasetId, RunId
from livedata.model.problem import Problem
from livedata.model.row import Scalar
from livedata.rules.changes.compare import CurrentRow
from livedata.rules.diagnosis.excerpt import shorten
from livedata.rules.diagnosis.known_rows import rows_of_page
from livedata.rules.diagnosis.page_kind import judge_page
from livedata.rules.diagnosis.page_snapshot import page_to_keep
from livedata.store import rows, runs
from livedata.store.database.store import Store


def judge_stopping_page(
    store: Store, dataset: DatasetId, run: RunId, harvest: Harvest, problem: Problem | None
) -> Harvest:
    """The harvest with a judgement of the page that `problem` is about, if that has no items.

    Only here the whole page and the rows of the table are both at hand.
    """
    page = page_to_keep(harvest, None if problem is None else problem.page)
    if page is None or any(read.records for read in harvest.pages if read.number == page.number):
        return harvest
    with store.reading() as reader:
        present = [row for row in rows.current(reader, dataset) if row.presence == "present"]
        earlier = runs.accepted_before(reader, dataset, run)
        facts = {} if earlier is None else runs.facts(reader, earlier)[1]
    known = rows_of_page(
        {row.key: _source_values(row) for row in present}, facts.get("seen", []), page.number
    )
    judged = judge_page(page.markup.decode(), page.number, page.title, known)
    short = shorten(page, [text for texts in known for text in texts])
    seen = [short if answer is page else answer for answer in harvest.seen]
    return replace(harvest, seen=seen, judged=judged)


def _source_values(row: CurrentRow) -> list[Scalar]:
    """The values of a row as the site had them, also under hand edits."""
    return [row.cells.source(position)[0] for position in range(len(row.cells.values))]
