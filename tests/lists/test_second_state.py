"""The page of tomorrow is the one of today but for what it says that it changes."""

from __future__ import annotations

import re

import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.lists.gold import Gold, every_page
from tests.lists.invented import Invention, corrected_text
from tests.lists.parts import every_list_columns
from tests.lists.positions import placed, renumbered
from tests.lists.second_state import NEW, states
from tests.lists.units import units

PAGES = {gold.name: gold for gold in every_page()}
SOME = ["books", "quotes", "packages", "git-terms", "server-modules", "angling", "university"]


def records(gold: Gold, markup: str) -> list[str]:
    """The records of a state of a page."""
    every = units(gold, LexborHTMLParser(markup)).records
    return [record for record in every if not re.match('<\\w+ class="advert"', record)]


@pytest.mark.parametrize("name", SOME)
def test_a_page_is_its_records_and_what_is_around_them(name: str) -> None:
    tree = PAGES[name].page.tree
    before = tree.html
    assert units(PAGES[name], tree).markup == before == tree.html


@pytest.mark.parametrize("name", SOME)
def test_tomorrow_two_records_are_on_top_one_is_gone_and_one_is_corrected(name: str) -> None:
    gold = PAGES[name]
    both = states(gold, every_list_columns()[name])
    today, tomorrow = records(gold, both.today), records(gold, both.tomorrow)
    assert len(tomorrow) == len(today) + NEW - 1
    assert not set(tomorrow[:NEW]) & set(today)
    assert today[both.removed] not in tomorrow
    assert len(set(today) - set(tomorrow)) == 2
    assert len(set(today) - set(records(gold, both.corrected))) == 1
    # Nothing else may stand between the rows of a table.
    assert both.tomorrow.count("Advertisement") == (name != "packages")


def test_records_have_the_numbers_of_their_new_places() -> None:
    today = [
        f'<li id="row_{number}"><a href="/x?id={number * 37}">{number}. Book</a></li>'
        for number in range(6)
    ]
    assert renumbered(today, [*today[3:], *today], [])[:4] == [
        '<li id="row_0"><a href="/x?id=111">0. Book</a></li>',
        '<li id="row_1"><a href="/x?id=148">1. Book</a></li>',
        '<li id="row_2"><a href="/x?id=185">2. Book</a></li>',
        '<li id="row_3"><a href="/x?id=0">3. Book</a></li>',
    ]


def test_a_number_that_identifies_a_record_stays() -> None:
    today = [f'<li id="post-{number}">Post</li>' for number in range(6)]
    posts = {f"post-{number}" for number in range(6)}
    assert renumbered(today, today[2:], posts) == today[2:]


def test_links_may_say_at_which_place_they_stand() -> None:
    records = ['<a href="/a?b=1">A</a><a href="#up">', '<a href="/b#end">B</a>']
    assert placed(records) == [
        '<a href="/a?b=1&amp;place=1">A</a><a href="?place=1#up">',
        '<a href="/b?place=2#end">B</a>',
    ]


def test_a_new_record_has_other_words_where_records_differ() -> None:
    invention = Invention([f'<a href="/book/{word}">The {word}</a>' for word in ("ash", "elm")])
    assert invention.like('<a href="/book/ash">The ash</a>', 0) == '<a href="/book/bti">The bti</a>'


@pytest.mark.parametrize(
    ("text", "other"), [("£51.77", "£51.88"), ("A &amp; B", "A &amp; C"), ("Фирма", "Хйснб")]
)
def test_a_correction_changes_the_last_word_or_number(text: str, other: str) -> None:
    assert corrected_text(text) == other
