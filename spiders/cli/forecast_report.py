"""What a Run would change now, for a person and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from livedata.cli.output.change_lines import (
    format_cell,
    format_changed_cell,
    format_covered_cell,
)
from livedata.cli.output.streams import paint, print_message, print_painted, print_text
from livedata.cli.output.values import format_name
from livedata.messages.templates import plural
from livedata.rules.changes.compare import RowChange
from livedata.services.forecast import Forecast
from spiders.cli.trial import Trial

MOST_LINES = 30
"""How many rows a person is shown; JSON has all."""


_WORDS = {"created": "new", "updated": "changed", "returned": "back", "missing": "gone"}


def forecast_json(trial: Trial, forecast: Forecast) -> dict[str, Any]:
    """The changes as one JSON object; `gone` is null if not all pages were read."""
    return {
        "dataset": forecast.dataset,
        "new": forecast.changes.count("created"),
        "changed": forecast.changes.count("updated", "returned"),
        "gone": None if trial.cut else forecast.changes.count("missing"),
        "unchanged": len(forecast.changes.unchanged),
        "rows": [
            {
                "kind": change.kind,
                "row": change.key,
                "changed": {
                    forecast.columns[position]: {
                        "before": change.before(position),
                        "after": change.cells.source(position)[0],
                    }
                    for position in sorted(change.changed)
                },
            }
            for change in _revisions(trial, forecast)
        ],
    }


def print_forecast(trial: Trial, forecast: Forecast) -> None:
    """Print a line per row that would change, and how many they are."""
    revisions = list(_revisions(trial, forecast))
    print_text(f"\n{_summary(trial, forecast)}")
    for change in revisions[:MOST_LINES]:
        cells = ", ".join(_cells(change, forecast.columns))
        word = _WORDS[change.kind]
        name = format_name(forecast.called(change.key, change.cells.values))
        line = f"  {paint(f'{word:<7}', word)}  {name}  {cells}"
        print_painted(line.rstrip())
    if len(revisions) > MOST_LINES:
        more = plural(len(revisions) - MOST_LINES, "row")
        print_message(f"  … and {more} more; --json has all.")


def _revisions(trial: Trial, forecast: Forecast) -> Iterator[RowChange]:
    # A row that was not seen may stand on a page that was not read.
    return (
        change
        for change in forecast.changes.revisions
        if not (trial.cut and change.kind == "missing")
    )


def _summary(trial: Trial, forecast: Forecast) -> str:
    changes = forecast.changes
    counts = f"{changes.count('created')} new, {changes.count('updated', 'returned')} changed"
    if trial.cut:
        pages = plural(len(trial.harvest.pages), "page")
        gone = f" on {pages}; what is gone shows only if all pages are read"
    else:
        gone = f", {changes.count('missing')} gone"
    stay = f"; {plural(len(changes.unchanged), 'row')} as before"
    which = "This output" if forecast.held else "A Run now"
    return f"{which} would change {forecast.dataset}: {counts}{gone}{stay}."


def _cells(change: RowChange, columns: list[str]) -> Iterator[str]:
    for position in sorted(change.changed):
        name, after = columns[position], change.cells.value(position)
        if change.row is None:
            yield format_cell(name, after)
        elif position in change.cells.overrides:
            yield format_covered_cell(name, after, change.cells.source(position)[0])
        else:
            yield format_changed_cell(name, change.row.cells.value(position), after)
