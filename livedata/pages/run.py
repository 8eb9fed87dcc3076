"""A Run: how it ended and why, what it read, and what a held one would change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flask import g, redirect, request
from msgspec import Struct
from msgspec.structs import replace
from werkzeug.wrappers import Response

from livedata.api.queries import identified
from livedata.hints import Subject, Try, is_of_the_machine, tries
from livedata.messages.checks import check_title
from livedata.messages.diagnosis.findings import finding_sentence, odd_sentences
from livedata.messages.diagnosis.research import fact_meaning
from livedata.messages.diagnosis.taken import describe_calls
from livedata.messages.render import sentence
from livedata.model import ids
from livedata.model.dataset import labels
from livedata.model.diagnosis.explanation import RunExplanation
from livedata.model.errors import Conflict, InsufficientCredits, NotFound
from livedata.model.ids import DatasetId, RunId
from livedata.pages.answers import page, sentences
from livedata.pages.markup.timeline import timeline
from livedata.pages.paging import address, no_end, passed_over
from livedata.pages.visits import context
from livedata.services import diagnostics, explanation, queries, runs
from livedata.services.browsing.held import HeldChanges, held_changes
from livedata.services.queries import RunReport
from livedata.services.research.story import story

ON_A_PAGE: Final = 100
"""So many rows that a held Run would change are shown at once."""
_OPEN: Final = frozenset(("queued", "running"))


class Cause(Struct, frozen=True):
    """What may explain how a Run ended: its sentence, what shows it, and what to try."""

    message: str
    evidence: Sequence[str]
    tries: Sequence[Try]


def show(run: str, refusal: str = "", status: int = 200) -> Response:
    """The page of a Run; with a refusal, if its output was not accepted."""
    raw, store, owner = RunId(identified(run)), context().store, g.caller.owner
    report = queries.run_report(store, owner, raw)
    dataset = queries.dataset(store, owner, DatasetId(ids.raw_id(report.run["datasetId"])))
    about = Subject(owner, dataset["name"], report.run["id"])
    shown = _shown(raw, report, about)
    return page(
        "run_page.html",
        data=lambda: {"data": report.run, **shown},
        status=status,
        dataset=dataset,
        about=about,
        run=report.run,
        model=None if report.calls is None else describe_calls(report.calls),
        checks=_checks(report),
        kept=None if shown["page"] is None else _kept(raw),
        spans=timeline(shown["trace"]["steps"]),
        fact_meaning=fact_meaning,
        is_open=report.run["status"] in _OPEN,
        refusal=refusal,
        more=_more(report, shown["held"]),
        **shown,
    )


def _shown(run: RunId, report: RunReport, about: Subject) -> dict[str, Any]:
    """What the page has of a Run beside the Run itself, and the same as JSON."""
    store, owner = context().store, g.caller.owner
    explained, told = explanation.explanation(store, owner, run), story(store, owner, run)
    findings = [] if told is None else [finding["message"] for finding in told.findings]
    return {
        "credits": report.charged,
        "causes": _causes(explained, about),
        "odd": [*odd_sentences(report.facts), *findings],
        "unknown": finding_sentence(explained.unknown.code) if explained.unknown else None,
        "matches": explained.matches,
        "suggestion": explained.suggestion,
        "page": explained.page,
        "pages": report.facts.get("pages", []),
        "held": _held(run),
        "research": told,
        "trace": diagnostics.trace(store, owner, run),
    }


def _held(run: RunId) -> HeldChanges | None:
    """What a held output would change: the rows from a place on. Raises BadRequest."""
    before = passed_over(request.args)
    changes = held_changes(context().store, g.caller.owner, run, before, ON_A_PAGE)
    if changes is not None and before and not changes.rows:
        raise no_end()
    return changes


def _more(run: RunReport, held: HeldChanges | None) -> str | None:
    """The address of the rows that follow, None if none do."""
    if held is None or not held.after:
        return None
    path = f"/runs/{run.run['id']}"
    return address(path, after=str(held.before + len(held.rows)))


def _checks(report: RunReport) -> list[tuple[str, bool, str]]:
    names = labels(report.columns)
    return [
        (check_title(check["checkId"], names), check["passed"], check.get("message", ""))
        for check in report.run["checks"]
    ]


def _causes(explained: RunExplanation, about: Subject) -> list[Cause]:
    return [
        Cause(
            sentence(cause),
            # What the Run says of itself stands above already.
            [sentence(fact) for fact in cause.evidence if fact != explained.problem],
            [_without_paths(each) for each in tries(cause.remedies, about)],
        )
        for cause in explained.causes
    ]


def _without_paths(each: Try) -> Try:
    """The same without a command that names files of the server: others look at pages too."""
    return replace(each, command=None) if is_of_the_machine(each.remedy) else each


def _kept(run: RunId) -> str:
    """The markup of the kept page."""
    return explanation.failed_page(context().store, g.caller.owner, run).markup


def screenshot(run: str) -> Response:
    """The picture of the page that stopped a Run. Raises NotFound."""
    kept = explanation.failed_page(context().store, g.caller.owner, RunId(identified(run)))
    if kept.screenshot is None:
        raise NotFound("No picture of this Run is kept.")
    return Response(kept.screenshot, mimetype="image/jpeg")


def accept(run: str) -> Response:
    """Accept the output of a held Run."""
    try:
        runs.accept(context().store, g.caller.owner, RunId(identified(run)))
    except (Conflict, InsufficientCredits) as error:
        return show(run, sentences(error), 409)
    return redirect(f"/runs/{run}", 303)
