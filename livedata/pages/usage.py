"""What an owner used: the credits that are left, and what Runs and models took."""

from __future__ import annotations

from flask import Blueprint, Response, g

from livedata.pages.answers import page
from livedata.pages.markup.plot import plot
from livedata.pages.visits import context
from livedata.services import queries
from livedata.services.browsing import tokens
from livedata.services.browsing.developments import Point, of_days


def add_routes(routes: Blueprint) -> None:
    """The route of the usage."""
    routes.add_url_rule("/usage", "usage", _usage, methods=["GET"])


def _usage() -> Response:
    store, owner = context().store, g.caller.owner
    usage, days = queries.usage(store, owner), tokens.days(store, owner)
    # The ledger is newest first.
    balances = [Point(each["createdAt"], each["balanceAfter"]) for each in usage["ledger"][::-1]]
    return page(
        "usage.html",
        data=usage,
        usage=usage,
        days=days,
        balance=plot(balances),
        tokens=plot(of_days(days)),
    )
