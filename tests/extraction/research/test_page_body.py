"""A page is kept in pieces no longer than an artifact may be, and loses nothing by that."""

from __future__ import annotations

import pytest
from msgspec import json
from msgspec.structs import replace

from livedata.extraction.page_lines import LONGEST_BODY, pieces
from livedata.model.research.answers import PageText

LINE = "Acme\t1999"
LINKS = [(f"Maker {number}", f"http://site.test/{number}") for number in range(200)]
SHORT = PageText("http://site.test/", "http://site.test/", 200, "Makers", LINE, LINKS, "0" * 64, 0)


def cut(page: PageText) -> list[PageText]:
    """The pieces of a page, which together are the page."""
    kept = list(pieces(page))
    assert "".join(piece.text for piece in kept) == page.text
    assert [link for piece in kept for link in piece.links] == page.links
    assert all(
        replace(piece, text="", links=[]) == replace(page, text="", links=[]) for piece in kept
    )
    return kept


def test_a_page_that_is_short_enough_is_one_piece() -> None:
    assert cut(SHORT) == [SHORT]
    assert cut(replace(SHORT, text="", links=[])) == [replace(SHORT, text="", links=[])]


def test_links_stand_where_the_text_leaves_room() -> None:
    first, second = cut(replace(SHORT, text="\n".join([LINE] * 5_000)))
    assert 0 < len(first.links) < 200
    assert second.text == ""


@pytest.mark.parametrize("line", [LINE, 'a "quoted" word', "\x01\x02", "工場 1999", "𐍈 \\"])
def test_a_long_text_is_cut_after_whole_lines(line: str) -> None:
    page = replace(SHORT, text="\n".join([line] * 60_000))
    kept = cut(page)
    assert len(kept) > 5
    assert set("".join(piece.text for piece in kept).split("\n")) == {line}
    assert all(piece.text.endswith(f"{line}\n") for piece in kept[:-1])
    sizes = [len(json.encode(piece)) for piece in kept]
    assert max(sizes) <= LONGEST_BODY
    assert min(sizes[:-1]) > LONGEST_BODY - 100


def test_a_line_that_is_too_long_is_cut_within() -> None:
    kept = cut(replace(SHORT, text="工" * 60_000))
    assert len(kept[0].text) > 20_000
    assert all(len(json.encode(piece)) <= LONGEST_BODY for piece in kept)


def test_an_address_that_leaves_no_room_makes_pieces_that_are_too_long_and_not_endless() -> None:
    assert len(cut(replace(SHORT, final_url="http://site.test/" + "x" * LONGEST_BODY))) == 2
