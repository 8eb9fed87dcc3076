"""Formats the sentence of a wrong place: its path as people write it, and what is wrong there.

A detail's message is what follows its path: ``source.maxPages`` "must be at most 50, not 99".
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING

from livedata.messages.templates import Words, fill
from livedata.model.errors import Detail, Invalid
from livedata.model.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence


Path = tuple[str | int, ...]

INTEGERS = range(-(2**63), 2**63)
"""The whole numbers that 64 bits hold."""

_FOUND_LENGTH = 60
_WORD_LENGTH = 100
_PLAIN_STEP = re.compile(r"[A-Za-z0-9_-]+")


def invalid(details: Sequence[Detail]) -> Invalid:
    """The error that says the first of `details` and how many more there are."""
    remedies = tuple(remedy for detail in details for remedy in detail.remedies)
    return Invalid(summary(format_detail(details[0]), len(details)), tuple(details), remedies)


def summary(first: str, count: int) -> str:
    """The sentence for `count` problems, which says the `first` one."""
    more = f" (and {count - 1} more)" if count > 1 else ""
    return first + more + ("" if first.endswith("?") and not more else ".")


def format_detail(detail: Detail) -> str:
    """One sentence without its point: the place, and what is wrong there."""
    subject = detail.path or ("what was sent" if detail.is_predicate else "")
    joint = " " if detail.is_predicate else ": "
    return f"{subject}{joint}{detail.message}" if subject else detail.message


def format_path(path: Path) -> str:
    """`path` as people write it: ``source.fields[0].read``, odd keys in brackets and quotes."""
    steps = []
    for step in path:
        if isinstance(step, int):
            steps.append(f"[{step}]")
            continue
        name = shortened(step)
        if _PLAIN_STEP.fullmatch(name):
            steps.append(f".{name}" if steps else name)
        else:
            steps.append(f"[{json.dumps(name, ensure_ascii=False)}]")
    return "".join(steps)


def shortened(name: str) -> str:
    """`name`, cut if it is longer than any name that means something."""
    return name if len(name) <= _WORD_LENGTH else name[:_WORD_LENGTH] + "…"


def format_value(value: object) -> str:
    """`value` as it is shown in a sentence, cut short."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "a list"
    # str() of a number of a million digits takes a while, and helps nobody.
    if isinstance(value, int) and not isinstance(value, bool) and value not in INTEGERS:
        return "a number beyond 64 bits"
    if value is None or isinstance(value, (str, bool, int, float)):
        cut = value
        if isinstance(value, str) and len(value) > _FOUND_LENGTH:
            cut = value[:_FOUND_LENGTH] + "…"
        return json.dumps(cut, ensure_ascii=False)
    return f"the {type(value).__name__} {value}"


def format_choices(choices: Sequence[str], joint: str = "or") -> str:
    """The choices in quotes, the last one behind `joint`: ``"a", "b" or "c"``."""
    *others, last = [f'"{choice}"' for choice in choices]
    return f"{', '.join(others)} {joint} {last}" if others else last


def nearest(word: str, names: Sequence[str]) -> str | None:
    """The one of `names` that `word` was probably meant to be, if any."""
    # difflib takes quadratic time, and a word so long is no slip of a name.
    if len(word) > _WORD_LENGTH:
        return None
    # Compared without case and underscores, so that min_items is near to minimumItems.
    plain = {name.replace("_", "").lower(): name for name in reversed(names)}
    near = get_close_matches(word.replace("_", "").lower(), plain, n=1, cutoff=0.7)
    return plain[near[0]] if near else None


def _character(problem: Problem) -> str:
    character = str(problem.params["character"])
    named = {"\\": "a backslash", " ": "a space"}
    called = named.get(character, f"the character U+{ord(character):04X}")
    return f"must not contain {called} (character {problem.params['position']})"


PREDICATES: Mapping[str, Words] = {
    "address.character": _character,
    "address.scheme": "must begin with http:// or https://",
    "address.odd_port": "is not a URL that can be read: its port must be a number between 1 and "
    "65535",
    "address.odd_host": "is not a URL that can be read: its host is not a valid name or address",
    "address.credentials": "must not contain a user name or password",
    "address.port_0": "must not have the port 0: it is between 1 and 65535",
    "address.no_host": "must have a host after the two slashes",
    "address.host_name": 'has the host "{host}", which is not a valid name',
    "address.private": "has the private address {address}, which is not read",
    "address.other_host": 'has the host "{host}", which is none of those that may be read',
}


def predicate(problem: Problem) -> str:
    """What is wrong with an address, as what follows its name."""
    return fill(PREDICATES, problem)
