"""What changed within a text, word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from markupsafe import Markup

from livedata.pages.markup.shortest import Block, StepBudget, blocks
from livedata.pages.markup.texts import unchanged, unfolding

_PARTS: Final = re.compile(r"\w+|\s+|[^\w\s]")
_PART: Final = re.compile(r"\w+|\s+")
_OF_A_TEXT: Final = 20_000
"""The steps that one text may take: so much of two that share little is soon known."""
_CHARACTERS_A_STEP: Final = 4
"""To find the words among so many characters takes as long as a step."""


def difference(before: str, after: str, budget: StepBudget) -> Markup:
    """A text with what left it in ``del`` and what came in ``ins``.

    What a page cannot afford any more is shown whole: all that was there, and all that is.
    """
    head = _alike(before, after)
    tail = _alike(before[head:][::-1], after[head:][::-1])
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    marked = "".join(_marked(old, new, budget))
    ends = unchanged(after[:head]), unchanged(after[len(after) - tail :])
    return Markup(f'<span dir="auto">{ends[0]}{marked}{ends[1]}</span>')  # noqa: S704  (escaped)


def _alike(before: str, after: str) -> int:
    """With how many characters both begin, up to the end of a word."""
    same, different = 0, min(len(before), len(after)) + 1
    while different - same > 1:
        middle = (same + different) // 2
        if before[:middle] == after[:middle]:
            same = middle
        else:
            different = middle
    last = _PART.match(before[:same][::-1])
    if last is not None and (_within(before, same) or _within(after, same)):
        same -= last.end()
    return same


def _within(text: str, at: int) -> bool:
    """Whether a place in a text is within a word, or within the space between two."""
    around = _PART.match(text[at - 1 : at + 1])
    return around is not None and around.end() > 1


def _marked(before: str, after: str, budget: StepBudget) -> Iterator[str]:
    found = None
    if budget.spend((len(before) + len(after)) // _CHARACTERS_A_STEP):
        old, new = _PARTS.findall(before), _PARTS.findall(after)
        found = blocks(old, new, budget, _OF_A_TEXT)
    if found is None:
        yield from (_tagged("del", before), _tagged("ins", after))
        return
    yield from _told(old, new, [*found, Block(len(old), len(new), 0)])


def _told(old: Sequence[str], new: Sequence[str], found: Sequence[Block]) -> Iterator[str]:
    """What lies before each block that both texts have, and the block."""
    was = now = 0
    for block in found:
        yield _tagged("del", "".join(old[was : block.old]))
        yield _tagged("ins", "".join(new[now : block.new]))
        was, now = block.old + block.size, block.new + block.size
        yield unchanged("".join(new[block.new : now]))


def _tagged(tag: str, text: str) -> str:
    return f"<{tag}>{unfolding(text)}</{tag}>" if text else ""
