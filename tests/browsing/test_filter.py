"""The filter of a table: a clause is added by a form, shown in words, and taken away by a link."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, get_args
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livedata.model.dataset import ColumnType
from livedata.rules.conditions.clauses import STATE_OPERATORS, WITHOUT_VALUE
from livedata.rules.conditions.parsing import parse_where, write_clause
from livedata.services.pages import table
from tests import made
from tests.browsing.test_table import all_keys, fields, keys, path_of
from tests.browsing.test_view_files import as_csv
from tests.browsing.world import World

if TYPE_CHECKING:
    from livedata.model.dataset import Column
    from livedata.model.row import Scalar
    from livedata.store.database.store import Store
    from tests.browsing.visitor import Visitor

_CHIP = re.compile(r'<li><bdi>([^<]*)</bdi> <a href="([^"]*)" aria-label="Take away')
_HITS = re.compile(r'<p class="mark" id="hits">(.*?)</p>')
_REFUSAL = re.compile(r'<p class="refusal" id="refusal" role="alert">([^<]*)</p>')
_OPTION = re.compile(r'<option value="([^"]*)"(?: selected)?>([^<]*)</option>')


@pytest.fixture
def shop(store: Store, alice: Visitor) -> str:
    """The path of a dataset of Alice with 40 rows, one of which is gone."""
    return path_of(World(store, alice.owner).shop())


def chips(page: str) -> dict[str, str]:
    """The clauses that a page shows, each with the address without it."""
    return {unescape(words): unescape(to) for words, to in _CHIP.findall(page)}


def hits(page: str) -> str | None:
    """How many rows a page says that there are."""
    match = _HITS.search(page)
    return re.sub("<[^>]*>", "", match[1]) if match else None


def send(visitor: Visitor, path: str, **form: str) -> str:
    """The page that the form of a filter leads to."""
    begin, _, query = path.partition("?")
    sent = urlencode({**parse_qs(query), **form}, doseq=True)
    return visitor.get(f"{begin}?{sent}", follow_redirects=True)


def test_one_submit_adds_one_clause_to_the_address_in_its_language(
    alice: Visitor, store: Store, shop: str
) -> None:
    price = fields(store, shop)["price"]
    form = {"filter": price, "operator": "<", "value": "20", "search": "", "status": ""}
    answer = alice.client.get(f"{shop}?{urlencode(form)}&sort=rowKey&after=x")
    assert answer.status_code == 303
    assert answer.headers["Location"] == f"{shop}?sort=rowKey&where=price+%3C+20"
    page = alice.get(answer.headers["Location"])
    assert [*chips(page)] == ["Price is below 20"]
    assert hits(page) == "16 of 40 rows"
    assert len(keys(page)) == 16


def test_clauses_hold_together_and_each_is_taken_away_by_its_link(
    alice: Visitor, store: Store, shop: str
) -> None:
    column = fields(store, shop)
    page = send(alice, shop, filter=column["price"], operator=">", value="30")
    where = f"{shop}?where=price+%3E+30"
    page = send(alice, where, filter=column["stock"], operator="=", value="yes")
    assert [*chips(page)] == ["Price is above 30", "Stock is yes"]
    both = keys(page)
    assert both == [key for key in keys(alice.get(where)) if int(key[1:]) % 2 == 0]
    assert hits(page) == f"{len(both)} of 40 rows"
    without = {words: alice.get(to) for words, to in chips(page).items()}
    assert [*chips(without["Price is above 30"])] == ["Stock is yes"]
    assert keys(without["Stock is yes"]) == keys(alice.get(where))
    (last,) = chips(without["Stock is yes"]).values()
    assert last == shop


def test_sorting_search_status_paging_and_files_keep_the_clauses(
    alice: Visitor, store: Store
) -> None:
    dataset = made.make_dataset(store, "alice")
    made.take(store, dataset, World(store, "alice").items(300), owner="alice")
    path = path_of(dataset)
    view = f"{path}?where=price+%3E+20&where=stock+%3D+true&search=lamp&status=new"
    page = alice.get(view)
    wanted = [f"K{n:03}" for n in range(300) if n % 5 and n % 2 == 0 and n + 0.5 > 20]
    assert hits(page) == f"{len(wanted)} of 300 rows"
    assert sorted(all_keys(alice, view)) == wanted
    assert sorted(all_keys(alice, f"{view}&sort=rowKey")) == wanted
    for match in re.findall(r'<a href="([^"]*(?:sort=|rel="next"|rows\.)[^"]*)"', page):
        assert parse_qs(urlsplit(unescape(match)).query)["where"] == ["price > 20", "stock = true"]
    for form in re.findall("<form .*?</form>", page, re.DOTALL)[-2:]:
        assert form.count('<input type="hidden" name="where"') == 2
    assert sorted(row[0] for row in as_csv(alice, view.replace(path, f"{path}/rows.csv"))[1:]) == (
        wanted
    )
    assert "--where &#39;price &gt; 20&#39; --where &#39;stock = true&#39;" in page


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("name", "operator", "value", "told"),
    [
        ("price", "<", "cheap", "compares price with 'cheap', which is no number"),
        ("price", "contains", "2", "says 'contains' of price, which is a number"),
        ("title", "contains", "", "names no value behind 'contains'"),
        ("title", "resembles", "tea", "says 'resembles', which is no operator"),
        ("stock", "=", "perhaps", "is neither true nor false"),
        ("", "contains", "tea", "Choose a column."),
    ],
)
def test_a_wrong_clause_is_told_beside_the_form_and_nothing_typed_is_lost(
    alice: Visitor, store: Store, shop: str, name: str, operator: str, value: str, told: str
) -> None:
    column = fields(store, shop).get(name, "")
    kept = f"{shop}?where=price+%3E+36&search=lamp"
    page = send(alice, kept, filter=column, operator=operator, value=value)
    (refusal,) = _REFUSAL.findall(page)
    assert told in unescape(refusal)
    assert re.search('<details [^>]*id="filter"[^>]* open>', page)
    if name != "stock":
        assert f'name="value" value="{value}"' in page
    if name:
        assert f'<option value="{column}" selected>' in page
    assert keys(page) == keys(alice.get(kept))
    assert [*chips(page)] == ["Price is above 36", "contains “lamp”"]


def test_a_wrong_clause_of_the_address_is_shown_to_be_mended_and_taken_away(
    alice: Visitor, shop: str
) -> None:
    page = alice.get(f"{shop}?where=prise+%3C+20&where=price+%3E+36")
    assert "is price meant?" in page
    assert keys(page) == []
    assert 'name="where" value="prise &lt; 20"' in page
    form = page.partition('role="search"')[2]
    assert form.count('<input type="hidden" name="where"') == 1
    assert keys(alice.get(chips(page)["prise < 20"])) == keys(
        alice.get(f"{shop}?where=price+%3E+36")
    )


def test_no_more_clauses_are_added_than_a_condition_has(
    alice: Visitor, store: Store, shop: str
) -> None:
    many = urlencode([("where", f"price != {number}") for number in range(20)])
    assert len(chips(alice.get(f"{shop}?{many}"))) == 20
    price = fields(store, shop)["price"]
    page = alice.get(f"{shop}?{many}&filter={price}&operator=%3C&value=7")
    assert _REFUSAL.findall(page) == ["There are 21 clauses, and a condition has at most 20."]
    assert len(chips(page)) == 20
    assert "has at most 20" in alice.get(f"{shop}?{many}&where=price+%3C+7")


def test_a_column_that_is_chosen_offers_the_operators_of_its_type(
    alice: Visitor, store: Store, shop: str
) -> None:
    column = fields(store, shop)
    offered = {
        name: dict(_OPTION.findall(alice.get(f"{shop}?filter={column[name]}"))).items()
        for name in ("price", "title", "stock")
    }
    assert {("<", "is below …"), (">=", "is … or more"), ("is empty", "is empty")} <= {
        (unescape(value), words) for value, words in offered["price"]
    }
    assert ("contains", "contains …") in offered["title"]
    assert ("contains", "contains …") not in offered["price"]
    assert ("&lt;", "is below …") not in offered["title"]
    assert "<option>yes</option>" in alice.get(f"{shop}?filter={column['stock']}")
    whole = alice.get(shop)
    assert re.findall('<optgroup label="([^"]*)">', whole) == [
        *("Of any cell", "Of a text", "Of a number"),
    ]
    assert "begin at the table again" in alice.get(f"{shop}?filter=nothing", 400)


def test_the_key_of_a_row_is_asked_for_too(alice: Visitor, shop: str) -> None:
    page = send(alice, shop, filter="rowKey", operator="=", value="K007")
    assert [*chips(page)] == ["Key of the row is K007"]
    assert keys(page) == ["K007"]


def test_a_value_that_looks_quoted_is_taken_as_it_was_typed(alice: Visitor, store: Store) -> None:
    dataset = made.make_dataset(store, "alice")
    quoted: dict[str, Scalar] = {"sku": "A", "title": '"Lamp" and more', "price": 1}
    made.take(store, dataset, [quoted, {**quoted, "sku": "B", "title": "Lamp"}], owner="alice")
    path = path_of(dataset)
    title = fields(store, path)["title"]
    page = send(alice, path, filter=title, operator="starts with", value='"Lamp"')
    assert keys(page) == ["A"]


@pytest.mark.parametrize("kind", ["status=gone", "only=stale", "only=unreadable", "search=lamp+1"])
@pytest.mark.parametrize("sort", ["", "&sort=rowKey"])
def test_a_count_says_how_many_rows_there_are(
    alice: Visitor, shop: str, kind: str, sort: str
) -> None:
    page = alice.get(f"{shop}?{kind}{sort}")
    assert hits(page) == f"{len(keys(page))} of 40 rows"
    assert hits(alice.get(shop)) is None


def test_a_count_that_ends_before_the_table_does_says_so(
    alice: Visitor, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = made.make_dataset(store, "alice")
    made.take(store, dataset, World(store, "alice").items(230), owner="alice")
    path = f"{path_of(dataset)}?where=sku+contains+k"
    page = alice.get(path)
    assert hits(page) == "230 of 230 rows"
    monkeypatch.setattr(table, "COUNTED", 1_000)
    told = hits(alice.get(path))
    assert told is not None
    assert re.fullmatch(r"At least \d\d? of 230 rows: .*the others were not counted", told)
    assert keys(alice.get(path)) == keys(page)


def _column(kind: ColumnType) -> Column:
    return {
        "id": "f", "label": "F", "name": "f", "type": kind, "key": False, "ownership": "user",
    }  # fmt: skip


@given(st.text(max_size=200), st.sampled_from(["=", "!=", "contains", "starts with", "ends with"]))
def test_what_is_written_is_read_as_the_same_value(value: str, operator: str) -> None:
    clause = write_clause("f", operator, value)
    columns = [_column("string")]
    inner = " ".join(value.split())
    if not inner and (operator == "=" or operator == "!=" or not value):
        return
    (state,) = parse_where([clause], columns).states
    assert state.operator == operator
    if operator in {"=", "!="}:
        assert state.value == inner
    else:
        (again,) = parse_where([f'f {operator} "{value}"'], columns).states
        assert state.value == again.value


@pytest.mark.parametrize("kind", get_args(ColumnType))
def test_each_operator_of_a_type_is_offered_and_read(kind: ColumnType) -> None:
    value = {"number": "7.5", "date": "2026-03-01", "boolean": "true"}.get(kind, "tea")
    for operator in STATE_OPERATORS[kind]:
        clause = write_clause("f", operator, "" if operator in WITHOUT_VALUE else value)
        (state,) = parse_where([clause], [_column(kind)]).states
        assert state.operator == operator


def test_the_view_leads_to_a_share_and_to_a_notice_of_just_it(
    alice: Visitor, store: Store, shop: str
) -> None:
    column, dataset = fields(store, shop), shop.rpartition("/")[2]
    page = unescape(alice.get(f"{shop}?where=price+%3E+36&where=stock+%3D+true&sort=rowKey"))
    clauses = ["price+%3E+36", "stock+%3D+true"]
    share = "&".join(f"where={clause}" for clause in clauses)
    tell = "&".join(f"when={clause}" for clause in clauses)
    assert f'<a href="{shop}/shares?{share}">Share this view</a>' in page
    assert f'<a href="/notices?dataset={dataset}&{tell}">Be told of this view</a>' in page
    assert "both without Find" not in page
    chosen = unescape(alice.get(f"{shop}?column={column['price']}&search=lamp"))
    columns = "columns=sku&columns=title&columns=price"
    assert f'<a href="{shop}/shares?{columns}">' in chosen
    assert f'<a href="/notices?dataset={dataset}&{columns}">' in chosen
    assert "both without Find, Rows of status and Rows with" in chosen
