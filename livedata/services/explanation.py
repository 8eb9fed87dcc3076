"""Why a Run ended as it did, with the page that stopped it."""

from __future__ import annotations

from livedata.model import ids
from livedata.model.diagnosis.explanation import FailedPage, RunExplanation, ShownPage
from livedata.model.errors import NotFound
from livedata.rules.explanation import explain_run
from livedata.rules.explanation.run_context import RunContext
from livedata.rules.explanation.selector_counts import compare_counts
from livedata.services.diagnostics import recorded_run
from livedata.store.database import Database, Reader
from livedata.store.reads import runs as run_reads


def explanation(db: Database, owner: str, run_id: bytes) -> RunExplanation:
    """The causes of a Run's end, the likeliest first. Raises NotFound."""
    with db.reading() as reader:
        recorded, dataset_name = recorded_run(reader, owner, run_id)
        dataset = ids.raw_id(recorded.run["datasetId"])
        earlier = run_reads.accepted_before(reader, dataset, run_id)
        before = None if earlier is None else run_reads.facts(reader, earlier)[1]
        page = run_reads.failed_page(reader, run_id, ids.now())
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


def failed_page(db: Database, owner: str, run_id: bytes) -> FailedPage:
    """The page that stopped a Run. Raises NotFound if there is none, or none any more."""
    with db.reading() as reader:
        _known(reader, owner, run_id)
        page = run_reads.failed_page(reader, run_id, ids.now())
    if page is None:
        raise NotFound(
            "No page of this Run is kept: it was accepted, no page was answered, or 30 days have "
            "passed."
        )
    return page


def _known(reader: Reader, owner: str, run_id: bytes) -> None:
    if run_reads.get(reader, owner, run_id) is None:
        raise NotFound("There is no such Run.")


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
