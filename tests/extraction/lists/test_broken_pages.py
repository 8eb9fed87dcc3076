"""Real pages that were cut, doubled and mixed: what is proposed of them is always a source."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from livedata.extraction.lists.keys import Key
from livedata.extraction.lists.page_lists import find_lists
from livedata.extraction.lists.proposal import propose
from livedata.extraction.page import Page
from livedata.extraction.selectors import parse
from livedata.extraction.work import TooMuchWork
from livedata.messages.validation import read
from livedata.model.requests import CreateDataset
from spiders.cli.proving import declare
from tests.extraction.lists.pages import URL

PAGES = sorted((Path(__file__).parents[2] / "pages").glob("*.html"))
# The tag of "<b<i>" is no name in CSS.
JUNK = (
    "<td>", "</table>", "<tr><td colspan=0>", "<li class='a b:c [d]'>", '<p id="a.b 1">',
    "<b class=''>", "<i data-\"x='1'>", "\x00\x07", "&#xD800;", "کتاب 😀 製", "<a href='//['>next",
    "<a rel=next href='?page=2'>", "<template><li>", "<svg><a>", "<dd>", "<base href='//:0'>",
    "<form><input type=password>", "<select><option>", "<math><mi>", "<b<i>", "<!--", "<script>",
)  # fmt: skip
cuts = st.tuples(st.floats(0, 1), st.floats(0, 0.2), st.sampled_from(("", "twice", *JUNK)))


def broken(markup: str, changes: list[tuple[float, float, str]]) -> str:
    """The page with parts of it cut out, doubled, or replaced."""
    for place, share, put in changes:
        begin = int(place * len(markup))
        cut = markup[begin : begin + int(share * len(markup))]
        markup = markup[:begin] + (cut * 2 if put == "twice" else put) + markup[begin + len(cut) :]
    return markup


@pytest.mark.slow
@settings(
    max_examples=60,
    deadline=None,
    # To make a failing page smaller takes minutes, and it is printed anyway.
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
@given(file=st.sampled_from(PAGES), changes=st.lists(cuts, max_size=6))
@example(file=PAGES[0], changes=[(0.0, 1.0, "")])
def test_of_any_page_a_source_is_proposed_that_is_one(
    file: Path, changes: list[tuple[float, float, str]]
) -> None:
    markup = broken(file.read_text(), changes).encode("utf-8", "replace")
    lists = find_lists(Page(markup, "text/html; charset=utf-8", URL))
    for seen in lists.seen[:2]:
        try:
            proposal = propose(lists, seen)
        except TooMuchWork:
            continue
        for link in proposal.following:
            parse(link.selector)
        if proposal.columns:
            source = declare("a list", URL, "static", proposal, proposal.key, {"kind": "none"})
            read(CreateDataset, source)
        if isinstance(proposal.key, Key):
            names = [column.name for column in proposal.columns]
            keys = [
                tuple(row.values[names.index(name)] for name in proposal.key.names)
                for row in proposal.rows
            ]
            assert len(set(keys)) == len(keys)
