"""What ``init`` found on a page, for a person, as JSON, and as a source with comments."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from livedata.cli.output.streams import print_text
from livedata.cli.output.tables import print_table
from livedata.cli.source.source_file import not_ready
from livedata.extraction.lists.keys import NoKey
from livedata.extraction.lists.page_lists import Lists, SeenList
from livedata.extraction.lists.proposal import MOST_RECORDS, ProposedList
from livedata.formats.source_toml import SCHEMA_LINE, write_source
from livedata.messages.controls import escape_controls
from livedata.messages.list_doubts import SHELL, Ways, doubt_sentence, missing_key
from livedata.messages.render import sentence
from livedata.messages.templates import plural
from livedata.model.problem import Params, Problem
from livedata.model.row import Scalar
from spiders.cli.proving import Proposed

FIRST_ROWS: Final = 5
LIKELY: Final = 0.8
"""Another list with so much of the score of the one that is read may be the one that is meant."""
_MOST_LEFT_OUT: Final = 0.2
"""More than this share may belong to the records, and not stand between them."""
_WORDS: Final = 60


def why_not_ready(proposed: Proposed) -> str:
    """Why a Run would not take a source over."""
    if proposed.proposal.count > MOST_RECORDS:
        return (
            f"The page has {proposed.proposal.count:,} records and a Run takes at most "
            f"{MOST_RECORDS:,}: give the address of a page that shows fewer, such as one category."
        )
    if isinstance(proposed.key, NoKey):
        return f"A Run needs a key, and {missing_key(proposed.key.reasons)}."
    problem = proposed.trial.verdict.problem
    return "A Run would not accept this." if problem is None else sentence(problem)


def print_found(lists: Lists, number: int, proposed: Proposed, *, asked: bool) -> None:
    """Print the first rows of a list, its key, and what is unsure of it.

    The other lists too, if nobody was asked which one to read.
    """
    proposal, trial = proposed.proposal, proposed.trial
    pagination = proposed.declaration["source"]["pagination"]
    first = f"{plural(proposal.count, 'record')} in {proposal.selector} on the page"
    if (left_out := lists.seen[number - 1].count - proposal.count) > 0:
        first = f"{first}, without {left_out} of another kind"
    if pagination["kind"] != "none":
        others = len(trial.harvest.pages[1].records)
        led = pagination.get("selector") or pagination["pattern"]
        first = f"{first}; {others} other ones on page 2 ({led})"
    print_text(f"{first}.\n\n")
    names = [column.name for column in proposal.columns]
    print_table(names, first_rows(proposal))
    print_text("\n")
    if not isinstance(proposed.key, NoKey) and trial.records:
        counted = plural(len(trial.records), "record")
        print_text(f"Key: {' with '.join(proposed.key.names)}, filled and unique in {counted}.")
        required = ", ".join(proposed.required)
        print_text(f"Required: {required}. A Run in which one of them is empty is not accepted.")
    for doubt in map(doubt_sentence, doubts(lists, number, proposed)):
        print_text(f"Unsure: {doubt}.")
    if len(lists.seen) > 1 and not asked:
        print_lists(lists, number)


def print_lists(lists: Lists, but: int = 0) -> None:
    """Print the lists of a page, without the one that is read."""
    print_text("\nOther lists on the page, for --list N:\n\n" if but else "Lists on the page:\n\n")
    shown = [(number, seen) for number, seen in enumerate(lists.seen, 1) if number != but]
    print_table(
        ["list", "records", "selector", "begins with"],
        [[number, seen.count, seen.selector, begins(lists, number)] for number, seen in shown],
    )
    print_text("\n")


def found_json(lists: Lists, number: int, proposed: Proposed, ways: Ways = SHELL) -> dict[str, Any]:
    """What was found, with the declaration and the other lists."""
    names = [column.name for column in proposed.proposal.columns]
    return {
        "ready": proposed.ready,
        "declaration": proposed.declaration,
        "list": number,
        "lists": _lists_json(lists),
        "rows": [dict(zip(names, row, strict=True)) for row in first_rows(proposed.proposal)],
        "unsure": [doubt_sentence(doubt, ways) for doubt in doubts(lists, number, proposed)],
        "error": None if proposed.ready else why_not_ready(proposed),
    }


def nothing_json(lists: Lists | None, why: str) -> dict[str, Any]:
    """The same, of a page of which no list is proposed."""
    return {
        "ready": False,
        "declaration": None,
        "list": None,
        "lists": [] if lists is None else _lists_json(lists),
        "rows": [],
        "unsure": [],
        "error": why,
    }


def _lists_json(lists: Lists) -> list[dict[str, Any]]:
    return [
        {
            "number": number,
            "selector": seen.selector,
            "records": seen.count,
            "score": round(seen.score, 3),
            "begins": begins(lists, number),
        }
        for number, seen in enumerate(lists.seen, 1)
    ]


def commented_source(proposed: Proposed, file: str) -> str:
    """The source as a file, with what is to be known of it above."""
    quoted = shlex.quote(file)
    lines = [f"What livedata reads, and how. Try it: livedata preview {quoted}"]
    if proposed.ready:
        lines.append(f"When the preview is right: livedata dataset create {quoted}")
        lines += [
            "Key, names and types cannot be changed after that. Until then a column may have",
            "another name, if all places below name it so. A key is named by key = true at its",
            "column and by identity.",
        ]
    else:
        lines.append(not_ready(why_not_ready(proposed)))
    lines += [f"Unsure: {doubt_sentence(doubt)}." for doubt in proposed.doubts]
    lines.append("What else may stand here: livedata init --template -o template.toml")
    head = "".join(f"# {escape_controls(line)}\n" for line in lines)
    return f"{SCHEMA_LINE}{head}\n{write_source(proposed.declaration)}"


def first_rows(proposal: ProposedList) -> list[list[Scalar]]:
    """The first rows that say something: of empty ones a person would learn nothing."""
    rows = (list(row.values) for row in proposal.rows)
    said = (row for row in rows if any(value is not None for value in row))
    return list(islice(said, FIRST_ROWS))


def doubts(lists: Lists, number: int, proposed: Proposed) -> Iterator[Problem]:
    """What is unsure of a list, and first of all whether it is the one."""
    best = lists.seen[0]
    # Who names another list means that one.
    for place, seen in enumerate(lists.seen if number == 1 else (), 1):
        likely = seen.kind is None and seen.score >= LIKELY * best.score
        if likely and not _has_all_of(seen, best):
            params: Params = {"count": seen.count, "selector": seen.selector, "number": place}
            yield Problem("lists.alike", params)
            break
    whole, proposal = lists.seen[number - 1], proposed.proposal
    if (left_out := whole.count - proposal.count) > _MOST_LEFT_OUT * whole.count:
        params = {"count": left_out, "selector": whole.selector}
        yield Problem("lists.left_out", params)
    yield from proposed.doubts


def _has_all_of(seen: SeenList, other: SeenList) -> bool:
    """Whether a list is another one with some more beside its records, such as a header."""
    return seen.count < 1.5 * other.count and {*seen.members} >= {*other.members}


def begins(lists: Lists, number: int) -> str:
    """How the first record of a list that has words begins."""
    page, nodes = lists.survey.page, lists.survey.nodes
    texts = (page.text(nodes[member], 4 * _WORDS) for member in lists.seen[number - 1].members)
    said = next(filter(None, (" ".join(text.split()) for text in texts)), "")
    return said if len(said) <= _WORDS else f"{said[: _WORDS - 1]}…"
