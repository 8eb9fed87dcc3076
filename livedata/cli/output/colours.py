"""Colours: words of a state in their colour, on terminals that want colours."""

from __future__ import annotations

import os

import click

COLOURS = {
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


def paint(text: str, state: str) -> str:
    """Give `text` the colour of a state, if that has one."""
    return click.style(text, fg=COLOURS[state]) if state in COLOURS else text


def print_painted(text: str) -> None:
    """Print lines with colours to stdout; what a site wrote in them is escaped already."""
    # Not print_text, which writes escape sequences out. click drops colours in a pipe.
    click.echo(text, color=False if _is_colourless() else None)


def _is_colourless() -> bool:
    # By no-color.org every text but the empty one counts, "0" too.
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
