"""Parses JSON strictly: what JSON leaves to chance is unreadable, and the error says where."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import TYPE_CHECKING, NoReturn

from livedata.messages.request import INTEGERS, format_value
from livedata.model.errors import BadRequest
from livedata.model.wire import MAX_DEPTH, too_deep

if TYPE_CHECKING:
    from collections.abc import Iterator

_INTEGER_DIGITS = 20
_HALF = re.compile("[\ud800-\udfff]")
_PERHAPS_HALF = re.compile("\\\\u[dD]|[\ud800-\udfff]")


class Unreadable(BadRequest):
    """The JSON is unreadable."""

    def __init__(self, why: str, line: int | None = None, column: int | None = None) -> None:
        place = "" if line is None else f" at line {line}, column {column}"
        super().__init__(f"the JSON is unreadable{place}: {why}")
        self.line = line


def parse_json(body: bytes | str) -> object:
    """The value of `body`, with whole numbers as integers. Raises BadRequest if it is unreadable.

    Unreadable is also what JSON leaves to chance: NaN, Infinity, numbers beyond those of a float,
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
    if too_deep(value):
        raise Unreadable(f"it is nested more than {MAX_DEPTH} levels deep")
    # Halves come of escapes, and few texts have such: the strings of others are not searched.
    if _PERHAPS_HALF.search(text) and _HALF.search("".join(_strings(value))):
        raise Unreadable("a string holds half of a surrogate pair")
    return value


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    properties = dict(pairs)
    if len(properties) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        raise Unreadable(f"the property {format_value(twice)} is given twice")
    return properties


def _integer(text: str) -> int | float:
    # The length first: int() of very many digits takes quadratic time.
    if len(text) > _INTEGER_DIGITS or int(text) not in INTEGERS:
        return _float(text)  # 10^25 is the same number as 1e25
    return int(text)


def _float(text: str) -> int | float:
    number = float(text)
    if math.isinf(number):
        raise Unreadable(f"the number {text[:_INTEGER_DIGITS]} is too large")
    return int(number) if number.is_integer() and int(number) in INTEGERS else number


def _constant(text: str) -> NoReturn:
    raise Unreadable(f"{text} is not a number in JSON")


def _strings(value: object) -> Iterator[str]:
    """Every string in `value`, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for pair in value.items():
            yield from _strings(pair)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _strings(inner)
