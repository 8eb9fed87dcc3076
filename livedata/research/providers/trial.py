"""One page that a model is tried on, and what it understands there in each output mode."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from livedata.model.research.answers import CallUsage, Failed, OfferedRows, PageText
from livedata.model.research.recipe import ResearchLimits, TablePlan
from livedata.model.research.settings import ModelOutput, ResearchSettings
from livedata.model.research.stored import (
    DeclaredPlan,
    attribute_columns,
    compile_research,
    first_columns,
    stored_recipe,
    with_plan,
)
from livedata.research.asking.prompts import rows_question
from livedata.research.asking.windows import windows
from livedata.research.page import ExtractedPage
from livedata.research.ports import Model
from livedata.research.providers.connection import connected
from livedata.rules.research.offers import SupportedRow, judge_row

if TYPE_CHECKING:
    from livedata.model.research.answers import PageText

MODES: tuple[ModelOutput, ...] = get_args(ModelOutput)
"""From what holds an answer to its schema most strictly to what every server understands."""


class Understood(Struct, frozen=True):
    """What became of the question: the rows that the page supports, and what was refused.

    `refused` are a name and the code of the reason for each row that is none. `usage` is what the
    question took. With a `failure` there is no answer.
    """

    rows: list[SupportedRow]
    refused: list[tuple[str, str]]
    usage: CallUsage
    failure: Failed | None = None


async def understand(model: Model, plan: TablePlan, text: PageText) -> Understood:
    """What a model says of the first window of a page."""
    page = ExtractedPage(1, text.url, text, "")
    window = windows(text.text)[0]
    answer = await model.ask(rows_question(plan, text, window, page.links_in(window)))
    if isinstance(answer.body, Failed):
        return Understood([], [], answer.usage, answer.body)
    try:
        offered = msgspec.json.decode(answer.body, type=OfferedRows)
    except msgspec.ValidationError as error:
        failure = Failed("model_invalid_output", str(error))
        return Understood([], [], answer.usage, failure)
    judged = [(row.name, judge_row(row, page.shown, plan)) for row in offered.rows]
    return Understood(
        [row for _, row in judged if isinstance(row, SupportedRow)],
        [(name, fault) for name, fault in judged if not isinstance(fault, SupportedRow)],
        answer.usage,
    )


class Tried(Struct, frozen=True):
    """What a model understood in one output mode, and how long that took."""

    mode: ModelOutput
    understood: Understood
    seconds: float

    @property
    def works(self) -> bool:
        """Whether a row came of it."""
        return bool(self.understood.rows)


def try_modes(settings: ResearchSettings, plan: TablePlan, page: PageText) -> Iterator[Tried]:
    """Ask about a page in each mode, the one that is set first."""
    for mode in sorted(MODES, key=lambda mode: mode != settings.model_output):
        began = time.monotonic()
        understood = asyncio.run(_asked(replace(settings, model_output=mode), plan, page))
        yield Tried(mode, understood, time.monotonic() - began)
        if understood.failure is not None and understood.failure.code == "model_auth":
            return


async def _asked(settings: ResearchSettings, plan: TablePlan, page: PageText) -> Understood:
    async with connected(settings) as providers:
        return await understand(providers.model, plan, page)


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
