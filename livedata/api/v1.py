"""The endpoints of interface 4, and two that it does not list.

Each reads its query, calls a service, and replies.
"""

from __future__ import annotations

from contextlib import suppress

from flask import Blueprint, Response, after_this_request

from livedata.api import tables
from livedata.api.endpoints import ENDPOINTS, ApiRequest, Header, endpoint
from livedata.api.envelopes import (
    ArtifactAnswer,
    DatasetAnswer,
    DatasetPage,
    DiagnosticsAnswer,
    RowPage,
    RunAnswer,
    RunList,
    RunQueued,
    TableAnswer,
    TraceAnswer,
)
from livedata.api.queries import (
    choice,
    choices,
    flag,
    integer,
    limit,
    read_cursor,
    text,
    timestamp,
    uuid,
    write_cursor,
)
from livedata.formats.forms import DEFAULT_FORM
from livedata.model.account import Usage
from livedata.model.diagnosis.recorded_research import ArtifactIndex
from livedata.model.errors import BadRequest, Detail
from livedata.model.ids import DatasetId, RowId, RunId, raw_id
from livedata.model.requests import CreateDataset, EditRow, UpdateDataset
from livedata.model.research.declaration import CreateResearch
from livedata.model.row import ChangePage, RowDetail, RowFilter, RowRevision
from livedata.research.providers import require_packages
from livedata.rules.declaration.research import check
from livedata.services import datasets, diagnostics, feed, queries, rows, runs
from livedata.services.queries import LEDGER_PAGE
from livedata.services.research import declaring
from livedata.store.shares import Scope

CURSOR = text("cursor", "The nextCursor of the page before, with the same filters.", 200)
EARLIER = text("cursor", "Where the page before has ended: from its Link.", 200)
SINCE = timestamp("since", "Only rows updated then or later.")
STATUSES = ("new", "changed", "unchanged", "gone")
STATUS = choices("status", "Only rows of these statuses; may be repeated.", STATUSES)
AFTER = integer("after", "Only revisions after this sequence.", 0, default=0)
THROUGH = integer("through", "The end of the window: the through of its first page.", 0)
FORM = choice("format", "The form of the answer.", tables.FORMS, DEFAULT_FORM)
ROW = uuid("rowId", "Only the timeline of this row.")
FIELD = uuid("fieldId", "Only the timeline of this field.")
SUMMARY = flag("summary", "Add what the whole Run lost; not together with entity or field.")
ENTITY = text("entity", "The exact recorded name of an entity; adds a diagnosis of it.", 200)
ENTITY_FIELD = text("field", "A Field ID or exact label; requires entity.", 200)
IDEMPOTENCY_KEY = Header(
    "Idempotency-Key", "Names this request: the same key within a day answers with the same Run."
)

DATASETS = "/datasets"
DATASET = "/datasets/{datasetId}"
RUN = "/runs/{runId}"


@endpoint("POST", DATASETS, DatasetAnswer, 409, 422, 500, status=201, body=CreateDataset)
def create_dataset(request: ApiRequest) -> DatasetAnswer:
    """Create a dataset from a declarative source."""
    return {
        "dataset": datasets.create(request.store, request.owner, request.body, request.app.targets)
    }


@endpoint(
    "POST",
    "/research/datasets",
    DatasetAnswer,
    *(409, 422, 500, 503),
    status=201,
    body=CreateResearch,
    is_extension=True,
)
def create_research(request: ApiRequest) -> DatasetAnswer:
    """Create a research dataset from a prompt or from a plan; no model is asked."""
    app, declared = request.app, request.body
    check(declared, app.research, app.targets)
    require_packages()
    return {"dataset": declaring.create(request.store, request.owner, declared)}


@endpoint("GET", DATASETS, DatasetPage, 400, 500, query=(CURSOR, limit(20, 100)))
def list_datasets(request: ApiRequest) -> DatasetPage:
    """List the datasets, newest first."""
    most = request.query["limit"]
    before = read_cursor("datasets", request.query["cursor"])
    # One more than the page holds tells whether there is a next page.
    listed = queries.datasets(request.db, request.owner, most + 1, before)
    page = listed[:most]
    more = len(listed) > most
    last = write_cursor("datasets", page[-1]["createdAt"], page[-1]["id"]) if more else None
    return {"data": page, "nextCursor": last}


@endpoint("GET", DATASET, DatasetAnswer, 404, 500, state="answer")
def get_dataset(request: ApiRequest, dataset: DatasetId) -> DatasetAnswer:
    """Get a dataset."""
    return {"dataset": queries.dataset(request.db, request.owner, dataset)}


@endpoint("PATCH", DATASET, DatasetAnswer, 404, 409, 422, 500, body=UpdateDataset)
def update_dataset(request: ApiRequest, dataset: DatasetId) -> DatasetAnswer:
    """Change name, question, columns, status or schedule."""
    changed = datasets.update(request.store, request.owner, dataset, request.body, request.app.zone)
    return {"dataset": changed}


def rows_state(request: ApiRequest, dataset: DatasetId) -> object:
    """What the first page of rows is made of; later ones are asked for once."""
    if request.query["cursor"] is not None:
        return None
    return feed.rows_state(request.db, request.owner, dataset)


@endpoint(
    "GET",
    DATASET + "/rows",
    RowPage,
    *(400, 404, 500),
    query=(SINCE, STATUS, CURSOR, limit(100, 500)),
    state=rows_state,
)
def list_rows(request: ApiRequest, dataset: DatasetId) -> RowPage:
    """List the current rows, the latest updated first."""
    most, since, statuses = request.query["limit"], request.query["since"], request.query["status"]
    # All filters belong to the list's name: with others the cursor would skip or repeat rows.
    listed = ("rows", dataset, since, sorted(statuses))
    try:
        before = read_cursor(listed, request.query["cursor"])
    except BadRequest:
        queries.dataset(request.db, request.owner, dataset)  # a 404 goes before a 400
        raise
    only = RowFilter(since, statuses)
    page, more = queries.rows(request.db, request.owner, dataset, most, only, before)
    last = write_cursor(listed, page[-1]["updatedAt"], page[-1]["id"]) if more else None
    return {"data": page, "nextCursor": last}


@endpoint("GET", DATASET + "/rows/{rowId}", RowDetail, 404)
def get_row(request: ApiRequest, dataset: DatasetId, row: RowId) -> RowDetail:
    """Get a row with the evidence of each cell."""
    return queries.row(request.db, request.owner, dataset, row)


@endpoint("PATCH", DATASET + "/rows/{rowId}", RowRevision, 400, 404, 409, 422, body=EditRow)
def edit_row(request: ApiRequest, dataset: DatasetId, row: RowId) -> RowRevision:
    """Override cells by hand, or reset them to what the source says."""
    edit = request.body.row_edit()
    return rows.edit(request.store, request.owner, dataset, row, edit, request.caller.key)


@endpoint(
    "GET",
    DATASET + "/table",
    TableAnswer,
    *(400, 404, 406, 500),
    query=(FORM, *tables.PARAMETERS, tables.WHEN),
    is_extension=True,
    media_types=tables.MEDIA_TYPES,
)
def get_table(request: ApiRequest, dataset: DatasetId) -> Response:
    """Read the table, or its changes, as a file in one of several forms."""
    scope = Scope(request.owner, dataset)
    form = request.query["format"]
    return tables.answer(request.store, lambda _: scope, form, request.query, request.app.zone)


def feed_state(request: ApiRequest, dataset: DatasetId) -> object:
    """What a page of changes is made of: revisions never change, so the head says all."""
    return feed.head(request.db, request.owner, dataset)


@endpoint(
    "GET",
    DATASET + "/changes",
    ChangePage,
    *(400, 404, 422),
    query=(AFTER, THROUGH, limit(50, 100), ROW, FIELD),
    state=feed_state,
)
def list_changes(request: ApiRequest, dataset: DatasetId) -> bytes:
    """Read the ordered history of rows and cells."""
    query = request.query
    return feed.changes_json(
        request.db,
        request.owner,
        dataset,
        after=query["after"],
        through=query["through"],
        limit=query["limit"],
        row_id=RowId(raw_id(query["rowId"])) if query["rowId"] else None,
        field_id=query["fieldId"],
    )


@endpoint("GET", DATASET + "/runs", RunList, 400, 404, query=(limit(20, 100),))
def list_runs(request: ApiRequest, dataset: DatasetId) -> RunList:
    """List the recent Runs, newest first."""
    return {"data": queries.runs(request.db, request.owner, dataset, request.query["limit"])}


@endpoint(
    "POST",
    DATASET + "/runs",
    RunQueued,
    *(402, 404, 409, 503),
    status=202,
    headers=(IDEMPOTENCY_KEY,),
)
def create_run(request: ApiRequest, dataset: DatasetId) -> RunQueued:
    """Durably enqueue a Run; no body is read."""
    key = request.headers.get(IDEMPOTENCY_KEY.name)
    run, balance = runs.enqueue(request.store, request.owner, dataset, key)
    return {"runId": run, "creditsRemaining": balance}


@endpoint("GET", RUN, RunAnswer, 404, 500)
def get_run(request: ApiRequest, run: RunId) -> RunAnswer:
    """Get a Run."""
    return {"run": queries.run(request.db, request.owner, run)}


@endpoint("GET", RUN + "/artifacts", ArtifactIndex, 404)
def list_artifacts(request: ApiRequest, run: RunId) -> ArtifactIndex:
    """List what was recorded while a Run was made, without the bodies."""
    return diagnostics.artifact_index(request.db, request.owner, run)


@endpoint("GET", RUN + "/artifacts/{artifactId}", ArtifactAnswer, 404)
def get_artifact(request: ApiRequest, run: RunId, artifact: bytes) -> ArtifactAnswer:
    """Get one artifact with its body."""
    return {"artifact": diagnostics.artifact(request.db, request.owner, run, artifact)}


@endpoint(
    "GET",
    RUN + "/diagnostics",
    DiagnosticsAnswer,
    *(400, 404),
    query=(SUMMARY, ENTITY, ENTITY_FIELD),
)
def get_diagnostics(request: ApiRequest, run: RunId) -> DiagnosticsAnswer:
    """Explain a Run from what it recorded."""
    summary, entity, field = (request.query[name] for name in ("summary", "entity", "field"))
    if (problem := _combination_problem(summary=summary, entity=entity, field=field)) is not None:
        queries.run(request.db, request.owner, run)  # a 404 goes before a 400
        raise BadRequest(f"{problem.path} {problem.message}.", (problem,))
    explained = diagnostics.diagnostics(
        request.db, request.owner, run, entity=entity, field=field, summary=summary
    )
    return {"diagnostics": explained}


@endpoint("GET", RUN + "/trace", TraceAnswer, 404, 500)
def get_trace(request: ApiRequest, run: RunId) -> TraceAnswer:
    """Get the timing of a Run."""
    return {"trace": diagnostics.trace(request.db, request.owner, run)}


def _combination_problem(*, summary: bool, entity: str | None, field: str | None) -> Detail | None:
    """What is wrong with the parameters of diagnostics together (interface 4.3), or None."""
    if summary and (entity or field):
        return Detail("summary", "cannot be combined with entity or field")
    if field and not entity:
        return Detail("field", "requires entity")
    return None


@endpoint("GET", "/usage", Usage, 500, query=(EARLIER, limit(LEDGER_PAGE, LEDGER_PAGE)))
def get_usage(request: ApiRequest) -> Usage:
    """Get the balance, and the ledger of the last 30 days; a Link leads to earlier entries."""
    before = None
    with suppress(BadRequest):  # the interface has none here
        before = read_cursor("usage", request.query["cursor"])
    most = request.query["limit"]
    usage, more = queries.usage_page(request.db, request.owner, most, before)
    if more:
        last = usage["ledger"][-1]
        _link_next(f"cursor={write_cursor('usage', last['createdAt'], last['id'])}&limit={most}")
    return usage


def _link_next(query: str) -> None:
    """Say where the next page is: the interface has no place for it in the body."""

    @after_this_request
    def link(response: Response) -> Response:
        response.headers["Link"] = f'</v1/usage?{query}>; rel="next"'
        return response


def blueprint() -> Blueprint:
    """The routes below /v1."""
    v1 = Blueprint("v1", __name__, url_prefix="/v1")
    for entry in ENDPOINTS:
        # Without this option Flask answers OPTIONS itself; here it is a 405 as any other method.
        rule = entry.path.replace("{", "<").replace("}", ">")
        v1.add_url_rule(
            rule, entry.name, entry, methods=[entry.method], provide_automatic_options=False
        )
    return v1
