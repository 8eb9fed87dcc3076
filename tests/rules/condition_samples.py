"""Conditions, and what was decided by hand of some revisions."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, Final

_NUMBERS: Final = ("0", "8.5", "20", "20.50", "-1", "1e1", "24.9", "0.3", "19.99")
_TEXTS: Final = ("tea", "Tea", '"green tea"', "TEA pot", '" tea"', "10% off", "Earl Grey")
_DATES: Final = ("2026-03-01", "2026-01-31", "2026-03-01T01:00:00+02:00", "2026-02-28T23:00:00Z")
_SINGLE: Final[list[str]] = [
    *(f"price {sign} {n}" for sign, n in product(("=", "!=", "<", "<=", ">", ">="), _NUMBERS)),
    *(f"stock{sign}{n}" for sign, n in product((">", "<="), ("2", "5"))),
    *(
        f"title {operator} {text}"
        for operator, text in product(("=", "!=", "contains", "starts with", "ends with"), _TEXTS)
    ),
    *(f"due {sign} {date}" for sign, date in product(("=", "!=", "<", ">="), _DATES)),
    *(f"{name} is empty" for name in ("title", "price", "sold", "due", "link", "rowKey")),
    *(f"{name} is not empty" for name in ("title", "price", "sold", "due", "link")),
    *("sold = true", "sold = false", "sold != true", "sold!=false"),
    *("link = https://a.example/tea", "link contains EXAMPLE", "link ends with y=1"),
    *("rowKey = A-1", "rowKey != A-1", "rowKey starts with TEA", "sku = B-2"),
    *(f"{name} changes" for name in ("title", "price", "sold", "due", "link")),
    *("price falls", "price rises", "stock falls", "stock rises"),
    *(f"price falls by {by}" for by in ("0.2", "10", "10%", "50%", "100 %", "0.05%")),
    *(f"price rises by {by}" for by in ("0.2", "10", "10%", "300%")),
    *(f"{name} reaches a new {end}" for name in ("price", "stock") for end in ("low", "high")),
    *("row is new", "row is gone", "row is back"),
]
CLAUSES: Final[list[list[str]]] = [
    *([clause] for clause in _SINGLE),
    *(
        [first, second]
        for first, second in product(
            ("price < 20", "title contains tea", "sold = true", "price is not empty"),
            (
                *("stock > 2", "due >= 2026-03-01", "price falls", "price rises by 10%"),
                *("title changes", "row is new", "row is gone", "row is back"),
                *("price reaches a new low", "link is empty"),
            ),
        )
    ),
    *(
        ["price > 0", "stock > 0", clause]
        for clause in ("sold = true", "price falls", "row is new")
    ),
]
"""Conditions of each operator with each type that it fits, and of several clauses."""

Revision = Mapping[str, Any]


def updated(before: Revision, after: Revision, **more: Any) -> dict[str, Any]:
    """A revision of a row that is there, which has shown what stood before alone."""
    whole = {**before, **after}
    shown = {name: [value] for name, value in before.items()}
    return {"kind": "updated", "before": before, "after": whole, "shown": shown, **_HERE, **more}


def created(after: Revision) -> dict[str, Any]:
    """The first revision of a row."""
    return {"kind": "created", "before": None, "after": after, "shown": {}, **_HERE}


_HERE: Final[Mapping[str, Any]] = {"presence": "present", "key": "A-1"}
_GONE: Final[Mapping[str, Any]] = {"presence": "missing"}
_AS_EVER: Final[Mapping[str, Any]] = {"kind": "missing", **_GONE}
FELL: Final = updated({"price": 24.9}, {"price": 19.5})

SAMPLES: Final[list[tuple[list[str], Revision, bool, str]]] = [
    (["price < 20"], FELL, True, "it becomes true"),
    (["price < 20"], updated({"price": 19}, {"price": 18}), False, "it was true before"),
    (["price < 19.5"], FELL, False, "19.5 is not less than itself"),
    (["price <= 19.5"], FELL, True, "19.5 is as much"),
    (["price < 20"], created({"price": 19}), True, "a new row"),
    (["price < 20"], created({"price": 20}), False, "a new row that is not"),
    (["price < 20"], created({"price": None}), False, "no value is no number"),
    (["price != 20"], created({"price": None}), True, "an empty cell is not 20"),
    (["price != 20"], updated({"price": 20}, {"price": None}), True, "it became something else"),
    (["price = 20"], updated({"price": 19}, {"price": 20.0}), True, "20.0 is 20"),
    (["price is empty"], updated({"price": 20}, {"price": None}), True, "it became empty"),
    (["price is not empty"], updated({"price": None}, {"price": 1}), True, "it got a value"),
    (["title is empty"], updated({"title": "Tea"}, {"title": " "}), True, "nothing but space"),
    (["title = Green tea"], updated({"title": "x"}, {"title": "Green \n tea"}), True, "one space"),
    (["title = green tea"], updated({"title": "x"}, {"title": "Green tea"}), False, "exact"),
    (["title contains TEA"], updated({"title": "x"}, {"title": "Green tea"}), True, "any case"),
    (['title contains " tea"'], updated({"title": "x"}, {"title": "Steam"}), False, "an edge"),
    (['title contains " tea"'], updated({"title": "x"}, {"title": "Green tea"}), True, "the same"),
    (["title starts with green"], updated({"title": "x"}, {"title": "Green"}), True, "whole"),
    (["title ends with tea"], updated({"title": "x"}, {"title": "tea pot"}), False, "not the end"),
    (["title contains tea"], updated({"title": "Tea"}, {"title": None}), False, "empty"),
    (["sold = true"], updated({"sold": False}, {"sold": True}), True, "it became true"),
    (["sold != true"], updated({"sold": True}, {"sold": None}), True, "unknown is not true"),
    (["due < 2026-03-01"], created({"due": "2026-02-28"}), True, "a day before"),
    (["due < 2026-03-01"], created({"due": "2026-03-01"}), False, "that day"),
    (["due < 2026-03-01"], created({"due": "2026-03-01T01:00:00+02:00"}), True, "23 h before"),
    (["due = 2026-03-01"], created({"due": "2026-03-01T00:00:00Z"}), True, "its midnight in UTC"),
    (["due >= 2026-03-01T00:00:00Z"], created({"due": "2026-03-01"}), True, "the same"),
    (["rowKey = A-1"], created({}), True, "the key of the row"),
    (["rowKey = a-1"], created({}), False, "exact"),
    (["rowKey is not empty"], updated({}, {"price": 1}), False, "it always was so"),
    (["price changes"], FELL, True, "another value"),
    (["price changes"], updated({"price": 5}, {}), False, "only the source below an edit moved"),
    (["price changes"], updated({"price": 5}, {"price": None}), True, "none any more"),
    (["price changes"], created({"price": 5}), False, "nothing stood there before"),
    (["price falls"], FELL, True, "lower"),
    (["price falls"], updated({"price": 19.5}, {"price": 24.9}), False, "higher"),
    (["price falls"], updated({"price": 5}, {"price": None}), False, "no number"),
    (["price falls"], updated({"price": None}, {"price": 5}), False, "no number before"),
    (["price falls"], created({"price": 5}), False, "a new row"),
    (["price falls by 5.4"], FELL, True, "24.9 less 19.5 is 5.4, in decimals"),
    (["price falls by 5.41"], FELL, False, "a little less"),
    (["price falls by 10%"], updated({"price": 0.3}, {"price": 0.27}), True, "exactly a tenth"),
    (["price falls by 10%"], updated({"price": 10}, {"price": 9.01}), False, "9.9 %"),
    (["price falls by 10%"], updated({"price": 0}, {"price": -5}), False, "no share of 0"),
    (["price falls by 10%"], updated({"price": -5}, {"price": -50}), False, "nor of less"),
    (["price falls by 10"], updated({"price": 0}, {"price": -10}), True, "a number it is"),
    (["price rises by 100%"], updated({"price": 5}, {"price": 10}), True, "twice as much"),
    (["price rises"], updated({"price": -5}, {"price": -4}), True, "higher"),
    (["price reaches a new low"], FELL, True, "lower than all"),
    (
        ["price reaches a new low"],
        updated({"price": 24.9}, {"price": 19.5}, shown={"price": [19.5, 24.9]}),
        False,
        "it has been as low",
    ),
    (
        ["price reaches a new low"],
        updated({"price": None}, {"price": 3}, shown={"price": [None]}),
        False,
        "a first value",
    ),
    (
        ["price reaches a new low"],
        updated({"price": None}, {"price": 3}, shown={"price": [4, None]}),
        True,
        "lower than what it showed once",
    ),
    (
        ["price reaches a new high"],
        updated({"price": 4}, {"price": 5}, shown={"price": [1, 4]}),
        True,
        "higher than all",
    ),
    (["price reaches a new high"], created({"price": 5}), False, "a new row"),
    (["row is new"], created({}), True, "it is"),
    (["row is new"], FELL, False, "it was there"),
    (["row is gone"], updated({"price": 1}, {}, **_AS_EVER), True, "it is"),
    (["row is gone", "price < 2"], updated({"price": 1}, {}, **_AS_EVER), True, "its last price"),
    (["row is gone", "price > 2"], updated({"price": 1}, {}, **_AS_EVER), False, "the same"),
    (["row is back"], updated({"price": 1}, {}, kind="returned"), True, "it is"),
    (["price < 2"], updated({"price": 1}, {}, kind="returned"), True, "it is back with that"),
    (["price falls"], updated({"price": 3}, {"price": 1}, kind="returned"), True, "back, cheaper"),
    (["price < 2"], updated({"price": 1}, {}, **_AS_EVER), False, "of a row that is gone, nothing"),
    (["price < 2"], updated({"price": 3}, {"price": 1}, **_GONE), False, "an edit of one"),
    (["price changes"], updated({"price": 3}, {"price": 1}, **_GONE), False, "the same"),
    (["row is gone"], updated({"price": 3}, {"price": 1}, **_GONE), False, "it was gone already"),
    (["row is new"], {**created({}), "kind": "baseline"}, False, "it came with an archive"),
    (["price < 2"], {**created({"price": 1}), "kind": "baseline"}, False, "the same"),
    (
        ["price < 20", "stock > 1"],
        updated({"price": 24, "stock": 2}, {"price": 19}),
        True,
        "together they hold now, and did not before",
    ),
    (
        ["price < 20", "stock > 1"],
        updated({"price": 19, "stock": 2}, {"price": 18}),
        False,
        "together they held before",
    ),
    (
        ["price < 20", "stock > 1"],
        updated({"price": 24, "stock": 1}, {"price": 19}),
        False,
        "one does not hold",
    ),
    (
        ["price falls", "stock > 1"],
        updated({"price": 19, "stock": 2}, {"price": 18}),
        True,
        "beside a change they only filter",
    ),
    (
        ["price falls", "stock > 1"],
        updated({"price": 19, "stock": 2}, {"price": 18, "stock": 0}),
        False,
        "after the revision",
    ),
    (["row is new", "price < 10"], created({"price": 9}), True, "new, and cheap"),
    (["row is new", "price changes"], created({"price": 9}), False, "never together"),
]
"""Clauses, a revision, whether it meets them, and why."""
