"""The sixteen endpoints of specification 4: each reads, calls a service, and replies."""

from __future__ import annotations

from flask import Blueprint

from livedata.api import cursors
from livedata.api.endpoints import ENDPOINTS, ApiRequest, endpoint
from livedata.api.envelopes import (
    ArtifactAnswer,
    DatasetAnswer,
    DatasetPage,
    DiagnosticsAnswer,
    RowPage,
    RunAnswer,
    RunList,
    RunQueued,
    TraceAnswer,
)
from livedata.api.queries import choices, flag, integer, limit, moment, text, uuid
from livedata.model.account import Usage
from livedata.model.diagnosis.diagnostics import ArtifactIndex
from livedata.model.errors import BadRequest, Detail
from livedata.model.ids import raw_id
from livedata.model.requests import CreateDataset, EditRow, UpdateDataset
from livedata.model.row import ChangePage, RowDetail, RowRevision
from livedata.services import datasets, diagnostics, feed, queries, rows, runs

CURSOR = text("cursor", "The nextCursor of the page before, with the same filters.", 200)
SINCE = moment("since", "Only rows updated then or later.")
STATUSES = ("new", "changed", "unchanged", "gone")
STATUS = choices("status", "Only rows of these statuses; may be repeated.", STATUSES)
AFTER = integer("after", "Only revisions after this sequence.", 0, default=0)
THROUGH = integer("through", "The end of the window: the through of its first page.", 0)
ROW = uuid("rowId", "Only the timeline of this row.")
FIELD = uuid("fieldId", "Only the timeline of this field.")
SUMMARY = flag("summary", "Add what the whole Run lost; not together with entity or field.")
ENTITY = text("entity", "The exact recorded name of an entity; adds a diagnosis of it.", 200)
ENTITY_FIELD = text("field", "A Field ID or exact label; requires entity.", 200)

DATASETS = "/datasets"
DATASET = "/datasets/{datasetId}"
RUN = "/runs/{runId}"


@endpoint("POST", DATASETS, DatasetAnswer, 409, 422, 500, status=201, body=CreateDataset)
def create_dataset(ask: ApiRequest) -> DatasetAnswer:
    """Create a dataset from a declarative source."""
    return {"dataset": datasets.create(ask.store, ask.owner, ask.body, ask.service.targets)}


@endpoint("GET", DATASETS, DatasetPage, 400, 500, query=(CURSOR, limit(20, 100)))
def list_datasets(ask: ApiRequest) -> DatasetPage:
    """List the datasets, newest first."""
    most = ask.query["limit"]
    before = cursors.read("datasets", ask.query["cursor"])
    found = queries.datasets(ask.store, ask.owner, most + 1, before)
    page = found[:most]
    more = len(found) > most
    last = cursors.write("datasets", page[-1]["createdAt"], page[-1]["id"]) if more else None
    return {"data": page, "nextCursor": last}


@endpoint("GET", DATASET, DatasetAnswer, 404, 500)
def get_dataset(ask: ApiRequest, dataset: bytes) -> DatasetAnswer:
    """Get a dataset."""
    return {"dataset": queries.dataset(ask.store, ask.owner, dataset)}


@endpoint("PATCH", DATASET, DatasetAnswer, 404, 409, 422, 500, body=UpdateDataset)
def update_dataset(ask: ApiRequest, dataset: bytes) -> DatasetAnswer:
    """Change name, question, columns, status or schedule."""
    changed = datasets.update(ask.store, ask.owner, dataset, ask.body, ask.service.zone)
    return {"dataset": changed}


@endpoint(
    "GET",
    DATASET + "/rows",
    RowPage,
    *(400, 404, 500),
    query=(SINCE, STATUS, CURSOR, limit(100, 500)),
)
def list_rows(ask: ApiRequest, dataset: bytes) -> RowPage:
    """List the current rows, the latest updated first."""
    most, since, statuses = ask.query["limit"], ask.query["since"], ask.query["status"]
    listed = ("rows", dataset, since, sorted(statuses))
    try:
        before = cursors.read(listed, ask.query["cursor"])
    except BadRequest:
        queries.dataset(ask.store, ask.owner, dataset)
        raise
    found = queries.rows(
        ask.store, ask.owner, dataset, most + 1, since=since, statuses=statuses, before=before
    )
    page = found[:most]
    more = len(found) > most
    last = cursors.write(listed, page[-1]["updatedAt"], page[-1]["id"]) if more else None
    return {"data": page, "nextCursor": last}


@endpoint("GET", DATASET + "/rows/{rowId}", RowDetail, 404)
def get_row(ask: ApiRequest, dataset: bytes, row: bytes) -> RowDetail:
    """Get a row with the evidence of each cell."""
    return queries.row(ask.store, ask.owner, dataset, row)


@endpoint("PATCH", DATASET + "/rows/{rowId}", RowRevision, 400, 404, 409, 422, body=EditRow)
def edit_row(ask: ApiRequest, dataset: bytes, row: bytes) -> RowRevision:
    """Override cells by hand, or reset them to what the source says."""
    return rows.edit(ask.store, ask.owner, dataset, row, ask.body, ask.caller.key)


@endpoint(
    "GET",
    DATASET + "/changes",
    ChangePage,
    *(400, 404, 422),
    query=(AFTER, THROUGH, limit(50, 100), ROW, FIELD),
)
def list_changes(ask: ApiRequest, dataset: bytes) -> bytes:
    """Read the ordered history of rows and cells."""
    query = ask.query
    return feed.changes_json(
        ask.store,
        ask.owner,
        dataset,
        after=query["after"],
        through=query["through"],
        limit=query["limit"],
        row_id=raw_id(query["rowId"]) if query["rowId"] else None,
        field_id=query["fieldId"],
    )


@endpoint("GET", DATASET + "/runs", RunList, 400, 404, query=(limit(20, 100),))
def list_runs(ask: ApiRequest, dataset: bytes) -> RunList:
    """List the recent Runs, newest first."""
    return {"data": queries.runs(ask.store, ask.owner, dataset, ask.query["limit"])}


@endpoint("POST", DATASET + "/runs", RunQueued, 402, 404, 409, 503, status=202)
def create_run(ask: ApiRequest, dataset: bytes) -> RunQueued:
    """Durably enqueue a Run; no body is read."""
    run, balance = runs.enqueue(ask.store, ask.owner, dataset)
    return {"runId": run, "creditsRemaining": balance}


@endpoint("GET", RUN, RunAnswer, 404, 500)
def get_run(ask: ApiRequest, run: bytes) -> RunAnswer:
    """Get a Run."""
    return {"run": queries.run(ask.store, ask.owner, run)}


@endpoint("GET", RUN + "/artifacts", ArtifactIndex, 404)
def list_artifacts(ask: ApiRequest, run: bytes) -> ArtifactIndex:
    """List what was recorded while a Run was made, without the bodies."""
    return diagnostics.artifacts(ask.store, ask.owner, run)


@endpoint("GET", RUN + "/artifacts/{artifactId}", ArtifactAnswer, 404)
def get_artifact(ask: ApiRequest, run: bytes, artifact: bytes) -> ArtifactAnswer:
    """Get one artifact with its body."""
    return {"artifact": diagnostics.artifact(ask.store, ask.owner, run, artifact)}


@endpoint(
    "GET",
    RUN + "/diagnostics",
    DiagnosticsAnswer,
    *(400, 404),
    query=(SUMMARY, ENTITY, ENTITY_FIELD),
)
def get_diagnostics(ask: ApiRequest, run: bytes) -> DiagnosticsAnswer:
    """Explain a Run from what it recorded."""
    summary, entity, field = (ask.query[name] for name in ("summary", "entity", "field"))
    if (problem := _combined(summary=summary, entity=entity, field=field)) is not None:
        queries.run(ask.store, ask.owner, run)
        raise BadRequest(f"{problem.path} {problem.message}.", (problem,))
    found = diagnostics.diagnostics(
        ask.store, ask.owner, run, entity=entity, field=field, summary=summary
    )
    return {"diagnostics": found}


@endpoint("GET", RUN + "/trace", TraceAnswer, 404, 500)
def get_trace(ask: ApiRequest, run: bytes) -> TraceAnswer:
    """Get the timing of a Run."""
    return {"trace": diagnostics.trace(ask.store, ask.owner, run)}


def _combined(*, summary: bool, entity: str | None, field: str | None) -> Detail | None:
    """What is wrong with the parameters of diagnostics together (specification 4.3)."""
    if summary and (entity or field):
        return Detail("summary", "cannot be combined with entity or field")
    if field and not entity:
        return Detail("field", "requires entity")
    return None


@endpoint("GET", "/usage", Usage, 500)
def get_usage(ask: ApiRequest) -> Usage:
    """Get the balance, and the ledger of the last 30 days."""
    return queries.usage(ask.store, ask.owner)


def blueprint() -> Blueprint:
    """The routes below /v1."""
    v1 = Blueprint("v1", __name__, url_prefix="/v1")
    for one in ENDPOINTS:
        rule = one.path.replace("{", "<").replace("}", ">")
        v1.add_url_rule(rule, one.name, one, methods=[one.method], provide_automatic_options=False)
    return v1
