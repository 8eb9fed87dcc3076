"""What a person has to know of a table at another moment, beside the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from livedata.cli.output.streams import print_message

if TYPE_CHECKING:
    from livedata.services.moments import Moment


def print_moment(moment: Moment) -> None:
    """Print to stderr that a moment is to come, or that there was no table yet."""
    if moment.is_to_come and moment.is_day:
        print_message(
            f"{moment.given} is not over: this is the table as it is now. A day is its end, so it "
            "began as the day before ended."
        )
    elif moment.is_to_come:
        print_message(f"{moment.given} is to come: this is the table as it is now.")
    elif moment.sequence == 0:
        print_message(f"{moment.given} is before the first accepted Run: the table is empty.")
