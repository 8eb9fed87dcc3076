"""What is unsure of a list that was found on a page, in words."""

from __future__ import annotations

from collections.abc import Mapping

from livedata.messages.templates import Words, fill
from livedata.model.problem import Problem

SENTENCES: Mapping[str, Words] = {
    "lists.alike": (
        "another list may be meant: {count} records in {selector} (--list {number} reads those)"
    ),
    "lists.composite_key": "no column alone tells the records apart; {names} together do",
    "lists.no_key": "no column tells the records apart: {near}",
    "lists.seldom": "{name} is filled in {filled} of {count} records",
    "lists.numbered": (
        "the pages up to {last} are numbered ({pattern}), and nothing on the last one says that it "
        "is the last, so only the first page is read"
    ),
    "lists.unproved": "{url} looks like the next page, but has no other records",
    "lists.first_page": "no link to a next page was found, so only this page is read",
}


def doubt_sentence(doubt: Problem) -> str:
    """What is unsure, as one sentence."""
    return fill(SENTENCES, doubt)
