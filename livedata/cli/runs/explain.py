"""``runs explain``: why a Run ended as it did, and what to try next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.output.tables import print_table
from livedata.cli.runs.diagnosis import diagnose_run
from livedata.cli.runs.list import format_so_far
from livedata.hints import Subject, hint, hints
from livedata.messages.controls import escape_controls
from livedata.messages.findings import finding_sentence, odd_sentences
from livedata.messages.list_doubts import known_records
from livedata.messages.render import entry, sentence
from livedata.messages.research_findings import fact_meaning
from livedata.messages.templates import plural
from livedata.model.diagnosis.entities import SummaryEntity
from livedata.model.diagnosis.explanation import (
    Explanation,
    FailedPage,
    RunExplanation,
    Suggestion,
    cause_code,
)
from livedata.model.errors import LivedataError, NotFound
from livedata.model.problem import Problem, Remedy
from livedata.services import explanation, queries
from livedata.services.kinds import choice as kinds
from livedata.services.kinds.research_diagnostics import Story
from livedata.services.run_report import RunReport
from livedata.services.run_report import report as report_of
from livedata.services.run_view import viewing

_MOST_NAMES = 10
"""The names of rows that stand in one line; `rows list` has all."""
_UNITS = {
    "inputTokens": "input token",
    "outputTokens": "output token",
    "modelUsd": "US dollar",
    "searchCredits": "search credit",
}


@click.command()
@click.argument("run", metavar="R", shell_complete=complete_dataset)
@click.option("--page", is_flag=True, help="Print the page that stopped the Run, as it was read.")
@click.option(
    "--screenshot",
    type=click.Path(dir_okay=False, writable=True),
    metavar="FILE",
    help="Write the picture of that page, where a browser made one.",
)
@click.option("--entity", metavar="NAME", help="Say what became of this row or name.")
@click.option("--field", metavar="F", help="With --entity: of this column, by its id or label.")
@click.option("--summary", is_flag=True, help="Sum up what became of all entities.")
@common_options
def explain(
    ctx: CommandContext,
    run: str,
    page: bool,
    screenshot: str | None,
    entity: str | None,
    field: str | None,
    summary: bool,
) -> None:
    """Say why Run R, or the last Run of dataset R, ended as it did, and what to try next.

    What it suggests is for you to judge: nothing is ever changed by it.
    """
    if page or screenshot is not None:
        show_page(ctx, run, print_markup=page, screenshot=screenshot)
    elif summary or entity is not None or field is not None:
        diagnose_run(ctx, run, entity=entity, field=field, summary=summary)
    else:
        explain_run(ctx, run)


def explain_run(ctx: CommandContext, name: str) -> None:
    """Print the causes that the Run that `name` names leaves open, likeliest first."""
    with ctx.at_one_moment() as db:
        run_id = queries.find_run(db, ctx.owner, name)
        with viewing(db, ctx.owner, run_id) as view:
            explained, report = explanation.explain(view), report_of(view)
            told = kinds.of_source(view.source).story(view)
    if ctx.json:
        print_json(_as_json(explained, ctx.owner))
    else:
        findings = [] if told is None else [each["message"] for each in told.findings]
        oddities = [*odd_sentences(report.facts), *findings]
        _print_explanation(explained, report, oddities, ctx.owner)
        if told is not None:
            print_text("")
            _print_story(told)


def show_page(
    ctx: CommandContext, name: str, *, print_markup: bool, screenshot: str | None
) -> None:
    """Print the kept page of the Run that `name` names, or write its picture, or both."""
    with ctx.at_one_moment() as db:
        run_id = queries.find_run(db, ctx.owner, name)
        page = explanation.failed_page(db, ctx.owner, run_id)
    if screenshot is not None:
        _write_screenshot(page, screenshot)
    if print_markup:
        # The site wrote it: print_text writes out what could steer the terminal.
        print_text(page.markup)
        if page.cut:
            print_message(
                "This is a part of the page: the 64 KiB where its rows are, if that is known."
            )


def _write_screenshot(page: FailedPage, file: str) -> None:
    if page.screenshot is None:
        raise NotFound(
            'No screenshot is kept: only Runs with render = "browser" make them, of pages that '
            "let themselves be painted."
        )
    try:
        Path(file).write_bytes(page.screenshot)
    except OSError as error:
        raise LivedataError(f"{file} cannot be written: {error.strerror}.") from error
    print_message(f"Wrote the picture of page {page.number} to {file}.")


def _print_explanation(
    explained: RunExplanation, report: RunReport, oddities: Sequence[str], owner: str
) -> None:
    print_text(f"Run {explained.run}: {explained.status}")
    if report.why is not None:
        print_text(f"It said: {escape_controls(report.why)}")
    for line in oddities:
        print_text(f"Looks odd: {escape_controls(line)}")
    if explained.unknown is not None:
        print_text(_unknown(explained.unknown))
    elif not explained.causes and not oddities:
        is_open = explained.status in {"queued", "running"}
        print_text(format_so_far(report.figures) if is_open else "Nothing looks odd.")
    for number, cause in enumerate(explained.causes, 1):
        print_text(f"\n{number}. {_line(cause)}")
        for fact in cause.evidence:
            # What the Run says of itself stands above already.
            if fact != explained.problem:
                print_text(f"   found: {_line(fact)}")
        for line in hints(cause.remedies, _subject(explained, owner)):
            print_text(f"   try:   {line}")
        print_text(f"   about: {entry(cause)}")
    _print_kept_page(explained)
    _print_suggestion(explained, owner)


def _print_kept_page(explained: RunExplanation) -> None:
    page = explained.page
    if page is None:
        return
    print_text(f"\nKept page {page['number']}: {page['finalUrl']}, status {page['status']}")
    if explained.matches:
        print_table(
            ("selector", "matches now", "in the last accepted Run"),
            [(count["target"], count["now"], count["before"]) for count in explained.matches],
        )


def _print_suggestion(explained: RunExplanation, owner: str) -> None:
    suggestion = explained.suggestion
    if suggestion is not None:
        print_text("")
        print_suggestion(suggestion, "The kept page")
        line = hint(Remedy("suggest_source"), _subject(explained, owner))
        print_text(f"   try:   {line}")


def _as_json(explained: RunExplanation, owner: str) -> Explanation:
    """Return the explanation with a sentence for every problem and a line for every remedy."""
    about = _subject(explained, owner)
    answer: Explanation = {
        "runId": explained.run,
        "status": explained.status,
        "error": explained.error,
        "comparedWith": explained.compared_with,
        "causes": [
            {
                "code": cause_code(cause),
                "message": sentence(cause),
                "evidence": [sentence(fact) for fact in cause.evidence],
                "next": hints(cause.remedies, about),
            }
            for cause in explained.causes
        ],
        "matches": explained.matches,
        "suggestion": explained.suggestion,
        "page": explained.page,
    }
    if explained.unknown is not None:
        answer["unknowns"] = [_unknown(explained.unknown)]
    return answer


def _subject(explained: RunExplanation, owner: str) -> Subject:
    return Subject(owner, explained.dataset, explained.run)


def _unknown(unknown: Problem) -> str:
    return finding_sentence(unknown.code)


def _line(problem: Problem) -> str:
    return escape_controls(sentence(problem))


def _print_story(told: Story) -> None:
    """Print what a research Run searched, read, was refused, kept and dropped, and why."""
    if told.prompt:
        print_text(f"Asked:    {escape_controls(told.prompt)}")
    print_text(f"Searched: {_searched(told)}")
    if told.fresh:
        print_text("Fresh:    it asked about unchanged pages too.")
    if told.pages:
        print_text("\npages")
        print_table(
            ("outcome", "page", "why"),
            [
                (page.outcome, page.url, None if page.fault is None else fact_meaning(page.fault))
                for page in told.pages
            ],
        )
    for line in _rows(told):
        print_text(line)
    if told.fates["lost"]:
        print_text("\nnot in the output")
        print_table(("entity", "outcome", "why"), [_lost(each) for each in told.fates["lost"]])
    for unknown in told.unknowns:
        print_text(f"Not known: {escape_controls(unknown)}")
    print_text(f"Took: {_took(told)}.")


def _took(told: Story) -> str:
    amounts = [_amount(amount, _UNITS[name]) for name, amount in told.took.items() if amount]
    # What nobody told is no zero.
    nothing = "no tokens, and no money" if "inputTokens" in told.took else "what is not known"
    return ", ".join(amounts) or nothing


def _amount(amount: float, unit: str) -> str:
    return f"{amount:,g} {unit}" if amount == 1 else f"{amount:,.10g} {unit}s"


def _searched(told: Story) -> str:
    search = told.discovery
    if search is None:
        return "nothing; it reads the pages that it was given, and those that rows rest on."
    results = plural(len(search.results), "result")
    return escape_controls(f"{search.query!r}, {results}")


def _rows(told: Story) -> Iterator[str]:
    yield f"\nOffered:  {plural(told.offered, 'row')}"
    yield f"Kept:     {_named(told.fates['kept'])}"
    if told.fates["stands"]:
        yield f"Left:     {_named(told.fates['stands'])}; nothing showed that they are gone"
    for code, count in told.rejected.items():
        yield f"Dropped:  {plural(count, 'row')}: {fact_meaning(code)}"
    if told.quotes_dropped:
        values = plural(told.quotes_dropped, "value")
        yield f"Dropped:  {values} that no quote on the page supports."


def _named(entities: Sequence[SummaryEntity]) -> str:
    """How many rows there are, with the names of the first."""
    names = ", ".join(escape_controls(entity["entity"]) for entity in entities[:_MOST_NAMES])
    more = f" and {len(entities) - _MOST_NAMES} more" if len(entities) > _MOST_NAMES else ""
    return plural(len(entities), "row") + (f": {names}{more}" if entities else "")


def _lost(entity: SummaryEntity) -> tuple[str, str, str | None]:
    why = " ".join(fact_meaning(code) for code in entity["failureCodes"])
    return entity["entity"], entity["outcome"], why or None


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
