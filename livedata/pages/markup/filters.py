"""How pages write what answers have: moments, numbers and cells, exact and for a reader.

What a table has thousands of is plain text here, escaped as HTML; templates get it as markup.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from html import escape
from typing import Final

from jinja2 import Environment
from markupsafe import Markup

from livedata.model.row import Scalar
from livedata.pages.markup.differences import difference
from livedata.pages.markup.shortest import StepBudget
from livedata.pages.markup.texts import BEGINNING, cut, is_address, unfolding
from livedata.services.browsing.words import words

_WHY: Final = {
    "not_found": "not found",
    "extraction_failed": "unreadable",
    "not_applicable": "does not apply",
}
"""Why a cell is empty, as a person reads it."""
_YES, _NO = (f'<data value="{name}">{words(name == "true")}</data>' for name in ("true", "false"))


def add_to(environment: Environment) -> None:
    """Let the templates of an environment know the filters."""
    environment.filters["moment"] = lambda timestamp: Markup(moment(timestamp))  # noqa: S704
    environment.filters["count"] = lambda number: Markup(count(number))  # noqa: S704
    environment.filters["cell"] = lambda *given: Markup(cell(*given))  # noqa: S704
    environment.filters["unfolding"] = lambda text: Markup(unfolding(text))  # noqa: S704


def for_a_page() -> dict[str, Callable[..., Markup]]:
    """What the templates of one page call, whose texts are compared within one budget."""
    return {"between": partial(between, StepBudget())}


@lru_cache(maxsize=256)  # the rows that one Run wrote all have its moment
def moment(timestamp: str | None) -> str:
    """A moment in UTC to the minute, with the exact one at hand; a script makes it the reader's."""
    if timestamp is None:
        return '<span class="none">none</span>'
    exact = escape(timestamp)
    return f'<time datetime="{exact}" title="{exact}">{exact[:10]} {exact[11:16]} UTC</time>'


def count(number: float) -> str:
    """A number, which a script writes in the reader's form."""
    text = words(number)
    return f'<data class="number" value="{text}">{text}</data>'


def cell(value: Scalar, reason: str | None = None) -> str:
    """The value of a cell: a text in its own direction, an address as a link, a number as such."""
    if isinstance(value, str):
        return _text(value)
    if value is None:
        return f'<span class="none">{escape(_WHY.get(reason or "", "empty"))}</span>'
    if isinstance(value, bool):
        return _YES if value else _NO
    return count(value)


def between(budget: StepBudget, before: Scalar, after: Scalar, was_there: bool) -> Markup:
    """What stood in a cell and what stands there: texts with what changed within them."""
    if not was_there:
        return Markup(f"<ins>{cell(after)}</ins>")  # noqa: S704  (escaped)
    if isinstance(before, str) and isinstance(after, str):
        return difference(before, after, budget)
    return Markup(f"<del>{cell(before)}</del> → <ins>{cell(after)}</ins>")  # noqa: S704  (escaped)


def _text(value: str) -> str:
    if is_address(value):
        link = escape(value)
        shown = link if len(value) <= BEGINNING else escape(cut(value))
        return f'<a href="{link}" rel="noreferrer nofollow external" dir="ltr">{shown}</a>'
    return f'<bdi dir="auto">{unfolding(value)}</bdi>'
