"""What an owner used: the credits that are left, and what Runs and models took."""

from __future__ import annotations

from flask import Response, g

from livedata.pages.answers import page
from livedata.pages.markup.plot import plot
from livedata.pages.visits import at_one_moment, context
from livedata.services import queries
from livedata.services.pages.history import Point, of_days
from livedata.services.research.days import last_days, of_owner


@at_one_moment
def show() -> Response:
    """The page of what was used."""
    store, owner, settings = g.db, g.caller.owner, context().research
    usage, days = queries.usage(store, owner), last_days(store, owner)
    today = of_owner(store, owner, settings)
    # The ledger is newest first.
    balances = [Point(each["createdAt"], each["balanceAfter"]) for each in usage["ledger"][::-1]]
    return page(
        "usage.html",
        data=lambda: {"data": usage, "research": days, "researchToday": today},
        usage=usage,
        days=days,
        today=today if today.tokens or settings.has_day else None,
        balance=plot(balances),
        tokens=plot(of_days(days)),
    )
