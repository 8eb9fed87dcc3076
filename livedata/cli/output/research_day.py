"""What research has used of a day, as people and programs read it."""

from __future__ import annotations

from typing import Any

from livedata.cli.output.values import format_timestamp
from livedata.model.research.settings import DayBudget


def day_in_words(day: DayBudget) -> str:
    """Tokens and money of a day, with the limits that are set; no money if no price is known."""
    tokens, usd = f"{day.tokens:,}", f"${day.usd:,.2f}"
    if day.most_tokens is not None:
        tokens = f"{tokens} of {day.most_tokens:,}"
    if day.most_usd is not None:
        usd = f"{usd} of ${day.most_usd:,.2f}"
    money = f", {usd}" if day.usd or day.most_usd is not None else ""
    return f"{tokens} tokens{money}, until {format_timestamp(day.renews)}"


def day_as_json(day: DayBudget) -> dict[str, Any]:
    """The same for programs; a limit that is not set is null."""
    return {
        "day": day.day,
        "renewsAt": day.renews,
        "tokens": day.tokens,
        "tokensADay": day.most_tokens,
        "usd": day.usd,
        "usdADay": day.most_usd,
    }
