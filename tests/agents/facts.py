"""Whether an answer in words says what is right."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

Fact = str | tuple[str, ...]
"""What an answer says; of several ways to say it, one is enough."""
_ANSWER = re.compile(r"\banswer *:", re.IGNORECASE)
_MARKUP = str.maketrans("*_`", "   ")


class Facts(NamedTuple):
    """What the right answer says, and what none says that is right."""

    said: tuple[Fact, ...]
    unsaid: tuple[str, ...] = ()


def faults(text: str, facts: Facts) -> Iterator[str]:
    """What is wrong with an answer: of each fault a few words, none if it is right.

    Only what follows the last ``Answer:`` counts, if that stands there.
    """
    answer = " ".join(_ANSWER.split(text.translate(_MARKUP))[-1].split())
    for fact in facts.said:
        ways = (fact,) if isinstance(fact, str) else fact
        if not any(_says(answer, way) for way in ways):
            yield f"it does not say {' or '.join(map(repr, ways))}"
    for word in facts.unsaid:
        if _says(answer, word):
            yield f"it says {word!r}"


def _says(answer: str, word: str) -> bool:
    # A number is no part of another one or of a name, and may have zeros behind its point.
    before, behind = (r"[\w.-]", r"(?:\.0+)?") if word.isdigit() else (r"\w", "")
    pattern = rf"(?<!{before}){re.escape(word)}{behind}(?!\w|[.,]\d)"
    return re.search(pattern, answer, re.IGNORECASE) is not None
