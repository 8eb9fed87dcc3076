"""Printing: data to stdout, messages to stderr, and nothing but colours that steers a terminal."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click
import orjson

from livedata.messages.controls import escape_controls, escape_json

if TYPE_CHECKING:
    from collections.abc import Iterable

_COLOURS = {
    "succeeded": "green",
    "failed": "red",
    "blocked": "red",
    "held": "yellow",
    "new": "green",
    "created": "green",
    "changed": "yellow",
    "updated": "yellow",
    "returned": "green",
    "back": "green",
    "gone": "red",
    "missing": "red",
}


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


def paint(text: str, state: str) -> str:
    """Give `text` the colour of a state, if that has one."""
    return click.style(text, fg=_COLOURS[state]) if state in _COLOURS else text


def dim(text: str) -> str:
    """Write `text` so that it stands back behind what it is beside."""
    return click.style(text, dim=True)


def print_painted(text: str) -> None:
    """Print lines with colours to stdout; what a site wrote in them is escaped already."""
    # Not print_text, which writes escape sequences out. click drops colours in a pipe.
    click.echo(text, color=False if _is_colourless() else None)


def _is_colourless() -> bool:
    # By no-color.org every text but the empty one counts, "0" too.
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"


def confirm(question: str, otherwise: str) -> None:
    """Ask, and end the command unless the answer is yes: then it says what that means."""
    try:
        # On stderr: stdout may have the JSON that a program reads.
        sure = click.confirm(question, err=True)
    except click.Abort:
        # Ctrl-C and the end of the input leave the cursor behind the question.
        print_message("")
        raise
    if not sure:
        # The Enter of a person ends the line of the question; the answer of a pipe does not.
        if not sys.stdin.isatty():
            print_message("")
        print_message(otherwise)
        raise click.exceptions.Exit(1)
