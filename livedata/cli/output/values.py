"""Cells and moments as people read them."""

from __future__ import annotations

from typing import Any

from livedata.cli.output.streams import dim, on_terminal
from livedata.messages.controls import escape_controls
from livedata.model.research.settings import DayBudget
from livedata.model.row_name import RowName

Value = str | int | float | bool | None

EMPTY = "(empty)"
LONGEST = 60
"""How much of a value a line shows on a terminal."""


def format_value(value: Value) -> str:
    """Format a cell's value; null is an empty text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    # Words of a table have a tab between its cells, which on a terminal is a gap of some width.
    return escape_controls(str(value).replace("\t", " "))


def format_inline(value: Value) -> str:
    """Format a cell's value within a sentence: null is a word, a terminal gets long ones cut."""
    text = format_value(value) or EMPTY
    # A pipe gets all of it: a program may compare what a person only looks at.
    return text[: LONGEST - 1] + "…" if len(text) > LONGEST and on_terminal() else text


def format_name(name: RowName) -> str:
    """Format what a row is called within a line: the key stands back behind the name."""
    beside = dim(f"({format_value(name.beside)})") if name.beside else ""
    return f"{format_value(name.name)} {beside}".rstrip(" ")


def format_timestamp(timestamp: str | None) -> str:
    """Format a timestamp of the API to the second, in UTC."""
    return "" if timestamp is None else f"{timestamp[:19]}Z"


def format_size(size: int) -> str:
    """A number of bytes, as people say it."""
    if size < 1 << 20:
        return f"{size / (1 << 10):.0f} KiB"
    return f"{size / (1 << 20):.1f} MiB"


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
