"""Printing: data to stdout, messages to stderr, and nothing that could steer a terminal."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

import click

from livedata.cli.fitting import GAP, Column, fitted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Value = str | int | float | bool | None

EMPTY = "(empty)"
LONGEST = 60
"""How much of a value a line shows on a terminal."""

_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
# The same in UTF-8, but for what is below U+0020, which orjson escapes itself; U+009B alone opens
# an escape sequence as ESC [ does. Outside of strings JSON has none of them.
_UNSAFE_IN_JSON = re.compile(
    rb"\x7f|\xc2[\x80-\x9f]|\xd8\x9c|\xe2(?:\x80[\x8e\x8f\xa8-\xae]|\x81[\xa6-\xa9])"
)
_STATUS_STYLES = {
    "succeeded": "green",
    "failed": "red",
    "blocked": "red",
    "held": "yellow",
    "new": "green",
    "changed": "yellow",
    "gone": "red",
}


def visible(text: str, *, keep: str = "") -> str:
    r"""`text` with every control and direction character written out, as in ``\x1b``.

    Cells hold what websites wrote: an escape sequence in one must never reach a terminal.
    """
    if text.isprintable():
        return text
    return _UNSAFE.sub(lambda m: m[0] if m[0] in keep else _written(m[0]), text)


def shown(value: Value) -> str:
    """A cell's value as people read it; null is empty."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return visible(str(value))


def told(value: Value) -> str:
    """A cell's value within a sentence: null is said, and on a terminal what is long is cut."""
    text = shown(value) or EMPTY
    return text[: LONGEST - 1] + "…" if len(text) > LONGEST and on_terminal() else text


def when(moment: str | None) -> str:
    """A moment to the second, UTC."""
    return "" if moment is None else f"{moment[:19]}Z"


def on_terminal() -> bool:
    """Whether stdout is a terminal."""
    return sys.stdout.isatty()


def say(message: str) -> None:
    """A message for the person, which is no data: to stderr."""
    click.echo(visible(message, keep="\n"), err=True)


def write(text: str) -> None:
    """Lines of text to stdout."""
    click.echo(visible(text, keep="\n\t"), nl=not text.endswith("\n"))


def quiet(json: bytes) -> bytes:
    """The same JSON with every control and direction character in its escaped form."""
    return _UNSAFE_IN_JSON.sub(lambda m: b"\\u%04x" % ord(m[0].decode()), json)


def write_json(value: object) -> None:
    """One JSON document to stdout, indented."""
    import orjson

    write_bytes(quiet(orjson.dumps(value, option=orjson.OPT_INDENT_2)) + b"\n")


def write_json_lines(values: Iterable[object]) -> None:
    """One JSON object a line, all of them flushed before this returns."""
    import orjson

    write_bytes(b"".join(quiet(orjson.dumps(value)) + b"\n" for value in values))


def write_bytes(data: bytes) -> None:
    """Bytes to stdout, flushed."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def table(headings: Sequence[str], lines: Sequence[Sequence[Value]], *, ids: str = "") -> None:
    """A table: drawn on a terminal, plain and aligned with whole values in a pipe.

    The column headed `ids` holds ids. On a terminal they are their last group, because lines are
    narrow and commands take the end of an id for the whole.
    """
    texts = [[shown(value) for value in line] for line in lines]
    if on_terminal():
        at = headings.index(ids) if ids else None
        _draw(
            headings, [[_short(t) if i == at else t for i, t in enumerate(line)] for line in texts]
        )
    else:
        write(_aligned([list(headings), *texts]))


def record(pairs: Mapping[str, Value]) -> None:
    """One thing, a line per property."""
    write(_aligned([[name, shown(value)] for name, value in pairs.items()]))


def counted(count: int, noun: str) -> str:
    """A number of things, as in "1 page" and "2 pages"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    """Columns with whole values; what is very long moves its own line only."""
    widths = [min(max(map(len, column)), LONGEST) for column in zip(*lines, strict=True)]
    widths[-1:] = [0]
    return "".join(_padded(line, widths) + "\n" for line in lines)


def _padded(line: Sequence[str], widths: Sequence[int]) -> str:
    padded = (text.ljust(width) for text, width in zip(line, widths, strict=True))
    return "  ".join(padded).rstrip(" ")


def _draw(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """A table of the terminal's width: long texts are cut, and what has no place is left out."""
    from shutil import get_terminal_size

    from rich.cells import cell_len

    columns = [
        Column(heading, cell_len(heading), max(map(cell_len, values), default=0))
        for heading, *values in zip(headings, *lines, strict=True)
    ]
    widths = fitted(columns, get_terminal_size().columns)
    status = headings.index("status") if "status" in headings else len(headings)
    top = click.style(_joined(_cut(headings, widths)), bold=True)
    drawn = [top, "─" * (sum(widths) + GAP * len(widths[1:]))]
    for line in lines:
        cells = _cut(line, widths)
        if status < len(cells) and line[status] in _STATUS_STYLES:
            cells[status] = click.style(cells[status], fg=_STATUS_STYLES[line[status]])
        drawn.append(_joined(cells))
    click.echo("\n".join(drawn), color=False if _colourless() else None)
    left_out = headings[len(widths) :]
    if left_out:
        say(
            f"Left out for want of room: {', '.join(left_out)}. A wider terminal, a pipe "
            "(such as | cat) or --json shows all."
        )


def _cut(texts: Sequence[str], widths: Sequence[int]) -> list[str]:
    """The texts that have a place, each exactly as wide as that."""
    from rich.cells import cell_len, set_cell_size

    return [
        set_cell_size(text, width)
        if cell_len(text) <= width
        else set_cell_size(text, width - 1) + "…"
        for text, width in zip(texts, widths, strict=False)
    ]


def _joined(cells: Sequence[str]) -> str:
    return (" " * GAP).join(cells).rstrip(" ")


def _colourless() -> bool:
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"


def _short(ident: str) -> str:
    return ident.rpartition("-")[2]


def _written(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
