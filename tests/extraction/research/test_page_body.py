"""A page is kept no longer than an artifact may be: links go first, then text."""

from __future__ import annotations

import pytest
from msgspec import json
from msgspec.structs import replace

from livedata.extraction.research.page_body import LONGEST_BODY, bounded
from livedata.model.research.answers import PageText

LINE = "Acme\t1999"
LINKS = [(f"Maker {at}", f"http://site.test/{at}") for at in range(200)]
SHORT = PageText("http://site.test/", "http://site.test/", 200, "Makers", LINE, LINKS, "0" * 64, 0)


def test_a_page_that_is_short_enough_stays() -> None:
    assert bounded(SHORT) is SHORT


def test_links_go_before_text() -> None:
    page = replace(SHORT, text="\n".join([LINE] * 5_000))
    kept = bounded(page)
    assert kept.text == page.text
    assert kept.links == LINKS[: len(kept.links)]
    assert 0 < len(kept.links) < 200
    assert not kept.cut


@pytest.mark.parametrize("line", [LINE, 'a "quoted" word', "\x01\x02", "工場 1999", "𐍈 \\"])
def test_text_that_is_too_long_ends_with_a_whole_line(line: str) -> None:
    kept = bounded(replace(SHORT, text="\n".join([line] * 60_000)))
    assert kept.cut
    assert kept.links == []
    assert set(kept.text.split("\n")) == {line}
    assert LONGEST_BODY - 100 < len(json.encode(kept)) <= LONGEST_BODY


def test_a_line_that_is_too_long_is_cut_within() -> None:
    kept = bounded(replace(SHORT, text="工" * 60_000))
    assert len(kept.text) > 20_000
    assert kept.cut
    assert len(json.encode(kept)) <= LONGEST_BODY


def test_a_page_with_one_link_too_many_loses_just_that() -> None:
    page = replace(SHORT, text="x" * 40_000)
    room = LONGEST_BODY - len(json.encode(page))
    full = replace(page, text=page.text + "x" * room)
    assert bounded(full) is full
    over = bounded(replace(full, text=full.text + "x"))
    assert (len(over.links), over.cut) == (199, False)
