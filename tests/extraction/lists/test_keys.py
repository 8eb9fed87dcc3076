"""Which column tells the records apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from livedata.extraction.lists.columns import Column
from livedata.extraction.lists.keys import Key, NoKey, find_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def key(**columns: Sequence[str | None]) -> tuple[str, ...] | Mapping[str, str]:
    """The names of the key, or why there is none; `link` is an address and `id` the record's."""
    made = [
        Column(
            name,
            "" if name == "id" else "a",
            {"link": "href", "id": "id"}.get(name),
            "number" if name == "price" else "string",
            {at: value for at, value in enumerate(values) if value},
        )
        for name, values in columns.items()
    ]
    found = find_key(made, list(zip(*columns.values(), strict=True)))
    return found.names if isinstance(found, Key) else found.reasons


A, B, C = "https://a.example/1", "https://a.example/2", "https://a.example/9"


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"title": ["x", "y", "z"], "link": [A, B, C]}, ("link",)),
        ({"title": ["x", "y", "z"], "sku": ["K1", "K4", "K9"]}, ("sku",)),
        ({"title": ["x", "y", "z"], "link": [A, A, C]}, ("title",)),
        ({"title": ["x", "y", "z"], "id": ["row_0", "row_1", "row_2"]}, ("title",)),
        ({"title": ["x", "y", "z"], "id": ["p_7", "p_3", "p_9"]}, ("id",)),
        ({"place": ["1.", "2.", "3."], "title": ["x", "y", "z"]}, ("title",)),
        ({"title": ["x", "x", "z"], "city": ["a", "b", "b"]}, ("title", "city")),
        ({"text": ["y" * 150, "x", "z"], "city": ["a", "b", "c"]}, ("city",)),
        ({"link": [f"{A}?sid=1", f"{A}?sid=2", B], "sku": ["K1", "K4", "K9"]}, ("sku",)),
    ],
)
def test_the_key_is_what_will_change_the_least(
    columns: Mapping[str, Sequence[str]], expected: tuple[str, ...]
) -> None:
    assert key(**columns) == expected


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"title": ["x", None, "z"]}, {"title": "not_filled"}),
        ({"title": ["x", "x", "x"]}, {"title": "not_unique"}),
        ({"posted": ["2 hours ago", "3 hours ago", "5 hours ago"]}, {"posted": "dated"}),
        ({"price": ["1", "2", "3"]}, {}),
        ({}, {}),
    ],
)
def test_without_a_key_each_near_one_has_its_reason(
    columns: Mapping[str, Sequence[str | None]], why: Mapping[str, str]
) -> None:
    assert key(**columns) == why


def test_no_rows_have_no_key() -> None:
    assert find_key([], []) == NoKey({})
