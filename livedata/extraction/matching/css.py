"""Selectors as CSS for an engine, that of the parser or a browser's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from livedata.extraction.derived_names import is_derived
from livedata.extraction.selectors import parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from livedata.extraction.selectors import Compound, SelectorStep


def to_css(compound: Compound) -> str:
    """The compound as CSS that any engine understands, with all escapes."""
    parts = [_escape(compound.tag)] if compound.tag is not None else []
    parts += [f"#{_escape(name)}" for name in compound.ids]
    parts += [f".{_escape(name)}" for name in compound.classes]
    for test in compound.attributes:
        value = f'{test.operator}"{_escape_string(test.value)}"' if test.operator else ""
        parts.append(f"[{_escape(test.name)}{value}]")
    return "".join(parts) or "*"


def names_derived(text: str) -> bool:
    """Whether a selector tests an attribute that livedata derives."""
    tests = (test for step in parse(text).steps for test in step.compound.attributes)
    return any(is_derived(test.name) for test in tests)


def without_derived(text: str) -> str:
    """A selector without the tests of what livedata derives, which a browser does not know."""
    if not names_derived(text):
        return text
    steps = []
    for step in parse(text).steps:
        kept = tuple(test for test in step.compound.attributes if not is_derived(test.name))
        steps.append(replace(step, compound=replace(step.compound, attributes=kept)))
    return steps_to_css(steps)


def steps_to_css(steps: Iterable[SelectorStep]) -> str:
    """The steps of a selector as CSS, the outermost first."""
    parts = [(" > " if step.child else " ") + to_css(step.compound) for step in steps]
    return "".join(parts).strip()


def _escape(name: str) -> str:
    # Not as all but a range up to the last character: to compile such a range takes 8 ms.
    escaped = re.sub(r"(?![-_a-zA-Z0-9])[\x00-\x7f]", lambda m: f"\\{ord(m[0]):x} ", name)
    return re.sub(r"^(-?)([0-9])|^-$", _escape_start, escaped)


def _escape_start(match: re.Match[str]) -> str:
    return "\\-" if match[0] == "-" else f"{match[1]}\\{ord(match[2]):x} "


def _escape_string(value: str) -> str:
    return re.sub(r'["\\\x00-\x1f\x7f]', lambda m: f"\\{ord(m[0]):x} ", value)
