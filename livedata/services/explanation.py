"""The explanation of a Run's end, and the page that stopped it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from livedata.model import ids
from livedata.model.diagnosis.explanation import (
    FailedPage,
    RunExplanation,
    ShownPage,
    Suggestion,
)
from livedata.model.diagnosis.recorded_run import RecordedRun, RunFacts
from livedata.model.errors import NotFound
from livedata.model.harvest import Harvest
from livedata.model.ids import DatasetId, Micros, OwnerName, RunId
from livedata.model.problem import Problem
from livedata.model.row import Scalar
from livedata.rules.changes.compare import CurrentRow
from livedata.rules.diagnosis.page_snapshot import counts, page_to_keep, shorten
from livedata.services.kinds import choice as kinds
from livedata.store import held, rows, runs
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.store import Database, Store

if TYPE_CHECKING:
    from livedata.rules.explanation.run_context import RunContext
    from livedata.services.run_view import RunView


def explanation(db: Database, owner: OwnerName, run_id: RunId) -> RunExplanation:
    """The causes of a Run's end, the likeliest first. Raises NotFound."""
    # Imported here because every Run imports this module, and none of them explains itself.
    from livedata.services.run_view import viewing

    with viewing(db, owner, run_id) as view:
        return explain(view)


def explain(view: RunView) -> RunExplanation:
    """The same within a view."""
    # Imported here because every Run imports this module, and none of them explains itself.
    from livedata.rules.explanation.run_context import RunContext, compare_counts

    page = view.page
    # The rows of a large table take much memory, and only the page is compared with them.
    recorded = view.recorded(rows_too=page is not None)
    # Before this Run and not the latest one: an old Run is compared with what it could know.
    earlier = _accepted_before(view.reader, view.ref.id, view.id, recorded.facts)
    # The facts of an accepted Run that is old may be gone: then there is nothing to compare.
    before = (None if earlier is None else runs.facts(view.reader, earlier)[1]) or None
    context = RunContext(recorded, before, page, output_kept=view.output is not None)
    causes = kinds.of_source(view.source).explain(context)
    return RunExplanation(
        run=recorded.run["id"],
        dataset=view.ref.name,
        status=recorded.run["status"],
        error=recorded.run["error"],
        problem=context.problem,
        compared_with=None if earlier is None or before is None else ids.format_uuid(earlier),
        causes=causes,
        suggestion=None if page is None else _suggestion(context),
        matches=compare_counts(context),
        page=None if page is None else _shown(page),
        unknown=_unknown(recorded, compared=earlier is None or before is not None),
    )


def _suggestion(context: RunContext) -> Suggestion | None:
    # Imported here because the parser is heavy, and most Runs are explained without a page.
    from livedata.rules.explanation.mended_source import suggest

    return suggest(context)


def failed_page(db: Database, owner: OwnerName, run_id: RunId) -> FailedPage:
    """The page that stopped a Run. Raises NotFound if there is none, or none any more."""
    with db.reading() as reader:
        # Asked for the owner's sake: the Run of another owner is not found.
        runs.get(reader, owner, run_id)
        page = held.failed_page(reader, run_id, reader.now())
    if page is None:
        raise NotFound(
            "No page of this Run is kept: it was accepted, no page was answered, or 30 days have "
            "passed."
        )
    return page


def judge_stopping_page(
    store: Store, dataset: DatasetId, harvest: Harvest, problem: Problem | None
) -> Harvest:
    """The harvest with a judgement of the page that `problem` is about, if that has no items.

    Only here the whole page and the rows of the table are both at hand.
    """
    page = page_to_keep(harvest, None if problem is None else problem.page)
    if page is None or any(read.records for read in harvest.pages if read.number == page.number):
        return harvest
    # Imported here because most Runs end without such a page.
    from livedata.rules.diagnosis.page_kind import judge_page, rows_of_page

    with store.reading() as reader:
        present = [row for row in rows.current(reader, dataset) if row.presence == "present"]
        earlier = rows.last_accepted_run(reader, dataset)
        facts = {} if earlier is None else runs.facts(reader, earlier)[1]
    known = rows_of_page(
        {row.key: _source_values(row) for row in present}, facts.get("seen", []), page.number
    )
    markup = page.markup.decode()
    judged = judge_page(markup, page.number, page.title, known, parsed=page.parsed)
    short = shorten(page, [text for texts in known for text in texts])
    seen = [short if answer is page else answer for answer in harvest.seen]
    return replace(harvest, seen=seen, judged=judged)


def keep_stopping_page(
    writer: Writer, run: RunId, harvest: Harvest, problem: Problem | None, until: Micros
) -> None:
    """Keep the page that `problem` is about, for people to look at."""
    page = page_to_keep(harvest, None if problem is None else problem.page)
    if page is not None:
        short, matches = shorten(page, ()), counts(harvest, page.number)
        held.keep_page(writer, run, short, matches, until)


def _accepted_before(
    reader: Reader, dataset: DatasetId, run: RunId, facts: RunFacts
) -> RunId | None:
    """The accepted Run whose rows a Run met: one that was not accepted has stored it."""
    if "against" in facts:
        return RunId(ids.raw_id(facts["against"]))
    return runs.accepted_before(reader, dataset, run)


def _unknown(recorded: RecordedRun, *, compared: bool) -> Problem | None:
    """What is kept no more of a Run, or of the one before it."""
    if recorded.forgotten:
        return Problem("unknown.not_kept")
    return None if compared else Problem("unknown.comparison_not_kept")


def _shown(page: FailedPage) -> ShownPage:
    return {
        "number": page.number,
        "url": page.url,
        "finalUrl": page.final_url,
        "status": page.status,
        "title": page.title,
        "bytes": len(page.markup.encode()),
        "cut": page.cut,
        "screenshot": page.screenshot is not None,
        "counts": page.counts,
    }


def _source_values(row: CurrentRow) -> list[Scalar]:
    """The values of a row as the site had them, also under hand edits."""
    return [row.cells.source(position)[0] for position in range(len(row.cells.values))]
