"""What went wrong, as a sentence on stderr and an exit code."""

from __future__ import annotations

import click

from livedata.cli.output import visible
from livedata.model.errors import (
    Detail,
    InsufficientCredits,
    LivedataError,
    RunInProgress,
    StoreUnavailable,
)
from livedata.model.sentences import said

CODES: dict[type[LivedataError], int] = {
    InsufficientCredits: 6,
    RunInProgress: 7,
    StoreUnavailable: 8,
}
"""The exit codes of design 3 that an error decides; every other error is 1."""


class Failure(click.ClickException):
    """An error with the exit code that it means."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(visible(message, keep="\n"))
        self.exit_code = exit_code


def failure(error: Exception) -> Exception:
    """`error` as the command line ends with it; what nobody expected passes as it is."""
    if isinstance(error, LivedataError):
        code = next((code for kind, code in CODES.items() if isinstance(error, kind)), 1)
        return Failure("\n".join([error.message, *_listed(error.details)]), code)
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        return Failure(f"{place}{error.strerror}.")
    return error


def _listed(details: tuple[Detail, ...]) -> list[str]:
    """One line per detail; a single one is what the message has said already."""
    if len(details) < 2:
        return []
    return [f"  {one.message if one.path in one.message else said(one)}" for one in details]
