"""One column is edited in several rows at once: told before, saved once, undone the same way."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import dataclass, field
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect
from werkzeug.datastructures import MultiDict

from livedata.model import ids
from livedata.services import queries
from livedata.services.audit.check import check_store
from tests import made
from tests.api.serving import Serving
from tests.browsing.chromium import looking
from tests.browsing.test_table import path_of
from tests.browsing.visitor import Visitor

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser
    from werkzeug.test import TestResponse

    from livedata.model.row import Scalar
    from livedata.store.database.store import Store

_INPUT = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)">')


@dataclass
class Shop:
    """Three rows of Alice, whose browser edits them together."""

    alice: Visitor
    store: Store
    dataset: ids.DatasetId = field(init=False)

    def __post_init__(self) -> None:
        self.dataset = made.make_dataset(self.store, "alice")
        made.take(self.store, self.dataset, owner="alice")

    @property
    def path(self) -> str:
        return f"{path_of(self.dataset)}/edits"

    @property
    def ids(self) -> list[str]:
        return [row["id"] for row in self.rows]

    @property
    def rows(self) -> list[Any]:
        every = queries.every_row(self.store, self.alice.owner, self.dataset)
        return sorted(every, key=lambda row: row["rowKey"])

    def field(self, name: str) -> str:
        columns = queries.dataset(self.store, self.alice.owner, self.dataset)["columns"]
        return next(column["id"] for column in columns if column["name"] == name)

    def cells(self, name: str) -> list[Scalar]:
        return [row["data"][self.field(name)] for row in self.rows]

    def edited(self) -> dict[str, set[str]]:
        return queries.edited_cells(self.store, self.alice.owner, self.dataset)

    def head(self) -> int:
        return len(self.alice.as_json(f"{path_of(self.dataset)}/changes")["data"])

    def ask(self, name: str, act: str, value: str = "", chosen: list[str] | None = None) -> Any:
        """Choose rows, all if none are named, and see what an act would change."""
        chosen = self.ids if chosen is None else chosen
        token = self.alice.token(f"{self.path}?row={chosen[0]}")
        form = [("token", token), *(("row", row) for row in chosen)]
        form += [("field", self.field(name)), ("act", act), ("value", value)]
        return self.send(form)

    def confirm(self, answer: TestResponse) -> TestResponse:
        """Press the button that saves what was told."""
        (form,) = re.findall(r'<form[^>]+aria-label="Save">(.*?)</form>', answer.text, re.DOTALL)
        return self.send([*_fields(form), ("confirm", "1")])

    def undo(self, page: str) -> TestResponse:
        """Press the button that undoes an edit."""
        (form,) = re.findall(r'<form[^>]+aria-label="Undo">(.*?)</form>', page, re.DOTALL)
        return self.send([*_fields(form), ("act", "undo")])

    def send(self, form: list[tuple[str, str]]) -> TestResponse:
        return self.alice.client.post(self.path, data=MultiDict(form))


def _fields(form: str) -> list[tuple[str, str]]:
    return [(name, unescape(value)) for name, value in _INPUT.findall(form)]


@pytest.fixture
def shop(alice: Visitor, store: Store) -> Shop:
    return Shop(alice, store)


@pytest.mark.parametrize(
    ("name", "act", "value", "expected", "told"),
    [
        ("price", "set", "10", [10, 10, 10], "2 of 3 rows would change"),
        ("price", "clear", "", [None, None, None], "2 of 3 rows would change"),
        ("note", "set", "seen", ["seen", "seen", "seen"], "3 of 3 rows would change"),
        ("stock", "set", "true", [True, True, True], "1 of 3 rows would change"),
    ],
)
def test_rows_are_edited_together_as_it_was_told_before(
    shop: Shop, name: str, act: str, value: str, expected: list[Scalar], told: str
) -> None:
    before, head = shop.cells(name), shop.head()
    asked = shop.ask(name, act, value)
    assert asked.status_code == 200
    assert told in re.sub("<[^>]+>", "", asked.text)
    assert (shop.cells(name), shop.head()) == (before, head)
    saved = shop.confirm(asked)
    assert saved.status_code == 303
    assert shop.cells(name) == expected
    # One revision a row, and none of a row that said so already.
    assert shop.head() == head + sum(
        each != now for each, now in zip(before, expected, strict=True)
    )
    undone = shop.undo(shop.alice.get(saved.location))
    assert undone.status_code == 303
    assert shop.cells(name) == before
    assert shop.edited() == {}
    again = shop.undo(shop.alice.get(undone.location))
    assert again.status_code == 303
    assert shop.cells(name) == expected
    assert check_store(shop.store).problems == []


def test_edits_are_reset_together_and_come_back_by_undo(shop: Shop) -> None:
    shop.confirm(shop.ask("title", "set", "mine", shop.ids[:2]))
    assert shop.cells("title") == ["mine", "mine", "Mug"]
    asked = shop.ask("title", "reset")
    assert "2 of 3 rows would change" in re.sub("<[^>]+>", "", asked.text)
    assert "1 follows the source already" in re.sub("<[^>]+>", "", asked.text)
    saved = shop.confirm(asked)
    assert shop.cells("title") == ["Lamp", "Chair", "Mug"]
    assert shop.edited() == {}
    shop.undo(shop.alice.get(saved.location))
    assert shop.cells("title") == ["mine", "mine", "Mug"]
    assert shop.edited().keys() == set(shop.ids[:2])


def test_who_clicks_twice_edits_and_undoes_once(shop: Shop) -> None:
    asked, head = shop.ask("note", "set", "seen"), shop.head()
    first, second = shop.confirm(asked), shop.confirm(asked)
    assert first.location == second.location
    assert shop.head() == head + 3
    page = shop.alice.get(first.location)
    assert shop.undo(page).location == shop.undo(page).location
    assert shop.head() == head + 6


def test_an_edit_is_undone_and_done_again_as_often_as_one_likes(shop: Shop) -> None:
    page = shop.confirm(shop.ask("price", "set", "7", shop.ids[:1])).location
    for turn in range(30):
        assert shop.cells("price")[0] == (10 if turn % 2 else 7)
        page = shop.undo(shop.alice.get(page)).location


def test_if_a_row_has_changed_meanwhile_nothing_is_saved_and_it_is_told_anew(shop: Shop) -> None:
    asked = shop.ask("price", "set", "7")
    shop.confirm(shop.ask("note", "set", "other", shop.ids[1:2]))
    head = shop.head()
    refused = shop.confirm(asked)
    assert refused.status_code == 409
    assert "nothing was saved" in refused.text
    assert shop.head() == head
    assert shop.confirm(refused).status_code == 303
    assert shop.cells("price") == [7, 7, 7]


def test_what_has_changed_since_an_edit_is_not_undone(shop: Shop) -> None:
    saved = shop.confirm(shop.ask("price", "set", "7"))
    shop.confirm(shop.ask("price", "set", "8", shop.ids[:1]))
    page = shop.alice.get(saved.location)
    assert "1 of them changed since" in re.sub("<[^>]+>", "", page)
    shop.undo(page)
    assert shop.cells("price") == [8, 25.5, None]


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("name", "act", "value", "code", "said"),
    [
        ("price", "set", "cheap", 422, "price must be a number such as 12 or 9.50"),
        ("price", "set", "", 422, "Give price a value, or choose Clear"),
        ("title", "set", "x" * 40_000, 422, "longer than 32768 characters"),
        ("sku", "set", "B9", 400, "no such column"),
        ("title", "delete", "", 400, "no such column"),
    ],
)
def test_what_no_cell_takes_is_refused_and_stays_in_the_form(
    shop: Shop, name: str, act: str, value: str, code: int, said: str
) -> None:
    before, head = shop.rows, shop.head()
    answer = shop.ask(name, act, value)
    assert answer.status_code == code
    assert said in unescape(answer.text)
    assert (shop.rows, shop.head()) == (before, head)
    if code == 422:
        assert f'value="{value}"' in answer.text


@pytest.mark.parametrize("row", ["x", "01890000-0000-7000-8000-000000000000"])
def test_rows_that_are_not_there_are_left_out_or_refused(shop: Shop, row: str) -> None:
    page = shop.alice.get(f"{shop.path}?row={row}", 400 if row == "x" else 200)
    assert "choose the rows again" in page or "No row is chosen" in page
    assert "100 rows are edited at once" in shop.alice.get(f"{shop.path}?{'row=x&' * 101}", 400)
    assert "no such edit" in shop.alice.get(f"{shop.path}?row={shop.ids[0]}&done=x", 404)


def test_bob_edits_and_undoes_nothing_of_alice(shop: Shop, bob: Visitor) -> None:
    saved = shop.confirm(shop.ask("price", "set", "7"))
    bob.get(saved.location, 404)
    mine = made.make_dataset(shop.store, "bob")
    made.take(shop.store, mine, owner="bob")
    path = f"{path_of(mine)}/edits"
    assert "No row is chosen" in bob.get(f"{path}?row={shop.ids[0]}")
    form = [("token", bob.token(path_of(mine))), ("row", shop.ids[0]), ("act", "undo")]
    done = dict(re.findall("(done)=([^&]+)", saved.location))["done"]
    answer = bob.client.post(path, data=MultiDict([*form, ("done", done)]))
    assert answer.status_code == 404
    assert shop.cells("price") == [7, 7, 7]


def test_rows_are_chosen_in_the_table_in_a_column_of_their_own(shop: Shop) -> None:
    page = shop.alice.get(path_of(shop.dataset))
    assert 'type="checkbox" form="chosen"' not in page
    (choose,) = re.findall(r'href="([^"]+)">Edit rows</a>', page)
    page = shop.alice.get(unescape(choose))
    boxes = r'<td class="pick"><label><input [^>]*name="row" value="([^"]+)"( checked)?>'
    assert sorted(re.findall(boxes, page)) == [(row, "") for row in sorted(shop.ids)]
    assert ">Choose Lamp (A1)</span></label></td><th scope=" in page
    (every,) = re.findall(r'<a href="([^"]+)">Choose all 3 shown</a>', page)
    page = shop.alice.get(unescape(every))
    assert sorted(re.findall(boxes, page)) == [(row, " checked") for row in sorted(shop.ids)]
    (nothing,) = re.findall(r'<a href="([^"]+)">Choose none</a>', page)
    page = shop.alice.get(unescape(nothing))
    assert sorted(re.findall(boxes, page)) == [(row, "") for row in sorted(shop.ids)]


def test_what_the_chosen_rows_say_is_shown_before_anything_is_asked(shop: Shop) -> None:
    shop.confirm(shop.ask("note", "set", "seen", shop.ids[:1]))
    page = shop.alice.get(f"{shop.path}?row={shop.ids[0]}&row={shop.ids[1]}")
    told = re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", page.partition("<tbody>")[2]))
    assert told.startswith(" Lamp A1 Lamp 10 yes seen Chair B2 Chair 25.5 no empty ")


def test_an_edit_tells_of_each_row_what_stands_there_now_and_then(shop: Shop) -> None:
    asked = shop.ask("price", "set", "10").text
    rows = re.findall(r'data-label="now">(.*?)</td><td data-label="then">(.*?)</td>', asked)
    said = [[re.sub("<[^>]+>", "", side) for side in sides] for sides in rows]
    # Those that change come first.
    assert said == [["25.5", "10"], ["empty", "10"], ["10", "as it is"]]
    assert "1 says that already" in re.sub("<[^>]+>", "", asked)


def test_where_no_row_is_chosen_they_are_chosen_in_the_table(shop: Shop) -> None:
    to = f"{path_of(shop.dataset)}?edit=rows"
    answer = shop.alice.client.get(shop.path)
    assert (answer.status_code, answer.location) == (303, to)
    assert "0 rows chosen. Tick the rows to edit</span>. To edit one cell" in shop.alice.get(to)
    # One that is not there leads there too.
    main = shop.alice.get(f"{shop.path}?row={ids.format_uuid(shop.dataset)}").partition("<main")[2]
    said = main.partition("<h2>Edit rows</h2>")[2].partition("</main>")[0]
    assert re.findall(r'href="([^"]*)"', said) == [to]
    assert said.count("<p>") == 1


def test_all_that_are_chosen_at_once_are_not_gone_and_one_that_is_gone_is_marked(
    shop: Shop,
) -> None:
    for _ in range(3):
        made.take(shop.store, shop.dataset, made.ITEMS[:2], owner="alice")
    page = shop.alice.get(f"{path_of(shop.dataset)}?edit=all")
    assert page.count('name="row"') == 3
    assert len(re.findall(r'name="row" value="[^"]+" checked', page)) == 2
    assert "Choose all 2 shown" in shop.alice.get(f"{path_of(shop.dataset)}?edit=rows")
    every = "&".join(f"row={row}" for row in shop.ids)
    marked = re.findall(
        r"<bdi>(\w+)</bdi></small></a> <span class=.fresh gone.>gone<",
        shop.alice.get(f"{shop.path}?{every}"),
    )
    assert marked == ["C3"]
    asked = shop.ask("price", "set", "10").text
    assert asked.count('<span class="fresh gone">gone</span>') == 1


def test_the_column_that_is_edited_is_marked(shop: Shop) -> None:
    page = shop.alice.get(f"{shop.path}?row={shop.ids[0]}")
    (chosen,) = re.findall(r'<col data-field="([^"]+)" class="chosen">', page)
    assert chosen == shop.field("title")


@pytest.mark.slow
@pytest.mark.sqlite
def test_the_box_in_the_header_chooses_all_rows_that_are_shown(
    browser: Browser, tmp_path: Path
) -> None:
    with closing(made.make_store(tmp_path)) as store:
        made.take(store, dataset := made.make_dataset(store))
        with Serving(tmp_path) as server:
            base = f"http://127.0.0.1:{server.port}"
            with looking(browser, base, store) as visit:
                page = visit.open(f"{path_of(dataset)}?edit=rows")
                every = page.get_by_label("Choose all shown")
                expect(page.get_by_role("button", name="Edit the ticked rows")).to_be_disabled()
                page.get_by_label("Choose Lamp").check()
                expect(every).to_be_checked(indeterminate=True)
                expect(page.get_by_role("button", name="Edit 1 row")).to_be_visible()
                every.check()
                expect(page.get_by_label("Choose Mug")).to_be_checked()
                page.get_by_label("Choose Mug").uncheck()
                page.get_by_role("button", name="Edit 2 rows").click()
                expect(page.get_by_role("heading", name="Edit 2 rows")).to_be_visible()
    assert (visit.elsewhere, visit.complaints) == ([], [])
