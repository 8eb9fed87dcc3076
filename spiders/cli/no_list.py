"""Why ``init`` proposes no list of a page, and what to do instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from livedata.extraction.lists.page_lists import Lists
from livedata.extraction.lists.ranking.kinds import Kind
from livedata.messages.list_doubts import SHELL, Ways
from livedata.messages.render import sentence
from livedata.messages.templates import plural
from livedata.model.problem import Problem

_SHELL: Final = 200
"""A page with scripts and fewer characters than this is filled by them."""
_SHORT: Final = 2_000
"""A page with a password to fill in and fewer characters than this is there to log in."""
_NONE: Final = "No list found on this page"
_KINDS: Final[Mapping[Kind | None, str]] = {
    "menu": "a menu",
    "form": "a form to fill in",
    "prose": "the paragraphs of a text",
    "article": "the parts of a text",
    "few": "little, and has little in common",
}


def unread(problem: Problem | None) -> str:
    """Why a page could not be read."""
    return "The page could not be read." if problem is None else sentence(problem)


def no_list(
    url: str, lists: Lists, like: Sequence[str], *, rendered: bool, ways: Ways = SHELL
) -> str:
    """Why a page that was read has no list."""
    tree, characters = lists.survey.page.tree, lists.survey.texts[-1]
    if is_feed(lists):
        return f"{url} is a feed, not a page: give the address of the page that shows its list."
    if not rendered and is_shell(lists):
        return f"{url} is nearly empty until its scripts fill it: {ways.scripts}."
    if characters < _SHORT and tree.css_first("input[type=password]") is not None:
        return (
            f"{url} is a page to log in, and livedata does not log in: give the address of a page "
            "that everyone sees."
        )
    if like:
        given = " and ".join(map(repr, like))
        return (
            f"No list on {url} has a record that holds {given}; without {ways.without_like} all "
            "lists are shown."
        )
    if not lists.seen:
        return (
            f"{_NONE}: nothing on {url} repeats at least three times. Give the address of the page "
            "that lists the records."
        )
    first = lists.seen[0]
    return (
        f"{_NONE}: what repeats on {url} is {_KINDS[first.kind]} ({first.selector}, {first.count} "
        f"times). Give the address of the page that lists the records; or {ways.other}."
    )


def no_such_list(number: int, lists: Lists, ways: Ways = SHELL) -> str:
    """What is said of a number that no list of a page has."""
    last = len(lists.seen)
    return (
        f"{ways.list}{number}: the page has {plural(last, 'list')}, of which the last one is "
        f"{ways.list}{last}; without {ways.list.strip('= ')} all of them are shown."
    )


def too_much(url: str, selector: str, ways: Ways = SHELL) -> str:
    """What is said of a list that takes more work to read than a page may."""
    return (
        f"Reading the list of {url} takes more steps than a page may, most of them for {selector}: "
        f"give the address of a page that shows fewer records; {ways.fewer}."
    )


def nothing_differs(selector: str, ways: Ways = SHELL) -> str:
    """What is said of a list in which all records say the same."""
    return f"Nothing differs from record to record in {selector}: {ways.fewer}."


def is_feed(lists: Lists) -> bool:
    """Whether a page is one of RSS or Atom, whatever it is sent as."""
    tree = lists.survey.page.tree
    # Child steps alone: of descendants lexbor's own matcher takes seconds on a deep page.
    return tree.css_first("rss > channel, body > feed > entry") is not None


def is_shell(lists: Lists) -> bool:
    """Whether a page shows nearly nothing before its scripts have run."""
    tree = lists.survey.page.tree
    return lists.survey.texts[-1] < _SHELL and tree.css_first("script") is not None
