"""Which column names the rows of a dataset, and how a row is called by it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from livedata.model.dataset import Column
from livedata.model.errors import Invalid
from livedata.model.row import Scalar
from livedata.model.row_name import LONGEST_NAME, label_of, name_row
from livedata.rules.declaration.consistency import chosen_label

SHOP = "sku:string:key price:number title:string blurb:string note:string:user seen:date:user"
RESEARCH = "name:string:key evidence:string source:url maker:string"


def columns(written: str) -> list[Column]:
    """Columns as ``name:type``, with ``:key`` and ``:user``; the id of each is its name."""
    return [_column(*each.split(":")) for each in written.split()]


def _column(name: str, kind: str, *said: str) -> Column:
    return {
        "id": name,
        "label": name.title(),
        "ownership": "user" if "user" in said else "collected",
        "name": name,
        "type": kind,  # type: ignore[typeddict-item]
        "key": "key" in said,
    }


@pytest.mark.parametrize(
    ("written", "chosen", "label"),
    [
        # The first collected text that is no part of the key.
        (SHOP, None, "title"),
        ("sku:string:key blurb:string title:string", None, "blurb"),
        ("note:string:user sku:string:key title:string", None, "title"),
        ("brand:string:key model:string:key price:number", None, None),
        ("sku:string:key price:number stock:boolean", None, None),
        ("sku:string:key note:string:user", None, None),
        ("id:number:key title:string", None, "title"),
        # What the owner has chosen, as long as it is a text that may name rows.
        (SHOP, "blurb", "blurb"),
        (SHOP, "note", "note"),
        (SHOP, "isbn", "title"),
        (SHOP, "price", "title"),
        (SHOP, "sku", "title"),
        (SHOP, "seen", "title"),
        # Rows of research keep the name that they are found by.
        (RESEARCH, None, "name"),
        (RESEARCH, "maker", "name"),
    ],
)
def test_rows_are_named_by_the_chosen_text_or_by_the_first_of_the_source(
    written: str, chosen: str | None, label: str | None
) -> None:
    assert label_of(columns(written), chosen) == label


@pytest.mark.parametrize(
    ("key", "text", "name", "beside"),
    [
        ("A1", "Lamp", "Lamp", "A1"),
        ("A1", "  A \n  lamp\t of oak ", "A lamp of oak", "A1"),
        ("A1", None, "A1", ""),
        ("A1", "", "A1", ""),
        ("A1", " \n", "A1", ""),
        ("Lamp", "Lamp", "Lamp", ""),
        ("lamp", "Lamp", "Lamp", "lamp"),
        # The type of a column may have been another once; a number is no name.
        ("A1", 12, "A1", ""),
        ("A1", True, "A1", ""),
        ("A1", "x" * LONGEST_NAME, "x" * LONGEST_NAME, "A1"),
        ("A1", "x" * (LONGEST_NAME + 1), "x" * (LONGEST_NAME - 1) + "…", "A1"),
        ("A1", f"{'y ' * 40_000}", ("y " * 60)[:-1] + "…", "A1"),
        ("k" * 500, None, "k" * 500, ""),
        # The key of an entity is a digest, which tells a reader nothing.
        (f"entity:{'0' * 64}", "Ada Lovelace", "Ada Lovelace", ""),
        (f"entity:{'0' * 64}", None, f"entity:{'0' * 64}", ""),
        ("entity:12", "A thing", "A thing", "entity:12"),
    ],
)
def test_a_row_is_called_by_its_text_on_one_line_and_else_by_its_key(
    key: str, text: Scalar, name: str, beside: str
) -> None:
    row = name_row(key, {"title": text, "price": 3}, "title")
    assert (row.name, row.beside, row.key) == (name, beside, key)
    assert row.row == (beside or name)


def test_a_row_without_a_label_or_without_its_cell_is_called_by_its_key() -> None:
    assert str(name_row("A1", {"title": "Lamp"}, None)) == "A1"
    assert str(name_row("A1", {}, "title")) == "A1"


def test_a_text_tells_the_key_in_parentheses_where_it_says_more() -> None:
    assert str(name_row("A1", {"title": "Lamp"}, "title")) == "Lamp (A1)"
    assert str(name_row("A1", {"title": "A1"}, "title")) == "A1"


@pytest.mark.parametrize(
    ("written", "given", "told"),
    [
        (SHOP, "titel", "There is no column 'titel'. There is: sku, price, title, b"),
        (SHOP, "sku", "sku is a part of the key, which stands beside each name already; choose a "),
        (SHOP, "price", "price is a number column, and rows are named by text; choose a text"),
        (SHOP, "seen", "seen is a date column, and rows are named by text; choose a text column: "),
        (SHOP, "price", "choose a text column: title, blurb, note."),
        ("sku:string:key price:number", "price", "rows are named by text; there is none."),
        ("sku:string:key note:string:user", "sku", "already; choose a text column: note."),
        (RESEARCH, "maker", "Rows of research are named by what was found; no column is chosen."),
    ],
)
def test_a_column_that_cannot_name_rows_is_refused_in_one_sentence(
    written: str, given: str, told: str
) -> None:
    with pytest.raises(Invalid) as refused:
        chosen_label(columns(written), given)
    assert told in str(refused.value)
    assert [detail.path for detail in refused.value.details] == ["labelColumn"]


@pytest.mark.parametrize("given", ["note", "blurb", "title"])
def test_any_other_text_column_may_name_rows(given: str) -> None:
    shop: Sequence[Column] = columns(SHOP)
    assert chosen_label(shop, given)["name"] == given
