"""A page that could not be read -> why, and what to try."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from livedata.messages.fetch import advice, why
from livedata.model.diagnosis.explanation import Cause
from livedata.model.diagnosis.recorded_run import FailureFact
from livedata.model.problem import Problem
from livedata.rules.explanation.page_kind import classify_page
from livedata.rules.explanation.run_context import (
    AGAIN,
    PAGE,
    PREVIEW,
    REVISE,
    RunContext,
    cause,
    links,
)

_BROWSER: Final = (
    "Open the page in a browser: what it shows there decides what helps. LIVEDATA_PROXY names a "
    'way through another address; proxy = "auto" uses it after a refusal.'
)
_LATER: Final = "Run again later: livedata run {name}"

_SAID: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "challenge": ("The site shows a challenge for browsers instead of the page.", [_BROWSER]),
    "forbidden": ("The site refuses to give the page out.", [_BROWSER]),
    "rate_limited": (
        "The site was asked too often.",
        [_LATER, "Run it less often: livedata dataset update {name} --schedule CRON"],
    ),
    "login_redirect": (
        "The site wants a login for this page now.",
        ["Choose a page that is public: livedata does not log in."],
    ),
    "empty_body": ("The site answers with an empty page.", [_BROWSER, _LATER]),
    "connection_reset": ("The connection was cut before the page was complete.", [_LATER]),
    "robots_disallowed": (
        "The site's robots.txt does not allow this page.",
        [
            "Read the site's /robots.txt and choose a page that it allows.",
            "Where you are allowed to read it all the same, set ignoreRobots = true in the source. "
            + REVISE,
        ],
    ),
    "timeout": (
        "The time that the page, or the whole Run, may take was over.",
        [_LATER, "Give it more time: LIVEDATA_PAGE_SECONDS, LIVEDATA_RUN_SECONDS."],
    ),
    "cancelled": ("The Run was cancelled.", [AGAIN]),
    "invalid_content": (
        "The address does not lead to an HTML page that can be read.",
        ["Choose the address of the page that shows the list.", REVISE],
    ),
}


def explain_fetch_failure(case: RunContext) -> Cause | None:
    """Why the page that stopped the Run could not be read."""
    failure = case.facts.get("failure")
    if failure is None:
        return None
    error = case.recorded.run["error"] or failure.get("message", "")
    evidence = [error, *_read_before(case, failure)]
    if failure["reason"] == "http_error":
        return _http_error(case, failure, evidence)
    if failure["reason"] == "robots_disallowed" and failure["status"] is not None:
        return _robots_down(failure["status"], evidence)
    code = failure["reason"]
    if code == "forbidden" and case.outline and case.page:
        looks = classify_page(case.outline, case.page.title)
        code = "challenge" if looks == "challenge" else code
    message, next_ = _SAID.get(code) or _as_told(case.recorded.problem, error)
    return cause(code, message, evidence, [*next_, *_look(case)])


def _as_told(problem: Problem | None, error: str) -> tuple[str, list[str]]:
    """What the failure says of itself: its reason has causes of many kinds."""
    if problem is None:  # of a Run of an older version
        return error, []
    return _capital(why(problem)), [_capital(advice(problem))] if problem.remedies else []


def _capital(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:]}."


def _look(case: RunContext) -> list[str]:
    """To look at the kept page, where it says anything: of a document or a picture nothing is."""
    return [PAGE] if case.page is not None and case.page.markup.strip() else []


def _http_error(case: RunContext, failure: FailureFact, evidence: list[str]) -> Cause:
    status = failure["status"] or 0
    number = failure["number"]
    if status in {404, 410} and number > 1:
        return _past_the_end(case, number, evidence)
    if status in {404, 410}:
        return cause(
            "page_gone",
            "The page of the list is gone: the site says that there is no such page any more.",
            evidence,
            ["Look for where the list is now, and put its address into url.", REVISE],
        )
    if status in {401, 451}:
        return cause(
            "no_access",
            f"The site does not let everybody read this page (status {status}).",
            evidence,
            ["Choose a page that is public: livedata does not log in."],
        )
    if status >= 500:
        return cause(
            "site_error",
            f"The site itself is broken at the moment (status {status}).",
            evidence,
            [_LATER, "Nothing has to be changed in the source."],
        )
    error = f"The site answers with an error (status {status})."
    return cause("http_error", error, evidence, _look(case))


def _robots_down(status: int, evidence: list[str]) -> Cause:
    return cause(
        "robots_disallowed",
        f"The site's robots.txt is answered with an error (status {status}), and while it is, "
        "nothing may be read.",
        evidence,
        [_LATER, "Nothing has to be changed in the source."],
    )


def _past_the_end(case: RunContext, number: int, evidence: list[str]) -> Cause:
    if case.pagination.get("kind") == "url-pattern" and not links(case.pages):
        return end_gone(case, evidence)
    return cause(
        "next_page_gone",
        f"The list leads to page {number}, which the site does not have.",
        evidence,
        [_LATER, f"{PREVIEW} --pages {number}"],
    )


def end_gone(case: RunContext, evidence: Sequence[str]) -> Cause:
    """The end marker of a url-pattern matches on no page."""
    selector = case.pagination.get("endSelector")
    counted = f"endSelector {selector!r} matched on none of {len(case.pages)} pages"
    then = [f"in the last accepted Run {links(case.old_pages)} times"] if case.old_pages else []
    return cause(
        "end_marker_gone",
        f"The end marker is gone: endSelector {selector!r} matches on no page, so the Run read on "
        "past the end of the list.",
        [", ".join([counted, *then]), *evidence],
        ["Open the last page of the list and choose something that only it has.", REVISE, PAGE],
    )


def _read_before(case: RunContext, failure: FailureFact) -> list[str]:
    number = failure["number"]
    if number <= len(case.old_pages):
        items = case.old_pages[number - 1]["items"]
        return [f"the last accepted Run read page {number} with {items} items"]
    return []
