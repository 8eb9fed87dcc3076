"""What an owner has: keys, of which each is shown once, and the credits that Runs have taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flask import g, redirect, request
from markupsafe import Markup
from msgspec import Struct
from werkzeug.wrappers import Response

from livedata.api.queries import identified
from livedata.hints import Subject
from livedata.model import ids
from livedata.model.errors import Conflict, Invalid
from livedata.model.ids import Micros
from livedata.pages.answers import page, sentences, wants_json
from livedata.pages.markup.plot import bars, day_of
from livedata.pages.paging import address, back_by, passed_over
from livedata.pages.typed import WRONG, request_id_of
from livedata.pages.visits import at_one_moment, context
from livedata.services import accounts, queries
from livedata.services.pages import sessions
from livedata.services.pages.history import Point, of_charges
from livedata.services.pages.row_edits import as_sent
from livedata.services.research.days import Day, last_days, of_owner

ON_A_PAGE: Final = 30
"""So many entries of the ledger are on a page, which is no long way on a phone."""
_MADE_BEFORE: Final = (
    "This key was made already, and it is not shown again: revoke it, and make another one."
)


@at_one_moment
def show_usage() -> Response:
    """The page of what was used."""
    store, owner, settings = g.db, g.caller.owner, context().research
    since = Micros(ids.now() - queries.LEDGER_WINDOW)
    usage = queries.usage(store, owner)
    research, today = last_days(store, owner), of_owner(store, owner, settings)
    days = research.days
    passed, charges = passed_over(request.args), of_charges(store, owner, since)
    by_dataset, counted_since = accounts.by_dataset(store, owner, since, research.usd)
    ledger = accounts.entries(store, owner, since, ON_A_PAGE, passed)
    # A program gets all of it at once, as from the API.
    is_long = ledger.count > passed + ON_A_PAGE and not wants_json()
    return page(
        "usage.html",
        data=lambda: {
            "data": usage,
            "datasets": by_dataset,
            "research": days,
            "researchToday": today,
        },
        usage=usage,
        ledger=ledger,
        is_counted=ledger.count < accounts.LOOKED_AT,
        by_dataset=by_dataset,
        most_told=accounts.MOST_TOLD,
        counted_since=ids.format_timestamp(counted_since) if counted_since > since else None,
        taken=sum(point.value or 0 for point in charges),
        more=address(after=str(passed + ON_A_PAGE)) if is_long else None,
        back=back_by(ON_A_PAGE),
        days=_by_day(charges, days),
        has_research=bool(days),
        today=today if today.tokens or settings.has_day else None,
        passed=passed,
        chart=bars(charges),
        usd=sum(day.usd for day in days),
    )


class UsedDay(Struct, frozen=True):
    """What a day took: the credits of its Runs, and its research."""

    day: Markup
    credits: float
    research: Day


def _by_day(charges: Sequence[Point], days: Sequence[Day]) -> list[UsedDay]:
    """The days that took anything, the newest first."""
    researched = {day.day: day for day in days}
    charged = [(point.at[:10], point.value or 0) for point in reversed(charges)]
    return [
        UsedDay(day_of(day), taken, researched.get(day, Day(day)))
        for day, taken in charged
        if taken or day in researched
    ]


@at_one_moment
def show_keys(
    label: str = "", refusal: str = "", made: str | None = None, status: int = 200
) -> Response:
    """The keys of an owner; once with one that was made, or with why none was."""
    owner = g.caller.owner
    keys = queries.keys(g.db, owner)
    return page(
        "keys.html",
        data=lambda: {"data": keys},
        status=status,
        open_keys=[key for key in keys if key["revokedAt"] is None],
        revoked=[key for key in keys if key["revokedAt"] is not None],
        present=ids.format_uuid(g.caller.key),
        of_links=sessions.KEY_LABEL,
        label=label,
        refusal=refusal,
        made=made,
        request_id=sessions.make_token(),
        about=Subject(owner),
    )


def make_key() -> Response:
    """Make a key, which is shown in this answer alone."""
    store, owner = context().store, g.caller.owner
    # Of one line, as its field is; another program may send more.
    label = as_sent(request.form.get("label", "")).replace("\n", " ").strip()
    secret = sessions.secret_of(g.visit, request_id_of(request.form), "key", label)
    try:
        key = accounts.create_key(store, owner, label or None, secret=secret)
    except (Invalid, Conflict) as error:
        status = 422 if isinstance(error, Invalid) else 409
        return show_keys(label, f"{sentences(error)} {WRONG}", status=status)
    # Who clicks twice is shown what the first click has made.
    made_at = Micros(ids.parse_timestamp(key["createdAt"]))
    if key["revokedAt"] is not None or not sessions.is_just_made(made_at):
        return show_keys(label, _MADE_BEFORE, status=409)
    return show_keys(made=key["key"])


def revoke_key(key: str) -> Response:
    """End a key at once, and each session that it has begun: this one too, if it is of that key."""
    # A whole id: the beginning of one, as a shell takes it, may be that of another key.
    wanted = ids.format_uuid(identified(key))
    accounts.revoke_key(context().store, wanted, g.caller.owner)
    return redirect("/keys", 303)
