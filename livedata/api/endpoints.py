"""The table of endpoints, and the steps in which every endpoint handles a request.

An endpoint is declared once, at its function in :mod:`livedata.api.v1`. The routes and the
OpenAPI document are made from this declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any, Literal

from flask import Response, current_app, g, request
from msgspec import Struct
from msgspec.structs import replace
from werkzeug.datastructures import Headers

from livedata.api.auth import KeyUsageRecorder, RequestRates, authenticate
from livedata.api.queries import Parameter, identified, read_known, read_query
from livedata.api.responses import (
    Internal,
    UnsupportedMediaType,
    entity_tag,
    is_known,
    log,
    not_modified,
    reply,
)
from livedata.messages.strict_json import parse_json
from livedata.messages.validation import read
from livedata.model.base import Shape
from livedata.model.errors import BadRequest, Invalid, StoreUnavailable
from livedata.model.research.settings import ResearchSettings
from livedata.rules.network.installation import Hosts
from livedata.rules.network.targets import TargetPolicy
from livedata.services import queries
from livedata.services.accounts import Caller
from livedata.store.database.store import Database, Store


class AppContext(Struct, frozen=True):
    """A holder of what all requests share: the store and the settings of the service."""

    store: Store
    targets: TargetPolicy
    zone: str
    public_url: str
    key_usage: KeyUsageRecorder
    research: ResearchSettings
    hosts: Hosts
    rates: RequestRates

    def base(self, host: str, asked: str) -> str | None:
        """The address of this server, without a slash at its end, for an answer that names it.

        `asked` is the address that a request came to, and counts only if its Host header has a name
        of this server: any client, and any page that a browser looks at, can write another one.
        """
        if self.public_url:
            return self.public_url
        return asked.rstrip("/") if self.hosts.know(host) else None


class ApiRequest(Struct, frozen=True):
    """A request that has been authenticated and read: caller, parameters and body."""

    app: AppContext
    caller: Caller
    query: Mapping[str, Any]
    headers: Headers
    body: Any
    db: Database
    """What a GET asks: the store as it is at one moment."""

    @property
    def store(self) -> Store:
        """The store of the service."""
        return self.app.store

    @property
    def owner(self) -> str:
        """The owner whose data the request may read and change."""
        return self.caller.owner


class Header(Struct, frozen=True):
    """A header of a request, and what it means."""

    name: str
    about: str


IF_NONE_MATCH = Header("If-None-Match", "The ETag of an answer: 304 if it is still the same.")

View = Callable[..., Any]


class Endpoint(Struct, frozen=True):
    """An endpoint of interface 4; `path` as written there, `errors` as declared there.

    `state` reads what an answer is made of, cheaply: it may be the `view` itself. It is None if the
    answer gets no entity tag. An extension is an endpoint that the interface does not list. With
    `media_types` the view makes the whole response itself, in one of them, and with its entity tag;
    `answer` is the shape of the first.
    """

    method: str
    path: str
    status: int
    answer: Any
    errors: tuple[int, ...]
    view: View
    parameters: tuple[Parameter, ...] = ()
    headers: tuple[Header, ...] = ()
    body: type[Shape] | None = None
    state: View | None = None
    is_extension: bool = False
    media_types: tuple[str, ...] = ()

    @property
    def is_tagged(self) -> bool:
        """Whether its answers may have an entity tag."""
        return self.state is not None or bool(self.media_types)

    @property
    def name(self) -> str:
        """The operation's id in the OpenAPI document."""
        return self.view.__name__

    @property
    def path_names(self) -> tuple[str, ...]:
        """The names of the ids in the path, in order."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))

    @property
    def statuses(self) -> tuple[int, ...]:
        """All statuses of its answers, ascending after the one of success."""
        # The interface does not list these three: wrong method, large body, other media type.
        additions = (405, 413, 415) if self.body else (405,)
        unchanged = (304,) if self.is_tagged else ()
        return (self.status, *sorted({401, *additions, *unchanged, *self.errors}))

    def __call__(self, **path: str) -> Response:
        """Answer one request of this endpoint."""
        app: AppContext = current_app.extensions["livedata"]
        try:
            # Authentication is first: a stranger must not learn which ids exist.
            caller = g.caller = authenticate(app.store, request.headers.get("Authorization"))
            app.rates.take(caller.owner, app.store.limits.of(caller.owner).requests, monotonic())
            app.key_usage.note(caller)
            ids = self._ids(path)
            return self._answer(self._read(app, caller, ids), ids)
        except StoreUnavailable as error:
            log.warning("request %s: %s", g.request_id, error)
            # 503 means that a Run was not queued; for all other endpoints it is a plain 500.
            if 503 in self.errors and not self.is_extension:
                raise
            raise Internal from error

    def _answer(self, sent: ApiRequest, ids: tuple[bytes, ...]) -> Response:
        if self.media_types:
            response: Response = self.view(sent, *ids)
            return response
        if self.method != "GET":
            return reply(self.view(sent, *ids), self.status)
        # Of one moment is all that an answer is made of, and the tag that says which answer it is.
        with sent.store.at_one_moment() as db:
            return self._told(replace(sent, db=db), ids)

    def _told(self, sent: ApiRequest, ids: tuple[bytes, ...]) -> Response:
        state = self.state(sent, *ids) if self.state else None
        if state is None:
            return reply(self.view(sent, *ids), self.status)
        tag = entity_tag(state)
        if is_known(tag):
            response = not_modified()
        else:
            answer = state if self.state is self.view else self.view(sent, *ids)
            response = reply(answer, self.status)
        response.set_etag(tag)
        return response

    def _ids(self, path: Mapping[str, str]) -> tuple[bytes, ...]:
        return tuple(identified(path[name]) for name in self.path_names)

    def _read(self, app: AppContext, caller: Caller, ids: tuple[bytes, ...]) -> ApiRequest:
        try:
            read_all = read_query if 400 in self.errors else read_known
            query = read_all(self.parameters, request.query_string)
            body = read_body(self.body, unreadable_is_400=400 in self.errors) if self.body else None
        except Exception:
            # A 404 goes before a 400, 415 or 422. Looked up only now, because the view itself
            # raises NotFound: a request without errors pays for no second query.
            self._check_exists(app.store, caller.owner, ids)
            raise
        return ApiRequest(app, caller, query, request.headers, body, app.store)

    def _check_exists(self, store: Store, owner: str, ids: tuple[bytes, ...]) -> None:
        """Raise NotFound if this owner has nothing at the ids of the path."""
        finders: Mapping[tuple[str, ...], Callable[..., object]] = {
            (): lambda *_: None,
            ("datasetId",): queries.dataset,
            ("datasetId", "rowId"): queries.row,
            ("runId",): queries.run,
        }
        finders[self.path_names](store, owner, *ids)


ENDPOINTS: list[Endpoint] = []


def endpoint(
    method: str,
    path: str,
    answer: Any,
    *errors: int,
    status: int = 200,
    query: tuple[Parameter, ...] = (),
    headers: tuple[Header, ...] = (),
    body: type[Shape] | None = None,
    state: View | Literal["answer"] | None = None,
    is_extension: bool = False,
    media_types: tuple[str, ...] = (),
) -> Callable[[View], View]:
    """Declare an endpoint; `errors` are those of interface 4, but for 401, which all have."""

    def declare(view: View) -> View:
        known = (IF_NONE_MATCH,) if state or media_types else ()
        made_of = view if state == "answer" else state
        parts = (answer, errors, view, query, (*headers, *known), body, made_of, is_extension)
        ENDPOINTS.append(Endpoint(method, path, status, *parts, media_types))
        return view

    return declare


def read_body(shape: type[Shape], *, unreadable_is_400: bool) -> Shape:
    """The body of this request as a `shape`.

    Raises UnsupportedMediaType; Invalid for values that break a rule; and for text that is not
    JSON either BadRequest or Invalid, as `unreadable_is_400` says.
    """
    if request.mimetype != "application/json":
        raise UnsupportedMediaType
    try:
        # Flask raises RequestEntityTooLarge here for more than MAX_CONTENT_LENGTH bytes.
        value = parse_json(request.get_data(cache=False))
    except BadRequest as error:
        # Not every endpoint of the interface has a 400: the others answer 422.
        message = f"{error.message[:1].upper()}{error.message[1:]}."
        raise (BadRequest if unreadable_is_400 else Invalid)(message) from None
    return read(shape, value)
