"""What a person chooses of a proposed declaration is a declaration again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livedata.messages.validation import read
from livedata.model.errors import Invalid
from livedata.model.requests import CreateDataset
from livedata.rules.declaration import consistency
from livedata.rules.declaration.chosen_columns import ChosenColumn, choose
from livedata.rules.network.targets import TargetPolicy
from tests.made import declared

COLUMNS = (
    {"name": "sku", "type": "string", "key": True},
    {"name": "title", "type": "string", "label": "Product"},
    {"name": "price", "type": "number"},
)
PROPOSED = declared(columns=COLUMNS, required=["sku"])


def chosen(key: str = "sku", **titles: str) -> dict[str, Any]:
    kept = [ChosenColumn(name, title) for name, title in titles.items()]
    made = choose(PROPOSED, kept, key.split())
    consistency.check(read(CreateDataset, made), TargetPolicy())
    return made


def test_what_nobody_changes_stays() -> None:
    assert chosen(sku="sku", title="Product", price="price") == PROPOSED


def test_a_column_that_is_not_ticked_goes_with_its_field() -> None:
    made = chosen(sku="sku", price="price")
    assert [column["name"] for column in made["columns"]] == ["sku", "price"]
    assert [field["name"] for field in made["source"]["fields"]] == ["sku", "price"]


@pytest.mark.parametrize(
    ("title", "column"),
    [
        ("cost", {"name": "cost"}),
        ("Preis in €", {"name": "preis_in", "label": "Preis in €"}),
        (" Prix  unitaire ", {"name": "prix_unitaire", "label": "Prix unitaire"}),
        ("Größe", {"name": "groe", "label": "Größe"}),
        ("値段", {"name": "price", "label": "値段"}),
        ("2nd price", {"name": "nd_price", "label": "2nd price"}),
        ("sku", {"name": "sku_2", "label": "sku"}),
    ],
)
def test_a_column_is_called_anew_for_people_and_for_programs(
    title: str, column: dict[str, str]
) -> None:
    made = chosen(sku="sku", price=title)
    assert made["columns"][1] == {**column, "type": "number"}
    assert made["source"]["fields"][1]["name"] == column["name"]
    assert made["source"]["fields"][1]["read"] == {"selector": ".price"}


def test_another_key_is_required_and_named_by_its_new_name() -> None:
    made = chosen("title price", sku="sku", title="Name", price="price")
    assert made["source"]["identity"] == {"kind": "composite", "fields": ["Name", "price"]}
    assert [column.get("key", False) for column in made["columns"]] == [False, True, True]
    assert [field["required"] for field in made["source"]["fields"]] == [True, True, True]


@pytest.mark.parametrize(
    ("key", "titles", "told"),
    [
        ("sku", {}, "columns must be one at least"),
        ("sku", {"title": "Product"}, "sku is the key, or part of it"),
        ("", {"title": "Product"}, "the key must be one of those"),
        ("sku", {"sku": " "}, "the name of sku must not be empty"),
        ("sku", {"sku": "x" * 121}, "the name of sku has more than 120 letters"),
    ],
)
def test_what_is_wrong_is_told(key: str, titles: dict[str, str], told: str) -> None:
    with pytest.raises(Invalid, match=told):
        chosen(key, **titles)


@given(st.lists(st.text(min_size=1, max_size=120), min_size=3, max_size=3))
def test_whatever_columns_are_called_it_can_be_declared(texts: list[str]) -> None:
    titles = dict(zip(("sku", "title", "price"), texts, strict=True))
    if all(text.split() for text in texts) and not any("\0" in text for text in texts):
        try:
            "".join(texts).encode()
        except UnicodeEncodeError:
            return
        chosen(**titles)
