"""A page as it may be tomorrow: with rows on top, one fewer, a value corrected, and an advert.

Numbers that say at which place a record stands are those of the new places.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from selectolax.lexbor import LexborHTMLParser, LexborNode

from livedata.extraction.page import Page
from tests.lists.gold import Gold
from tests.lists.hidden import Hidden
from tests.lists.invented import Invention, corrected_text
from tests.lists.parts import Columns, Part, upwards
from tests.lists.positions import placed, renumbered
from tests.lists.units import Units, unit_elements, units

NEW: Final = 2
_MARK: Final = "data-tests-corrected"
_TEXT: Final = re.compile(r"(?<=>)[^<]*\w[^<]*")
_BARE: Final = frozenset(("tr", "td", "th"))
"""Between these nothing else may stand."""
_ADVERT: Final = (
    '<a href="https://adverts.example/buy?from=list"><img src="https://adverts.example/buy.png" '
    'alt="Buy now"></a> <p>Advertisement: everything is to be sold</p>'
)


class States(Struct, frozen=True):
    """A page today and tomorrow; records are numbered from 0.

    `copied` are those that the new records are like, and `removed` is gone. `corrected` is the page
    of today with the one value that is another tomorrow, if a record has one that is no identifier.
    """

    today: str
    corrected: str
    tomorrow: str
    copied: Sequence[int]
    removed: int


def states(gold: Gold, said: Columns, *, places: bool = False) -> States:
    """Both states of a page with a list; with `places` each link says at which place it stands."""
    page = gold.page
    elements = unit_elements(gold, page.tree)
    count = len(elements)
    copied, removed, chosen = (count // 4, count // 2), count // 3, 2 * count // 3
    advert = _advert(elements)
    today = units(gold, page.tree)
    write = placed if places else list
    node = _correctable(page, elements[chosen], said)
    records = list(today.records)
    invention = Invention(records)
    if node is not None:
        records[chosen] = _corrected(gold, page.tree, node, chosen)
    new = [invention.like(today.records[index], number) for number, index in enumerate(copied)]
    changed = [*new, *(record for index, record in enumerate(records) if index != removed)]
    changed = renumbered(today.records, changed, _identifiers(page, said))
    changed = write(changed)
    middle = len(changed) // 2
    changed[middle] += advert
    around = [today.around[0], *[_between(today)] * NEW, *today.around[1:]]
    del around[NEW + 1 + removed]
    tomorrow = Units(around, changed).markup
    first, corrected = today.joined(write(today.records)), today.joined(write(records))
    return States(first, corrected, tomorrow, copied, removed)


def _between(today: Units) -> str:
    """What stands between two records, if that is only white space."""
    return next((part for part in today.around[1:-1] if not part.strip()), "")


def _corrected(gold: Gold, tree: LexborHTMLParser, node: LexborNode, chosen: int) -> str:
    """A record with another last text of an element."""
    node.attrs[_MARK] = ""
    record, length = units(gold, tree).records[chosen], len(node.html or "")
    del node.attrs[_MARK]
    start = record.rindex("<", 0, record.index(_MARK))
    *_, text = _TEXT.finditer(record, start, start + length)
    record = record[: text.start()] + corrected_text(text[0]) + record[text.end() :]
    return record.replace(f' {_MARK}=""', "")


def _correctable(page: Page, record: Sequence[LexborNode], said: Columns) -> LexborNode | None:
    """An element whose text may be corrected, since no identifier is in it, around it or it."""
    named = [*said.identifiers, *(part for parts in said.together for part in parts)]
    fixed = {node.mem_id for part in named if "@" not in part for node in Part(page, part).nodes}
    hidden = Hidden(page.tree)
    for part in (*said.never, *said.required):
        for node in Part(page, part).nodes if "@" not in part else ():
            inside = {inner.mem_id for inner in node.css("*")}
            around = set(upwards(node))
            if (
                around & {each.mem_id for each in record}
                and not fixed & (inside | around)
                and re.search(r"\w", node.text())
                and not hidden.is_in(node.text(), node)
            ):
                return node
    return None


def _identifiers(page: Page, said: Columns) -> set[str]:
    """What the attributes say that identify records, as it is written."""
    parts = (Part(page, part) for part in said.identifiers)
    return {
        html.escape(node.attributes.get(part.attribute) or "")
        for part in parts
        if part.attribute is not None
        for node in part.nodes
    }


def _advert(elements: Sequence[Sequence[LexborNode]]) -> str:
    """An advert that stands among records, and is none by the classes that all of them share."""
    firsts = [element[0] for element in elements]
    tag = firsts[0].tag or "div"
    shared = set.intersection(*({*(node.attributes.get("class") or "").split()} for node in firsts))
    if tag == "tr" and shared:
        return f'<tr class="advert"><td colspan="9">{_ADVERT}</td></tr>'
    if tag in _BARE:
        return ""
    tag = tag if shared and tag not in {"dt", "dd"} else "aside"
    return f'<{tag} class="advert">{_ADVERT}</{tag}>'
