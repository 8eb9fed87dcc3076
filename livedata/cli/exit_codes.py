"""Errors: a sentence on stderr, and an exit code."""

from __future__ import annotations

from livedata.cli.output.streams import print_message
from livedata.config import load
from livedata.hints import Subject, hints
from livedata.messages.controls import escape_controls
from livedata.messages.request import format_detail
from livedata.model.errors import (
    Damaged,
    Detail,
    InsufficientCredits,
    LivedataError,
    LocatedDetail,
    RunInProgress,
    StoreUnavailable,
)
from livedata.store.database.store import Database

EXIT_CODES: dict[type[LivedataError], int] = {
    InsufficientCredits: 6,
    RunInProgress: 7,
    StoreUnavailable: 8,
}
"""The exit codes (rules 12.2) that an error decides; every other error is 1."""


def report_error(error: Exception) -> int:
    """Print what went wrong, and return the exit code; an unexpected error is raised again."""
    if isinstance(error, LivedataError):
        print_message(
            "\n".join([f"Error: {_summary(error)}", *_detail_lines(error.details), *_hints(error)])
        )
        return exit_code(error)
    # A full disk or a file without rights is no fault of the program.
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        print_message(f"Error: {place}{error.strerror}.")
        return 1
    if (damaged := _damage_behind(error)) is not None:
        return report_error(damaged)
    # What nobody expected is a mistake in livedata, and its traceback is what a report needs.
    raise error


def _damage_behind(error: Exception) -> Damaged | None:
    """Return what cannot be read in the store, if that may have caused an unexpected error."""
    try:
        Database(load().database_url).raise_damage(error)
    except Damaged as damaged:
        return damaged
    except LivedataError:
        pass
    return None


def explained(error: LivedataError) -> str:
    """Return the message of an error, and below it what a person may try."""
    # A message may quote a site or a file.
    return "\n".join([escape_controls(error.message), *_hints(error)])


def exit_code(error: LivedataError) -> int:
    """Return the exit code of a command that ends with `error`."""
    return next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), 1)


def _summary(error: LivedataError) -> str:
    """Return the message, or how many problems there are: the message has only the first."""
    count = len(error.details)
    return f"there are {count} problems:" if count > 1 else error.message


def _detail_lines(details: tuple[Detail, ...]) -> list[str]:
    """Format a line per detail; a single one stands in the message already."""
    return [f"  {_format(detail)}" for detail in details] if len(details) > 1 else []


def _format(detail: Detail) -> str:
    return detail.message if isinstance(detail, LocatedDetail) else format_detail(detail)


def _hints(error: LivedataError) -> list[str]:
    # An error knows no owner but the one that its remedies name.
    return [f"  {line}" for line in hints(error.remedies, Subject())]
