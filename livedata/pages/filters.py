"""How templates write what answers have: moments, numbers and cells, exact and for a reader."""

from __future__ import annotations

from flask import Blueprint
from markupsafe import Markup, escape

from livedata.model.row import Scalar


def add_to(routes: Blueprint) -> None:
    """Let the templates know the filters."""
    routes.add_app_template_filter(moment)
    routes.add_app_template_filter(cell)
    routes.add_app_template_filter(count)


def moment(timestamp: str | None) -> Markup:
    """A moment in UTC to the minute, with the exact one at hand; a script makes it the reader's."""
    if timestamp is None:
        return Markup('<span class="none">none</span>')
    short = f"{timestamp[:10]} {timestamp[11:16]} UTC"
    return Markup('<time datetime="{0}" title="{0}">{1}</time>').format(timestamp, short)


def count(number: int) -> Markup:
    """A count, which a script writes in the reader's form."""
    return Markup('<data class="number" value="{0}">{0}</data>').format(number)


def cell(value: Scalar, reason: str | None = None) -> Markup:
    """The value of a cell: a text in its own direction, a number with its exact form at hand."""
    match value:
        case None:
            return Markup('<span class="none">{}</span>').format(_WHY.get(reason or "", "empty"))
        case bool():
            return escape("yes" if value else "no")
        case int() | float():
            return count(value)  # type: ignore[arg-type]
        case _:
            return _text(value)


_WHY = {"not_found": "not found", "extraction_failed": "unreadable", "not_applicable": "none"}
"""Why a cell is empty, as a person reads it."""


def _text(value: str) -> Markup:
    if value.startswith(("https://", "http://")) and value.isprintable() and " " not in value:
        return Markup('<a href="{0}" rel="noreferrer nofollow external" dir="ltr">{0}</a>').format(
            value
        )
    return Markup('<bdi dir="auto">{}</bdi>').format(value)
