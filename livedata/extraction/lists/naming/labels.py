"""What a page itself calls a value: its header, its term, or the words before it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from livedata.extraction.cells import clean
from livedata.extraction.derived_names import HEADER, TERM
from livedata.extraction.lists.fields import Field, spread
from livedata.extraction.lists.survey import Survey
from livedata.extraction.selectors import parse
from livedata.extraction.text import names

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from livedata.extraction.page import Page

LONGEST: Final = 40
_LONGEST_HEADER: Final = 120
_SAMPLE: Final = 24
_AGREE: Final = 0.9
_COLON: Final = re.compile(r"\s*([^:：\d][^:：]{0,39}?)\s*[:：](?:\s|$)")
_LABELS: Final = names("th dt label")


def label(survey: Survey, field: Field, values: Sequence[str]) -> str | None:
    """What the page calls what a field reads; None if it does not say so in most records."""
    for test in parse(field.selector).steps[-1].compound.attributes if field.selector else ():
        if test.name in {HEADER, TERM} and test.value:
            return test.value[:_LONGEST_HEADER]
    within = _common(_label_of(value) for value in values)
    if within is not None or not field.selector:
        return within
    some = spread(list(field.elements.values()), _SAMPLE)
    return _common(_before(survey.page, survey.nodes[number]) for number in some)


def is_label(value: str) -> bool:
    """Whether a text does nothing but name what comes after it."""
    return value.endswith((":", "：")) and len(value) <= LONGEST


def _label_of(value: str) -> str | None:
    match = _COLON.match(value)
    return match[1] if match else None


def _common(labels: Iterable[str | None]) -> str | None:
    """The label that nearly all have."""
    counts = Counter(labels)
    if not counts:
        return None
    most, count = counts.most_common(1)[0]
    return most if count >= _AGREE * counts.total() else None


def _before(page: Page, node: LexborNode) -> str | None:
    """What stands before an element and names it, such as "Price:"; or before its only wrapper."""
    before = _previous(node)
    if before is None and node.parent is not None:
        before = _previous(node.parent)
    if before is None:
        return None
    is_text = before.tag == "-text"
    said = clean(before.text_content or "" if is_text else page.text(before, LONGEST + 1))
    if is_label(said) or (before.tag in _LABELS and 0 < len(said) <= LONGEST):
        return said.rstrip(":： ") or None
    return None


def _previous(node: LexborNode) -> LexborNode | None:
    """The element or text before a node, white space and comments aside."""
    before = node.prev
    while before is not None and (
        (before.tag == "-text" and not (before.text_content or "").strip())
        or before.tag == "-comment"
    ):
        before = before.prev
    return before
