"""What a trial found, and what a Run would change now: for a person and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from livedata.cli.output.change_lines import (
    format_cell,
    format_changed_cell,
    format_covered_cell,
)
from livedata.cli.output.streams import paint, print_message, print_painted, print_text
from livedata.cli.output.tables import print_record, print_table
from livedata.cli.output.values import Value, format_name, format_value
from livedata.extraction.page_text import page_text
from livedata.hints import Subject, hint, machine_hints
from livedata.messages.checks import check_title
from livedata.messages.findings import oddity_sentence
from livedata.messages.render import check_result, statement
from livedata.messages.templates import plural
from livedata.model.harvest import PageRead, PageSnapshot
from livedata.model.problem import Remedy
from livedata.model.recipe import NextLinkPages
from livedata.rules.changes.checks import distinct
from livedata.rules.changes.compare import RowChange
from livedata.services.forecast import Forecast
from spiders.cli.trial import Trial

FIRST_ROWS = 5
_SHOWN = frozenset({"finding.more_cells_unreadable", "finding.other_texts_unreadable"})
"""Oddities of which the text stands below the fields."""
BEGINNING = 200
"""The characters of a page's text that are shown if it has no item."""
MOST_LINES = 30
"""How many rows a person is shown; JSON has all."""
_WORDS = {"created": "new", "updated": "changed", "returned": "back", "missing": "gone"}


def trial_json(trial: Trial) -> dict[str, Any]:
    """What a trial found as one JSON object."""
    names = [field.name for field in trial.recipe.fields]
    return {
        "pages": [
            {
                "url": page.url,
                "finalUrl": page.final_url,
                "status": page.status,
                "title": page.title,
                "items": len(page.records),
                "nextLinks": page.next_links,
            }
            for page in trial.harvest.pages
        ],
        "fields": [
            dict(
                zip(
                    ("name", "matched", "filled", "extractionFailed", "firstUnreadable"),
                    (name, *trial.filled(position), _unreadable_text(trial, position)),
                    strict=True,
                )
            )
            for position, name in enumerate(names)
        ],
        "rows": [
            dict(zip(names, record.values, strict=True)) for record in trial.records[:FIRST_ROWS]
        ],
        "complete": trial.harvest.ending.rule == "natural_end",
        "checks": [check_result(check) for check in trial.verdict.checks],
        "odd": [
            {
                "code": oddity.code.removeprefix("finding."),
                "message": oddity_sentence(oddity),
            }
            for oddity in trial.oddities
        ],
        "outcome": trial.verdict.outcome,
        "error": trial.error,
    }


def print_trial(trial: Trial, next_: Remedy) -> None:
    """Tell a person what a trial found; if nothing could be read, only why."""
    if not trial.harvest.pages:
        print_message(trial.error or "No page could be read.")
        _print_hints(trial)
        return
    for page in trial.harvest.pages:
        print_text(
            f"Page {page.number}: {page.final_url} (status {page.status}"
            f"{', ' + repr(page.title) if page.title else ''}), "
            f"{plural(len(page.records), 'item')}{_links(trial, page)}"
        )
        for number, address in enumerate(page.next_links):
            followed = " (followed)" if len(page.next_links) > 1 and not number else ""
            print_text(f"  next link: {address}{followed}")
    for answer in _unfound(trial):
        # A refusal is no page of the harvest, so the loop above has not printed it.
        if answer.number > len(trial.harvest.pages):
            print_text(
                f"Page {answer.number}: {answer.final_url} (status {answer.status}), not read"
            )
        text = _beginning(answer)
        print_text(f"  The page begins: {text!r}" if text else "  The page has no text.")
    _print_fields(trial)
    _print_oddities(trial)
    _print_rows(trial)
    _print_verdict(trial, next_)


def _beginning(page: PageSnapshot) -> str:
    """The first characters of a page's text; of its markup if that has none."""
    markup = page.markup.decode()
    text = page_text(markup).text or " ".join(markup.split())
    return text[:BEGINNING] + ("…" if len(text) > BEGINNING else "")


def _unfound(trial: Trial) -> list[PageSnapshot]:
    """The last answer without an item, whether it was a page or a refusal."""
    filled = {page.number for page in trial.harvest.pages if page.records}
    return [page for page in trial.harvest.seen if page.number not in filled][-1:]


def _links(trial: Trial, page: PageRead) -> str:
    """What leads on from a page, or says that it is the last."""
    if page.links is None:
        return ""
    what = "next link" if isinstance(trial.recipe.pagination, NextLinkPages) else "end marker"
    return f", {plural(page.links, what)}"


def _print_fields(trial: Trial) -> None:
    total = len(trial.records)
    lines: list[list[Value]] = []
    for position, field in enumerate(trial.recipe.fields):
        matched, filled, unreadable = trial.filled(position)
        place, example = field.read.place, _example(trial, position)
        lines.append([field.name, place, f"{matched} of {total}", filled, unreadable, example])
    print_text("")
    print_table(["field", "read", "matched", "filled", "unreadable", "for example"], lines)

    for position, field in enumerate(trial.recipe.fields):
        first = trial.unreadable(position)
        if first is not None:
            page, item, text = first
            print_text(
                f"{field.name}: {text[:BEGINNING]!r} cannot be read as a {field.type} (item {item} "
                f"of page {page})"
            )


def _unreadable_text(trial: Trial, position: int) -> str | None:
    first = trial.unreadable(position)
    return None if first is None else first[2]


def _print_oddities(trial: Trial) -> None:
    lines = [oddity_sentence(oddity) for oddity in trial.oddities if oddity.code not in _SHOWN]
    if lines:
        print_text("")
    for line in lines:
        print_text(f"odd: {line}")


def _example(trial: Trial, position: int) -> str:
    """A value of the field; if none could be read, the text of an unreadable cell."""
    for record in trial.records:
        if record.values[position] is not None:
            return format_value(record.values[position])
    texts = [record.texts[position] for record in trial.records if record.texts[position]]
    return f"unreadable: {texts[0]}" if texts else ""


def _print_rows(trial: Trial) -> None:
    # The key cells stand in the row key already.
    shown = [
        position
        for position in range(len(trial.recipe.fields))
        if position not in trial.recipe.key_indexes
    ]
    rows = list(distinct(trial.harvest).values())[:FIRST_ROWS]
    heading = "row" if len(rows) == 1 else f"{len(rows)} rows"
    print_text(f"\nThe first {heading}:" if rows else "\nThere are no rows.")
    if rows:
        headings = ["row", *(trial.recipe.fields[position].name for position in shown)]
        print_table(
            headings, [[r.key, *(r.values[position] for position in shown)] for _, r in rows]
        )


def _print_verdict(trial: Trial, next_: Remedy) -> None:
    verdict, outcome = trial.verdict, trial.verdict.outcome
    if verdict.checks:
        print_text("")
        names = {field.id: field.name for field in trial.recipe.fields}
        print_record(
            {
                ("passed  " if check.passed else "FAILED  ")
                + check_title(check.id, names): check_result(check).get("message")
                for check in verdict.checks
            }
        )
    unread = f"what comes after {plural(len(trial.harvest.pages), 'page')} was not looked at"
    if trial.cut and outcome == "accept":
        print_message(f"So far a Run would accept this; {unread}, and --pages reads more.")
    elif trial.cut:
        print_message(f"A Run would not accept this; {unread}. Nothing was stored or charged.")
    elif outcome == "accept":
        print_message(f"A Run would accept this. {hint(next_, Subject())}")
    elif not verdict.checks:
        print_message(trial.error or "")
        _print_hints(trial)
    elif outcome == "held":
        if verdict.problem is not None and all(check.passed for check in verdict.checks):
            print_message(statement(verdict.problem))
        print_message("A Run would hold this for you to look at; nothing was stored or charged.")
    else:
        print_message("A Run would not accept this; nothing was stored or charged.")
        _print_hints(trial)


def _print_hints(trial: Trial) -> None:
    for line in machine_hints(trial.verdict.problem, Subject()):
        print_message(f"  {line}")


def forecast_json(trial: Trial, forecast: Forecast) -> dict[str, Any]:
    """The changes as one JSON object; `gone` is null if not all pages were read."""
    names = forecast.fields.names
    return {
        "dataset": forecast.dataset,
        "new": forecast.changes.count("created"),
        "changed": forecast.changes.count("updated", "returned"),
        "gone": None if trial.cut else forecast.changes.count("missing"),
        "unchanged": len(forecast.changes.unchanged),
        "columns": msgspec.to_builtins(forecast.columns),
        "rows": [
            {
                "kind": change.kind,
                "row": change.key,
                "changed": {
                    names[position]: {
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
    """Print what would become of the columns, and a line per row that would change."""
    lines = [*forecast_lines(trial, forecast)]
    print_text(f"\n{forecast_summary(trial, forecast)}")
    for line in forecast.columns.sentences:
        print_text(f"  {line}")
    for word, rest in lines[:MOST_LINES]:
        print_painted(f"  {paint(f'{word:<7}', word)}  {rest}".rstrip())
    if len(lines) > MOST_LINES:
        more = plural(len(lines) - MOST_LINES, "row")
        print_message(f"  … and {more} more; --json has all.")


def forecast_lines(trial: Trial, forecast: Forecast) -> Iterator[tuple[str, str]]:
    """What would become of each row that would change, as a word, and the row with its cells."""
    for change in _revisions(trial, forecast):
        cells = ", ".join(_cells(change, forecast.fields.names))
        name = format_name(forecast.fields.namer(change.key, change.cells.values))
        yield _WORDS[change.kind], f"{name}  {cells}".rstrip()


def _revisions(trial: Trial, forecast: Forecast) -> Iterator[RowChange]:
    # A row that was not seen may stand on a page that was not read.
    return (
        change
        for change in forecast.changes.revisions
        if not (trial.cut and change.kind == "missing")
    )


def forecast_summary(trial: Trial, forecast: Forecast, run: str = "A Run now") -> str:
    """How many rows such a Run would change."""
    changes = forecast.changes
    counts = f"{changes.count('created')} new, {changes.count('updated', 'returned')} changed"
    if trial.cut:
        pages = plural(len(trial.harvest.pages), "page")
        gone = f" on {pages}; what is gone shows only if all pages are read"
    else:
        gone = f", {changes.count('missing')} gone"
    stay = f"; {plural(len(changes.unchanged), 'row')} as before"
    which = "This output" if forecast.held else run
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
