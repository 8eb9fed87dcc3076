"""Known rows are found again on a page that has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from livedata.extraction.lists.mending import KnownColumn, Mended, Unmended, mend
from livedata.extraction.lists.survey import survey
from tests.extraction.lists.pages import NAMES, cards, page_of, proposed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

BEFORE = f"<ul>{cards()}</ul>"
CHANGES: Mapping[str, Callable[[str], str]] = {
    "classes renamed": lambda page: page.replace("product", "ware").replace("price", "cost"),
    "another tag": lambda page: page.replace("<h2>", "<h4>").replace("</h2>", "</h4>"),
    "wrapped": lambda page: page.replace("<li", "<div class=w><li").replace("</li>", "</li></div>"),
    "moved": lambda page: page.replace("<h2>", "<div><h2>").replace("</button>", "</button></div>"),
    "prices changed": lambda page: page.replace(".50", ".90"),
    "adverts between": lambda page: page.replace("</li>", "</li><li>Buy more!</li>"),
    "no classes": lambda page: page.replace("class=", "data-x="),
    "half of the rows gone": lambda page: page[: page.index('<li class="product item-7')],
}


def mended(change: Callable[[str], str]) -> Mended | Unmended:
    """What is proposed for the rows of the page before a change."""
    before = proposed(BEFORE)
    columns = [
        KnownColumn(column.name, column.kind, column.name in before.key.names)  # type: ignore[union-attr]
        for column in before.columns
    ]
    rows = [row.values for row in before.rows]
    return mend(survey(page_of(change(BEFORE))), columns, rows, len(rows))


@pytest.mark.parametrize("case", CHANGES)
def test_the_key_of_each_row_that_is_still_there_is_read_again(case: str) -> None:
    mending = mended(CHANGES[case])
    assert isinstance(mending, Mended)
    assert mending.rows == (6 if "gone" in case else len(NAMES))


def test_a_page_of_other_rows_is_not_taken_for_a_changed_one() -> None:
    mending = mended(
        lambda _: "".join(f"<li>Chair {number}<i>{number}.50 €</i></li>" for number in range(20))
    )
    assert isinstance(mending, Unmended)


def test_a_title_without_its_number_is_read_again_where_all_numbers_have_changed() -> None:
    def listed(start: int, title: str) -> str:
        records = (
            f"<li class=hit><{title}>{number}. {name}</{title}><i>{len(name)} €</i>"
            for number, name in enumerate(NAMES, start)
        )
        return f"<ul>{''.join(records)}</ul>"

    before = proposed(listed(1, "h3"))
    columns = [KnownColumn(column.name, column.kind, column.main) for column in before.columns]
    rows = [row.values for row in before.rows]
    mending = mend(survey(page_of(listed(3, "h4"))), columns, rows, len(rows))
    assert isinstance(mending, Mended)
    assert mending.rows == len(NAMES)
    read = {field.name: (field.selector, field.attribute) for field in mending.fields}
    assert read["title"] == ("h4", "livedata-unnumbered")
