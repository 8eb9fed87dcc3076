"""A declaration as a person writes it, in TOML or JSON, with the line of each wrong place.

A source is the body of interface 4.1 with the names of the JSON; a plan of research likewise.
"""

from __future__ import annotations

import json
import re
import tomllib
from itertools import takewhile
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec import Struct

from livedata.messages.request import format_detail, summary
from livedata.messages.strict_json import Unreadable, parse_json
from livedata.messages.validation import read
from livedata.model.base import Shape
from livedata.model.errors import Detail, Invalid, LocatedDetail
from livedata.rules.declaration.toml_positions import find_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

S = TypeVar("S", bound=Shape)

MAX_BYTES: Final = 1024 * 1024
"""As much as the API takes in a body: a declaration fits both or neither."""
NOT_READY: Final = "NOT READY. "
"""What a source begins with that was written although no Run would accept it."""
_TOML_PLACE = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|(end of document))\)", re.DOTALL)


class DeclarationText(Struct, frozen=True):
    """The text of a declaration, and the file that it stands in if it is in one.

    What is wrong with it begins with ``file:line:``, or with ``Line 3:`` without a file.
    """

    text: str
    file: str = ""
    is_json: bool = False

    def value(self) -> object:
        """What the text says. Raises Invalid if it cannot be read."""
        return self._json() if self.is_json else self._toml()

    def shaped(self, shape: type[S], value: object) -> S:
        """Such a value in a shape. Raises Invalid, every detail with its line."""
        try:
            return read(shape, value)
        except Invalid as error:
            raise self.locate(error) from None

    def locate(self, error: Invalid) -> Invalid:
        """The same error with its place before each message, by line."""
        try:
            lines = find_lines(self.text, json=self.is_json)
        except (Invalid, ValueError, IndexError, RecursionError):
            # A text that cannot be walked has no lines to tell; its own error says more.
            return error
        if not error.details:
            return Invalid(self.told(error.message), remedies=error.remedies)
        # What `shaped` raised has its lines already.
        if any(isinstance(detail, LocatedDetail) for detail in error.details):
            return error
        by_line = sorted(
            ((_line(detail, lines), detail) for detail in error.details), key=lambda pair: pair[0]
        )
        details = tuple(
            LocatedDetail(detail.path, self.told(format_detail(detail), line), detail.remedies)
            for line, detail in by_line
        )
        return Invalid(summary(details[0].message, len(details)), details, error.remedies)

    def told(self, sentence: str, line: int | str | None = None) -> str:
        """A sentence with its place before it."""
        if self.file:
            return f"{self.file}: {sentence}" if line is None else f"{self.file}:{line}: {sentence}"
        return sentence[:1].upper() + sentence[1:] if line is None else f"Line {line}: {sentence}"

    @property
    def not_ready(self) -> tuple[int, str] | None:
        """The line among the comments at its top that marks it as not ready, and why it is not."""
        lines = re.split(r"\r\n|\r|\n", self.text)
        top = takewhile(lambda line: line.startswith("#"), lines)
        for number, line in enumerate(top, 1):
            comment = line.removeprefix("#").strip()
            if comment.startswith(NOT_READY):
                return number, comment.removeprefix(NOT_READY).rstrip(".")
        return None

    def _json(self) -> object:
        try:
            return parse_json(self.text)
        except Unreadable as error:
            raise Invalid(self.told(f"{error.message}.", error.line)) from None

    def _toml(self) -> object:
        try:
            return _whole(tomllib.loads(self.text))
        # tomllib calls itself for each level of brackets.
        except RecursionError:
            raise Invalid(self.told("the TOML is nested too deep.")) from None
        except ValueError as error:
            match = _TOML_PLACE.fullmatch(str(error))
            if match is None:
                sentence = f"the TOML cannot be read: {_plain(str(error))}."
                raise Invalid(self.told(sentence)) from None
            line = match[2] or str(self.text.count("\n") + 1)
            where = f" at column {match[3]}" if match[3] else ""
            sentence = f"the TOML cannot be read{where}: {_plain(match[1])}."
            raise Invalid(self.told(sentence, line)) from None


def _whole(value: object) -> object:
    """Return `value` with 10.0 as the integer 10."""
    # JSON has one kind of number; the shapes are strict, and would refuse maxPages = 10.0.
    if isinstance(value, dict):
        return {key: _whole(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_whole(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _plain(why: str) -> str:
    """Say what the parser says in words that need no knowledge of it."""
    # tomllib gives its errors no codes. A text that another Python words otherwise stays as it is.
    if why == "Cannot overwrite a value":
        return "this key is given twice"
    twice = re.fullmatch(r"Cannot declare \((.*?),?\) twice", why)
    if twice:
        return f"the table {twice[1].replace(', ', '.').replace(chr(39), '')} is declared twice"
    return why[:1].lower() + why[1:]


def _line(detail: Detail, lines: Mapping[tuple[str | int, ...], int]) -> int:
    """Return the line of the place, or of the nearest that encloses it."""
    steps = _steps(detail.path)
    while steps and steps not in lines:
        steps = steps[:-1]
    return lines.get(steps, 1)


def _steps(path: str) -> tuple[str | int, ...]:
    """Split a written path into its steps: ``a.b[0]["odd key"]``."""
    steps = re.finditer(r'\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|([^.\[\]]+)', path)
    return tuple(int(m[1]) if m[1] else json.loads(m[2]) if m[2] else m[3] for m in steps)
