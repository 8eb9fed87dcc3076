"""Pages for people, over the same services as the API and the command line."""

from __future__ import annotations

from flask import Blueprint, Flask
from werkzeug.exceptions import HTTPException

from livedata.pages import changes, datasets, row, run, runs, sign_in, table, usage
from livedata.pages.answers import HANDLERS, unrouted
from livedata.pages.hosts import Hosts
from livedata.pages.markup import filters
from livedata.pages.visits import begin, finish, finish_unrouted


def add_pages(app: Flask, hosts: Hosts) -> None:
    """Let an application of the API answer with pages too, at the names of this server."""
    app.extensions["livedata_hosts"] = hosts
    # Lines that only steer a template leave nothing behind in its page.
    app.jinja_options = {**app.jinja_options, "trim_blocks": True, "lstrip_blocks": True}
    routes = Blueprint(
        "pages",
        __name__,
        static_url_path="/assets",
        static_folder="assets",
        template_folder="templates",
    )
    for page in (sign_in, datasets, table, row, changes, runs, run, usage):
        page.add_routes(routes)
    filters.add_to(app.jinja_env)
    for kind, handler in HANDLERS.items():
        routes.register_error_handler(kind, handler)
    routes.before_request(begin)
    routes.after_request(finish)
    app.register_blueprint(routes)
    app.register_error_handler(HTTPException, unrouted)
    app.after_request(finish_unrouted)
