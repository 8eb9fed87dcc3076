"""``runs trace``, ``artifacts`` and ``explain``: what a Run did, and why it ended as it did."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from livedata.cli.context import Asked, shared
from livedata.cli.hints import Subject, hints
from livedata.cli.output import Value, record, say, table, visible, write, write_json
from livedata.messages.causes import cause_sentence
from livedata.model.diagnosis.explanation import cause_code
from livedata.model.errors import LivedataError, NotFound

if TYPE_CHECKING:
    from livedata.model.diagnosis.explanation import Cause, Explanation, FailedPage, RunExplanation
    from livedata.model.problem import Problem
    from livedata.model.run import RunTrace, TraceStep


@click.command()
@click.argument("run", metavar="R")
@shared
def trace(asked: Asked, run: str) -> None:
    """Show what Run R, or the last Run of dataset R, did step by step, and how long that took."""
    from livedata.services import diagnostics, queries

    with asked.reading() as db:
        found = queries.find_run(db, asked.owner, run)
        traced = diagnostics.trace(db, asked.owner, found)
    if asked.json:
        write_json(traced)
        return
    record(_about(traced))
    if traced["steps"]:
        write("")
        table(
            ("phase", "status", "start", "ms", "page", "failure"),
            [_step(step) for step in traced["steps"]],
        )
        write("")
        table(
            ("phase", "steps", "ms together", "longest ms"),
            [
                (one["phase"], one["count"], one["totalMs"], one["maxMs"])
                for one in traced["phases"]
            ],
        )
    elif traced["truncated"]:
        say("The steps of a Run are kept for 30 days.")
    else:
        say("No steps are recorded; a Run records them when it ends.")


@click.command()
@click.argument("run", metavar="R")
@shared
def artifacts(asked: Asked, run: str) -> None:
    """List what was recorded while Run R, or the last Run of dataset R, was made."""
    from livedata.services import diagnostics, queries

    with asked.reading() as db:
        found = queries.find_run(db, asked.owner, run)
        index = diagnostics.artifacts(db, asked.owner, found)
    if asked.json:
        write_json(index)
    elif index["artifacts"]:
        table(
            ("artifact", "kind", "bytes", "recorded", "page"),
            [
                (one["id"], one["kind"], one["bytes"], one["createdAt"], one["sourceUrl"])
                for one in index["artifacts"]
            ],
        )
    else:
        say("No artifacts are recorded: a Run of selectors alone has none.")


@click.command()
@click.argument("run", metavar="R")
@click.option("--page", is_flag=True, help="Print the page that stopped the Run, as it was read.")
@click.option(
    "--screenshot",
    type=click.Path(dir_okay=False, writable=True),
    metavar="FILE",
    help="Write the picture of that page, where a browser made one.",
)
@shared
def explain(asked: Asked, run: str, page: bool, screenshot: str | None) -> None:
    """Say why Run R, or the last Run of dataset R, ended as it did, and what to try next.

    What it suggests is for you to judge: nothing is ever changed by it.
    """
    from livedata.services import explanation, queries

    with asked.reading() as db:
        found = queries.find_run(db, asked.owner, run)
        if page or screenshot is not None:
            kept = explanation.failed_page(db, asked.owner, found)
            _show_page(kept, page, screenshot)
            return
        explained = explanation.explanation(db, asked.owner, found)
    if asked.json:
        write_json(_in_words(explained, asked.owner))
    else:
        _tell(explained, asked.owner)


def _show_page(kept: FailedPage, page: bool, screenshot: str | None) -> None:
    if screenshot is not None:
        if kept.screenshot is None:
            raise NotFound(
                'No screenshot is kept: only Runs with render = "browser" make them, of pages that '
                "let themselves be painted."
            )
        try:
            Path(screenshot).write_bytes(kept.screenshot)
        except OSError as error:
            raise LivedataError(f"{screenshot} cannot be written: {error.strerror}.") from error
        say(f"Wrote the picture of page {kept.number} to {screenshot}.")
    if page:
        write(kept.markup)
        if kept.cut:
            say("This is the beginning of the page: the rest was cut off, after 64 KiB.")


def _tell(explained: RunExplanation, owner: str) -> None:
    about = Subject(owner, explained.dataset, explained.run)
    write(f"Run {explained.run}: {explained.status}")
    if explained.problem is not None:
        write(f"It said: {visible(cause_sentence(explained.problem))}")
    if not explained.causes:
        open_ = explained.status in {"queued", "running"}
        write("It is not over yet." if open_ else "Nothing looks odd.")
    for number, cause in enumerate(explained.causes, 1):
        write(f"\n{number}. {visible(cause_sentence(cause))}")
        for fact in cause.evidence:
            if fact != explained.problem:
                write(f"   found: {visible(cause_sentence(fact))}")
        for line in hints(cause.remedies, about):
            write(f"   try:   {line}")
    _tell_page(explained)
    if explained.suggestions:
        write("\nWhere rows of the table stand on the kept page (suggestions, not applied):")
    for clue in explained.suggestions:
        attribute = f" @{clue['attribute']}" if "attribute" in clue else ""
        where = f"{clue['selector']}{attribute}"
        write(f"   {clue['target']}: {where!r} finds {clue['found']} of {clue['known']} known rows")


def _tell_page(explained: RunExplanation) -> None:
    page = explained.page
    if page is None:
        return
    write(f"\nKept page {page['number']}: {page['finalUrl']}, status {page['status']}")
    if explained.matches:
        table(
            ("selector", "matches now", "in the last accepted Run"),
            [(one["target"], one["now"], one["before"]) for one in explained.matches],
        )


def _in_words(explained: RunExplanation, owner: str) -> Explanation:
    """The explanation as JSON has it: every problem a sentence, every remedy a line."""
    about = Subject(owner, explained.dataset, explained.run)
    problem = explained.problem
    return {
        "runId": explained.run,
        "status": explained.status,
        "error": None if problem is None else cause_sentence(problem),
        "comparedWith": explained.compared_with,
        "causes": [_cause(cause, about) for cause in explained.causes],
        "matches": explained.matches,
        "suggestions": explained.suggestions,
        "page": explained.page,
    }


def _cause(cause: Problem, about: Subject) -> Cause:
    return {
        "code": cause_code(cause),
        "message": cause_sentence(cause),
        "evidence": [cause_sentence(fact) for fact in cause.evidence],
        "next": hints(cause.remedies, about),
    }


def _about(traced: RunTrace) -> dict[str, Value]:
    about: dict[str, Value] = {"run": traced["runId"], "status": traced["status"]}
    for name, milliseconds in (("waited", traced["queueMs"]), ("took", traced["wallMs"])):
        if milliseconds is not None:
            about[name] = f"{milliseconds} ms"
    return about


def _step(step: TraceStep) -> tuple[Value, ...]:
    failure = step.get("readFailure")
    status = "" if failure is None or failure["status"] is None else f" {failure['status']}"
    return (
        step["phase"],
        step["status"],
        step["startedAt"][11:23],
        step.get("durationMs"),
        step.get("sourceUrl"),
        None if failure is None else failure["reason"] + status,
    )
