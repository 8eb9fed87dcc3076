"""Prints what would read the known rows on a page that has changed."""

from __future__ import annotations

from livedata.cli.output.streams import print_text
from livedata.cli.output.tables import print_table
from livedata.messages.controls import escape_controls
from livedata.messages.list_doubts import known_records
from livedata.model.diagnosis.explanation import Suggestion


def print_suggestion(suggestion: Suggestion, page: str) -> None:
    """Print how many known rows `page` shows, and each selector with what would replace it."""
    replaced = suggestion["replaced"]
    text = f"{page} has {known_records(suggestion)}."
    print_text(f"{text} This reads them:" if replaced else text)
    if replaced:
        lines = [[each["target"], each["before"], each["after"]] for each in replaced]
        print_table(["what", "before", "now"], lines)
    for lost in suggestion["lost"]:
        print_text(
            f"Not found on the page: {escape_controls(lost)}; its selector is left as it is."
        )
