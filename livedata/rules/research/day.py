"""Which day it is for the budgets of research: a day of the operator's time zone."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo


def day_of(moment: datetime, zone: str) -> tuple[str, datetime]:
    """The date of a moment in a zone, and the moment at which the next day begins there."""
    # A machine without a table of zones knows this one too.
    local: tzinfo = UTC if zone == "UTC" else ZoneInfo(zone)
    day = moment.astimezone(local).date()
    renews = datetime.combine(day + timedelta(days=1), time(), local)
    return day.isoformat(), renews.astimezone(UTC)
