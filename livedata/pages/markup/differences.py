"""What changed within a text, word by word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

from markupsafe import Markup

from livedata.pages.markup.texts import unchanged, unfolding

_PARTS: Final = re.compile(r"\w+|\s+|[^\w\s]")
_MOST: Final = 40_000
"""Comparing takes as long as one text is words times the other: beyond this all of it is new."""
_ALIKE: Final = 0.5
"""Texts that share less than this are shown whole, one after the other."""


def difference(before: str, after: str) -> Markup:
    """A text with what left it in ``del`` and what came in ``ins``."""
    old, new = _PARTS.findall(before), _PARTS.findall(after)
    head = _alike(old, new)
    tail = _alike(old[head:][::-1], new[head:][::-1])
    inner_old, inner_new = old[head : len(old) - tail], new[head : len(new) - tail]
    marked = "".join(_marked(inner_old, inner_new))
    ends = unchanged("".join(new[:head])), unchanged("".join(new[len(new) - tail :]))
    return Markup(f'<span dir="auto">{ends[0]}{marked}{ends[1]}</span>')  # noqa: S704  (escaped)


def _alike(old: Sequence[str], new: Sequence[str]) -> int:
    """With how many parts both begin."""
    for at, (one, other) in enumerate(zip(old, new, strict=False)):
        if one != other:
            return at
    return min(len(old), len(new))


def _marked(old: Sequence[str], new: Sequence[str]) -> list[str]:
    whole = [_tagged("del", old), _tagged("ins", new)]
    if len(old) * len(new) > _MOST:
        return whole
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return whole
    marked = []
    for kind, *(a, b, c, d) in matcher.get_opcodes():
        if kind == "equal":
            marked.append(unchanged("".join(new[c:d])))
        else:
            marked += [_tagged("del", old[a:b]), _tagged("ins", new[c:d])]
    return marked


def _tagged(tag: str, parts: Sequence[str]) -> str:
    return f"<{tag}>{unfolding(''.join(parts))}</{tag}>" if parts else ""
