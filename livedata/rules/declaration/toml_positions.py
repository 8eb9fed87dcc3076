"""Finds the line of each key of a TOML or JSON text that has been read without errors."""

from __future__ import annotations

import json as json_reader
import re
import tomllib

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
