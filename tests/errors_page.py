"""docs/errors.md, made of the tables that say what went wrong: ``python -m tests.errors_page``."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from typing_extensions import override

from livedata.api.responses import STATUSES
from livedata.cli import EPILOG
from livedata.cli.exit_codes import EXIT_CODES
from livedata.cli.runs.show import OF_RESEARCH
from livedata.hints import Subject, hint, quoted
from livedata.messages import (
    causes,
    checks,
    deliveries,
    fetch,
    findings,
    notice_events,
    request,
    research_findings,
    run_end,
)
from livedata.messages.remedies import REMEDIES, advice
from livedata.messages.templates import Words
from livedata.model.errors import LivedataError
from livedata.model.problem import Problem, Remedy
from spiders.outcome.reasons import reason_of
from tests.remedies_of import remedies_of

PAGE = Path(__file__).resolve().parents[1] / "docs" / "errors.md"

HEAD = """\
# Errors

Every code that livedata answers with, what it says, and what helps. Words in braces are filled in.
Each code is an anchor, which stays: `runs show` and `runs explain` name it behind `About:`. This
page is made by `python -m tests.errors_page` from the tables in `livedata/messages`, and from what
the code proposes: change these, not it.
"""
LISTS: Mapping[str, list[str]] = {
    name: [f"{{{name}}}"]
    for name in (
        *("fields", "texts", "differ", "columns", "addresses"),
        *("better", "keys", "keys_before", "keys_now", "lacks"),
    )
}
TABLES: Mapping[str, tuple[str, Mapping[str, Words]]] = {
    "A page that could not be read": (
        ("A Run says it after `Page {page} ({url}) could not be read:`, and then what may help."),
        fetch.WHY,
    ),
    "The way from page to page": ("", fetch.PAGINATION),
    "Checks": ("A Check that failed says one of these.", checks.SENTENCES),
    "The end of a Run": ("What no page and no Check explains.", run_end.SENTENCES),
    "Addresses": (
        "What is wrong with an address, after its place in the source.",
        request.PREDICATES,
    ),
    "Causes": (
        (
            "`livedata runs explain` names these, without `cause.`; a cause of one field has its "
            "name behind a colon."
        ),
        causes.CAUSES,
    ),
    "Evidence": ("The facts that show a cause.", causes.EVIDENCE),
    "Findings": ("Diagnostics name these, without `finding.`.", findings.FINDINGS),
    "What is not known": ("Diagnostics say these as `unknowns`.", findings.UNKNOWNS),
    "Notices": ("What a message of a notice says.", notice_events.SENTENCES),
    "Notices that do not arrive": (
        "Why a message could not be delivered: `doctor`, the log and `notice test` say it.",
        deliveries.SENTENCES,
    ),
    "Facts of an entity": ("Diagnostics name these, without `fact.`.", findings.DETAILS),
    "Findings of research": (
        "Diagnostics name these, without `finding.`.",
        research_findings.FINDINGS,
    ),
    "What is not known of research": (
        "Diagnostics say these as `unknowns`.",
        research_findings.UNKNOWNS,
    ),
    "Facts of research": ("Diagnostics name these.", research_findings.FACT_MEANINGS),
}
"""Title -> what the section says first, and its table."""
HELPED = (
    *("A page that could not be read", "The way from page to page", "Checks"),
    *("The end of a Run", "Causes"),
)
"""The sections of what may go wrong with a Run: each of its codes has something that helps."""
OTHERWISE: Mapping[str, tuple[str, ...]] = {
    "fetch.cancelled": ("run_again",),
    "fetch.": ("run_once_changed",),
    "pagination.max_": ("raise_limit",),
    "pagination.": ("compare_source", "explain"),
    **dict.fromkeys(sorted(OF_RESEARCH - {"checks.few_pages_extracted"}), ("explain",)),
    "checks.": ("compare_source", "explain"),
    "run.mass_loss": ("accept_loss", "confirm_loss"),
    "run.keys_changed": ("explain", "accept_loss"),
    "run.lost_pagination": ("explain", "accept_loss"),
    "run.emptied_field": ("explain", "accept_loss"),
    "run.damaged": ("check_store",),
    "run.not_declarative": ("revise",),
    "run.": ("run_again", "explain"),
    "research.search_failed": ("name_search",),
    "research.day_": ("more_a_day",),
    "research.": ("check_model",),
    "cause.recipe": ("revise",),
    "cause.max_": ("raise_limit", "revise"),
    "cause.list_cut_short": ("mend_next_link", "mend_end", "accept_loss"),
    "cause.page_failed": ("run_once_changed",),
    "cause.check_failed": ("preview",),
    "cause.http_error": ("run_later", "show_page"),
}
"""What `runs show` proposes for a family of codes that brings no remedies of its own."""
AS_FAILED = {f"cause.{reason}": reason for reason in ("network", "limit_exceeded", "unsafe_target")}
AS_FAILED["cause.unknown"] = "unknown"
"""The causes that say what the failure of the page says -> its reason."""


class _Slot(str):
    """A parameter that is filled in: it stays as it is, however a template writes it."""

    __slots__ = ()

    @override
    def __format__(self, _spec: str) -> str:
        return str(self)

    @override
    def __repr__(self) -> str:
        return f"'{self}'"


class _Slots(dict[str, Any]):
    """Parameters of which every one is there."""

    def __missing__(self, name: str) -> Any:
        return LISTS.get(name) or _Slot(f"{{{name}}}")

    @override
    def get(self, name: str, default: Any = None) -> Any:
        return self[name]

    @override
    def __contains__(self, _name: object) -> bool:
        return True


def text() -> str:
    """The page."""
    sections = [HEAD, *_errors(), _exit_codes()]
    for title, (first, table) in TABLES.items():
        if title in HELPED:
            helped = ((code, _words(code, words), helps(code)) for code, words in table.items())
            sections.append(_section(title, first, ("code", "says", "what helps"), helped))
        else:
            rows = ((code, _words(code, words)) for code, words in table.items())
            sections.append(_section(title, first, ("code", "says"), rows))
    remedies = ((code, _hint(code)) for code in REMEDIES)
    sections.append(
        _section("Remedies", "What may be tried, and its command.", ("code", "says"), remedies)
    )
    return _with_each_anchor_once("\n".join(sections))


_SUBJECT = Subject("local", "D", "R")


def _hint(code: str) -> str:
    """A remedy as a person reads it, on any machine."""
    return hint(Remedy(code, _Slots()), _SUBJECT).replace(quoted(sys.executable), "python")


def helps(code: str) -> str:
    """What may help with a code, each a sentence without its command."""
    if code in AS_FAILED:
        return "What helps with that failure."
    families = (each for family, each in OTHERWISE.items() if code.startswith(family))
    remedy = remedies_of().get(code) or next(families, ())
    return " ".join(f"{advice(Remedy(each, _Slots()))}." for each in remedy)


def error_classes(kind: type[LivedataError] = LivedataError) -> Iterator[type[LivedataError]]:
    """Every kind of error that a door answers with."""
    for below in kind.__subclasses__():
        if below.__module__ in {"livedata.model.errors", "livedata.api.responses"}:
            yield below
            yield from error_classes(below)


def _errors() -> Iterator[str]:
    """The codes of the HTTP API with their statuses, and the exit codes of the commands."""
    rows = sorted(
        {
            (kind.code, str(_of(STATUSES, kind, 500)), str(_of(EXIT_CODES, kind, 1)), _doc(kind))
            for kind in error_classes()
        }
    )
    first = "The HTTP API answers `error.code` with a status; a command ends with an exit code."
    yield _section("Requests", first, ("code", "status", "exit code", "says"), rows)


def _of(table: Mapping[type[LivedataError], int], kind: type[LivedataError], other: int) -> int:
    return next((number for known, number in table.items() if issubclass(kind, known)), other)


def _doc(kind: type[LivedataError]) -> str:
    return " ".join((kind.__doc__ or "").split())


def _exit_codes() -> str:
    rows = re.findall(r"^ *(\d+)  (.+)$", EPILOG, re.MULTILINE)
    return _section("Exit codes", "", ("exit code", "says"), rows)


def _words(code: str, words: Words) -> str:
    if code in AS_FAILED:
        failures = [each for each in fetch.WHY if _reason(each) == AS_FAILED[code]]
        return f"What the failure of the page says: {', '.join(map(_link, failures))}."
    if isinstance(words, str):
        counted = re.sub(r"\{(\w+):([\w ]+)\(s\)\}", r"{\1} \2s", words)
        return re.sub(r"\{(\w+)[^}]*\}", r"{\1}", counted)
    below = "address.no_host" if code == "fetch.wrong_address" else "fetch.connection_cut"
    params = _Slots()
    if code == "address.character":
        params |= {"character": "\\"}
    problem = Problem(code, params, _Slot("{page}"), "{url}", (Problem(below),))  # type: ignore[arg-type]
    said = words(problem)
    # What stands behind it may be any of these.
    return (
        said.replace(str(fetch.WHY["fetch.connection_cut"]), "{why}") if problem.evidence else said
    )


def _reason(code: str) -> str:
    below = (Problem("fetch.timeout"),)
    return reason_of(Problem(code, evidence=below))


def _link(code: str) -> str:
    return f"[`{code}`](#{code})"


def _section(
    title: str, first: str, heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]
) -> str:
    lines = [f"## {title}", ""]
    lines += [first, ""] if first else []
    lines += [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for row in rows:
        code, *rest = (cell.replace("|", "\\|") for cell in row)
        lines.append(f"| {_anchor(code)}`{code}` | {' | '.join(rest)} |")
    return "\n".join(lines) + "\n"


def _anchor(code: str) -> str:
    return f'<a id="{f"exit-{code}" if code.isdigit() else code}"></a>'


def _with_each_anchor_once(page: str) -> str:
    """The page without the later anchors of a code that stands in two sections."""
    known: set[str] = set()

    def kept(anchor: re.Match[str]) -> str:
        is_first = anchor[0] not in known
        known.add(anchor[0])
        return anchor[0] if is_first else ""

    return re.sub(r'<a id="[^"]+"></a>', kept, page)


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
