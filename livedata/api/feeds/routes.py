"""``GET /feeds/{dataset id}.atom`` and ``.json``: interface 6.3."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flask import Blueprint, Response, current_app, g, request
from msgspec import Struct
from werkzeug.http import is_resource_modified

from livedata.api.auth import meet
from livedata.api.endpoints import AppContext
from livedata.api.feeds import atom, json_feed
from livedata.api.queries import path_id
from livedata.api.responses import Internal, entity_tag, log, not_modified
from livedata.model import ids
from livedata.model.errors import NotFound, StoreUnavailable
from livedata.model.ids import DatasetId
from livedata.services.notices import feeds
from livedata.services.notices.feeds import News
from livedata.store.notices.feeds import FeedHead


class Form(Struct, frozen=True):
    """A kind of feed, and what writes it for an address."""

    media_type: str
    write: Callable[[News, str | None], bytes]


FORMS: Mapping[str, Form] = {
    "atom": Form("application/atom+xml; charset=utf-8", atom.write),
    "json": Form("application/feed+json; charset=utf-8", json_feed.write),
}


def blueprint() -> Blueprint:
    """The routes of the feeds."""
    routes = Blueprint("feeds", __name__, url_prefix="/feeds")
    for name, form in FORMS.items():
        routes.add_url_rule(
            f"/<dataset>.{name}",
            name,
            _view(form),
            provide_automatic_options=False,
        )
    return routes


def _view(form: Form) -> Callable[[str], Response]:
    def view(dataset: str) -> Response:
        context: AppContext = current_app.extensions["livedata"]
        try:
            return _answer(context, dataset, form)
        except StoreUnavailable as error:
            log.warning("request %s: %s", g.request_id, error)
            raise Internal from error

    return view


def _answer(context: AppContext, named: str, form: Form) -> Response:
    store, dataset = context.store, path_id(named)
    if dataset is None:
        raise NotFound(feeds.NO_FEED)
    head = feeds.head(store, DatasetId(dataset), request.args.get("token", ""))
    # Who reads a feed has no key: its turn is one of the owner's.
    meet(request.environ, head.owner)
    tag, changed = entity_tag(_state(head)), ids.to_datetime(head.changed_at)
    # Feed readers ask every hour: what has not changed is not read from the store.
    if is_resource_modified(request.environ, tag, last_modified=changed):
        written = form.write(feeds.news(store, DatasetId(dataset)), _address(context))
        response = Response(written, content_type=form.media_type)
    else:
        response = not_modified()
    response.set_etag(tag)
    response.last_modified = changed
    # The address is a secret: no cache that others share may keep what it answers.
    response.headers["Cache-Control"] = "private, no-cache"
    return response


def _address(context: AppContext) -> str | None:
    """Where the feed is, if that is known: behind a proxy, only the setting knows."""
    base = context.base(request.host, request.host_url)
    return None if base is None else f"{base}{request.full_path.rstrip('?')}"


def _state(head: FeedHead) -> tuple[object, ...]:
    """All that a feed is made of: while it stays, so does the feed."""
    return head.name, head.head, head.schema_version, head.changed_at
