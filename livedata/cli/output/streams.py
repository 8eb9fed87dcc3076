"""Printing: data to stdout, messages to stderr, and nothing that steers a terminal."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import click
import orjson

if TYPE_CHECKING:
    from collections.abc import Iterable


def on_terminal() -> bool:
    """Tell whether stdout is a terminal."""
    return sys.stdout.isatty()


def print_message(message: str) -> None:
    """Print a message for the person to stderr; it is no data."""
    # Not click.echo, which writes past what moves on a terminal meanwhile, into the middle of it.
    sys.stderr.write(escape_controls(message, keep="\n") + "\n")
    sys.stderr.flush()


def print_text(text: str) -> None:
    """Print lines of text to stdout."""
    click.echo(escape_controls(text, keep="\n\t"), nl=not text.endswith("\n"))


def print_json(value: object) -> None:
    """Print one JSON document to stdout, indented."""
    # Bytes, not text: the JSON is UTF-8 in every locale.
    print_bytes(escape_json(orjson.dumps(value, option=orjson.OPT_INDENT_2)) + b"\n")


def print_json_lines(values: Iterable[object]) -> None:
    """Print one JSON object a line; all of them are flushed before this returns."""
    # The caller keeps a cursor next: a line that is lost behind a kept cursor is never seen again.
    print_bytes(b"".join(escape_json(orjson.dumps(value)) + b"\n" for value in values))


def print_bytes(data: bytes) -> None:
    """Print bytes to stdout and flush them."""
    # click.echo flushes the text layer above each time, so text and bytes keep their order.
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


# C0, DEL and C1 move the cursor, rename the window or paste into the shell. Marks of direction show
# text in another order than it has (U+202E), separators of lines break tables, and a lone surrogate
# cannot be encoded.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
# The same in UTF-8, without what is below U+0020, which orjson escapes itself; U+009B alone opens
# an escape sequence as ESC [ does. Outside of strings JSON has none of them.
_UNSAFE_IN_JSON = re.compile(
    rb"\x7f|\xc2[\x80-\x9f]|\xd8\x9c|\xe2(?:\x80[\x8e\x8f\xa8-\xae]|\x81[\xa6-\xa9])"
)


def escape_controls(text: str, *, keep: str = "") -> str:
    r"""Return `text` with every control and direction character written out, as in ``\x1b``.

    The characters in `keep` stay as they are.
    """
    # True for nearly every cell, and much faster than the pattern.
    if text.isprintable():
        return text
    return _UNSAFE.sub(lambda m: m[0] if m[0] in keep else _escape(m[0]), text)


def escape_json(json: bytes) -> bytes:
    """Return the same JSON with every control and direction character in its escaped form."""
    return _UNSAFE_IN_JSON.sub(lambda m: b"\\u%04x" % ord(m[0].decode()), json)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
