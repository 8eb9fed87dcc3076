"""The values of a column beside its table: how many rows have each, and a link to just those."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livedata.model import ids
from livedata.model.errors import Invalid, NotFound
from livedata.model.ids import OwnerName
from livedata.rules.conditions.matching import as_compared, holds
from livedata.rules.conditions.parsing import parse_where
from livedata.services.pages import facets as service
from livedata.services.pages import table
from livedata.services.pages.table import TableQuery
from tests import made
from tests.browsing.test_filter import _column, hits
from tests.browsing.test_table import all_keys, fields, path_of
from tests.browsing.world import World

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from livedata.model.dataset import ColumnType
    from livedata.model.row import Scalar
    from livedata.store.database.store import Store
    from tests.browsing.visitor import Visitor

_VALUE = re.compile(
    r'<li>\s*(?:<a href="([^"]*)">|<span>)(.*?)</(?:a|span)>\s*'
    r'(?:<span class="number"><data value="(\d+)">|</li>)',
    re.DOTALL,
)
NAMES = ["Red lamp", "Blue lamp", '"Lamp"  of oak', "red lamp", "x" * 600, " ", "a, b and c"]


def values(page: str) -> list[tuple[str, int, str | None]]:
    """The values that a page tells: what they say, in how many rows, and the address of those."""
    section = page[page.index('<section class="facets"') :].partition("</section>")[0]
    return [
        (
            " ".join(re.sub("<[^>]*>", "", unescape(said)).split()),
            int(rows or 1),
            unescape(to) or None,
        )
        for to, said, rows in _VALUE.findall(section)
    ]


@pytest.fixture
def lamps(store: Store, alice: Visitor) -> str:
    """The path of a dataset of Alice with 120 rows."""
    dataset = made.make_dataset(store, alice.owner)
    items: list[Mapping[str, Scalar]] = [
        {
            "sku": f"K{n:03}",
            "title": NAMES[n % 7] if n % 11 else None,
            "price": [n / 8, n - 60, 0, None, 1e-7, 99.95][n % 6],
            "stock": [True, False, None][n % 3],
        }
        for n in range(120)
    ]
    made.take(store, dataset, items, owner=alice.owner)
    return path_of(dataset)


@pytest.mark.parametrize("name", ["title", "price", "stock", "note", "sku"])
@pytest.mark.parametrize("query", ["", "where=price+%3E+3", "search=lamp&sort=rowKey"])
def test_each_value_leads_to_just_the_rows_that_have_it(
    alice: Visitor, store: Store, lamps: str, name: str, query: str
) -> None:
    page = alice.get(f"{lamps}?{query}&facet={fields(store, lamps)[name]}")
    told = values(page)
    for said, rows, to in told:
        if to is not None:
            assert len(all_keys(alice, to)) == rows, said
        else:
            assert said.startswith("xxx") or not rows, said
    others = re.search(r'in <data value="(\d+)">\d+</data> rows?</p>', page)
    singles = re.search(r'Each of the <data value="(\d+)">\d+</data> values stands once', page)
    if singles is not None:
        assert all(rows == 1 for said, rows, _ in told if said != "empty")
        told = [("all", int(singles[1]), None), *(each for each in told if each[0] == "empty")]
    assert told
    whole = len(all_keys(alice, f"{lamps}?{query}"))
    assert sum(rows for _, rows, _ in told) + (int(others[1]) if others else 0) == whole
    # All rows are counted by the facts of the table.
    assert hits(page) == (f"{whole} of 120 rows" if query else None)


def test_the_most_frequent_values_stand_first_and_the_empty_ones_last(
    alice: Visitor, store: Store, lamps: str
) -> None:
    told = values(alice.get(f"{lamps}?facet={fields(store, lamps)['title']}"))
    assert [said for said, _, _ in told][-1] == "empty"
    counts = [rows for _, rows, _ in told[:-1]]
    assert counts == sorted(counts, reverse=True)
    assert {"Red lamp", "red lamp", '"Lamp" of oak'} <= {said for said, _, _ in told}


def test_numbers_are_told_in_even_ranges(alice: Visitor, store: Store, lamps: str) -> None:
    price = fields(store, lamps)["price"]
    told = values(alice.get(f"{lamps}?facet={price}"))
    assert told[0][0] == "-60 to below -40"
    assert len(told) <= service.RANGES + 1
    to = told[0][2]
    assert to is not None
    assert parse_qs(urlsplit(to).query)["where"] == ["price >= -60", "price < -40"]
    narrower = values(alice.get(to))
    assert {said for said, _, _ in narrower} == {"-55", "-59", "-53", "-47", "-41"} or narrower
    few = values(alice.get(f"{lamps}?facet={fields(store, lamps)['stock']}"))
    assert [said for said, _, _ in few] == ["no", "yes", "empty"]


def test_the_form_leads_to_the_values_of_the_column_that_is_chosen(
    alice: Visitor, store: Store, lamps: str
) -> None:
    price = fields(store, lamps)["price"]
    form = {"filter": price, "operator": "=", "value": "", "values": "1", "search": "lamp"}
    answer = alice.client.get(f"{lamps}?{urlencode(form)}")
    assert answer.status_code == 303
    assert answer.headers["Location"] == f"{lamps}?search=lamp&facet={price}"
    page = alice.get(answer.headers["Location"])
    assert f'<input type="hidden" name="facet" value="{price}">' in page
    (away,) = re.findall(r'href="([^"]*)">Close the values', page)
    assert "<section" not in alice.get(unescape(away))
    begun = alice.client.get(f"{lamps}?{urlencode({**form, 'value': '7'})}")
    begun_page = alice.get(begun.headers["Location"])
    assert 'name="value" value="7"' in begun_page
    assert "Take away: price" not in begun_page
    nothing = alice.get(f"{lamps}?{urlencode({**form, 'filter': ''})}")
    assert "Choose a column." in nothing
    assert "begin at the table again" in alice.get(f"{lamps}?facet=nothing", 400)


def section_of(page: str) -> str:
    """The part of a page that has the values."""
    return page[page.index('<section class="facets"') :].partition("</section>")[0]


def text_of(markup: str) -> str:
    return " ".join(re.sub("<[^>]*>", "", markup).split())


def test_many_values_that_stand_once_each_are_told_in_a_sentence_beside_a_field_that_finds_one(
    alice: Visitor, store: Store, lamps: str
) -> None:
    sku = fields(store, lamps)["sku"]
    section = section_of(alice.get(f"{lamps}?sort=rowKey&where=price+%3E+-99&facet={sku}"))
    assert "values stands once. Find a value" in text_of(section)
    assert values(section) == []
    assert "<svg" not in section
    assert "other values" not in section
    # The field adds a clause to those of the address, and the values that are left are told.
    sent = [
        (name, unescape(given))
        for name, given in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', section)
    ]
    assert ("where", "price > -99") in sent
    page = alice.get(f"{lamps}?{urlencode([*sent, ('value', 'k01')])}", follow_redirects=True)
    told = [said for said, _, _ in values(page)]
    assert told
    assert all(said.startswith("K01") for said in told)
    assert "SKU contains k01" in text_of(page) or "sku contains k01" in text_of(page)


def test_values_that_are_all_told_are_a_list_without_a_field_though_each_stands_once(
    alice: Visitor, store: Store, lamps: str
) -> None:
    sku = fields(store, lamps)["sku"]
    section = section_of(alice.get(f"{lamps}?where=sku+starts+with+K00&facet={sku}"))
    assert "Each of the 10 values stands once. K000 K001 K002" in text_of(section)
    assert "Find a value" not in section


def test_numbers_that_stand_once_each_are_told_in_fewer_ranges_than_there_are_numbers(
    alice: Visitor, store: Store
) -> None:
    dataset = made.make_dataset(store, alice.owner)
    prices = [6.2, 8.5, 33, 34.9, 49]
    items: list[Mapping[str, Scalar]] = [{"sku": str(each), "price": each} for each in prices]
    made.take(store, dataset, items, owner=alice.owner)
    path = path_of(dataset)
    price = fields(store, path)["price"]
    told = values(alice.get(f"{path}?facet={price}"))
    assert [(said, rows) for said, rows, _ in told] == [
        ("0 to below 10", 2),
        ("10 to below 20", 0),
        ("20 to below 30", 0),
        ("30 to below 40", 2),
        ("40 to below 50", 1),
    ]
    few = values(alice.get(f"{path}?where=price+%3E+30&facet={price}"))
    assert [said for said, _, _ in few] == ["33", "34.9", "49"]
    made.take(store, dataset, [*items, {"sku": "twice", "price": 33}], owner=alice.owner)
    assert next(said for said, _, _ in values(alice.get(f"{path}?facet={price}"))) == "33"


def test_rows_are_counted_once_beside_the_values_and_those_that_are_gone_apart(
    alice: Visitor, store: Store
) -> None:
    dataset = made.make_dataset(store, alice.owner)
    items: list[Mapping[str, Scalar]] = [{"sku": f"K{n}", "stock": True} for n in range(5)]
    for seen in (items, items[:4], items[:4], items[:4]):
        made.take(store, dataset, seen, owner=alice.owner)
    path = path_of(dataset)
    stock = fields(store, path)["stock"]
    page = text_of(alice.get(f"{path}?facet={stock}"))
    assert page.count("4 rows, 1 gone") == 1
    assert "5 rows" not in page
    assert "Close the values yes5 1 gone" in page
    narrowed = alice.get(f"{path}?where=sku+%3D+K4&where=stock+%3D+true&facet={stock}")
    assert hits(narrowed) == "1 of 5 rows, 1 of them gone"


def test_columns_of_few_values_are_offered(alice: Visitor, store: Store, lamps: str) -> None:
    stock = fields(store, lamps)["stock"]
    offered = rf'<a href="{lamps}\?facet={stock}"><bdi>stock</bdi></a>'
    assert len(re.findall(offered, alice.get(lamps))) == 1
    beside = alice.get(f"{lamps}?facet={fields(store, lamps)['price']}")
    assert re.findall(offered, section_of(beside))
    assert not re.findall(offered, section_of(alice.get(f"{lamps}?facet={stock}")))


def test_ranges_tell_how_many_of_their_rows_are_gone(alice: Visitor, store: Store) -> None:
    dataset = made.make_dataset(store, alice.owner)
    items: list[Mapping[str, Scalar]] = [{"sku": f"K{n}", "price": n} for n in range(20)]
    for seen in (items, items[:19], items[:19], items[:19]):
        made.take(store, dataset, seen, owner=alice.owner)
    price = fields(store, path_of(dataset))["price"]
    told = service.facets(store, alice.owner, dataset, TableQuery(), price)
    assert [facet.gone for facet in told.facets] == [0] * 9 + [1]


def test_as_json_it_has_the_same(alice: Visitor, store: Store, lamps: str) -> None:
    path = f"{lamps}?facet={fields(store, lamps)['stock']}"
    answer = json.loads(alice.get(f"{path}&as=json"))["facets"]
    assert [(each["value"], each["rows"]) for each in answer["facets"]] == [
        ("false", 40),
        ("true", 40),
        (None, 40),
    ]
    assert answer["facets"][0]["clauses"] == ["stock = false"]
    assert answer["hits"] == {"rows": 120, "of": 120, "isExact": True}
    assert "facets" not in json.loads(alice.get(f"{lamps}?as=json"))


def test_values_that_are_not_all_counted_say_so(
    alice: Visitor, store: Store, lamps: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "COUNTED", 2_000)
    page = alice.get(f"{lamps}?facet={fields(store, lamps)['stock']}")
    told = hits(page)
    assert told is not None
    assert told.startswith(f"At least {sum(rows for _, rows, _ in values(page))} of 120 rows")


def test_no_value_is_told_of_rows_that_are_not_found(
    alice: Visitor, store: Store, lamps: str
) -> None:
    column = fields(store, lamps)["stock"]
    assert values(alice.get(f"{lamps}?search=nowhere&facet={column}")) == []
    assert "<section" not in alice.get(f"{lamps}?where=prise+%3C+1&facet={column}")


def test_bob_learns_nothing_of_the_values_of_alice(store: Store) -> None:
    dataset = World(store, "alice").shop()
    field = fields(store, path_of(dataset))["price"]
    assert service.facets(store, OwnerName("alice"), dataset, TableQuery(), field).facets
    with pytest.raises(NotFound):
        service.facets(store, OwnerName("bob"), dataset, TableQuery(), field)


def law(kind: ColumnType, cells: Sequence[Scalar]) -> list[service.Facet]:
    """Each cell meets the clauses of one facet, or of none that is told, and they are counted."""
    column = _column(kind)
    counter: Counter[Any] = Counter(as_compared(kind, cell) for cell in cells)
    empty = counter.pop(None, 0)
    told = service._told(column, counter, empty, table.Hits(len(cells), len(cells)), {})
    for facet in told.facets:
        try:
            states = parse_where(facet.clauses, [column]).states
        except Invalid:  # a number that no clause can say
            assert kind == "number"
            continue
        met = sum(holds(states, "", {"f": cell}) for cell in cells)
        assert met == facet.rows, facet
    assert sum(facet.rows for facet in told.facets) + told.other_rows == len(cells)
    ranges = [facet for facet in told.facets if facet.low]
    assert len(ranges) <= service.RANGES
    if ranges:
        assert ranges[0].rows
        assert ranges[-1].rows
    return [*told.facets]


@given(
    st.lists(
        st.floats(allow_nan=False, allow_infinity=False)
        | st.integers(-(2**53), 2**53)
        | st.integers(-20, 20),
        min_size=11,
        max_size=60,
    )
)
def test_ranges_of_numbers_have_each_number_once(cells: list[Scalar]) -> None:
    law("number", cells)


@given(
    st.lists(
        st.dates().map(str)
        | st.datetimes().map(lambda each: each.isoformat())
        | st.just("no date"),
        min_size=11,
        max_size=60,
    )
)
def test_ranges_of_dates_have_each_date_once(cells: list[Scalar]) -> None:
    law("date", cells)


@pytest.mark.parametrize(
    ("days", "least", "most"), [(1, 2, 2), (3, 7, 7), (30, 90, 92), (400, 730, 731)]
)
def test_dates_are_told_by_days_weeks_months_and_years(days: int, least: int, most: int) -> None:
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    told = law("date", [str((begin + timedelta(days=days * n)).date()) for n in range(12)])
    lengths = {
        (datetime.fromisoformat(facet.high) - datetime.fromisoformat(facet.low)).days
        for facet in told
    }
    assert least <= min(lengths) <= max(lengths) <= most
    if most == 7:
        assert datetime.fromisoformat(told[0].low).isoweekday() == 1


def test_a_cell_of_a_dataset_is_read_at_its_own_place(store: Store) -> None:
    dataset = World(store, "alice").shop()
    path = path_of(dataset)
    for name in ("sku", "stock"):
        told = service.facets(
            store, OwnerName("alice"), dataset, TableQuery(), fields(store, path)[name]
        )
        assert told.column["name"] == name
        assert ids.raw_id(told.column["id"])
