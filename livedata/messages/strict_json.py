"""Parses JSON strictly: what JSON leaves to chance is unreadable, and the error says where."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import TYPE_CHECKING, NoReturn

from livedata.messages.request import INTEGERS, format_value
from livedata.model.errors import BadRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DEPTH = 64
_INTEGER_DIGITS = 20
_HALF = re.compile("[\ud800-\udfff]")


class Unreadable(BadRequest):
    """The JSON is unreadable."""

    def __init__(self, why: str, line: int | None = None, column: int | None = None) -> None:
        place = "" if line is None else f" at line {line}, column {column}"
        super().__init__(f"the JSON is unreadable{place}: {why}")
        self.line = line


def parse_json(body: bytes | str) -> object:
    """The value of `body`, with whole numbers as integers. Raises BadRequest if it is unreadable.

    Unreadable is also what JSON leaves to chance: NaN, Infinity, numbers beyond what 64 bits hold,
    a key given twice, half of a surrogate pair, nesting deeper than ``MAX_DEPTH``.
    """
    try:
        text = body.decode() if isinstance(body, bytes) else body
        value: object = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_float,
            parse_constant=_constant,
        )
    except UnicodeDecodeError as error:
        raise Unreadable(f"it is not UTF-8 from byte {error.start} on") from None
    except json.JSONDecodeError as error:
        why = error.msg[:1].lower() + error.msg[1:]
        raise Unreadable(why, error.lineno, error.colno) from None
    except RecursionError:
        raise Unreadable("it is nested too deep") from None
    for depth, part in nested_parts(value):
        if depth > MAX_DEPTH:
            raise Unreadable(f"it is nested more than {MAX_DEPTH} levels deep")
        if isinstance(part, str) and _HALF.search(part):
            raise Unreadable("a string holds half of a surrogate pair")
    return value


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    properties = dict(pairs)
    if len(properties) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        raise Unreadable(f"the property {format_value(twice)} is given twice")
    return properties


def _integer(text: str) -> int:
    # The length first: int() of very many digits takes quadratic time.
    if len(text) > _INTEGER_DIGITS or int(text) not in INTEGERS:
        raise Unreadable(f"the number {text[:_INTEGER_DIGITS]}… does not fit into 64 bits")
    return int(text)


def _float(text: str) -> int | float:
    number = float(text)
    if math.isinf(number):
        raise Unreadable(f"the number {text[:_INTEGER_DIGITS]} is too large")
    return int(number) if number.is_integer() and int(number) in INTEGERS else number


def _constant(text: str) -> NoReturn:
    raise Unreadable(f"{text} is not a number in JSON")


def nested_parts(value: object) -> Iterator[tuple[int, object]]:
    """Everything inside `value`, keys too, with its depth; stops one level below the limit."""
    # A list of its own instead of recursion: a deep value must not end in RecursionError.
    waiting = [(0, value)]
    while waiting:
        depth, part = waiting.pop()
        depth += isinstance(part, (dict, list, tuple))
        yield depth, part
        if depth > MAX_DEPTH:
            return
        if isinstance(part, dict):
            waiting += [(depth, inner) for pair in part.items() for inner in pair]
        elif isinstance(part, (list, tuple)):
            waiting += [(depth, inner) for inner in part]
