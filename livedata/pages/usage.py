"""The credits of an owner: what is left, and what the last 30 days took."""

from __future__ import annotations

from flask import Blueprint, Response, g

from livedata.model.account import LedgerEntry
from livedata.pages.answers import page
from livedata.pages.markup.plot import Point, plot
from livedata.pages.visits import context
from livedata.services import queries


def add_routes(routes: Blueprint) -> None:
    """The route of the usage."""
    routes.add_url_rule("/usage", "usage", _usage, methods=["GET"])


def _usage() -> Response:
    usage = queries.usage(context().store, g.caller.owner)
    return page("usage.html", data=usage, usage=usage, drawn=_drawn(usage["ledger"]))


def _drawn(ledger: list[LedgerEntry]) -> object:
    """The balance over time; None if it has not changed."""
    # The ledger is newest first.
    points = [Point(entry["createdAt"], entry["balanceAfter"]) for entry in reversed(ledger)]
    return plot(points) if len(points) > 1 else None
