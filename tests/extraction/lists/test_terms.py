"""What names a record that has a term of its own, and one that has several."""

from __future__ import annotations

import pytest

from livedata.extraction.lists.keys import Key, titles
from tests.extraction.lists.pages import NAMES, proposed


@pytest.mark.parametrize(("terms", "expected"), [(1, ["term"]), (3, [])])
def test_a_record_is_named_by_its_only_term_and_not_by_the_first_of_several(
    terms: int, expected: list[str]
) -> None:
    proposal = proposed(
        "".join(
            f"<dl class=changes id=s{n * 37 % 101}>"
            + "".join(
                f"<dt>Chapter {(n * 3 + each) % 5}.{each}<dd>What is said of it in {name} {each}"
                for each in range(terms)
            )
            + "</dl>"
            for n, name in enumerate(NAMES)
        )
    )
    assert (proposal.selector, proposal.count) == ("dl.changes", len(NAMES))
    assert "term" in {column.name for column in proposal.columns}
    assert titles(proposal.columns, proposal.values) == expected


def test_a_name_is_read_of_its_cell_where_some_records_have_no_link_around_it() -> None:
    proposal = proposed(
        "<table>"
        + "".join(
            "<tr><td>"
            + (
                f"<b>{name}</b>"
                if number == 4
                else f"<a class=ware href=/w/{number * 7}>{name}</a>"
            )
            + f"<td>To be had in {number % 3} colours</tr>"
            for number, name in enumerate(NAMES)
        )
        + "</table>"
    )
    assert [values[0] for values in proposal.values] == list(NAMES)
    assert proposal.key == Key((proposal.columns[0].name,), "name")


def test_what_is_called_a_name_within_a_line_is_the_key_and_not_the_line() -> None:
    proposal = proposed(
        "".join(
            f"<dl><dt><i>class </i><span class=sig-name>{name}</span>(<em>size</em>, step={number})"
            f"<dd>What is known of the {name}, in {number * 7 % 11} words</dl>"
            for number, name in enumerate(NAMES)
        )
    )
    assert proposal.key == Key(("sig_name",), "name")
    assert titles(proposal.columns, proposal.values) == ["sig_name"]
    assert "term" in [column.name for column in proposal.columns]


def test_what_is_called_a_title_within_a_line_is_the_title_and_an_address_is_none() -> None:
    proposal = proposed(
        "".join(
            f"<div class=entry><p>[{number * 7 % 11}] <span class=title><em>{name}</em>. </span>"
            f"<span class=by>A. Writer. </span><a href=https://{name.split()[0]}.example/>"
            f"https://{name.split()[0]}.example/</a> . </p></div>"
            for number, name in enumerate(NAMES)
        )
    )
    assert titles(proposal.columns, proposal.values) == ["title"]
    texts = {
        column.name: value
        for column, value in zip(proposal.columns, proposal.values[0], strict=True)
    }
    assert texts["title"] == f"{NAMES[0]}."
    assert str(texts["address"]).startswith("https://")
