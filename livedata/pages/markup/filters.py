"""How pages write what answers have: moments, numbers and cells, exact and for a reader."""

from __future__ import annotations

from typing import Final

from flask import Blueprint
from markupsafe import Markup, escape

from livedata.model.row import Scalar
from livedata.pages.markup.differences import difference

_WHY: Final = {
    "not_found": "not found",
    "extraction_failed": "unreadable",
    "not_applicable": "does not apply",
}
"""Why a cell is empty, as a person reads it."""


def add_to(routes: Blueprint) -> None:
    """Let the templates know the filters."""
    routes.add_app_template_filter(moment)
    routes.add_app_template_filter(cell)
    routes.add_app_template_filter(count)
    routes.add_app_template_global(between)


def moment(timestamp: str | None) -> Markup:
    """A moment in UTC to the minute, with the exact one at hand; a script makes it the reader's."""
    if timestamp is None:
        return Markup('<span class="none">none</span>')
    exact = escape(timestamp)
    short = f"{exact[:10]} {exact[11:16]} UTC"
    return Markup(f'<time datetime="{exact}" title="{exact}">{short}</time>')  # noqa: S704


def count(number: float) -> Markup:
    """A number, which a script writes in the reader's form."""
    return Markup(f'<data class="number" value="{number}">{number}</data>')  # noqa: S704


def cell(value: Scalar, reason: str | None = None) -> Markup:
    """The value of a cell: a text in its own direction, an address as a link, a number as such."""
    match value:
        case None:
            why = escape(_WHY.get(reason or "", "empty"))
            return Markup(f'<span class="none">{why}</span>')  # noqa: S704
        case bool():
            return escape("yes" if value else "no")
        case int() | float():
            return count(value)
        case _:
            return _text(value)


def between(before: Scalar, after: Scalar, was_there: bool) -> Markup:
    """What stood in a cell and what stands there: texts with what changed within them."""
    if not was_there:
        return Markup(f"<ins>{cell(after)}</ins>")  # noqa: S704  (escaped)
    if isinstance(before, str) and isinstance(after, str):
        return difference(before, after)
    return Markup(f"<del>{cell(before)}</del> → <ins>{cell(after)}</ins>")  # noqa: S704  (escaped)


def _text(value: str) -> Markup:
    text = escape(value)
    if value.startswith(("https://", "http://")) and value.isprintable() and " " not in value:
        named = 'rel="noreferrer nofollow external" dir="ltr"'
        return Markup(f'<a href="{text}" {named}>{text}</a>')  # noqa: S704  (escaped)
    return Markup(f'<bdi dir="auto">{text}</bdi>')  # noqa: S704  (escaped)
