"""What a model offers: a plan, and rows for a page, judged by the words of that page (rules 14)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct, field

from livedata.model.errors import Detail
from livedata.model.research.answers import OfferedCell, OfferedPlan, OfferedRow, PageText
from livedata.model.research.recipe import Attribute, TablePlan
from livedata.model.row import MissingReason
from livedata.rules.research.fold import fold, without_marks
from livedata.rules.research.identity import Scope, fold_name, fold_url, host_of, within
from livedata.rules.research.quotes import Excerpt, PageWords, holds_words

MOST_ATTRIBUTES = 12
LONGEST_LABEL = 120
LONGEST_QUERY = 400
LONGEST_DESCRIPTION = 500
FIXED_LABELS = ("Evidence", "Source")
"""The labels of the columns that every research dataset has beside its name."""

RowFault = Literal["invalid_name", "name_quote_not_on_page", "name_not_in_quote", "scope_missing"]
CellFault = Literal["quote_not_on_page", "digits_not_in_quote"]

LONGEST_NAME = 200
"""Characters of a name or an alias (interface 2.4)."""
LONGEST_VALUE = 32_768
"""Characters of a value (rules 6.4)."""


def plan_faults(plan: OfferedPlan) -> list[Detail]:
    """Everything that is wrong with a plan, place by place."""
    return [*_text_faults(plan), *_label_faults(plan)]


def _text_faults(plan: OfferedPlan) -> Iterator[Detail]:
    texts = {
        "title": (plan.title, LONGEST_DESCRIPTION),
        "rowMeaning": (plan.row_meaning, LONGEST_DESCRIPTION),
        "nameLabel": (plan.name_label, LONGEST_LABEL),
        "query": (plan.query, LONGEST_QUERY),
        "rowIdentity.description": (plan.row_identity.description, LONGEST_DESCRIPTION),
    }
    for number, attribute in enumerate(plan.attributes):
        texts[f"attributes[{number}].label"] = (attribute.label, LONGEST_LABEL)
        texts[f"attributes[{number}].description"] = (attribute.description, LONGEST_DESCRIPTION)
    for path, (text, longest) in texts.items():
        if not fold(text):
            yield Detail(path, "must not be empty")
        elif len(text) > longest:
            yield Detail(path, f"must have at most {longest} characters, not {len(text)}")


def _label_faults(plan: OfferedPlan) -> Iterator[Detail]:
    labels = [attribute.label for attribute in plan.attributes]
    if not 1 <= len(labels) <= MOST_ATTRIBUTES:
        yield Detail("attributes", f"must have 1 to {MOST_ATTRIBUTES} entries, not {len(labels)}")
    taken = {fold(label): label for label in (*FIXED_LABELS, plan.name_label)}
    for number, label in enumerate(labels):
        other = taken.setdefault(fold(label), label)
        # Two labels that are written alike are equal, and yet one too many: hence `is`.
        if other is not label and fold(label):
            yield Detail(
                f"attributes[{number}].label", f"is {label!r}, which is too like {other!r}"
            )
    for number, label in enumerate(plan.row_identity.scope_fields):
        if label not in labels:
            yield Detail(
                f"rowIdentity.scopeFields[{number}]",
                f"is {label!r}, which is the label of no attribute",
            )


class SupportedCell(Struct, frozen=True):
    """A value with the words that support it, or why there is none."""

    value: str | None = None
    quote: str | None = None
    reason: MissingReason | None = None
    fault: CellFault | None = None


class SupportedRow(Struct, frozen=True):
    """A row that its page supports; `cells` are in the order of the plan's attributes.

    `url` is the folded official address, if it counts; `aliases` stand on the page.
    """

    name: str
    quote: Excerpt
    url: str | None
    aliases: tuple[str, ...]
    scope: Scope
    cells: tuple[SupportedCell, ...] = field(default_factory=tuple)


class SearchablePage(Struct, frozen=True):
    """A page with its words, in which quotes are looked for."""

    text: PageText
    words: PageWords


def judge_row(row: OfferedRow, page: SearchablePage, plan: TablePlan) -> SupportedRow | RowFault:
    """The row as far as the page supports it, or the first reason why it does not."""
    if not fold_name(row.name, plan.kind) or len(row.name) > LONGEST_NAME:
        return "invalid_name"
    quote = page.words.find(row.name_quote)
    if quote is None:
        return "name_quote_not_on_page"
    if not holds_words(quote.text, row.name):
        return "name_not_in_quote"
    cells = tuple(_judge_cell(attribute, row.cells, page) for attribute in plan.attributes)
    scope = _scope(row, cells, page, plan)
    if scope is None:
        return "scope_missing"
    return SupportedRow(
        name=" ".join(without_marks(row.name).split()),
        quote=quote,
        url=_official_url(row, page, plan),
        aliases=tuple(filter(None, (_alias(alias, page) for alias in row.aliases))),
        scope=scope,
        cells=cells,
    )


def _judge_cell(
    attribute: Attribute, offered: Sequence[OfferedCell], page: SearchablePage
) -> SupportedCell:
    cell = next((cell for cell in offered if cell.attribute == attribute.label), None)
    if cell is None:
        return SupportedCell(reason="unknown")
    value = without_marks(cell.value or "").strip()
    if not value:
        return SupportedCell(reason=cell.reason or "unknown")
    quote = page.words.find(cell.quote or "")
    if quote is None or len(value) > LONGEST_VALUE:
        return SupportedCell(reason="extraction_failed", fault="quote_not_on_page")
    if not quote.holds_numbers(value):
        return SupportedCell(reason="extraction_failed", fault="digits_not_in_quote")
    return SupportedCell(value=value, quote=quote.text)


def _scope(
    row: OfferedRow, cells: Sequence[SupportedCell], page: SearchablePage, plan: TablePlan
) -> Scope | None:
    """The folded value of each scope field; None if one is missing or not on the page."""
    quoted = {
        attribute.label: cell.value for attribute, cell in zip(plan.attributes, cells, strict=True)
    }
    stated = {each.label: each.value for each in row.scope if page.words.holds(each.value)}
    values = {label: fold(stated.get(label) or quoted[label] or "") for label in plan.scope_fields}
    return tuple(sorted(values.items())) if all(values.values()) else None


def _official_url(row: OfferedRow, page: SearchablePage, plan: TablePlan) -> str | None:
    """The folded official address, if words of its link hold the name, or the page is there."""
    number, links = row.official_url, page.text.links
    # A model may answer -1: as an index that would be the last link.
    if number is None or not 0 <= number < len(links):
        return None
    text, address = links[number]
    url, own = fold_url(address), fold_url(page.text.final_url)
    if url is None or own is None:
        return None
    at_home = within(own, url) if plan.kind == "product" else host_of(own) == host_of(url)
    return url if at_home or holds_words(text, row.name) else None


def _alias(alias: str, page: SearchablePage) -> str | None:
    """An alias that the page shows."""
    shown = without_marks(alias)
    return shown if 0 < len(shown.strip()) <= LONGEST_NAME and page.words.holds(shown) else None
