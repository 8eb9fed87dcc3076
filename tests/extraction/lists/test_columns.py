"""What is read of each record, what it is called, and of which type it is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.extraction.lists.pages import NAMES, cards, proposed

if TYPE_CHECKING:
    from collections.abc import Mapping


def rows(*cells: str) -> str:
    """A table body of all products with these cells; {name}, {at} and {n} are filled in."""
    made = [
        "<tr>"
        + "".join(f"<td>{cell.format(name=name, at=number, n=number * 13 + 5)}" for cell in cells)
        for number, name in enumerate(NAMES)
    ]
    return "".join(made)


def entries(inside: str) -> str:
    """A list of all products with this inside each; {name}, {slug}, {at} and {n} are filled in."""
    made = [
        inside.format(name=name, slug=name.lower().replace(" ", "-"), at=number, n=number * 13 + 5)
        for number, name in enumerate(NAMES)
    ]
    return f"<ul class=list><li>{'<li>'.join(made)}</ul>"


COLUMNS: Mapping[str, tuple[str, list[tuple[str, str, str | None, str]]]] = {
    "a card": (
        f"<ul>{cards()}</ul>",
        [
            ("title", "h2", None, "string"),
            ("link", "a", "href", "string"),
            ("price", "span.price", None, "number"),
        ],
    ),
    "cells by their headers": (
        f"<table><tr><th>Name<th>Price in EUR<th>Né en{rows('{name}', '{n}', 'v{at}')}</table>",
        [
            ("name", 'td[livedata-header="Name"]', None, "string"),
            ("price_in_eur", 'td[livedata-header="Price in EUR"]', None, "number"),
            ("ne_en", 'td[livedata-header="Né en"]', None, "string"),
        ],
    ),
    "cells by their place": (
        f"<table>{rows('{name}', 'x{n}')}</table>",
        [
            ("text", "td", None, "string"),
            ("text_2", 'td[livedata-index="2"]', None, "string"),
        ],
    ),
    "what is in cells without a header": (
        f"<table>{rows('<p>{name}</p>', '<p>x{n}</p>')}</table>",
        [
            ("text", 'td[livedata-index="1"] > p', None, "string"),
            ("text_2", 'td[livedata-index="2"] > p', None, "string"),
        ],
    ),
    "what is in cells below a header": (
        f"<table><tr><th>Tree<th>Status</tr>{rows('<p>{name}</p>', '<p>x{n}</p>')}</table>",
        [
            ("tree", 'td[livedata-header="Tree"] > p', None, "string"),
            ("status", 'td[livedata-header="Status"] > p', None, "string"),
        ],
    ),
    "parts of cells below a header": (
        f"<table><tr><th>Tree<th>Status</tr>{rows('<b>{name}</b> <i>x{n}</i>', 'y{n}')}</table>",
        [
            ("text", "b", None, "string"),
            ("text_2", "i", None, "string"),
            ("status", 'td[livedata-header="Status"]', None, "string"),
        ],
    ),
    "terms with their descriptions": (
        f"<dl>{''.join(f'<dt>{name}<dd>Of the {name}' for name in NAMES)}</dl>",
        [("text", "", None, "string"), ("term", "", "livedata-term", "string")],
    ),
    "properties and moments": (
        "".join(
            f'<article><span itemprop="sku">K-{name}</span><time datetime="2026-01-{number + 10}">'
            f"{number + 10} Jan</time><p>Text on the {name}</article>"
            for number, name in enumerate(NAMES)
        ),
        [
            ("sku", 'span[itemprop="sku"]', None, "string"),
            ("date", "time", "datetime", "string"),
            ("text", "p", None, "string"),
        ],
    ),
    "words within or before a value": (
        entries("<p>{name}<p>Weight: {n} g<div><span>Made in:</span> <i>City K{n}</i></div>"),
        [
            ("text", "p", None, "string"),
            ("weight", 'p[livedata-index="2"]', None, "number"),
            ("made_in", "i", None, "string"),
        ],
    ),
    "a heading before a cell": (
        "".join(
            f"<article><p>All that is known of number {number} is in this table of properties</p>"
            f"<table><tr><th>Name<td>{name}<tr><th>Size:<td>{number * 3 + 7} cm</table></article>"
            for number, name in enumerate(NAMES)
        ),
        [
            ("text", "p", None, "string"),
            ("name", "td", None, "string"),
            ("size", 'tr[livedata-index="2"] > td', None, "number"),
        ],
    ),
    "classes that say of places only": (
        entries("<div class=left><a class='link internal' href=/p/{slug}>{name}</a></div>"),
        [("title", "a.link", None, "string"), ("link", "a.link", "href", "string")],
    ),
    "two prices side by side": (
        entries("<b>{name}</b><div class=price><del>{n} €</del> <ins>{at} €</ins></div>"),
        [
            ("text", "b", None, "string"),
            ("old_price", "del", None, "number"),
            ("price", "ins", None, "number"),
        ],
    ),
    "buttons that do something with a record": (
        entries(
            "<a href=/p/{slug}>{name}</a><a href=/p/{slug}/follow>Follow</a>"
            "<a href='/cart?buy={n}'>Buy</a><p>A {name} for {n} people"
        ),
        [
            ("title", "a", None, "string"),
            ("link", "a", "href", "string"),
            ("text", "p", None, "string"),
        ],
    ),
}

SENTENCE = "It has been made for kitchens of every size since the first of them was sold"
SPEAKING: Mapping[str, tuple[str, list[str]]] = {
    "words of sentences": (f"<b>{{name}}</b><p>{SENTENCE} {{n}}, {{linked}}", ["text", "text_2"]),
    "a title that a text begins with": (f"{{linked}} {SENTENCE} {{n}}", ["text", "title", "link"]),
    "a short text around it": ("<b>{name}</b><p>By {linked}", ["text", "text_2", "link"]),
}


@pytest.mark.parametrize("case", SPEAKING)
def test_links_that_some_records_speak_of_are_no_columns(case: str) -> None:
    """Each third record has no link; where all have one it may be that of the record."""
    inside, expected = SPEAKING[case]
    made = [
        inside.format(
            name=name, linked=f"<a href=/k/{number}>K {name}</a>" if number % 3 else "all", n=number
        )
        for number, name in enumerate(NAMES)
    ]
    body = f"<ul class=list><li>{'<li>'.join(made)}</ul>"
    assert [column.name for column in proposed(body).columns] == expected


@pytest.mark.parametrize("case", COLUMNS)
def test_columns_are_named_and_typed_by_what_the_page_says(case: str) -> None:
    body, expected = COLUMNS[case]
    columns = proposed(body).columns
    assert [
        (column.name, column.selector, column.attribute, column.kind) for column in columns
    ] == expected


def test_a_title_is_called_as_the_element_in_which_it_stands_alone() -> None:
    records = "".join(
        f"<li class=hit><div class='left-side limit'><a class=title href=/{name}>{name}</a></div>"
        f"<div class=limit-of>{number} g</div>"
        for number, name in enumerate(NAMES)
    )
    names = [column.name for column in proposed(records).columns if column.is_text]
    assert names[0] == "title"


@pytest.mark.parametrize("beside", ["", " by Ann", "<i>Ann</i>"])
def test_a_moment_is_read_once_whatever_stands_around_it(beside: str) -> None:
    proposal = proposed(
        "".join(
            f"<li class=hit><h2>{name}</h2><div class=right-side>"
            f"<time datetime=2027-05-{number:02}>{number} May</time>{beside}</div>"
            for number, name in enumerate(NAMES, 1)
        )
    )
    moments = [column for column in proposal.columns if "5 May" in str([*column.values.values()])]
    dates = [column.selector for column in proposal.columns if column.attribute == "datetime"]
    assert dates == ["time"]
    assert len(moments) == (beside == " by Ann")


def test_what_never_differs_is_no_column() -> None:
    assert "Buy" not in str(proposed(f"<ul>{cards()}</ul>").columns)


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        ("{n} €", "number"),
        ("{n}.50", "number"),
        ("item {name} {n}", "string"),
        ("0{n}", "string"),
        ("12345678{n}", "string"),
        ("{name}s", "string"),
    ],
)
def test_a_number_is_one_in_nearly_all_records(cell: str, kind: str) -> None:
    proposal = proposed(f"<table><tr><th>Name<th>Worth{rows('{name}', cell)}</table>")
    assert [column.kind for column in proposal.columns] == ["string", kind]


def test_one_cell_that_is_no_number_makes_a_text_of_the_column() -> None:
    body = rows("{name}", "{n}").replace("<td>5<", "<td>on request<", 1)
    proposal = proposed(f"<table><tr><th>Name<th>Worth{body}</table>")
    assert [column.kind for column in proposal.columns] == ["string", "string"]


def test_what_is_read_of_a_record_does_not_depend_on_its_place_in_the_list() -> None:
    flat = (
        "<div class=flat><h2>{}</h2><p>Near {} road<div><p>{} rooms</div><div><p>By {}</div></div>"
    )
    flats = [
        flat.format(name, name[::-1], number * 7, name[1:]) for number, name in enumerate(NAMES)
    ]
    proposal = proposed(f"<main>{''.join(flats)}</main>")
    for number, column in enumerate(proposal.columns):
        assert [row.values[number] for row in proposal.rows] == list(column.values.values()), column


@pytest.mark.timed
def test_long_rows_of_digits_are_named_at_once() -> None:
    began = time.process_time()
    proposal = proposed(entries(f"<h2>{{name}}</h2><p>{{n}}{'7' * 900}</p>") * 10)
    assert len(proposal.rows) == 10 * len(NAMES)
    assert time.process_time() - began < 0.5


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (("1 time siden", "1 dag siden", "5 timer siden", "2 dager siden"), "string"),
        (("1 km", "3 mi", "12 km", "7 mi"), "string"),
        (("12 EUR", "9 USD", "7 EUR", "3 USD"), "string"),
        (("1 comment", "3 comments", "12 comments", "7 comments"), "number"),
        (("1 отзыв", "2 отзыва", "5 отзывов", "21 отзыв"), "number"),
        (("ab 12", "9", "ab 7", "3"), "number"),
    ],
)
def test_figures_of_different_units_are_texts(texts: tuple[str, ...], kind: str) -> None:
    records = "".join(
        f"<li><h3>{name}</h3><span class=figure>{texts[number % len(texts)]}</span>"
        for number, name in enumerate(NAMES)
    )
    kinds = {column.selector: column.kind for column in proposed(f"<ul>{records}</ul>").columns}
    assert kinds["span.figure"] == kind


def test_an_image_that_a_script_puts_in_later_is_read_from_where_it_stands() -> None:
    def image(position: int) -> str:
        here = "data:image/gif;base64,R0lGOD" if position % 3 else f"/{position}.png"
        return f'<img src="{here}" data-src="/{position}.png">'

    records = "".join(
        f"<li>{image(position)}<h3>{name}</h3>" for position, name in enumerate(NAMES)
    )
    read = [column.attribute for column in proposed(f"<ul>{records}</ul>").columns]
    assert "data-src" in read
    assert "src" not in read
