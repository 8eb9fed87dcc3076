"""The explanation of a Run's end, and the page that stopped it."""

from __future__ import annotations

from livedata.model import ids
from livedata.model.diagnosis.explanation import FailedPage, RunExplanation, ShownPage
from livedata.model.errors import NotFound
from livedata.model.ids import DatasetId, OwnerName, RunId
from livedata.rules.explanation import explain_run
from livedata.rules.explanation.run_context import RunContext
from livedata.rules.explanation.selector_counts import compare_counts
from livedata.services.diagnostics import recorded_run
from livedata.store import held, runs
from livedata.store.database.store import Database


def explanation(db: Database, owner: OwnerName, run_id: RunId) -> RunExplanation:
    """The causes of a Run's end, the likeliest first. Raises NotFound."""
    with db.reading() as reader:
        recorded, dataset_name = recorded_run(reader, owner, run_id)
        dataset = DatasetId(ids.raw_id(recorded.run["datasetId"]))
        # Before this Run and not the latest one: an old Run is compared with what it could know.
        earlier = runs.accepted_before(reader, dataset, run_id)
        before = None if earlier is None else runs.facts(reader, earlier)[1]
        page = held.failed_page(reader, run_id, ids.now())
    context = RunContext(recorded, before, page)
    causes = explain_run.explain(context)
    return RunExplanation(
        run=recorded.run["id"],
        dataset=dataset_name,
        status=recorded.run["status"],
        error=recorded.run["error"],
        problem=context.problem,
        compared_with=None if earlier is None else ids.format_uuid(earlier),
        causes=causes,
        suggestions=explain_run.suggestions(context, causes),
        matches=compare_counts(context),
        page=None if page is None else _shown(page),
    )


def failed_page(db: Database, owner: OwnerName, run_id: RunId) -> FailedPage:
    """The page that stopped a Run. Raises NotFound if there is none, or none any more."""
    with db.reading() as reader:
        # Asked for the owner's sake: the Run of another owner is not found.
        runs.get(reader, owner, run_id)
        page = held.failed_page(reader, run_id, ids.now())
    if page is None:
        raise NotFound(
            "No page of this Run is kept: it was accepted, no page was answered, or 30 days have "
            "passed."
        )
    return page


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
