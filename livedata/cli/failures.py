"""What went wrong, as a sentence on stderr and an exit code."""

from __future__ import annotations

from livedata.cli.output import say
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


def report(error: Exception) -> int:
    """Say what went wrong; the exit code. What nobody expected is raised again as it is."""
    if isinstance(error, LivedataError):
        say("\n".join([f"Error: {error.message}", *_listed(error.details)]))
        return next((code for kind, code in CODES.items() if isinstance(error, kind)), 1)
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        say(f"Error: {place}{error.strerror}.")
        return 1
    raise error


def _listed(details: tuple[Detail, ...]) -> list[str]:
    """One line per detail; a single one is what the message has said already."""
    if len(details) < 2:
        return []
    return [f"  {one.message if one.path in one.message else said(one)}" for one in details]
