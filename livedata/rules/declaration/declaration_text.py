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

if TYPE_CHECKING:
    from collections.abc import Mapping
import json as json_reader

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


Path = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[\s]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
# Three quotes come before one, which would match the first two of them as an empty text. Up to two
# more at the end belong to the text.
_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}'
    r"|'''(?:[^']|'{1,2}(?!'))*'{3,5}"
    r'|"(?:[^"\\]|\\.)*"'
    r"|'[^']*'",
    re.DOTALL,
)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BARE_VALUE = re.compile(r"[^,\]}#\n]+")


def find_lines(text: str, *, json: bool) -> dict[Path, int]:
    """Map the path of every key, table and entry of an array in `text` to its line, from 1."""
    finder = _Finder(text)
    if json:
        finder.blank()
        finder.value(())
    else:
        finder.document()
    return finder.lines


class _Finder:
    """Walks through a text that is known to be well formed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Path, int] = {}
        self._counted = 0
        self._line = 1
        self._tables: dict[Path, int] = {}

    def document(self) -> None:
        """Walk over a TOML document: headers, and the pairs below each."""
        table: Path = ()
        self.blank()
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table)
            self.blank()

    def value(self, path: Path) -> None:
        """Walk over one value, with everything inside it."""
        opener = self.text[self.at]
        if opener == "[":
            self._array(path)
        elif opener == "{":
            self._inline_table(path)
        elif opener in "\"'":
            self._take(_STRING)
        else:
            self._take(_BARE_VALUE)

    def blank(self) -> None:
        """Walk over space, line ends and comments."""
        self._take(_BLANK)

    def _header(self) -> Path:
        many = self.text.startswith("[[", self.at)
        line = self._line_here()
        self.at += 2 if many else 1
        *parents, name = self._key()
        self.at += 2 if many else 1
        path: Path = ()
        for parent in parents:
            path = self._entered((*path, parent), line)
        path = (*path, name)
        # The first place counts: a table may be named again on the way to another one.
        self.lines.setdefault(path, line)
        # [[name]] begins the next table of an array: later headers below it mean the last one.
        if many:
            self._tables[path] = self._tables.get(path, -1) + 1
            path = (*path, self._tables[path])
            self.lines.setdefault(path, line)
        return path

    def _entered(self, path: Path, line: int) -> Path:
        """Return `path`, or the last table if it names an array of tables."""
        self.lines.setdefault(path, line)
        return (*path, self._tables[path]) if path in self._tables else path

    def _pair(self, table: Path) -> None:
        line = self._line_here()
        path = table
        for name in self._key():
            path = (*path, name)
            self.lines.setdefault(path, line)
        self.at += 1  # the sign between key and value
        self.blank()
        self.value(path)

    def _key(self) -> list[str]:
        names = [self._name()]
        while self.text[self.at] == ".":
            self.at += 1
            names.append(self._name())
        return names

    def _name(self) -> str:
        self._take(_SPACE)
        quoted = self.text[self.at] in "\"'"
        token = self._take(_STRING if quoted else _BARE_KEY)
        self.blank()
        return _unquoted(token) if quoted else token

    def _array(self, path: Path) -> None:
        self.at += 1
        self.blank()
        place = 0
        while self.text[self.at] != "]":
            self.lines.setdefault((*path, place), self._line_here())
            self.value((*path, place))
            self._after_entry()
            place += 1
        self.at += 1

    def _inline_table(self, path: Path) -> None:
        self.at += 1
        self.blank()
        while self.text[self.at] != "}":
            self._pair(path)
            self._after_entry()
        self.at += 1

    def _after_entry(self) -> None:
        self.blank()
        if self.text[self.at] == ",":
            self.at += 1
            self.blank()

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            raise ValueError(f"nothing to read at character {self.at}")
        self.at = match.end()
        return match[0]

    def _line_here(self) -> int:
        # Lines are counted on from the last place: from the start each time would be quadratic.
        self._line += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._line


def _unquoted(token: str) -> str:
    try:
        return str(tomllib.loads(f"key = {token}")["key"])
    except tomllib.TOMLDecodeError:  # an escape that only JSON has
        return str(json_reader.loads(token))
