"""What is proposed of a page that was looked at, and what a dataset of it may be called."""

from __future__ import annotations

import os
import re
import sys
from threading import Thread
from typing import Final
from urllib.parse import urlsplit

from livedata.extraction.lists.page_lists import Lists
from livedata.extraction.lists.proposal import ProposedList, propose
from livedata.extraction.work import TooMuchWork
from livedata.messages.list_doubts import SHELL, Ways
from spiders.cli.no_list import is_feed, nothing_differs, too_much

_LONGEST_NAME: Final = 40
_NUMBERING: Final = re.compile(r"(?:[A-Z]\.)?(?:\d+\.)+(?:\d+)?\s+")
_WORDS: Final = re.compile(r"\w+")
_ASIDE: Final = re.compile(r"\s[-–—|:·•»/]+\s|\s*[|•»]\s*|:\s")
"""What stands between the title of a page and the name of its site."""


def end_with_stdin() -> None:
    """Let this process end at once when nobody waits for its answer any more.

    What it is asked stands in a line of stdin; its end says that who asked is gone.
    """

    def end() -> None:
        sys.stdin.buffer.read()
        os._exit(1)

    # A thread: to find the lists of a page takes seconds, in which no event loop has its turn.
    Thread(target=end, name="stdin", daemon=True).start()


def is_read(lists: Lists, *, is_named: bool) -> bool:
    """Whether a list of a page is read: one of records, or the one that somebody names."""
    return bool(lists.seen) and not is_feed(lists) and (lists.has_list or is_named)


def proposal_of(lists: Lists, number: int, url: str, ways: Ways = SHELL) -> ProposedList | str:
    """What is proposed of a list; or why nothing is, as a sentence."""
    seen = lists.seen[number - 1]
    try:
        proposal = propose(lists, seen)
    except TooMuchWork as exceeded:
        return too_much(url, exceeded.selector, ways)
    return proposal if proposal.columns else nothing_differs(seen.selector, ways)


def name_of(lists: Lists, url: str) -> str:
    """A name that is typed without quotes: of the page's title without its site, else of the host.

    "Kettles & pots | The Shop" is kettles-pots.
    """
    title = lists.survey.page.title or ""
    host = (urlsplit(url).hostname or "table").removeprefix("www.")
    named = ""
    unnumbered = _NUMBERING.sub("", title.strip())
    for word in _WORDS.findall(_ASIDE.split(unnumbered, maxsplit=1)[0].lower()):
        if len(named) + len(word) >= _LONGEST_NAME:
            break
        named = f"{named}-{word}" if named else word
    return named or host
