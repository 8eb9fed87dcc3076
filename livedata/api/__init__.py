"""The HTTP API: interface 4 over the same services as the command line."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from urllib.parse import quote

from flask import Flask, Response, current_app, g, request
from typing_extensions import override
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Rule

from livedata.api import feeds, openapi, tables
from livedata.api.auth import KeyUsageRecorder, RequestRates, balance_of, meet, without_secrets
from livedata.api.endpoints import AppContext
from livedata.api.responses import (
    MAX_BODY,
    Internal,
    error_response,
    http_error_response,
    log_failure,
    reply,
)
from livedata.api.v1 import blueprint
from livedata.model import ids
from livedata.model.errors import Damaged, LivedataError, StoreUnavailable
from livedata.model.research.settings import ResearchSettings
from livedata.rules.network.installation import Hosts
from livedata.rules.network.targets import TargetPolicy
from livedata.services import queries
from livedata.services.accounts import Caller
from livedata.store.database.store import Store

access = logging.getLogger("livedata.access")


def create_app(
    store: Store,
    targets: TargetPolicy = TargetPolicy(),  # noqa: B008
    zone: str = "UTC",
    public_url: str = "",
    research: ResearchSettings = ResearchSettings(),  # noqa: B008
    hosts: Hosts = Hosts(),  # noqa: B008
) -> Flask:
    """The Flask application over `store`.

    `targets` are the private hosts that sources may name, `public_url` is where the application is
    reached from outside, if that is known, `research` names the model and the search, and `hosts`
    has the names of the server.
    """
    app = Flask("livedata", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY
    app.url_rule_class = _Route
    # Merging would answer /v1//datasets with a redirect; a path that is not listed is a 404.
    app.url_map.merge_slashes = False
    app.extensions["livedata"] = AppContext(
        store, targets, zone, public_url, KeyUsageRecorder(store), research, hosts, RequestRates()
    )
    app.register_blueprint(blueprint())
    app.register_blueprint(openapi.blueprint())
    app.register_blueprint(feeds.blueprint())
    app.register_blueprint(tables.blueprint())
    app.add_url_rule("/healthz", "healthz", _health, provide_automatic_options=False)
    # Flask takes the handler of the most specific class, so their order here does not matter.
    app.register_error_handler(LivedataError, error_response)
    app.register_error_handler(HTTPException, http_error_response)
    app.register_error_handler(Damaged, _failed)
    app.register_error_handler(Exception, _failed)
    app.before_request(_begin)
    app.after_request(_finish)
    return app


class _Route(Rule):
    """A rule that compiles what makes addresses of it when one is asked for.

    Nothing here asks: for 80 rules that is a twelfth of a server's start.
    """

    @override
    def _compile_builder(self, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        compiled = super()._compile_builder
        return lambda *parts, **values: compiled(append_unknown)(*parts, **values)


def close_app(app: Flask) -> None:
    """Wait for what answered requests still write. The store stays open."""
    context: AppContext = app.extensions["livedata"]
    context.key_usage.close()


def _failed(error: Exception) -> Response:
    """The answer to an error that nobody expected, which a damaged store may have caused."""
    context: AppContext = current_app.extensions["livedata"]
    log_failure(error, context.store)
    return error_response(Internal())


def _health() -> Response:
    """The answer to a monitor that asks if the store can be read: 200, or 503."""
    context: AppContext = current_app.extensions["livedata"]
    try:
        queries.check_health(context.store)
    except StoreUnavailable:
        return reply({"status": "unavailable"}, 503)
    return reply({"status": "ok"})


def _begin() -> None:
    g.request_id = ids.format_uuid(ids.new_id())
    g.caller = None
    g.began = time.perf_counter()


def _balance(caller: Caller | None) -> int:
    if caller is not None:
        return caller.balance
    # An unknown path or method, and the pages that need no key: whoever sends one gets the balance.
    context: AppContext = current_app.extensions["livedata"]
    return balance_of(context.store, request.headers.get("Authorization"))


def _finish(response: Response) -> Response:
    """Interface 4: the balance on every answer; and one line of the log for each."""
    caller: Caller | None = g.caller
    if caller is not None:
        # The pages are the only other part of the application that knows callers.
        meet(request.environ, caller.owner, "programs" if request.blueprint == "v1" else "browsers")
    response.headers["X-Request-Id"] = g.request_id
    response.headers["X-Credits-Remaining"] = str(_balance(caller))
    # What opens something must not reach the log, nor may a newline.
    path = without_secrets(quote(request.path))
    took = round((time.perf_counter() - g.began) * 1000, 1)
    owner = quote(caller.owner) if caller else "-"
    said = (g.request_id, request.method, path, response.status_code, took, owner)
    named = ("requestId", "method", "path", "status", "ms", "owner")
    extra = {"event": "request", "fields": dict(zip(named, said, strict=True))}
    access.info("%s %s %s %d %.1fms %s", *said, extra=extra)
    return response
