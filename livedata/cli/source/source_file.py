"""Reading a ``source.toml`` or a plan, with the line of each wrong place.

A source is the body of interface 4.1, with the names of the JSON, in TOML or (``.json``) in JSON.
"""

from __future__ import annotations

import json
import re
import tomllib
from itertools import takewhile
from typing import TYPE_CHECKING, TypeVar

from livedata.cli.exit_codes import LocatedDetail
from livedata.cli.source.toml_positions import find_lines
from livedata.hints import Subject
from livedata.messages.request import format_detail, summary
from livedata.messages.strict_json import Unreadable, parse_json
from livedata.messages.validation import read
from livedata.model.base import Shape
from livedata.model.errors import Detail, Invalid
from livedata.model.requests import CreateDataset

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

S = TypeVar("S", bound=Shape)

_MARK = "NOT READY. "
"""What a source begins with that was written although no Run would accept it."""

# As much as the API takes in a body: a declaration fits both or neither.
MAX_BYTES = 1024 * 1024
_TOML_PLACE = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|(end of document))\)", re.DOTALL)


def read_source(path: Path) -> CreateDataset:
    """Read the declaration of a source in the file at `path`, as `read_declaration` does."""
    value = _value(path)
    # Each of its properties would be told as unknown, and those of a source as missing.
    if isinstance(value, dict) and "rowIdentity" in value and "source" not in value:
        raise Invalid(
            f"{path}: this is a plan of research, and not a source; livedata research create "
            "--name NAME --plan FILE makes a dataset of it."
        )
    return _shaped(CreateDataset, value, path)


def read_declaration(shape: type[S], path: Path) -> S:
    """Read the declaration in the file at `path`; raises Invalid, every detail with file and line.

    Only the shape is judged; `locate_problems` adds file and line to what other rules refuse.
    """
    return _shaped(shape, _value(path), path)


def locate_problems(error: Invalid, path: Path) -> Invalid:
    """Put ``file:line:`` before each message of `error`, by line; `path` holds the declaration."""
    try:
        lines = find_lines(_text(path), json=_is_json(path))
    except (Invalid, ValueError, IndexError, RecursionError):
        # A text that cannot be walked has no lines to tell; its own error says more.
        return error
    if not error.details:
        return Invalid(f"{path}: {error.message}", remedies=error.remedies)
    # What read_source raised has file and line already.
    if any(isinstance(detail, LocatedDetail) for detail in error.details):
        return error
    by_line = sorted(
        ((_line(detail, lines), detail) for detail in error.details), key=lambda pair: pair[0]
    )
    details = tuple(
        LocatedDetail(detail.path, f"{path}:{line}: {format_detail(detail)}", detail.remedies)
        for line, detail in by_line
    )
    return Invalid(summary(details[0].message, len(details)), details, error.remedies)


def _value(path: Path) -> object:
    text = _text(path)
    return _json(path, text) if _is_json(path) else _toml(path, text)


def _shaped(shape: type[S], value: object, path: Path) -> S:
    try:
        return read(shape, value)
    except Invalid as error:
        raise locate_problems(error, path) from None


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            # One byte more than allowed tells a file that is too large, without reading it whole.
            body = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise Invalid(f"{path}: there is no such file.") from None
    except IsADirectoryError:
        raise Invalid(f"{path}: this is a folder, not a file.") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise Invalid(f"{path}: the file cannot be read ({why.lower()}).") from None
    if len(body) > MAX_BYTES:
        raise Invalid(f"{path}: the file is larger than 1 MiB.")
    try:
        # Some editors put a mark of the byte order first, which is no part of the text.
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise Invalid(f"{path}:{line}: the file is not UTF-8.") from None


def _is_json(path: Path) -> bool:
    return path.suffix.lower() == ".json"


def _json(path: Path, text: str) -> object:
    try:
        return parse_json(text)
    except Unreadable as error:
        place = str(path) if error.line is None else f"{path}:{error.line}"
        raise Invalid(f"{place}: {error.message}.") from None


def _toml(path: Path, text: str) -> object:
    try:
        return _whole(tomllib.loads(text))
    # tomllib calls itself for each level of brackets.
    except RecursionError:
        raise Invalid(f"{path}: the TOML is nested too deep.") from None
    except ValueError as error:
        match = _TOML_PLACE.fullmatch(str(error))
        why, line, column = (match[1], match[2], match[3]) if match else (str(error), None, None)
        line = line or (str(text.count("\n") + 1) if match else None)
        place = f"{path}:{line}" if line else str(path)
        where = f" at column {column}" if column else ""
        raise Invalid(f"{place}: the TOML cannot be read{where}: {_plain(why)}.") from None


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


def not_ready(why: str) -> str:
    """The comment that says why no Run would accept a source."""
    return f"{_MARK}{why}"


def refuse_not_ready(path: Path) -> None:
    """Refuse a file that still has the mark among the comments at its top; raises Invalid."""
    with path.open(encoding="utf-8-sig") as lines:
        top = takewhile(lambda line: line.startswith("#"), lines)
        for number, line in enumerate(top, 1):
            comment = line.removeprefix("#").strip()
            if comment.startswith(_MARK):
                why = comment.removeprefix(_MARK).rstrip(".")
                preview = Subject().command("preview", str(path))
                raise Invalid(
                    f"{path}:{number}: this source is marked as not ready: {why}. Edit it until "
                    f"{preview} is right, then delete line {number} of the file."
                )
