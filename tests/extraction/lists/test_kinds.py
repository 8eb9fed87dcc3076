"""What repeats on a page and is no list of records: a menu, a form, the paragraphs of a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from livedata.extraction.lists.page_lists import find_lists
from tests.extraction.lists.pages import NAMES, cards, lists_of
from tests.lists.gold import every_page

if TYPE_CHECKING:
    from collections.abc import Mapping

WORDS = (
    "Steel keeps the heat for hours, and glass shows how much is left. Whoever cooks for many "
    "needs both, one for the table and one for the stove, as our grandparents did before us. "
)
LINKS = "".join(
    f"<li><a href=/{name}/{number}>{name} {number}</a>" for number in range(4) for name in NAMES
)


def field(position: int, name: str) -> str:
    return (
        f"<div class=row><label>{name}</label><input name=f{position}>"
        f"<em>at most {position} letters</em></div>"
    )


def section(position: int) -> str:
    """A section of a text: some paragraphs, and now and then a list, a table or code."""
    parts = (
        "<ul><li>Steel<li>Glass</ul>",
        "<table><tr><td>7<td>9</table>",
        "<pre>boil()</pre>",
        "<blockquote><p>Glass!</blockquote>",
        "<dl><dt>Tin<dd>Cheap</dl>",
    )
    text = "".join(
        f"<p>{NAMES[position]} {n}: {WORDS * (n % 3 + 1)}"
        f"{'<em>Mind it.</em>' * ((position + n) % 3)}"
        for n in range(position % 7 + 2)
    )
    more = "".join(parts[(position + n) % 5] * (n + 1) for n in range(position % 5))
    return f"<section><h2>On {NAMES[position]}</h2>{text}{more}</section>"


NO_LISTS: Mapping[str, tuple[str, str]] = {
    "a menu beside a text": (f"<p>{WORDS * 12}<ul class=all>{LINKS}</ul>", "menu"),
    "a menu on a page to sign in": (
        f"<ul class=all>{LINKS}</ul><p>{WORDS}<form><input name=user><input type=password></form>",
        "menu",
    ),
    "the rows of a form": (
        f"<form>{''.join(field(number, name) for number, name in enumerate(NAMES))}</form>",
        "form",
    ),
    "the paragraphs of a text": ("".join(f"<p>{number}. {WORDS}" for number in range(20)), "prose"),
    "examples of code": (
        "".join(
            f"<div class=ex><pre>boil(<b>{number}</b>)\npour({number})</pre></div>"
            for number in range(30)
        ),
        "prose",
    ),
    "the sections of one text": ("".join(map(section, range(12))), "article"),
    "three things": (
        "<div class=t>Steel</div><div class=t>Glass</div><div class=t>Tin</div>",
        "few",
    ),
}


@pytest.mark.parametrize("case", NO_LISTS)
def test_what_repeats_on_a_page_without_records_is_no_list(case: str) -> None:
    body, kind = NO_LISTS[case]
    lists = lists_of(f"<h1>Kitchen</h1>{body}")
    assert lists.seen
    assert not lists.has_list
    assert kind in {seen.kind for seen in lists.seen}


QUESTIONS = "".join(
    f"<div class=faq><h3>How is a {name} cleaned?</h3><p>{WORDS * 2}</div>" for name in NAMES
)
LISTS: Mapping[str, str] = {
    "products": f"<ul>{cards()}</ul>",
    "an index that is all of its page": f"<ul>{LINKS}</ul>",
    "products that are ordered by the piece": "".join(
        f"<div class=p><a href=/{name}>{name}</a><b>{number} €</b><input name=n{number}></div>"
        for number, name in enumerate(NAMES)
    ),
    "long answers of one making": QUESTIONS,
    "terms with long texts": f"<dl>{''.join(f'<dt>{n}<dd><p>{n}: {WORDS}' for n in NAMES)}</dl>",
}


@pytest.mark.parametrize("case", LISTS)
def test_records_are_a_list_whatever_else_they_resemble(case: str) -> None:
    assert lists_of(f"<h1>Kitchen</h1>{LISTS[case]}").has_list


MEGA = "".join(
    f"<div class=col><h4><a href=/{number}>{name}</a></h4>"
    + "".join(f"<a href=/{number}/{n}>{name} {n}</a>" for n in range(12))
    + "</div>"
    for number, name in enumerate(NAMES)
)
EVENTS = "".join(
    f"<div class=event><h3><a href=/e/{n}>{name} fair</a></h3><time>{n + 1} May 2027</time>"
    f"<p>All about the {name}, shown by {n + 3} makers.</p></div>"
    for n, name in enumerate(NAMES[:8])
)


def test_a_mega_menu_is_not_the_first_list_where_there_are_events() -> None:
    lists = lists_of(f"<div id=main-menu>{MEGA}</div><h1>Fairs</h1>{EVENTS}")
    assert lists.has_list
    assert lists.seen[0].selector == "div.event"


def test_what_holds_the_text_of_a_page_is_no_menu_though_it_is_called_one() -> None:
    lists = lists_of(f"<div class=left-menu>{EVENTS}</div>")
    assert lists.has_list
    assert not any(lists.survey.aside[member] for member in lists.seen[0].members)


def test_who_names_a_text_of_a_menu_gets_the_menu() -> None:
    lists = lists_of(f"<h1>Kitchen</h1><p>{WORDS * 12}<ul class=all>{LINKS}</ul>", "Whisk 3")
    assert lists.has_list
    assert lists.seen[0].count == 48


@pytest.mark.slow
def test_real_pages_without_a_list_are_told_and_hardly_any_other() -> None:
    told = [(bool(gold.records), find_lists(gold.page).has_list) for gold in every_page()]
    without = [has_list for records, has_list in told if not records]
    assert without.count(False) >= 0.8 * len(without)
    assert told.count((True, False)) <= 1
