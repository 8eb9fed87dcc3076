"""A Run: how it ended and why, what it read, and what a held one would change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from flask import g, redirect, request
from msgspec import Struct
from werkzeug.wrappers import Response

from livedata.api.queries import identified
from livedata.hints import Subject, Try, is_of_the_machine, tries
from livedata.messages.checks import check_title
from livedata.messages.findings import finding_sentence, odd_sentences
from livedata.messages.list_doubts import known_records
from livedata.messages.render import sentence
from livedata.messages.research import describe_calls
from livedata.messages.research_findings import fact_meaning
from livedata.messages.run_end import read_so_far
from livedata.model import ids
from livedata.model.dataset import Dataset, columns_by_name, labels
from livedata.model.diagnosis.explanation import RunExplanation
from livedata.model.errors import Conflict, InsufficientCredits, NotFound
from livedata.model.ids import RowId, RunId
from livedata.model.problem import Remedy
from livedata.model.run import RowDeltas
from livedata.pages.answers import page, sentences
from livedata.pages.markup.plot import timeline
from livedata.pages.news import RowLine, longest_text, row_line, said
from livedata.pages.paging import address, back_by, no_end, passed_over
from livedata.pages.visits import context
from livedata.services import diagnostics, explanation, interruptions, runs
from livedata.services.kept_output import ProposedChanges, would_change
from livedata.services.kinds import choice as kinds
from livedata.services.moments import RowDiff, changed_by
from livedata.services.notices.gathering import KINDS
from livedata.services.run_report import RunReport
from livedata.services.run_report import report as report_of
from livedata.services.run_view import RunView, viewing
from livedata.services.whats_new import read_trouble
from livedata.store import rows, shown_runs
from livedata.store.shown_runs import RunEnd

ON_A_PAGE: Final = 100
"""So many rows that a held Run would change are shown at once."""
OF_A_KIND: Final = 10
"""So many rows that an accepted Run made, changed or found gone are shown of each."""
QUOTED: Final = 3
"""So many of the rows of a Run of research are shown with what a page says of them."""


LOOKED_BACK: Final = 20
"""Among so many Runs one that was accepted is looked for, to say what an open one may take."""
_PREVIEW: Final = "/preview"
_ABOVE: Final = "#acts"
_KEPT: Final = "#kept"
_DONE_BY: Final[Mapping[str, str]] = {
    **dict.fromkeys(("preview", "compare_source", "suggest_source"), _PREVIEW),
    **dict.fromkeys(("run_again", "run_later", "run_once_changed", "confirm_loss"), _ABOVE),
    **dict.fromkeys(("accept", "accept_loss", "accept_paid"), _ABOVE),
    **dict.fromkeys(("run_less_often", "start_schedule"), "/settings"),
    "revise": "/settings#source",
    "show_page": _KEPT,
}
"""Code of a remedy -> where it is done: on another page of the dataset, or on that of the Run."""


class Changed(Struct, frozen=True):
    """How many rows an accepted Run changed, the first ones, and how long their texts may be."""

    counts: Mapping[str, int]
    rows: Sequence[RowDiff]
    lines: Sequence[RowLine]
    longest: int


class ShownQuote(Struct, frozen=True):
    """What a page says of a row, in its own words."""

    line: RowLine
    text: str
    url: str


class NextStep(Struct, frozen=True, omit_defaults=True):
    """What may be tried, in words: the page that does it, or else a command if there is one."""

    remedy: Remedy
    words: str
    command: str | None
    page: str | None = None


class ShownCause(Struct, frozen=True):
    """What may explain how a Run ended: its sentence, what shows it, and what to try."""

    message: str
    evidence: Sequence[str]
    tries: Sequence[NextStep]


def show(run: str, refusal: str = "", status: int = 200) -> Response:
    """The page of a Run; with a refusal, if its output was not accepted."""
    with viewing(context().store, g.caller.owner, RunId(identified(run))) as view:
        report, dataset, before = report_of(view), view.dataset, passed_over(request.args)
        about = Subject(view.owner, dataset["name"], report.run["id"])
        trouble = (
            read_trouble(view.reader, view.owner, view.ref.id)
            if _has_open_run(view.dataset)
            else None
        )
        shown, kept, mendable = _shown(view, report, about, before), view.page, _is_mendable(view)
        around = _around(view, shown)
    changed: Changed | None = shown["changed"]
    if shown["held"] is not None and before and not shown["held"].rows:
        raise no_end()
    return page(
        "run_page.html",
        data=lambda: {"data": report.run, **shown, "changed": changed.rows if changed else None},
        status=status,
        dataset=dataset,
        about=about,
        run=report.run,
        model=None if report.calls is None else describe_calls(report.calls, to_the_cent=True),
        checks=_checks(report),
        kept=None if kept is None else kept.markup,
        spans=timeline(shown["trace"]["steps"]),
        fact_meaning=fact_meaning,
        known_records=known_records,
        when=said(report.run["queuedAt"], context().zone),
        why=report.why,
        read_so_far=read_so_far,
        trouble_before=lambda _: trouble,
        is_loss=_is_loss(report, shown["held"]),
        refusal=refusal,
        more=_more(report, shown["held"]),
        mendable=mendable,
        back=back_by(ON_A_PAGE, f"/runs/{report.run['id']}"),
        **around,
        **shown,
    )


def _shown(view: RunView, report: RunReport, about: Subject, before: int) -> dict[str, Any]:
    """What the page has of a Run beside the Run itself, and the same as JSON."""
    explained, told = explanation.explain(view), kinds.of_source(view.source).story(view)
    findings = [] if told is None else [finding["message"] for finding in told.findings]
    return {
        "credits": report.charged,
        "figures": report.figures,
        "causes": _causes(explained, about, view),
        "odd": [*odd_sentences(report.facts), *findings],
        "unknown": finding_sentence(explained.unknown.code) if explained.unknown else None,
        "matches": explained.matches,
        "suggestion": explained.suggestion,
        "page": explained.page,
        "pages": report.facts.get("pages", []),
        "held": would_change(view, before, ON_A_PAGE),
        "changed": _changed(view),
        "research": told,
        "trace": diagnostics.timing(view),
        "progress": report.progress,
        "lastAccepted": None if report.progress is None else _last_accepted(view),
    }


def _around(view: RunView, shown: Mapping[str, Any]) -> dict[str, Any]:
    """What leads away from a Run: those beside it, the one in its way, and what pages say."""
    is_quoted = shown["changed"] is not None and shown["research"] is not None
    return {
        "beside": shown_runs.beside(view.reader, view.ref.id, view.row),
        "in_the_way": shown_runs.in_the_way(view.reader, view.owner, view.id),
        "quotes": _quotes(view, shown["changed"]) if is_quoted else [],
    }


def _has_open_run(dataset: Dataset) -> bool:
    """Whether a Run of a dataset is queued or running."""
    last = dataset["lastRun"]
    return last is not None and last["status"] in {"queued", "running"}


def _is_loss(report: RunReport, held: ProposedChanges | None) -> bool:
    """Whether it is held for the rows that would go alone, and they still would."""
    problem = report.problem
    is_held_for_it = problem is not None and problem.code == "run.mass_loss"
    return is_held_for_it and held is not None and held.gone > 0


def _last_accepted(view: RunView) -> RunEnd | None:
    """The last of the Runs before an open one that was accepted; None if it is long ago."""
    before = shown_runs.earlier_runs(view.reader, view.ref.id, LOOKED_BACK)
    return next((end for end in before if end.status == "succeeded"), None)


def _changed(view: RunView) -> Changed | None:
    """The first rows of each kind that a Run changed; None if it was not accepted."""
    if view.run["status"] != "succeeded":
        return None
    told = changed_by(view.reader, view.ref, view.id, view.run["rowDeltas"], OF_A_KIND)
    told.sort(key=lambda each: KINDS.index(each.diff["kind"]))
    columns = columns_by_name(view.dataset["columns"])
    lines = [row_line(each, columns) for each in told]
    counts = _counts(view.run["rowDeltas"], [each.diff["kind"] for each in told])
    return Changed(counts, [each.diff for each in told], lines, longest_text(lines))


def _quotes(view: RunView, changed: Changed) -> list[ShownQuote]:
    """For the first rows that a Run of research changed what a page says of each."""
    told = []
    for line in changed.lines[:QUOTED]:
        row = RowId(ids.raw_id(line.row))
        detail = rows.detail(view.reader, view.ref.id, view.ref.fields, row)
        for observation in detail["observations"][:1] if detail else ():
            texts = [entry["excerpt"] for entry in observation["entries"]]
            told.append(ShownQuote(line, max(texts, key=len, default=""), observation["sourceUrl"]))
    return [quote for quote in told if quote.text]


def _counts(deltas: RowDeltas, shown: Sequence[str]) -> dict[str, int]:
    """How many rows of each kind there are; those that are back among the changed if not all are.

    A Run counts what is back as changed: only the rows themselves tell.
    """
    back = shown.count("back") if deltas["changed"] <= OF_A_KIND else 0
    new, changed, gone = deltas["new"], deltas["changed"], deltas["gone"]
    return {"new": new, "changed": changed - back, "gone": gone, "back": back}


def _more(run: RunReport, held: ProposedChanges | None) -> str | None:
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


def _causes(explained: RunExplanation, about: Subject, view: RunView) -> list[ShownCause]:
    mendable = _is_mendable(view)
    return [
        ShownCause(
            sentence(cause),
            # What the Run says of itself stands above already.
            [sentence(fact) for fact in cause.evidence if fact != explained.problem],
            [_step(each, view, mendable) for each in tries(cause.remedies, about)],
        )
        for cause in explained.causes
    ]


def _is_mendable(view: RunView) -> bool:
    """Whether another source can be looked for on the page as it is."""
    # Rows are what a source is looked for by; a plan has no selectors.
    is_of_selectors = kinds.of_source(view.source).to_revise(view.source) is None
    return is_of_selectors and view.dataset["rowCount"] > 0


def _step(each: Try, view: RunView, mendable: bool) -> NextStep:
    code = each.remedy.code
    # No command that names files of the server: others look at pages too.
    command = None if is_of_the_machine(each.remedy) else each.command
    place = _DONE_BY.get(code)
    is_there = {_PREVIEW: mendable, _KEPT: view.page is not None}
    if place is None or not is_there.get(place, True):
        return NextStep(each.remedy, each.words, command)
    page = place if place.startswith("#") else f"/datasets/{view.dataset['id']}{place}"
    return NextStep(each.remedy, each.words, command, page)


def screenshot(run: str) -> Response:
    """The picture of the page that stopped a Run. Raises NotFound."""
    kept = explanation.failed_page(context().store, g.caller.owner, RunId(identified(run)))
    if kept.screenshot is None:
        raise NotFound("No picture of this Run is kept.")
    return Response(kept.screenshot, mimetype="image/jpeg")


def cancel(run: str) -> Response:
    """Cancel an open Run, or let the process that executes it end it."""
    try:
        interruptions.cancel(context().store, g.caller.owner, RunId(identified(run)))
    except Conflict as error:
        return show(run, sentences(error), 409)
    return redirect(f"/runs/{run}", 303)


def accept(run: str) -> Response:
    """Accept the output of a held Run."""
    try:
        runs.accept(context().store, g.caller.owner, RunId(identified(run)))
    except (Conflict, InsufficientCredits) as error:
        return show(run, sentences(error), 409)
    return redirect(f"/runs/{run}", 303)
