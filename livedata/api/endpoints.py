"""The endpoints as a table: what each takes, answers and refuses, and the one way through them.

An endpoint is declared once, at its function in :mod:`livedata.api.v1`; the routes and the
OpenAPI document are made from the same declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from flask import Response, current_app, g, request

from livedata.api.auth import KeyUsageRecorder, authenticate
from livedata.api.queries import Parameter, path_id, read_query
from livedata.api.request_body import read_body
from livedata.api.responses import Internal, log, reply
from livedata.model.base import Shape
from livedata.model.errors import NotFound, StoreUnavailable
from livedata.rules.network.targets import TargetPolicy
from livedata.services import queries
from livedata.services.accounts import Caller
from livedata.store.database.store import Store


@dataclass(frozen=True, slots=True)
class AppContext:
    """What every request works on."""

    store: Store
    targets: TargetPolicy
    zone: str
    last_use: KeyUsageRecorder


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """Who asks, and with what parameters and body."""

    service: AppContext
    caller: Caller
    query: Mapping[str, Any]
    body: Any

    @property
    def store(self) -> Store:
        """The store."""
        return self.service.store

    @property
    def owner(self) -> str:
        """Whose things may be seen."""
        return self.caller.owner


View = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint of specification 4; `path` as written there, `errors` as declared there."""

    method: str
    path: str
    status: int
    answer: Any
    errors: tuple[int, ...]
    view: View
    parameters: tuple[Parameter, ...] = ()
    body: type[Shape] | None = None

    @property
    def name(self) -> str:
        """Its name within the document."""
        return self.view.__name__

    @property
    def path_names(self) -> tuple[str, ...]:
        """The ids in its path, in order."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))

    @property
    def statuses(self) -> tuple[int, ...]:
        """Every status that it answers with: those declared, and our three additions."""
        ours = (405, 413, 415) if self.body else (405,)
        return (self.status, *sorted({401, *ours, *self.errors}))

    def __call__(self, **path: str) -> Response:
        """Answer a request: who asks, whether it is there, what is asked, then the act itself."""
        service: AppContext = current_app.extensions["livedata"]
        try:
            caller = g.caller = authenticate(service.store, request.headers.get("Authorization"))
            service.last_use.note(caller)
            ids = self._ids(path)
            return reply(self.view(self._ask(service, caller, ids), *ids), self.status)
        except StoreUnavailable as error:
            if 503 in self.errors:
                log.warning("request %s: %s", g.request_id, error)
                raise
            raise Internal from error

    def _ids(self, path: Mapping[str, str]) -> tuple[bytes, ...]:
        ids = [path_id(path[name]) for name in self.path_names]
        if None in ids:
            raise NotFound("There is nothing of this id: an id is a UUID.")
        return tuple(one for one in ids if one is not None)

    def _ask(self, service: AppContext, caller: Caller, ids: tuple[bytes, ...]) -> ApiRequest:
        try:
            query = read_query(self.parameters, request.query_string) if 400 in self.errors else {}
            body = read_body(self.body, unreadable_is_400=400 in self.errors) if self.body else None
        except Exception:
            # 404 goes before whatever is wrong with the question.
            self._find(service.store, caller.owner, ids)
            raise
        return ApiRequest(service, caller, query, body)

    def _find(self, store: Store, owner: str, ids: tuple[bytes, ...]) -> None:
        """Raise NotFound where what the path names is not there for this owner."""
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
    body: type[Shape] | None = None,
) -> Callable[[View], View]:
    """Declare an endpoint; `errors` are those of the specification, but for 401, which all have."""

    def declare(view: View) -> View:
        ENDPOINTS.append(Endpoint(method, path, status, answer, errors, view, query, body))
        return view

    return declare
