"""What notices tell, in words: a sentence for programs and people, and a title for mail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from livedata.messages.findings import oddity_sentence
from livedata.messages.render import statement
from livedata.messages.run_end import skipped_fires
from livedata.messages.templates import Words, fill
from livedata.model.problem import Param, Problem
from livedata.model.row import RevisionKind

_LAST = " The last one: {error}"


def _skipped(told: Problem) -> str:
    params = told.params
    return skipped_fires(
        *(str(params["name"]), params["fires"], str(params["last"]), str(params["reason"]))
    )


SENTENCES: Mapping[str, Words] = {
    "notice.changes": "{name}: {new} new, {changed} changed, {gone} gone.",
    "notice.changes_below": "{name}: {new} new, {changed} changed, {gone} gone. What the source "
    "says under a hand edit has changed in {covered:row(s)}; {their} cells stay.",
    "notice.narrowed": "{name}: {matches} of {count:change(s)} {meet} {what}.",
    "notice.failing": f"{{runs:Run(s)}} of {{name}} in a row {{were}} not accepted.{_LAST}",
    "notice.skipped": _skipped,
    "notice.held": "A Run of {name} is held for you to look at: {error}",
    "notice.recovered": "{name} is well again: a Run was accepted, after {runs:Run(s)} that {were} "
    "not.",
    "notice.resumed": "{name} is well again: a Run was accepted.",
    "notice.silent": "No Run of {name} was accepted since {since}.",
    "notice.odd": "A Run of {name} was accepted, but looks odd: {odd}",
    "notice.digest": "{name}: {rows}.",
    "notice.digest_narrowed": "{name}: {rows}; asked for: {what}.",
    "notice.digest_of_several": "{datasets:dataset(s)} changed. {told}",
    "notice.test": "This is a test of the notice {name}.",
}
"""What is told -> its sentence."""
TITLES: Mapping[str, Words] = {
    "changes": "{name} has changed",
    "failing": "{name} fails",
    "recovered": "{name} is well again",
    "silent": "{name} is silent",
    "odd": "{name} looks odd",
    "digest": "{name} has changed",
    "digest_of_several": "{datasets:dataset(s)} have changed",
    "test": "a test of livedata",
}
"""Kind -> the title of a mail."""
BECAME: Mapping[RevisionKind, str] = {
    "baseline": "imported",
    "created": "new",
    "updated": "changed",
    "missing": "gone",
    "returned": "back",
}
"""Kind of a revision -> what people read of the row."""
MOST_NAMED = 5
"""How many datasets the sentence of a digest names at most."""
DELTAS = "{new} new, {changed} changed, {gone} gone"


def sentence(code: str, **params: Param) -> str:
    """What a notice says."""
    return fill(SENTENCES, Problem(f"notice.{code}", params))


def changes(name: str, new: int, changed: int, gone: int, covered: int) -> str:
    """What is said of an accepted Run; of the rows that changed, `covered` show what they did."""
    if not covered:
        return sentence("changes", name=name, new=new, changed=changed, gone=gone)
    their = "its" if covered == 1 else "their"
    shown = {"new": new, "changed": changed - covered, "gone": gone}
    return sentence("changes_below", name=name, **shown, covered=covered, their=their)


def narrowed(name: str, matches: int, count: int, clauses: Sequence[str]) -> str:
    """What is said of the changes of an accepted Run that a notice asks for, by its clauses."""
    meet = "meets" if matches == 1 else "meet"
    what = " and ".join(clauses) if clauses else "what this notice asks for"
    return sentence("narrowed", name=name, matches=matches, count=count, meet=meet, what=what)


def net_changes(name: str, rows: Mapping[str, int], clauses: Sequence[str]) -> str:
    """What is said of a dataset whose changes are told together: how many rows of each kind."""
    told = ", ".join(f"{count} {kind}" for kind, count in rows.items() if count)
    if not clauses:
        return sentence("digest", name=name, rows=told)
    return sentence("digest_narrowed", name=name, rows=told, what=" and ".join(clauses))


def digest(sentences: Sequence[str]) -> str:
    """What a digest says, which says this of its datasets."""
    if len(sentences) == 1:
        return sentences[0]
    more = len(sentences) - MOST_NAMED
    named = [*sentences[:MOST_NAMED], *([f"And {more} more."] if more > 0 else [])]
    return sentence("digest_of_several", datasets=len(sentences), told=" ".join(named))


def digest_title(names: Sequence[str]) -> str:
    """The title of a digest of these datasets."""
    if len(names) == 1:
        return title("digest", names[0])
    return fill(TITLES, Problem("digest_of_several", {"datasets": len(names)}))


def failing(name: str, runs: int, problem: Problem | None, *, held: bool) -> str:
    """What is said of Runs that were not accepted."""
    error = "" if problem is None else statement(problem)
    if held:
        return sentence("held", name=name, error=error)
    return sentence("failing", name=name, runs=runs, were=_were(runs), error=error)


def skipped(name: str, fires: int, last: str, reason: str) -> str:
    """What is said of fires of a schedule of which no Run came."""
    return sentence("skipped", name=name, fires=fires, last=last, reason=reason)


def recovered(name: str, runs: int) -> str:
    """What is said of the first accepted Run after others, or after fires that were skipped."""
    if not runs:
        return sentence("resumed", name=name)
    return sentence("recovered", name=name, runs=runs, were=_were(runs))


def odd(name: str, oddities: Sequence[Problem]) -> str:
    """What is said of an accepted Run that looks odd."""
    return sentence("odd", name=name, odd=" ".join(map(oddity_sentence, oddities)))


def title(kind: str, name: str) -> str:
    """The title of a mail."""
    return fill(TITLES, Problem(kind, {"name": name}))


def deltas(new: int, changed: int, gone: int) -> str:
    """What an accepted Run did to the rows."""
    return DELTAS.format(new=new, changed=changed, gone=gone)


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
