"""Finds, before it is parsed, markup that would keep the parser busy for more than a second.

The parser looks through its open elements at most tags, and reopens unclosed formatting (``<b>``,
``<font>``) in each block: quadratic where a page nests without end. Most pages are found to be flat
by regular expressions alone. Of any other the tags are walked once, with the same stack by the main
rules of HTML, and that work is added up. Elements that HTML closes by itself do not count, however
many; but there is an end to how many elements one page may have.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from typing import Final

from livedata.extraction.open_elements import (
    BUDGET,
    FORMATTING,
    VOID,
    OpenElements,
    attributes_in,
    names,
)

_MANY: Final = 130_000  # start tags; five MiB of an ordinary listing has some 100,000
_MANY_COMMENTS: Final = 100_000
_MANY_ATTRIBUTES: Final = 250_000  # each takes 220 bytes; of an ordinary listing, 25 on the page
_FEW: Final = 1_500  # below: whatever they are
_FEW_REOPENED: Final = 500_000  # formatting elements times tags: the most that can be reopened
_FEW_ROOTS: Final = 10  # html and body tags: the attributes of all are put together
_DENSE: Final = 2 * _MANY_ATTRIBUTES  # characters that cannot hold so many attributes
_SHORT: Final = 80_000  # characters that cannot hold so many attributes

_TAG = re.compile(
    r"<(?:(?P<end>/?)(?P<name>[a-zA-Z][^\s/>]*+)"
    r"(?P<rest>(?:[\s/]++|[^\s/>][^\s/>=]*+"
    r"(?:\s*+=\s*+(?:\"[^\"]*+\"?+|'[^']*+'?+|[^\s>\"'][^\s>]*+|(?=>)))?+)*+)>?"
    r"|!--(?:-?>|[\s\S]*?(?:--!?>|\Z))"
    r"|[!?/][^>]*+>?)"
)
_ANY_TAG = re.compile(r"<[a-zA-Z](?:[^>\"']++|\"[^\"]*+\"?+|'[^']*+'?+)*+")
_START = re.compile(r"<[a-zA-Z]")
_NO_MARKUP = re.compile(
    r"<!--[\s\S]*?(?:-->|\Z)|<(script|style)\b[\s\S]*?(?:</\1|\Z)|=\s*\"[^\"]*\"|=\s*'[^']*'",
    re.IGNORECASE,
)
_NAME = re.compile(r"<([a-z][^\s/>]*)")
_ROOT_TAG = re.compile(r"<(?:html|body)[\s/]", re.IGNORECASE)
_BOGUS = re.compile(r"<[!?]|</[^a-zA-Z]")
_NEVER_DEEP = VOID | names("p li dd dt td th tr tbody thead tfoot option")
# Attributes that every reader of HTML takes alike: with an angle bracket in none of them.
_ATTRIBUTE = r"\s++[^\s\"'<>/=]++(?:=(?:\"[^\"<>]*+\"|'[^'<>]*+'|[^\s\"'<>=`]++))?+"
_PLAIN = rf"(?:{_ATTRIBUTE})*+\s*+/?+>"
_PLAIN_TAG = re.compile(rf"<[a-zA-Z][\w-]*+{_PLAIN}")
_PLAIN_ATTRIBUTE = re.compile(_ATTRIBUTE)
_LINE = (
    "a|abbr|b|bdi|big|cite|code|data|del|em|font|i|ins|kbd|label|mark|q|s|samp|small|span|"
    "strike|strong|sub|sup|time|tt|u|var"
)
_BLOCK = (
    "address|article|aside|blockquote|center|div|dl|fieldset|figcaption|figure|footer|form|"
    "header|main|nav|ol|section|ul"
)
_LEAF = re.compile(
    rf"<({_LINE}){_PLAIN}[^<]*+</\1\s*+>|<({_BLOCK}){_PLAIN}"
    rf"(?:[^<]++|</?+(?:p|li|dd|dt|br|hr|img|input|wbr){_PLAIN})*+</\2\s*+>",
    re.IGNORECASE,
)
"""An element that ends for certain, for it holds no other that must end before it."""
_WORTH: Final = 8  # one of so many elements must be a leaf, or a walk is quicker


def exceeds_budget(text: str) -> bool:
    """Whether parsing ``text`` would take too long, or too much memory for its tree.

    Linear in the text, in little memory, and far below a parse for pages with fewer than some
    thousand tags. Up to 130,000 elements that HTML closes by itself (``p``, ``li``, ``td``) are
    fine; a single ``select`` of more than 10,000 options is refused, for the parser counts them
    at each.
    """
    if _small(text):
        return False
    if _more_than(_MANY, _START, text) and _more_than(_MANY, _START, _NO_MARKUP.sub("", text)):
        return True  # in a third of the time that a walk takes; what stands in a textarea counts
    walk = OpenElements()
    at = elements = attributes = others = 0
    while (match := _TAG.search(text, at)) is not None:
        if walk.lost and match.start() > at:
            walk.reopen()
        at = match.end()
        end, name, rest = match.groups()
        if name is None:
            others += 1
        elif end:
            walk.end(name.lower())
        else:
            elements += 1
            attributes += attributes_in(rest)
            raw = walk.start(name.lower(), rest)
            if raw is not None:
                at = _skip_raw(text, at, raw)
        if elements > _MANY or others > _MANY_COMMENTS or attributes > _MANY_ATTRIBUTES:
            return True
        if walk.work > BUDGET:
            return True
    return False


def _more_than(most: int, pattern: re.Pattern[str], text: str) -> bool:
    """Whether a pattern is found more often than `most`; keeps no match in memory."""
    return next(islice(pattern.finditer(text), most, None), None) is not None


def _small(text: str) -> bool:
    """Whether the worst that these tags could do, in any order, is soon done."""
    started = text.count("<") - text.count("</")
    if started > _FEW:
        tags = started - text.count("<!") - text.count("<?")
        if tags > _MANY or _more_than(_MANY_COMMENTS, _BOGUS, text):
            return False
    if len(text) > _SHORT and max(map(len, _ANY_TAG.findall(text)), default=0) > _SHORT:
        return False
    if len(text) > _SHORT and len(_ROOT_TAG.findall(text)) > _FEW_ROOTS:
        return False
    if len(text) > _DENSE and _dense(text):
        return False
    return started < _FEW or _flat(text, started)


def _dense(text: str) -> bool:
    """Whether its tags have room for too many attributes."""
    if sum(map(len, _ANY_TAG.findall(text))) <= _DENSE:
        return False
    plain = "".join(_PLAIN_TAG.findall(text))
    rest = _ANY_TAG.findall(_PLAIN_TAG.sub("", text))
    attributes = len(_PLAIN_ATTRIBUTE.findall(plain)) + sum(map(len, rest)) // 2
    return attributes > _MANY_ATTRIBUTES


def _flat(text: str, tags: int) -> bool:
    """Whether so many tags nest so little that the parser has few open elements to look at."""
    while True:
        found = Counter(_NAME.findall(text.lower()))
        nesting = found.total() - sum(found[name] for name in _NEVER_DEEP)
        reopened = sum(found[name] for name in FORMATTING) - found["a"]
        if max(found["option"], 1) * found["option"] > BUDGET:
            return False
        if nesting * tags < BUDGET and reopened * tags < _FEW_REOPENED:
            return True
        # What ends for certain holds nothing open; without it, what is around it may be a leaf too.
        text, leaves = _LEAF.subn("", text)
        if leaves * _WORTH < nesting:
            return False


def _skip_raw(text: str, at: int, raw: str) -> int:
    """The offset after the text of an element whose content is no markup."""
    if raw == "plaintext":
        return len(text)
    close = re.compile(rf"</{raw}(?=[\s/>])", re.IGNORECASE).search(text, at)
    return close.start() if close else len(text)
