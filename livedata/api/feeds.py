"""``GET /feeds/{dataset id}.atom`` and ``.json``: interface 6.3.

Feed readers have a token in their address, and no key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from html import escape
from xml.sax import saxutils

import orjson
from flask import Blueprint, Response, current_app, request
from msgspec import Struct
from werkzeug.http import is_resource_modified

from livedata.api.auth import meet
from livedata.api.endpoints import AppContext
from livedata.api.queries import path_id
from livedata.api.responses import entity_tag, failing_inside, not_modified
from livedata.messages import notice_events
from livedata.model import ids
from livedata.model.errors import NotFound
from livedata.model.ids import DatasetId
from livedata.services.notices import feeds
from livedata.services.notices.feeds import Entry, News
from livedata.services.notices.told_changes import as_html, described
from livedata.store.database.store import Database
from livedata.store.feed_tokens import FeedHead

_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""The characters that no XML may have, however they are written."""


def title(entry: Entry) -> str:
    """How many rows an accepted Run changed; of a single one, which it is."""
    if len(entry.changes) == 1 and not entry.more:
        (change,) = entry.changes
        return f"{change.name} {change.line['kind']}"
    return notice_events.deltas(entry.new, entry.changed, entry.gone)


def table(entry: Entry) -> str:
    """HTML of the changes; every value is escaped, since sites write them."""
    lines = "".join(_lines(entry))
    more = f"<p>and {entry.more} more</p>" if entry.more else ""
    return f"<table><tr><th>row</th><th>change</th><th>values</th></tr>{lines}</table>{more}"


def _lines(entry: Entry) -> Iterator[str]:
    for change in entry.changes:
        values = "<br>".join(map(escape, described(change.line)))
        kind = change.line["kind"]
        yield f"<tr><td>{as_html(change.name)}</td><td>{kind}</td><td>{values}</td></tr>"


def write_atom(news: News, address: str | None) -> bytes:
    """A feed as Atom (RFC 4287); it names the address that it is at, if that is known."""
    own = () if address is None else (f'<link rel="self" href={saxutils.quoteattr(address)}/>',)
    parts = (
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<id>urn:uuid:{news.dataset}</id>",
        f"<title>{_text(news.name)}</title>",
        f"<updated>{ids.format_timestamp(news.changed_at)}</updated>",
        "<author><name>livedata</name></author>",
        *own,
        *map(_atom_entry, news.entries),
        "</feed>",
    )
    return ("\n".join(parts) + "\n").encode()


def _atom_entry(entry: Entry) -> str:
    return (
        f"<entry><id>urn:uuid:{entry.run}</id><title>{_text(title(entry))}</title>"
        f"<updated>{ids.format_timestamp(entry.written_at)}</updated>"
        # HTML within XML: escaped twice.
        f'<content type="html">{_text(table(entry))}</content></entry>'
    )


def _text(text: str) -> str:
    return saxutils.escape(_NO_XML.sub("", text))


def write_json_feed(news: News, address: str | None) -> bytes:
    """A feed as JSON Feed 1.1; it names the address that it is at, if that is known."""
    return orjson.dumps(
        {
            "version": "https://jsonfeed.org/version/1.1",
            "title": news.name,
            **({} if address is None else {"feed_url": address}),
            "items": [
                {
                    "id": f"urn:uuid:{entry.run}",
                    "title": title(entry),
                    "content_html": table(entry),
                    "date_published": ids.format_timestamp(entry.written_at),
                }
                for entry in news.entries
            ],
        }
    )


class Form(Struct, frozen=True):
    """A kind of feed, and what writes it for an address."""

    media_type: str
    write: Callable[[News, str | None], bytes]


FORMS: Mapping[str, Form] = {
    "atom": Form("application/atom+xml; charset=utf-8", write_atom),
    "json": Form("application/feed+json; charset=utf-8", write_json_feed),
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
        with failing_inside(), context.store.at_one_moment() as db:
            return _answer(context, db, dataset, form)

    return view


def _answer(context: AppContext, db: Database, named: str, form: Form) -> Response:
    dataset = path_id(named)
    if dataset is None:
        raise NotFound(feeds.NO_FEED)
    head = feeds.head(db, DatasetId(dataset), request.args.get("token", ""))
    meet(request.environ, head.owner, "readers")
    tag, changed = entity_tag(_state(head)), ids.to_datetime(head.changed_at)
    # Feed readers ask every hour: what has not changed is not read from the store.
    if is_resource_modified(request.environ, tag, last_modified=changed):
        written = form.write(feeds.news(db, DatasetId(dataset)), _address(context))
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
