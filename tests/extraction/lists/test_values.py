"""Values that are whole, and of their own column: no cut titles, no counters, no other part."""

from __future__ import annotations

import pytest

from livedata.extraction.derived_names import UNNUMBERED
from livedata.extraction.lists.keys import Key, titles
from livedata.extraction.lists.page_lists import find_lists
from livedata.extraction.lists.proposal import propose
from livedata.extraction.page import Page
from tests.extraction.lists.pages import NAMES, listed, proposed, values

LONG = [
    f"{name} of steel that keeps the heat for {number} hours" for number, name in enumerate(NAMES)
]
PRICES = "<b class=price>{at}.50 €</b>"


def cut(title: str) -> str:
    return title if len(title) < 45 else f"{title[:20].rstrip()}..."


def test_a_title_that_is_cut_is_read_from_the_attribute_that_has_it_whole() -> None:
    proposal = listed(
        *(
            f'<h3><a href=/{number} title="{title}">{cut(title)}</a></h3><i>{number} €</i>'
            for number, title in enumerate(LONG)
        )
    )
    assert values(proposal, "title") == LONG
    column = next(column for column in proposal.columns if column.name == "title")
    assert column.attribute == "title"
    assert sum("..." in str(value) for row in proposal.rows for value in row.values) == 0


def test_a_title_that_is_cut_is_read_from_the_text_of_its_image() -> None:
    proposal = listed(
        *(
            f'<img src=/{number}.png alt="{title}"><h3>{title[:20].rstrip()}…</h3><b>{number} €</b>'
            for number, title in enumerate(LONG)
        )
    )
    assert [column.attribute for column in proposal.columns if column.name == "alt"] == ["alt"]
    assert values(proposal, "alt") == LONG


def test_a_title_that_ends_with_dots_though_nothing_is_cut_is_read_without_them() -> None:
    proposal = listed(
        *(
            f'<h3><a href=/{n} title=\'"{name}" pot\'>"{name}" pot{"..." * (n % 3 == 0)}</a></h3>'
            f"<i>{n} €</i>"
            for n, name in enumerate(NAMES)
        )
    )
    assert values(proposal, "title") == [f'"{name}" pot' for name in NAMES]


def test_a_text_that_is_cut_stays_if_nothing_has_it_whole() -> None:
    proposal = listed(
        *(
            f'<h3 title="Offer {number}">{title[:20].rstrip()}...</h3><b>{number} €</b>'
            for number, title in enumerate(LONG)
        )
    )
    assert values(proposal, "title") == [f"{title[:20].rstrip()}..." for title in LONG]


def test_a_number_that_counts_the_list_is_not_part_of_a_title() -> None:
    proposal = listed(
        *(
            f"<h3>{number}. <a href=/{name}>{name}</a></h3><i>{number * 7 % 9} €</i>"
            for number, name in enumerate(NAMES, 1)
        )
    )
    assert values(proposal, "title") == list(NAMES)
    assert not any(str(value).startswith("1. ") for value in proposal.rows[0].values)


@pytest.mark.parametrize("number", ["{at} ", "{at}. ", "{at}) ", "1.{at} ", "4.{at}. ", "A.{at}. "])
@pytest.mark.parametrize("title", ["<a href=/{one}>{text}</a>", "<h3>{text}</h3>"])
def test_a_number_that_has_no_element_of_its_own_is_left_out_of_a_name(
    number: str, title: str
) -> None:
    records = [
        title.format(one=name, text=f"{number.format(at=index)}{name}")
        + f"<i>{index * 7 % 9} €</i>"
        for index, name in enumerate(NAMES, 1)
    ]
    proposal = listed(*records)
    assert values(proposal, "title") == list(NAMES)
    assert [column.attribute for column in proposal.columns if column.name == "title"] == [
        UNNUMBERED
    ]
    assert "title" in titles(proposal.columns, proposal.values)


def test_the_number_of_a_term_is_left_out_of_it() -> None:
    terms = "".join(
        f"<dt>{number}. {name}<dd><p>A {name} of steel" for number, name in enumerate(NAMES, 1)
    )
    proposal = proposed(f"<dl>{terms}</dl>")
    assert values(proposal, "term") == list(NAMES)
    assert isinstance(proposal.key, Key)
    assert proposal.key.names == ("term",)


@pytest.mark.parametrize(
    "texts",
    [
        [f"{number} kg" for number in range(1, 13)],
        [f"{number}. floor, {'left' if number % 2 else 'right'}" for number in range(1, 13)],
        [f"{number * 5 % 12} {name}" for number, name in enumerate(NAMES)],
        [f"{13 - number}.1 {name}" for number, name in enumerate(NAMES)],
        [f"{number} {name} of steel, which keeps the heat for {number} hours {'and more ' * 20}"
         for number, name in enumerate(NAMES, 1)],
        [f"{1980 + number} {name}" for number, name in enumerate(NAMES)],
    ],
)  # fmt: skip
def test_a_number_that_says_more_than_a_place_stays(texts: list[str]) -> None:
    records = [f"<h3>{name}</h3><p>{text}</p>" for name, text in zip(NAMES, texts, strict=True)]
    proposal = listed(*records)
    assert not any(column.is_unnumbered for column in proposal.columns)


def test_a_few_records_without_a_number_are_read_whole_beside_numbered_ones() -> None:
    named = ["Preface", *(f"{number}. {each}" for number, each in enumerate(NAMES, 1))]
    proposal = listed(
        *(f"<h3>{name}</h3><i>{number * 7 % 9} €</i>" for number, name in enumerate(named))
    )
    assert values(proposal, "title") == ["Preface", *NAMES]


def test_an_element_that_counts_the_list_is_no_column_but_told() -> None:
    proposal = listed(
        *(
            f"<span class=rank>{n}.</span><h3><a href=/{name}>{name}</a></h3><i>{n * 7 % 9} €</i>"
            for n, name in enumerate(NAMES, 1)
        )
    )
    assert "rank" not in [column.name for column in proposal.columns]
    assert list(proposal.counters) == ["span.rank"]


@pytest.mark.parametrize(
    ("page", "record", "key", "left_out"),
    [
        ("/manual/node11.html", "/manual/node{at}.html", "title", ["a @href"]),
        ("/manual/index.html", "/manual/node{at}.html", "link", []),
        ("/manual/node40.html", "/manual/node{at}.html", "link", []),
        ("/shop/things11.html", "/shop/thing{at}.html", "link", []),
        ("/forum/11", "/forum/{at}", "link", []),
        ("/forum/list?of=11", "/forum/list?of={at}", "link", []),
    ],
)
def test_addresses_that_number_the_sections_below_their_page_are_no_column_but_told(
    page: str, record: str, key: str, left_out: list[str]
) -> None:
    links = "".join(
        f"<li><a href={record.format(at=12 + number + number // 5)}>{name}</a>"
        for number, name in enumerate(NAMES)
    )
    markup = f"<!doctype html><title>Manual</title><ul class=sections>{links}</ul>".encode()
    lists = find_lists(Page(markup, "text/html; charset=utf-8", f"https://docs.example{page}"))
    proposal = propose(lists, lists.seen[0])
    assert isinstance(proposal.key, Key)
    assert proposal.key.names == (key,)
    assert list(proposal.counters) == left_out


def test_a_number_of_the_records_themselves_stays_a_column() -> None:
    rows = "".join(
        f"<tr><td>{number}<td>{name}<td>{number * 7 % 9}" for number, name in enumerate(NAMES, 1)
    )
    proposal = proposed(f"<table><tr><th>Atomic number<th>Name<th>Weight</tr>{rows}</table>")
    assert "atomic_number" in [column.name for column in proposal.columns]
    proposal = proposed(f"<table><tr><th>#<th>Name<th>Weight</tr>{rows}</table>")
    assert len(proposal.columns) == 2


def test_a_column_has_no_values_of_another_part() -> None:
    quotes = [
        f"<p class=words>{title}</p>"
        + (f"<ul><li>heat {number % 5}</li></ul>" if number % 4 else "")
        + f"<ol><li>Author {number}</li></ol>"
        for number, title in enumerate(LONG)
    ]
    proposal = listed(*quotes)
    assert values(proposal, "text") == [
        f"heat {number % 5}" if number % 4 else None for number in range(12)
    ]
    assert values(proposal, "text_2") == [f"Author {number}" for number in range(12)]


def test_adverts_of_one_class_more_are_left_out_by_the_whole_class() -> None:
    boxes = [
        f"<div class=box><h3><a href=/{name}>{name}</a></h3><i>{n}.50 €</i><p>Of {n}</p></div>"
        + ('<div class="box ad"><img src=/ad.png></div>' if n % 4 == 3 else "")
        for n, name in enumerate(NAMES)
    ]
    proposal = proposed("".join(boxes))
    assert (proposal.selector, proposal.count) == ('div[class="box"]', 12)


BADGES = {
    "a heading in the link": "<a href=/{one}><h3>{badge}</h3><div>{one}</div></a>",
    "a heading before that of the title": "<h3>{badge}</h3><h4><a href=/{one}>{one}</a></h4>",
    "a heading of a few": "{few}<h4><a href=/{one}>{one}</a></h4>",
    "a heading above a text": "<h3>{badge}</h3><p>{one}</p>",
}


@pytest.mark.parametrize("case", BADGES)
def test_the_title_is_what_differs_and_all_records_have(case: str) -> None:
    records = []
    for number, name in enumerate(NAMES):
        badge = "Premiere" if number % 4 else "New"
        few = f"<h3>Premiere {number}</h3>" if number % 4 == 0 else ""
        title = BADGES[case].format(one=name, badge=badge, few=few)
        records.append(f"{title}<i>{number * 7 % 9}.50 €</i>")
    proposal = listed(*records)
    for column in proposal.columns:
        if column.name == "title" or column.name in titles(proposal.columns, proposal.values):
            assert values(proposal, column.name) == list(NAMES)
    assert len(titles(proposal.columns, proposal.values)) == 1
    assert isinstance(proposal.key, Key)
    assert proposal.key.sure


STRUCK = {
    "del": "<del>{old} €</del> <b>{new} €</b>",
    "s": "<s>{old} €</s> <b>{new} €</b>",
    "strike in a price": "<p class=cost><strike>{old} €</strike> <ins>{new} €</ins></p>",
    "a class": "<span class=was>{old} €</span> <b>{new} €</b>",
    "a class of two words": "<span class=price-old>{old} €</span> <b>{new} €</b>",
    "a class that says out": "<span class=strike-out>{old} €</span> <b>{new} €</b>",
    "a style": "<i style='color: red; text-decoration: line-through'>{old} €</i> <b>{new} €</b>",
    "a price in it": "<s><span class=price>{old} €</span></s> <b>{new} €</b>",
    "a price after it, too": "<div><b>{new} €</b> <del class=price>{old} €</del></div>",
}


@pytest.mark.parametrize("case", STRUCK)
@pytest.mark.parametrize("few", [False, True])
def test_a_price_with_a_line_through_it_is_called_an_old_one(case: str, *, few: bool) -> None:
    olds = [number * 7 % 9 + 20 for number in range(12)]
    news = [number * 5 % 9 + 1 for number in range(12)]
    proposal = listed(
        *(
            f"<h3>{column}</h3>"
            + (
                f"<b>{new} €</b>"
                if few and number % 3 == 0 and case in {"del", "s", "a class", "a style"}
                else STRUCK[case].format(old=old, new=new)
            )
            for number, (column, old, new) in enumerate(zip(NAMES, olds, news, strict=True))
        )
    )
    assert values(proposal, "price") == news
    (name,) = (column.name for column in proposal.columns if "old" in column.name.split("_"))
    old_ones = values(proposal, name)
    assert [old for old in old_ones if old is not None] == [
        old for number, old in enumerate(olds) if old_ones[number] is not None
    ]


SHEETS = {
    ".x1 { color: #999; text-decoration: line-through }": True,
    ".deal { margin: 0 } b, i.x1 { TEXT-DECORATION-LINE: underline line-through !important }": True,
    "@media screen { .x1 { text-decoration: line-through } }": True,
    ".sold .x1 { text-decoration: line-through }": False,
    ".x1:hover { text-decoration: line-through }": False,
    "/* .x1 { text-decoration: line-through } */": False,
    ".x1 { text-decoration: underline } .x2 { text-decoration: line-through }": False,
}


@pytest.mark.parametrize("sheet", SHEETS)
def test_a_price_through_which_the_page_s_own_sheet_draws_a_line_is_an_old_one(sheet: str) -> None:
    records = "".join(
        f"<li class=hit><h3>{name}</h3><i class=x1>{n * 7 % 9 + 20} €</i> <em>{n * 5 % 9} €</em>"
        for n, name in enumerate(NAMES)
    )
    proposal = proposed(f"<style>{sheet}</style><ul>{records}</ul>")
    assert ("old_price" in [column.name for column in proposal.columns]) is SHEETS[sheet]


def test_a_style_that_draws_no_line_stands_over_a_class_that_says_so() -> None:
    proposal = listed(
        *(
            f"<h3>{name}</h3><b class=old style='text-decoration:none'>{number * 5 % 9} €</b>"
            for number, name in enumerate(NAMES)
        )
    )
    assert not [column.name for column in proposal.columns if column.name.startswith("old_")]


def reduced(position: int, note: str = "") -> str:
    """A record with its price, which stands deeper in every third, since that is reduced."""
    price = f"<span class=lead>{position} €</span>"
    reduced = f"<div><s>{position * 9 + 31} €</s> {price}</div>"
    return (
        f"<div class=named><span class=lead>{NAMES[position]}</span>{note}</div>"
        f"<div class=cost>{price if position % 3 else reduced}</div>"
    )


def test_a_price_that_stands_deeper_where_it_is_reduced_is_read_in_all_records() -> None:
    proposal = listed(*map(reduced, range(12)))
    assert values(proposal, "lead") == list(range(12))
    assert values(proposal, "old_price") == [
        number * 9 + 31 if number % 3 == 0 else None for number in range(12)
    ]


def test_nothing_is_read_anywhere_in_what_may_stand_in_another_part_too() -> None:
    """What comes first in `.cost` is in the fourth record what its note speaks of."""
    points = "<div class=cost><span class=lead>7 points</span></div>"
    proposal = listed(*(reduced(number, points if number == 3 else "") for number in range(12)))
    assert "div.cost span.lead" not in [column.selector for column in proposal.columns]


def test_no_column_has_old_prices_of_some_records_and_new_ones_of_others() -> None:
    proposal = listed(
        *(
            f"<h3>{name}</h3>"
            + (f"<s><span class=sum>{number + 50} €</span></s>" if number % 3 else "")
            + f"<div><span class=sum>{number} €</span></div>"
            for number, name in enumerate(NAMES)
        )
    )
    for column in proposal.columns[1:]:
        said = [value for value in values(proposal, column.name) if isinstance(value, int)]
        assert min(said) >= 50 or max(said) < 50, column.name


def test_a_title_with_a_line_through_it_stays_a_title() -> None:
    proposal = listed(
        *(
            f"<h3><a href=/{name}>{f'<s>{name}</s>' if n % 3 else name}</a></h3><i>{n} €</i>"
            for n, name in enumerate(NAMES)
        )
    )
    assert values(proposal, "title") == list(NAMES)


def test_a_link_that_a_few_of_many_records_have_elsewhere_is_read_where_it_stands() -> None:
    """Three of 600 have none in their first cell, but one to another record in the second."""
    rows = "".join(
        f"<tr><td><b>n{number}</b><td>See <a href=/{number - 1}>n{number - 1}</a> for more of it"
        if number in {151, 333, 475}
        else f"<tr><td><a href=/{number}>n{number}</a><td>What it does, in {number % 9 + 2} words"
        + (f", beside <a href=/{number + 1}>n{number + 1}</a>" if number % 5 == 0 else "")
        for number in range(600)
    )
    proposal = proposed(f"<table>{rows}</table>")
    (link,) = (number for number, column in enumerate(proposal.columns) if column.name == "link")
    assert [row.number - 1 for row in proposal.rows if row.values[link] is None] == [151, 333, 475]


def test_the_numbers_of_chapters_among_sections_are_left_out() -> None:
    names = [
        f"{number // 4 + 1}. {name} at large" if number % 4 == 0 else f"{name} in part {number}"
        for number, name in enumerate(NAMES * 3)
    ]
    entries = "".join(f"<li><a href=/s{number}>{name}</a>" for number, name in enumerate(names))
    proposal = proposed(f"<ul>{entries}</ul>")
    (title,) = (
        number for number, column in enumerate(proposal.columns) if column.read.attribute != "href"
    )
    assert proposal.columns[title].read.attribute == "livedata-unnumbered"
    assert [row.values[title] for row in proposal.rows][:5] == [
        name.removeprefix("1. ").removeprefix("2. ") for name in names[:5]
    ]


BUTTONS = {
    "a button": "<button>{say}</button>",
    "a part that is one": "<span role=button><b>{say}</b></span>",
    "a link that is called one": "<a class='btn btn-red' href=/do/{at}>{say}</a>",
    "a link with an icon": "<a class=buy_btn href=/do/{at}><img src=/cart{few}.png>{say}</a>",
    "a link in a box": "<div class=buy><a class=cta-link href=/do/{at}>{say}</a></div>",
    "an icon": "<a href=/do/{at}><img src=/heart.png title='Add to the wishes'></a>",
    "a few icons": "<a href=/do/{at}><img src=/heart{few}.png></a>",
}


@pytest.mark.parametrize("case", BUTTONS)
def test_what_a_button_says_and_leads_to_is_no_column(case: str) -> None:
    proposal = listed(
        *(
            BUTTONS[case].format(
                at=number,
                few=number % 4 == 0,
                say="Add to cart" if number % 4 else "Tell me when it is there",
            )
            + f"<h3><a href=/p/{name}>{name}</a></h3><i>{number} €</i>"
            for number, name in enumerate(NAMES)
        )
    )
    # Which picture it has may say in which state a record is.
    read = [column.name for column in proposal.columns if column.attribute != "src"]
    assert read == ["title", "link", "price"]
    assert all("/p/" in str(value) for value in values(proposal, "link"))


TOLD = {
    "the only link": "<a class=btn href=/p/{at}>{say}</a>",
    "buttons that say what they load": "<h3><a class=btn href=/p/{at}>Load {one}</a></h3>",
    "pictures that differ": "<a href=/p/{at}><img src=/{at}.png></a>",
    "a state that looks like a button": "<a href=/p/{at}>{one}</a><span class=btn>{say}</span>",
}


@pytest.mark.parametrize("case", TOLD)
def test_what_is_made_like_a_button_and_says_who_a_record_is_stays(case: str) -> None:
    proposal = listed(
        *(
            TOLD[case].format(at=number, one=name, say="Left" if number % 4 else "Sold out")
            + f"<p>{name} of steel</p><i>{number} €</i>"
            for number, name in enumerate(NAMES)
        )
    )
    assert len({str(value) for value in values(proposal, "link")}) == 12
    read = {str(value) for row in proposal.rows for value in row.values}
    assert case != "a state that looks like a button" or {"Left", "Sold out"} <= read
    assert case != "buttons that say what they load" or "Load Kettle" in read
