"""How pages write a text of any length: a long one takes no more room than a reader gives it."""

from __future__ import annotations

from html import escape
from typing import Final

LONG: Final = 600
"""A text of more characters is not shown whole at once."""
BEGINNING: Final = 300
_ENDS: Final = 80


def is_address(value: str) -> bool:
    """Whether a text is an address that a page may link to."""
    return value.startswith(("https://", "http://")) and value.isprintable() and " " not in value


def cut(text: str) -> str:
    """The beginning of a long text."""
    return f"{text[:BEGINNING]}…" if len(text) > BEGINNING else text


def beginning(text: str) -> str:
    """The beginning of a long text, and all of a short one, as HTML."""
    return escape(cut(text))


def unfolding(text: str) -> str:
    """A text as HTML: of a long one the beginning, which opens to all of it."""
    if len(text) <= LONG:
        return escape(text)
    return (
        f'<details class="long"><summary><bdi dir="auto">{beginning(text)}</bdi> '
        f"<small>all {len(text):,} characters</small></summary>"
        f'<div dir="auto">{escape(text)}</div></details>'
    )


def unchanged(text: str) -> str:
    """What two texts share as HTML: of a long part its ends, next to what changed."""
    if len(text) <= LONG:
        return escape(text)
    left_out = len(text) - 2 * _ENDS
    return (
        f'{escape(text[:_ENDS])}<small class="none"> … {left_out:,} characters as before … '
        f"</small>{escape(text[-_ENDS:])}"
    )
