"""Finds, before it is parsed, markup that would keep the parser busy for more than a second.

The parser looks through its open elements at most tags, and opens unclosed formatting (``<b>``,
``<font>``) again in each block: quadratic if a page nests without end. Nearly every page is flat:
the tags alone show that this cannot take long. Any other is parsed in a process of its own first,
which the kernel ends if it takes too long. So is a large one: to look at all of its tags takes
longer, and lets nothing else run meanwhile. No rule of HTML that an attacker knows better is
followed here.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Final

from livedata.extraction.text import names

MOST_ELEMENTS: Final = 130_000
"""Of one page; five MiB of an ordinary listing has some 100,000."""
MOST_ATTRIBUTES: Final = 250_000  # each takes 220 bytes; of an ordinary listing, 25 on the page
# Over one of these, a trial is soon done, compared with a look at all tags.
_FEW_TAGS: Final = 20_000
_FEW_WORDS: Final = 100_000
_SHORT: Final = 1_500_000  # characters
_TRIAL: Final = 100_000
"""The work that a trial takes to start, in nodes looked at."""
_FLAT: Final = 50_000_000  # open elements looked at: about 0.2 s of parsing
_FEW_OPENED_AGAIN: Final = 1_000_000  # elements and attributes, if all were there at each tag
_FEW_ATTRIBUTES: Final = 12_000  # in one tag: each is compared with all before it
_COPIED: Final = 100  # characters of a tag that take the memory of an attribute
_LONG: Final = 400  # characters of a tag: those of shorter ones are soon compared
_FEW_ROOTS: Final = 10
_WORTH: Final = 8  # one of so many elements must be a leaf, or to look for more is not worth it
_PATIENCE: Final = 20.0  # seconds for a trial, on a machine that is busy with other things

# Attributes that every reader of HTML takes alike: none has a "<".
_SPACE = r"[ \t\n\f\r]"
_NAME = r"[^ \t\n\f\r\"'<>/=]++"
_VALUE = r"(?:\"[^\"<]*+\"|'[^'<]*+'|[^ \t\n\f\r\"'<>=`]++)"
_ATTRIBUTE = rf"{_NAME}(?:{_SPACE}*+={_SPACE}*+{_VALUE})?+"
_REST = rf"(?:{_SPACE}(?:{_SPACE}*+{_ATTRIBUTE})*+)?+{_SPACE}*+/?+>"
FORMATTING: Final = names("a b big code em font i nobr s small strike strong tt u")
"""The elements that the parser opens again in the next block if they were not closed."""
_LINE = (
    "a|abbr|b|bdi|big|cite|code|data|del|em|font|i|ins|kbd|label|mark|q|s|samp|small|span|"
    "strike|strong|sub|sup|time|tt|u|var"
)
_BLOCK = (
    "address|article|aside|blockquote|center|div|dl|fieldset|figcaption|figure|footer|form|"
    "header|main|nav|ol|section|ul"
)
LEAF: Final = (
    rf"(?ia)<({_LINE}){_REST}[^<]*+</\1{_SPACE}*+>|<({_BLOCK}){_REST}"
    rf"(?:[^<]++|</?+(?:p|li|dd|dt|br|hr|img|input|wbr){_REST})*+</\2{_SPACE}*+>"
)
"""An element that ends for certain, for it holds no other that must end before it.

Only a page that is not plainly flat needs it: `re` compiles it then, and keeps it.
"""
_PLAIN_TAG = re.compile(rf"<[a-zA-Z][a-zA-Z0-9-]*+({_REST})")
_PLAIN_ATTRIBUTE = re.compile(_ATTRIBUTE)
_WORD = re.compile(r"[ \t\n\f\r/][^ \t\n\f\r/>=]|=[\"']")
"""The least that an attribute begins with, or goes on with."""
_START = re.compile(r"<[a-zA-Z]")
_OPENED = re.compile(r"<([a-zA-Z][^ \t\n\f\r/>]*+)")
# Spelled out, because `re` skips to the next "<" only if it need not ignore the case.
_LETTERS = {name: "".join(f"[{letter}{letter.upper()}]" for letter in name) for name in FORMATTING}
_FIRST = "".join({name[0] + name[0].upper() for name in FORMATTING})
_FORMATTING = re.compile(
    rf"<(?=[{_FIRST}])(?:{'|'.join(_LETTERS.values())})(?=[ \t\n\f\r/>])({_REST})?"
)
"""A formatting element, and the rest of its tag if that is plain."""
_ROOT_TAG = re.compile(r"<(?:html|body)\b", re.IGNORECASE)
_NEVER_DEEP = names(
    "area base basefont bgsound br col embed frame hr image img input keygen link meta param "
    "source track wbr html head body frameset p li dd dt td th tr tbody thead tfoot option"
)


def exceeds_budget(text: str) -> bool:
    """Whether parsing ``text`` would take too long, or too much memory for its tree."""
    return parsing_work(text) is None


def parsing_work(text: str) -> int | None:
    """The work that parsing ``text`` takes, in nodes looked at; None if it is more than it may be.

    Up to 130,000 elements that HTML closes by itself (``p``, ``li``, ``td``) are parsed.
    """
    tags = text.count("<")
    if _is_flat(text, tags):
        return tags
    return _TRIAL + 2 * _count_elements(text, tags) if _parses(text) else None


def _count_elements(text: str, tags: int) -> int:
    """About the elements of a page, and no less than a half of them."""
    # ``</p>`` alone is an element too, and no ``<`` in a script is one.
    return min(max(tags - text.count("</"), tags // 2), MOST_ELEMENTS)


def _parses(text: str) -> bool:
    """Whether a process of its own parses it within the limits."""
    program = Path(__file__).with_name("trial_parse.py")
    command = [sys.executable, "-I", str(program), str(MOST_ELEMENTS)]
    quiet = subprocess.DEVNULL
    try:
        trial = subprocess.run(  # noqa: S603
            command, input=text.encode(), stdout=quiet, stderr=quiet, timeout=_PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    return trial.returncode == 0


def _is_flat(text: str, tags: int) -> bool:
    """Whether the worst that these tags could do, in any order, is soon done."""
    if tags > _FEW_TAGS or len(text) > _SHORT:
        return False
    words = _count_words(text)
    return (
        words <= _FEW_WORDS
        and _has_few_attributes(text, words)
        and _nests_little(text, tags, words)
    )


def _count_words(text: str) -> int:
    """No less than the attributes, each of which begins after a space, a slash or a value."""
    # A short text has no room for too many of the last kind.
    short = len(text) < len('a=""') * _FEW_ATTRIBUTES
    values = 0 if short else text.count('="') + text.count("='")
    coded = text.encode()
    words = values + len(coded) - len(coded.translate(None, b" \t\n\f\r/"))
    if words <= _FEW_ATTRIBUTES:
        return words
    # As it may seem of a page that is indented.
    return values + len(text.split()) + text.count("/")


def _has_few_attributes(text: str, words: int) -> bool:
    if words <= _FEW_ATTRIBUTES:
        return True
    plain = _PLAIN_TAG.findall(text)
    attributes = len(_PLAIN_ATTRIBUTE.findall(" ".join(plain)))
    long = (len(_PLAIN_ATTRIBUTE.findall(rest)) for rest in plain if len(rest) > _LONG)
    compared = sum(number * number for number in long)
    if len(plain) < len(_START.findall(text)):
        # Of another tag it is not known where it ends: all that follows may be attributes of it.
        others = len(_WORD.findall(_PLAIN_TAG.sub("", text)))
        attributes += others
        compared += others * others
    # The parser puts the attributes of all html and body tags together.
    few_roots = len(_ROOT_TAG.findall(text)) <= _FEW_ROOTS
    return few_roots and attributes <= MOST_ATTRIBUTES and compared <= 4 * _FLAT


def _nests_little(text: str, tags: int, words: int) -> bool:
    while True:
        opened = tags if tags * tags < _FLAT else _count_deep(text)
        if opened * tags < _FLAT and _weigh_formatting(text, words) * tags < _FEW_OPENED_AGAIN:
            return True
        # What ends for certain holds nothing open; without it, what is around it may be a leaf too.
        text, leaves = re.subn(LEAF, "", text)
        if leaves * _WORTH < text.count("<"):
            return False


def _count_deep(text: str) -> int:
    """The most elements that may be open at once."""
    opened = Counter(map(_lower, _OPENED.findall(text)))
    # The parser looks at all options of a select at each. Within SVG any name nests.
    nests = opened["option"] ** 2 > _FLAT or opened["svg"] or opened["math"]
    shallow = frozenset[str]() if nests else _NEVER_DEEP
    return opened.total() - sum(opened[name] for name in shallow)


def _weigh_formatting(text: str, words: int) -> int:
    """The elements and attributes that are opened again if no formatting element ends."""
    rests = _FORMATTING.findall(text)
    # Of a tag that is not plain it is not known where it ends.
    unknown = words if "" in rests else 0
    return unknown + sum(len(rest.split()) + len(rest) // _COPIED + 1 for rest in rests)


def _lower(name: str) -> str:
    # HTML lowers the letters of ASCII alone: "lin\u212a" is no link.
    return name.lower() if name.isascii() else name
