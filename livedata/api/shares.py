"""``GET /share/{token}/{name}.{form}``: interface 6.4.

Whoever knows the address reads the table there, without a key, and nothing else.
"""

from __future__ import annotations

from functools import partial

from flask import Blueprint, Response, current_app, request

from livedata.api.auth import meet
from livedata.api.endpoints import AppContext
from livedata.api.queries import read_query
from livedata.api.responses import failing_inside
from livedata.api.tables import FORMS, PARAMETERS, Question, answer, keep_private
from livedata.model.errors import BadRequest, NotFound
from livedata.services import shares
from livedata.store.database.backend import Reader
from livedata.store.shares import Scope


def blueprint() -> Blueprint:
    """The route of the addresses."""
    routes = Blueprint("shares", __name__, url_prefix="/share")
    # What is refused too: the address that was asked for may be one all the same.
    routes.after_request(keep_private)
    routes.add_url_rule("/<token>/<name>", "table", _table, provide_automatic_options=False)
    return routes


def _table(token: str, name: str) -> Response:
    context: AppContext = current_app.extensions["livedata"]
    # The name is for people; what follows its first point is the form.
    form = name.partition(".")[2]
    with failing_inside():
        try:
            asked = _question(form)
        except (NotFound, BadRequest):
            # To a stranger there is no table, whatever else is wrong.
            with context.store.reading() as reader:
                shares.open_share(reader, token)
            raise
        return answer(context.store, partial(_opened, token), form, asked, context.zone)


def _question(form: str) -> Question:
    if form not in FORMS:
        raise NotFound(f"There is no form {form[:20]!r}; there is: {', '.join(FORMS)}.")
    return read_query(PARAMETERS, request.query_string)


def _opened(token: str, reader: Reader) -> Scope:
    scope = shares.open_share(reader, token)
    meet(request.environ, scope.owner, is_reader=True)
    return scope
