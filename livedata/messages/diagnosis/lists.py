"""What is unsure of a list that was found on a page, in words."""

from __future__ import annotations

from collections.abc import Mapping

from livedata.messages.templates import Words, fill, plural
from livedata.model.problem import Problem

SENTENCES: Mapping[str, Words] = {
    "lists.alike": (
        "another list may be meant: --list {number} reads the {count:record(s)} in {selector}"
    ),
    "lists.aside": (
        "the records stand in a menu or at the edge of the page, as if its middle had no list; "
        "--browser reads what scripts may add"
    ),
    "lists.composite_key": "no column alone tells the records apart, {names} does",
    "lists.seldom": (
        "most of the {count:record(s)} have no {names}; --columns keeps only the columns that it "
        "names"
    ),
    "lists.numbered": (
        "pages up to {last} are linked by their numbers ({pattern}), but nothing says which is the "
        "last one, so only the first page is read: pagination url-pattern with an endSelector of "
        "your own reads more"
    ),
    "lists.unproved": "{address} looks like the next page, but has no other records",
    "lists.no_key": "no column tells the records apart{near}",
}

_WHY: Mapping[str, str] = {
    "not_filled": "is empty in some",
    "not_unique": "repeats",
    "counted": "only counts the records",
    "too_long": "is a long text",
    "dated": "is a moment",
}


def doubt_sentence(doubt: Problem) -> str:
    """What is unsure, as a sentence without its point."""
    return fill(SENTENCES, doubt)


def missing_key(reasons: Mapping[str, str]) -> str:
    """Why a list has no key, by what is wrong with each column that was near one."""
    near = ", ".join(f"{name} {_WHY[why]}" for name, why in list(reasons.items())[:4])
    return doubt_sentence(Problem("lists.no_key", {"near": f": {near}" if near else ""}))


def unmended_sentence(reason: str, rows: int, expected: int, address: str) -> str:
    """Why no source is proposed for a page that has changed, on which so many rows stood before."""
    if reason == "no_key":
        return (
            f"{plural(rows, 'known row')} can be seen on {address}, but nothing there says a key "
            "any more, so rows cannot be told apart: choose another key in a new dataset."
        )
    return (
        f"{plural(rows, 'known row')} can be seen on {address}, on which about "
        f"{expected} stood: too few to tell where the records are now. Is it still the page of "
        "this list?"
    )


def unmended_for_work(selector: str, address: str) -> str:
    """Why no source is proposed for a page on which looking for known rows takes too long."""
    return (
        f"Looking for the known rows on {address} takes more steps than a page may, most of them "
        f"for {selector}: look at the page, and mend the source by hand."
    )
