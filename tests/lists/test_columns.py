"""What is said against columns: keys that are none, cells required in vain, and hidden text."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from livedata.extraction.lists.columns import ListColumn
from livedata.extraction.lists.keys import NoKey
from livedata.extraction.lists.page_lists import Lists, find_lists
from livedata.extraction.lists.proposal import ProposedList, propose
from livedata.extraction.page import Page
from livedata.extraction.selectors import parse
from livedata.model.harvest import Record
from tests.lists.columns import ProposedColumns
from tests.lists.parts import Columns

FLATS = "".join(
    f"""<article class="flat">
    <h2><a href="/flats/{number * 7919}">{number}. The {name} flat</a></h2>
    <p class="agent"><a href="/agents/{name}">{name}</a></p>
    <p class="rent">€ {number * 37 + 400}.00<b style="display:none">by {name}</b></p>
    <p class="rooms">{number % 3 + 1} rooms for {name}, and a garden</p></article>"""
    for number, name in enumerate(("Ash", "Birch", "Cedar", "Elm", "Fir", "Gum", "Holly"), 1)
)
READS = {
    "link": ("a", "href"),
    "title": ("h2", None),
    "agent": ("p.agent > a", "href"),
    "rent": ("p.rent", None),
    "rooms": ("p.rooms", None),
}
SAID = Columns(identifiers=["h2 a@href", "h2 a"], never=[".rent"], required=["p.rooms"])


@pytest.fixture(scope="module")
def flats() -> Lists:
    """The lists of a page with some flats."""
    page = Page(f"<main>{FLATS}</main>".encode(), "text/html", "https://list.example/")
    return find_lists(page)


def proposed(lists: Lists, *key: str) -> ProposedList:
    """The flats with the columns of `READS`, and these for a key."""
    first = propose(lists, lists.seen[0])
    columns = [ListColumn(name, *read, "string", {}) for name, read in READS.items()]
    rows = [
        _row(lists, number, columns)
        for number in range(len(lists.survey.matcher.select(parse("article.flat"))))
    ]
    proposal = replace(first, selector="article.flat", columns=columns, rows=rows)
    return replace(proposal, key=replace(first.key, names=key) if key else NoKey({}))


def _row(lists: Lists, number: int, columns: Sequence[ListColumn]) -> Record:
    article = lists.survey.matcher.select(parse("article.flat"))[number]
    texts: list[str | None] = []
    for column in columns:
        node = lists.survey.matcher.first(parse(column.selector), article)
        assert node is not None
        read = lists.survey.page.attribute(node, "href") if column.attribute else node.text()
        texts.append(" ".join((read or "").split()))
    return Record(number + 1, None, [*texts], [None] * len(texts), texts)


@pytest.mark.parametrize("part", ["h2 a@href", "article > h2 > a@href", "a@href"])
def test_a_key_is_right_if_it_reads_an_identifier(flats: Lists, part: str) -> None:
    said = Columns(identifiers=[part])
    assert ProposedColumns(flats.survey, proposed(flats, "link"), said).wrong_key() is None


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        (["rent"], "the key reads rent (p.rent), never one"),
        (["agent"], "the key reads agent (p.agent > a @href), not said to be one"),
        (["link", "rent"], "the key reads rent (p.rent), never one"),
    ],
)
def test_a_key_is_wrong_if_a_person_says_so_of_a_column(
    flats: Lists, key: list[str], wrong: str
) -> None:
    assert ProposedColumns(flats.survey, proposed(flats, *key), SAID).wrong_key() == wrong


def test_a_title_that_begins_with_its_place_in_the_list_is_no_key(flats: Lists) -> None:
    columns = ProposedColumns(flats.survey, proposed(flats, "title"), SAID)
    assert columns.wrong_key() == "the key reads title (h2), not said to be one"


def test_no_key_is_right_only_where_nothing_identifies_a_record(flats: Lists) -> None:
    without = proposed(flats)
    wrong = ProposedColumns(flats.survey, without, SAID).wrong_key()
    assert wrong == "no key, and h2 a@href is one"
    for said in (Columns(keyless=True), Columns(identifiers=["h3"])):
        assert ProposedColumns(flats.survey, without, said).wrong_key() is None


def test_an_unsure_key_is_right_only_where_nothing_identifies_a_record(flats: Lists) -> None:
    proposal = proposed(flats, "rent")
    unsure = replace(proposal, key=replace(proposal.key, standing="figure"))
    sure = replace(proposal, key=replace(proposal.key, standing="main"))
    assert ProposedColumns(flats.survey, unsure, Columns(keyless=True)).wrong_key() is None
    assert ProposedColumns(flats.survey, sure, Columns(keyless=True)).wrong_key() is not None
    assert ProposedColumns(flats.survey, unsure, SAID).wrong_key() is not None


def test_columns_are_a_key_together_if_a_person_says_so(flats: Lists) -> None:
    said = Columns(together=[["p.agent a@href", "p.rooms"]])
    both = ProposedColumns(flats.survey, proposed(flats, "agent", "rooms"), said)
    assert both.wrong_key() is None
    assert ProposedColumns(flats.survey, proposed(flats, "agent"), said).wrong_key() is not None


def test_a_column_that_may_be_empty_is_wrongly_required(flats: Lists) -> None:
    columns = ProposedColumns(flats.survey, proposed(flats, "link"), SAID)
    assert columns.wrongly_required(READS) == [
        "agent (p.agent > a @href) is required",
        "rent (p.rent) is required",
    ]


def test_text_that_a_person_does_not_see_is_told(flats: Lists) -> None:
    columns = ProposedColumns(flats.survey, proposed(flats, "link"), SAID)
    assert columns.hidden_texts() == ["rent (p.rent) has hidden text"]
