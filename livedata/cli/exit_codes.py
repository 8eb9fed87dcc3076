"""What went wrong, as a sentence on stderr and an exit code."""

from __future__ import annotations

from livedata.cli.hints import Subject, hints
from livedata.cli.output.escapes import escape_controls
from livedata.cli.output.streams import print_message
from livedata.messages.request import format_detail
from livedata.model.errors import (
    Detail,
    InsufficientCredits,
    LivedataError,
    RunInProgress,
    StoreUnavailable,
)

EXIT_CODES: dict[type[LivedataError], int] = {
    InsufficientCredits: 6,
    RunInProgress: 7,
    StoreUnavailable: 8,
}
"""The exit codes of design 3 that an error decides; every other error is 1."""


def report_error(error: Exception) -> int:
    """Say what went wrong; the exit code. What nobody expected is raised again as it is."""
    if isinstance(error, LivedataError):
        print_message(
            "\n".join([f"Error: {_summary(error)}", *_listed(error.details), *_hints(error)])
        )
        return exit_code(error)
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        print_message(f"Error: {place}{error.strerror}.")
        return 1
    raise error


def explained(error: LivedataError) -> str:
    """The message of an error, and below it what a person may try."""
    return "\n".join([escape_controls(error.message), *_hints(error)])


def exit_code(error: LivedataError) -> int:
    """The exit code of a command that ends with `error`."""
    return next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), 1)


def _summary(error: LivedataError) -> str:
    """The message; where it only repeats the first of several problems, how many there are."""
    if len(error.details) > 1 and error.message.startswith(_told(error.details[0])):
        return f"there are {len(error.details)} problems:"
    return error.message


def _listed(details: tuple[Detail, ...]) -> list[str]:
    """One line per detail; a single one is what the message has said already."""
    return [f"  {_told(one)}" for one in details] if len(details) > 1 else []


def _hints(error: LivedataError) -> list[str]:
    return [f"  {line}" for line in hints(error.remedies, Subject())]


def _told(detail: Detail) -> str:
    return detail.message if detail.path in detail.message else format_detail(detail)
