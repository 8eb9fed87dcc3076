"""The history of a dataset: what changed, when, and by whom."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Final, get_args

from flask import g, redirect, request
from werkzeug.wrappers import Response

from livedata.api.queries import identified
from livedata.model import ids
from livedata.model.dataset import Dataset, labels
from livedata.model.errors import BadRequest, Invalid
from livedata.model.ids import DatasetId, Micros, RunId
from livedata.model.row import Change, RevisionKind
from livedata.pages.answers import page
from livedata.pages.paging import address, malformed
from livedata.pages.visits import at_one_moment, context
from livedata.services import queries
from livedata.services.notices import feeds
from livedata.services.pages.history import History, Narrowing, history

KINDS: Final[tuple[RevisionKind, ...]] = get_args(RevisionKind)


@at_one_moment
def show(dataset: str) -> Response:
    """The page of the changes of a dataset."""
    raw, store, owner = DatasetId(identified(dataset)), g.db, g.caller.owner
    shown = queries.dataset(store, owner, raw)
    wanted = narrowing(request.args, shown)
    told = history(store, owner, raw, wanted)
    return page(
        "changes.html",
        data=lambda: {"data": told.changes},
        dataset=shown,
        told=told,
        occasions=[list(changes) for _, changes in groupby(told.changes, _occasion)],
        labels=labels(shown["columns"]),
        kinds=KINDS,
        given=request.args,
        more=earlier(request.path, told.before),
        back=later(request.path, told),
        feed=_feed(raw, feeds.token(store, owner, raw)),
    )


def _feed(dataset: DatasetId, token: str | None) -> str | None:
    """The whole address of the feed, as a feed reader takes it."""
    base = context().base(request.host, request.host_url)
    return None if token is None or base is None else feeds.addresses(base, dataset, token)["atom"]


def change_feed(dataset: str) -> Response:
    """Make the address of the feed of a dataset, or end it."""
    raw, store, owner = DatasetId(identified(dataset)), context().store, g.caller.owner
    if request.form.get("act") == "revoke":
        feeds.revoke(store, owner, raw)
    else:
        feeds.open_feed(store, owner, raw)
    return redirect(f"/datasets/{dataset}/changes#feed", 303)


def narrowing(given: Mapping[str, str], dataset: Dataset) -> Narrowing:
    """Which changes the address of a page asks for. Raises BadRequest."""
    field, kind, run = (given.get(name) or None for name in ("field", "kind", "run"))
    if field not in {None, *(column["id"] for column in dataset["columns"])}:
        raise _wrong("field", "is no column of this dataset")
    if kind not in {None, *KINDS}:
        raise _wrong("kind", f"is none of {', '.join(KINDS)}")
    before = given.get("before")
    if before is not None and not (before.isascii() and before.isdecimal() and len(before) < 19):
        raise _wrong("before", "is no number of a change")
    return Narrowing(
        run=None if run is None else RunId(_id_of_run(run)),
        field=field,
        kind=kind,
        since=_day(given, "since", timedelta()),
        # All of that day counts.
        until=_day(given, "until", timedelta(days=1)),
        before=None if before is None else int(before),
    )


def _id_of_run(run: str) -> bytes:
    try:
        return ids.raw_id(run)
    except ValueError as error:
        raise _wrong("run", "is no id of a Run") from error


def _day(given: Mapping[str, str], name: str, later: timedelta) -> Micros | None:
    day = given.get(name)
    if not day:
        return None
    try:
        if "T" in day:  # a moment, which another page leads to
            return Micros(ids.parse_timestamp(day))
        return ids.microseconds(datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC) + later)
    except (ValueError, OverflowError, Invalid) as error:
        raise _wrong(name, "is no day, such as 2026-01-31") from error


def _occasion(change: Change) -> tuple[str | None, ...]:
    """What wrote a change, and when: a Run writes all of its changes at once."""
    return change["runId"], change["actorId"], change["createdAt"]


def earlier(path: str, before: int | None) -> str | None:
    """The address of the page with the changes before this one."""
    return None if before is None else address(path, before=str(before))


def later(path: str, told: History) -> str | None:
    """The address of the page with the changes ahead of these."""
    if told.is_first:
        return None
    return address(path, before=None if told.ahead is None else str(told.ahead))


def _wrong(name: str, problem: str) -> BadRequest:
    return malformed(name, problem, "the changes")
