"""A page to try a model on, with its plan, and what a model that reads with care finds there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from livedata.model.research.recipe import ResearchLimits, TablePlan
from livedata.model.research.stored import (
    DeclaredPlan,
    attribute_columns,
    compile_research,
    first_columns,
    stored_recipe,
    with_plan,
)

if TYPE_CHECKING:
    from livedata.model.research.answers import PageText

URL: Final = "http://sample.example/"
ROWS: Final = (
    ("Acme Lamps", "1999", "Bern"),
    ("Bolt Light", "2004", "Basel"),
    ("Cogwheel", "1987", "Chur"),
)
_ROWS = "".join(f"<tr><td>{'<td>'.join(row)}" for row in ROWS)
MARKUP: Final = (
    "<title>Makers of lamps</title><h1>Makers of lamps</h1>"
    "<p>Three companies make lamps here. Each is named with the year of its founding and its city."
    f"<table>{_ROWS}</table>"
)
PLAN: Final[DeclaredPlan] = {
    "title": "Makers of lamps",
    "rowMeaning": "A company that makes lamps",
    "nameLabel": "Company",
    "query": "companies that make lamps",
    "rowIdentity": {"description": "A company", "kind": "company", "scopeFields": []},
    "attributes": [
        {"label": "Founded", "description": "The year of its founding"},
        {"label": "City", "description": "Where it is"},
    ],
}


def compiled(declared: DeclaredPlan) -> TablePlan:
    """A plan as a Run has it, of no dataset."""
    columns = first_columns(declared["nameLabel"])
    added = attribute_columns(declared, [column["name"] for column in columns])
    recipe = with_plan(stored_recipe("", (), ResearchLimits(), columns), declared, added)
    plan = compile_research(1, recipe, [*columns, *added]).plan
    assert plan is not None
    return plan


def page_text(markup: bytes, url: str, content_type: str = "text/html; charset=utf-8") -> PageText:
    """A page as a Run would show it to a model."""
    # Imported late: the parser is what few commands need.
    from livedata.extraction.page import Page
    from livedata.extraction.page_lines import page_lines
    from livedata.model.research.answers import PageText

    page = Page(markup, content_type, url)
    lines = page_lines(page)
    title = " ".join((page.title or "").split())
    return PageText(url, url, 200, title, lines.text, lines.links, page.digest, 0, lines.cut)
