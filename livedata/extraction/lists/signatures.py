"""The signature of an element: what a selector may name of it, and how well that will last.

A page has few signatures for many elements, so each is made once and shared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from livedata.extraction.matching.css import to_css
from livedata.extraction.selectors import AttributeTest, Compound
from livedata.extraction.strikes import LINE, Strikes, by_style

MAX_CLASSES: Final = 6
"""So many classes of an element are looked at, the ones that last longest first."""

MAX_SIGNATURES: Final = 5_000
"""So many signatures of a page are told apart; what comes after them is known by its tag."""

_NAME: Final = re.compile(r"-?[_a-zA-Z][-_a-zA-Z0-9]*")
# Classes that say in which state or place an element is, not what it is.
_STATE: Final = re.compile(
    r"(?:is|has|js)-.*|odd|even|alt|first|last|active|current|selected|featured|highlight(?:ed)?"
    r"|hidden|visible|disabled|open(?:ed)?|closed|collapsed|expanded|sticky|new|read|unread"
    r"|(?:row|item|post|node|views-row|index|nth|page-item|product|type|status|category|tag|format"
    r"|postid|comment|thread|depth|level|col|column|span|offset|order|line)[-_]?\d+"
    r"|(?:status|category|tag|format|instock|outofstock|onsale|hentry)(?:-.*)?"
    r"|.*[-_](?:odd|even|first|last|active)|alternate|clear(?:fix)?|col-.*|row[0-9ab]|[a-z]?\d*",
    re.IGNORECASE,
)
# Classes that a program writes: css-1x2y3z, sc-bdVaJa, Card_title__3kQzP.
_GENERATED: Final = re.compile(
    r"(?:css|sc|jss|jsx|emotion|svelte|chakra|style|styles|makeStyles|Mui\w*)-\w*\d?\w*"
    r"|\w*__?[A-Za-z0-9_-]*(?=[A-Za-z]*\d)(?=\w*[A-Z])\w{5,}"
    r"|(?=[a-z]*\d)[a-z0-9]{6,}|(?=.*[A-Z])(?=.*\d)[A-Za-z0-9]{5,}|_[A-Za-z0-9]{5,}"
)
# The end of a class that a person may have written after all: css-button, heading2, marginT20.
_WORD_LAST: Final = re.compile(
    r"(?:.*[-_])?(?:[A-Z]?[a-z]{2,}(?:[A-Z][a-z]{2,})*|[A-Z]{2,})\d{0,4}"
    r"|[a-z]{3,}(?:\d{0,2}[A-Z][a-z]*)+\d{0,2}|[a-z]+\d{1,3}[a-z]+|\d+(?:x|to)\d*\w*"
)
# Classes that say how an element looks on the screen: mt-4, flex, text-center.
_UTILITY: Final = re.compile(
    r"[mp][trblxy]?-.*|(?:w|h|gap|flex|grid|text|bg|border|rounded|font|leading|tracking|shadow|z|order"
    r"|items|justify|self|float|pull|align|d|g|fs|fw|overflow|position|top|left|right|bottom"
    r"|space|divide|max|min|opacity|cursor|transition|duration|sm|md|lg|xl|xs|small|medium|large)"
    r"(?:-.*)?|block|inline|hidden|relative|absolute|fixed|static|container|row|col|column|columns"
    r"|left|right|center|wrap(?:per)?|inner|outer|box|bold|italic|truncate|nowrap",
    re.IGNORECASE,
)
_BOILERPLATE: Final = re.compile(
    r"nav(?:bar|igation|list)?|menu|sub-?menu|breadcrumbs?|footer|site-footer|sidebar|side-bar|pager"
    r"|pagination|cookies?|social|share|sharing|toolbar|related|widget(?:-area)?|tag-?cloud|banner"
    r"|advert(?:isement)?s?|ads?|promo|masthead|top-?bar|language|lang-switch(?:er)?|toc"
    r"|sphinxsidebar|filters?|facets?|skip-?links?|mega-?menu"
    r"|(?:\w+[-_])*(?:main|top|left|right|side|sub|mega|user|site|css|primary|secondary|guided)?[-_]?"
    r"(?:menu|nav(?:igation)?)(?:[-_]?(?:container|wrapper|list|bar|main|left|right|top))?",
    re.IGNORECASE,
)
_BUTTON: Final = re.compile(r"(?:.*[-_])?(?:btn|button|cta)(?:[-_].*)?", re.IGNORECASE)
_COUNTED_ID: Final = re.compile(r"([a-zA-Z][-_a-zA-Z]*[-_a-zA-Z])[0-9a-f]*\d[-\w]*")
_STABLE_ID: Final = re.compile(r"[a-zA-Z][-_a-zA-Z]*")

SEMANTIC, PLAIN, UTILITY, GENERATED, STATE = 1.0, 1.2, 2.5, 4.0, 8.0
"""What naming a class costs a selector: more if the class will not last."""


class ElementSignature(Struct, frozen=True, eq=False):
    """A tag, the classes of which the best come first with their costs, and telling attributes.

    `name` tells its elements from their siblings: the tag, and the classes that last. `bare` is the
    selector of the tag alone, `numbered` the beginning of an id that differs from element to
    element, `data` are the names of its data attributes. What `is_struck` has a line through it,
    what is `struck_by_style` has it by its attribute style. An `is_button` is pressed.
    """

    tag: str
    classes: tuple[tuple[str, float], ...] = ()
    id: str = ""
    numbered: str = ""
    itemprop: str = ""
    itemtype: str = ""
    role: str = ""
    data: tuple[str, ...] = ()
    is_boilerplate: bool = False
    name: str = ""
    bare: str = ""
    is_struck: bool = False
    struck_by_style: bool = False
    is_button: bool = False


class Signatures:
    """The signatures of the elements of a page; `strikes` says what has a line through it."""

    def __init__(self, strikes: Strikes) -> None:
        self._strikes = strikes
        self._signatures: dict[tuple[object, ...], ElementSignature] = {}

    def of(self, tag: str, attributes: Mapping[str, str | None]) -> ElementSignature:
        """The signature of an element."""
        if not attributes:
            key: tuple[object, ...] = (tag,)
        else:
            data = tuple(name for name in attributes if name.startswith("data-"))
            written = attributes.get("id") or ""
            counted = _COUNTED_ID.fullmatch(written)
            key = (
                tag,
                attributes.get("class") or "",
                written if _STABLE_ID.fullmatch(written) else "",
                counted[1] if counted else "",
                attributes.get("itemprop") or "",
                attributes.get("itemtype") or "",
                attributes.get("role") or "",
                data,
                by_style(attributes.get("style") or ""),
            )
        signature = self._signatures.get(key)
        if signature is None and len(self._signatures) >= MAX_SIGNATURES:
            key = (tag,)
            signature = self._signatures.get(key)
        if signature is None:
            signature = self._signatures[key] = _signature(self._strikes, *key)  # type: ignore[arg-type]
        return signature


def class_cost(name: str) -> float:
    """What naming a class costs."""
    if _STATE.fullmatch(name):
        return STATE
    if _UTILITY.fullmatch(name) or ":" in name or "[" in name:
        return UTILITY
    if _GENERATED.fullmatch(name):
        return GENERATED
    return PLAIN if len(name) < 3 else SEMANTIC


def looks_generated(name: str) -> bool:
    """Whether a class can only be one that a program made, and makes anew with each release."""
    return bool(_GENERATED.fullmatch(name)) and not _WORD_LAST.fullmatch(name)


def _signature(
    strikes: Strikes,
    tag: str,
    class_: str = "",
    id_: str = "",
    numbered: str = "",
    itemprop: str = "",
    itemtype: str = "",
    role: str = "",
    data: tuple[str, ...] = (),
    struck: bool | None = None,
) -> ElementSignature:
    named = [name for name in dict.fromkeys(class_.split()) if len(name) <= 60]
    costs = sorted(((name, class_cost(name)) for name in named), key=lambda named: named[1])
    boilerplate = any(map(_BOILERPLATE.fullmatch, (*named, id_)))
    kept = tuple(costs[:MAX_CLASSES])
    name = ".".join([tag, *sorted(name for name, cost in kept if cost < GENERATED)])
    bare = _compound(tag)
    return ElementSignature(
        tag,
        kept,
        id_,
        numbered,
        itemprop,
        itemtype,
        role,
        data[:4],
        boilerplate,
        name,
        bare,
        strikes.through(tag, named, struck),
        bool(struck),
        "button" in {tag, role} or (tag == "a" and any(map(_BUTTON.fullmatch, named))),
    )


def named_options(signature: ElementSignature) -> list[tuple[str, float]]:
    """The compounds that name elements of this signature, with what each costs, cheapest first."""
    options = [(_compound(signature.tag, class_=name), cost) for name, cost in signature.classes]
    if signature.itemprop:
        options.append((_compound(signature.tag, test=("itemprop", "=", signature.itemprop)), 1.0))
    if signature.numbered:
        options.append((_compound(signature.tag, test=("id", "^=", signature.numbered)), 1.4))
    if signature.struck_by_style:
        options.append((_compound(signature.tag, test=("style", "*=", LINE)), 1.5))
    options += [(_compound(signature.tag, test=(name, "", "")), 1.5) for name in signature.data]
    return sorted(options, key=lambda option: option[1])


def _compound(tag: str, *, class_: str = "", test: tuple[str, str, str] | None = None) -> str:
    classes = (class_,) if class_ else ()
    tests = (AttributeTest(*test),) if test else ()
    return to_css(Compound(tag, (), classes, tests))
