"""Pages for people, over the same services as the API and the command line."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from flask import Blueprint, Flask
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response

from livedata.messages.templates import lasted
from livedata.pages.answers import HANDLERS, unrouted
from livedata.pages.markup import filters
from livedata.pages.visits import NotSent, begin, finish, finish_unrouted

_ROUTES: Final = (
    ("GET", "/sign-in", "sign_in", "show"),
    ("POST", "/sign-in", "sign_in", "enter"),
    # The token stands behind the path: paths are in the log.
    ("GET", "/sign-in/link", "sign_in", "show_link"),
    ("POST", "/sign-in/link", "sign_in", "follow_link"),
    ("POST", "/sign-out", "sign_in", "leave"),
    ("GET", "/", "datasets", "show"),
    ("GET", "/search", "datasets", "search_all"),
    ("GET", "/changes", "news", "show"),
    ("GET", "/datasets/<dataset>", "table", "show"),
    ("GET", "/datasets/<dataset>/rows.<form>", "table", "as_file"),
    ("GET", "/datasets/<dataset>/rows/<row>", "row", "show"),
    ("POST", "/datasets/<dataset>/rows/<row>", "row", "edit"),
    ("GET", "/datasets/<dataset>/edits", "edits", "show"),
    ("POST", "/datasets/<dataset>/edits", "edits", "save"),
    ("GET", "/datasets/<dataset>/changes", "changes", "show"),
    ("POST", "/datasets/<dataset>/feed", "changes", "change_feed"),
    ("GET", "/datasets/<dataset>/compare", "compare", "show"),
    ("GET", "/datasets/<dataset>/runs", "runs", "show"),
    ("POST", "/datasets/<dataset>/runs", "runs", "run_now"),
    ("GET", "/datasets/<dataset>/shares", "shares", "show"),
    ("POST", "/datasets/<dataset>/shares", "shares", "add"),
    ("POST", "/datasets/<dataset>/shares/<share>/revoke", "shares", "revoke"),
    ("GET", "/datasets/<dataset>/settings", "settings", "show"),
    ("POST", "/datasets/<dataset>/settings", "settings", "save"),
    ("POST", "/datasets/<dataset>/columns", "columns", "save"),
    ("POST", "/datasets/<dataset>/source", "source", "revise"),
    ("GET", "/datasets/<dataset>/preview", "source", "preview"),
    ("POST", "/datasets/<dataset>/preview", "source", "try_out"),
    ("POST", "/datasets/<dataset>/preview/stop", "source", "stop"),
    ("POST", "/datasets/<dataset>/preview/use", "source", "use"),
    ("POST", "/datasets/<dataset>/delete", "settings", "delete"),
    ("GET", "/runs/<run>", "run", "show"),
    ("GET", "/runs/<run>/screenshot", "run", "screenshot"),
    ("POST", "/runs/<run>/accept", "run", "accept"),
    ("POST", "/runs/<run>/cancel", "run", "cancel"),
    ("GET", "/notices", "notices", "show"),
    ("POST", "/notices", "notices", "add"),
    ("GET", "/notices/<notice>", "notices", "show_one"),
    ("POST", "/notices/<notice>", "notices", "save"),
    ("POST", "/notices/<notice>/state", "notices", "set_state"),
    ("GET", "/notices/<notice>/try", "trials", "show"),
    ("POST", "/notices/<notice>/again", "notices", "send_again"),
    ("POST", "/notices/<notice>/test", "notices", "test"),
    ("POST", "/notices/<notice>/remove", "notices", "remove"),
    ("GET", "/usage", "accounts", "show_usage"),
    ("GET", "/keys", "accounts", "show_keys"),
    ("POST", "/keys", "accounts", "make_key"),
    ("POST", "/keys/<key>/revoke", "accounts", "revoke_key"),
    ("GET", "/new", "looks", "form"),
    ("POST", "/new", "looks", "ask"),
    ("GET", "/new/<look>", "looks", "show"),
    ("POST", "/new/<look>/again", "looks", "again"),
    ("POST", "/new/<look>/try", "looks", "try_out"),
    ("POST", "/new/<look>/stop", "looks", "stop"),
    ("POST", "/new/<look>/create", "looks", "create"),
)
"""Method and path -> the file of the page, and its function."""


def add_pages(app: Flask) -> None:
    """Let an application of the API answer with pages too, at the names of its server."""
    # Lines that only steer a template leave nothing behind in its page.
    app.jinja_options = {**app.jinja_options, "trim_blocks": True, "lstrip_blocks": True}
    routes = Blueprint(
        "pages",
        __name__,
        static_url_path="/assets",
        static_folder="assets",
        template_folder="templates",
    )
    for method, path, page, name in _ROUTES:
        routes.add_url_rule(path, f"{page}_{name}", _View(page, name), methods=[method])
    filters.add_to(app.jinja_env)
    app.jinja_env.filters["lasted"] = lasted
    for kind, handler in HANDLERS.items():
        routes.register_error_handler(kind, handler)
    routes.register_error_handler(NotSent, lambda _: _View("sign_in", "keep")())
    routes.before_request(begin)
    routes.after_request(finish)
    app.register_blueprint(routes)
    app.register_error_handler(HTTPException, unrouted)
    app.after_request(finish_unrouted)


class _View:
    """A function of a page, imported when it is first asked for: a server starts without them."""

    def __init__(self, page: str, name: str) -> None:
        self._page, self._name = page, name

    def __call__(self, **path: str) -> Response:
        module = import_module(f"{__name__}.{self._page}")
        answer: Response = getattr(module, self._name)(**path)
        return answer
