"""A list is named by what all its records share, so that an advert among them is none tomorrow."""

from __future__ import annotations

import pytest

from livedata.extraction.lists.groups import groups
from livedata.extraction.lists.identity.narrowing import leaving_out, narrowed
from livedata.extraction.lists.survey import survey
from livedata.extraction.selectors import parse
from tests.extraction.lists.pages import NAMES, page_of, proposed

ADVERT = "<article><h2>Buy our things</h2><p>They are the best of all, and cheap</article>"


def articles(*attributes: str) -> str:
    """An article about each product, with each of these attributes in turn."""
    return "".join(
        f"<article {attributes[number % len(attributes)].format(at=number * 37 % 101)}>"
        f"<h2>{name}</h2><p>What is known of the {name}, in some words</article>"
        for number, name in enumerate(NAMES)
    )


@pytest.mark.parametrize(
    ("attributes", "selector"),
    [
        (("class=offer",), "article.offer"),
        (("class='offer odd'", "class='even offer'"), "article.offer"),
        (("class='py function'", "class='py type'"), "article.py"),
        (("class='py-4 function'", "class='py-4 type'"), "article"),
        (("data-id={at}",), "article[data-id]"),
        (("id=post-{at}",), "article[id]"),
        (("class=3col",), "article.\\33 col"),
        (("class=offer", "class=other"), "article"),
        (("data-shown=1",), "article"),
        (("",), "article"),
    ],
)
def test_a_list_is_named_by_what_all_records_share(
    attributes: tuple[str, ...], selector: str
) -> None:
    proposal = proposed(articles(*attributes))
    assert (proposal.selector, proposal.count) == (selector, len(NAMES))
    tomorrow = page_of(ADVERT + articles(*attributes))
    strangers = 0 if selector != "article" else 1
    assert len(tomorrow.select(parse(proposal.selector))) == len(NAMES) + strangers


@pytest.mark.parametrize(
    ("selector", "expected"), [("ul.ours a", "ul.ours li > a"), ("ul.ours li", "ul.ours li")]
)
def test_links_are_named_by_the_elements_that_they_stand_right_in(
    selector: str, expected: str
) -> None:
    links = f"{''.join(f'<li><a href=/{name}>{name}</a>' for name in NAMES)}<aside>"
    looked = survey(page_of(f"<ul class=ours>{links}</aside></ul>"))
    tag = selector.split()[-1]
    tagged = [number for number, shown in enumerate(looked.signatures) if shown.tag == tag]
    members = tagged[-len(NAMES) :]
    closer = narrowed(looked, selector, members)
    assert closer == expected
    tomorrow = page_of(f"<ul class=ours>{links}<a href=/buy>Buy our things</a></aside></ul>")
    assert len(tomorrow.select(parse(closer))) == len(NAMES)


ROWS = [
    f"<tr><td><a href=/{name}>{name}</a><td>{number * 7 % 11} €<td>Of steel"
    for number, name in enumerate(NAMES)
]
SECTIONS = [
    f"<tr><th colspan=3>Part {number}{''.join(ROWS[number : number + 4])}" for number in (0, 4, 8)
]
HEADED = [f"<tr><th>Name<th>Price<th>Made{ROWS[0]}", *ROWS[1:]]
UNLIKE = [*ROWS[1:], f"<tr><td><a href=/{NAMES[0]}>{NAMES[0]}</a><td colspan=2>Sold out, for now"]


@pytest.mark.parametrize(
    ("rows", "selector", "strangers"),
    [
        (ROWS, 'tr[livedata-cells="3"]', 0),
        (SECTIONS, 'tr[livedata-row="data"][livedata-cells="3"]', 0),
        # Below headers it lacks a column, so that a Run says what is wrong with it.
        (HEADED, 'tr[livedata-row="data"]', 1),
        (UNLIKE, "tr", 1),
    ],
)
def test_rows_are_named_by_their_cells_so_that_an_advert_is_none_tomorrow(
    rows: list[str], selector: str, strangers: int
) -> None:
    proposal = proposed(f"<table>{''.join(rows)}</table>")
    assert (proposal.selector, proposal.count) == (selector, len(NAMES))
    advert = "<tr><td colspan=3><a href=/ad>Buy our things</a>"
    tomorrow = page_of(f"<table>{''.join([*rows, advert])}</table>")
    assert len(tomorrow.select(parse(proposal.selector))) == len(NAMES) + strangers


def leaving(markup: str, selector: str) -> str | None:
    """What matches all that a selector matches, and not what says "Buy"."""
    surveyed = survey(page_of(markup))
    matched = surveyed.page.select(parse(selector))
    kept = {node.mem_id for node in matched if surveyed.page.text(node) != "Buy"}
    records = [number for number, node in enumerate(surveyed.nodes) if node.mem_id in kept]
    return leaving_out(surveyed, selector, records, groups(surveyed))


BOX = "<div class='box'>Of some thing</div>"
LONG = "x" * 600


@pytest.mark.parametrize(
    ("markup", "selector", "expected"),
    [
        (BOX * 5 + "<div class='box ad'>Buy</div>", ".box", 'div[class="box"]'),
        (
            f"<ul id=list>{BOX * 5}<div class='box ad'>Buy</div></ul>{BOX}",
            "#list > .box",
            '#list > div[class="box"]',
        ),
        ("<p class='box a' data-id=1>One" * 4 + "<p class='box ad'>Buy", ".box", ".box[data-id]"),
        (
            "".join(f"<p class=box id=item-{number}>One" for number in (12, 7, 31))
            + "<p class=box id=ad>Buy",
            ".box",
            '.box[id^="item-"]',
        ),
        ("<p class='box real'>One" * 4 + "<p class='box ad'>Buy", ".box", ".box.real"),
        (f"<ul id=list>{BOX * 4}</ul><div class='box'>Buy</div>", ".box", "#list div"),
        # What the records have not, or what is no selector, leaves nobody out.
        (BOX * 5 + "<div class='box'>Buy</div>", ".box", None),
        (BOX * 2 + "<p class='box b'>One" + "<p class='box ad'>Buy", ".box", None),
        (f"<p class='box {LONG}'>One" * 4 + f"<p class='box {LONG} ad'>Buy", ".box", None),
    ],
)
def test_strangers_are_left_out_by_what_the_records_share(
    markup: str, selector: str, expected: str | None
) -> None:
    assert leaving(markup, selector) == expected
