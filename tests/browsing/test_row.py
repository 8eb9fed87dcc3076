"""A row: its cells with their evidence, edits against the edits of others, and its history."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from selectolax.lexbor import LexborHTMLParser

from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.requests import UpdateDataset
from livedata.services import accounts, datasets, queries
from tests import made
from tests.browsing.world import World
from tests.services.research_table import ResearchTable

if TYPE_CHECKING:
    from werkzeug.test import TestResponse

    from livedata.model.row import RowDetail
    from livedata.store.database.store import Store
    from tests.browsing.visitor import Visitor


class Lamp:
    """The first row of a dataset of Alice, as she sees it."""

    def __init__(self, store: Store, alice: Visitor) -> None:
        self.store, self.alice = store, alice
        self.dataset = made.make_dataset(store, alice.owner)
        made.take(store, self.dataset, owner=alice.owner)
        columns = queries.dataset(store, alice.owner, self.dataset)["columns"]
        self.fields = {column["name"]: column["id"] for column in columns}
        listed = queries.rows(store, alice.owner, self.dataset, 10)[0]
        self.id = next(row["id"] for row in listed if row["rowKey"] == "A1")
        self.path = f"/datasets/{ids.format_uuid(self.dataset)}/rows/{self.id}"

    @property
    def detail(self) -> RowDetail:
        row = ids.RowId(ids.raw_id(self.id))
        return queries.row(self.store, self.alice.owner, self.dataset, row)

    def value(self, name: str) -> object:
        return self.detail["data"][self.fields[name]]

    def save(self, page: str = "", reset: str = "", **texts: str) -> TestResponse:
        """Send the form as it stands on a page, with new texts in some cells, or one reset."""
        page = page or self.alice.get(self.path)
        form = sent(page)
        form |= {f"value-{self.fields[name]}": text for name, text in texts.items()}
        if reset:
            form["reset"] = self.fields[reset]
        return self.alice.client.post(self.path, data=form)


def sent(page: str) -> dict[str, str]:
    """All that a browser sends of the form of a row if nobody has touched it."""
    form = LexborHTMLParser(page).css_first("form.sheet")
    assert form is not None
    fields: dict[str, str] = {}
    for field in form.css("input, textarea, select"):
        name, value = str(field.attributes["name"]), field.attributes.get("value") or ""
        if field.tag == "textarea":
            value = field.text()
        elif field.tag == "select":
            (chosen,) = field.css("option[selected]")
            value = chosen.attributes["value"] or ""
        elif field.attributes.get("type") != "hidden":
            value = value.replace("\n", "").replace("\r", "")
        fields[name] = value.replace("\n", "\r\n")
    return fields


@pytest.fixture
def lamp(store: Store, alice: Visitor) -> Lamp:
    return Lamp(store, alice)


def test_the_page_is_named_once_and_quoted_where_it_says_a_cell_otherwise(
    alice: Visitor, lamp: Lamp, store: Store
) -> None:
    page = alice.get(lamp.path)
    assert page.count(f'href="{made.URL}"') == 1
    (read,) = {each["observedAt"] for each in lamp.detail["observations"]}
    assert re.findall(r'<p class="mark">Read <time datetime="([^"]+)"', page) == [read]
    # What is shown as "yes" stands there as "True"; a title and a price stand there as they are.
    assert re.findall(r"<q><bdi>(.*?)</bdi></q>", page) == ["True"]
    assert "Quotes show how the page says it, where that differs." in page
    # Under a hand edit the text of the source stands there already.
    World(store, "alice").edit(lamp.dataset, "title", "mine")
    assert re.findall(r"<q><bdi>(.*?)</bdi></q>", alice.get(lamp.path)) == ["True"]


def test_a_cell_from_another_page_says_which(alice: Visitor, store: Store) -> None:
    table = ResearchTable(store, alice.owner)
    table.take({"Acme": {"City": "Bern"}})
    table.take({"Acme": {"City": "Basel"}})
    (row,) = queries.every_row(store, alice.owner, table.id)
    path = f"/datasets/{ids.format_uuid(table.id)}/rows/{row['id']}"
    detail = alice.as_json(path)["data"]
    page = alice.get(path)
    others = len({each["id"] for each in detail["observations"]}) - 1
    assert (page.count('<span class="mark">on <a') > 0) == (others > 0)


@pytest.mark.parametrize(
    ("name", "typed", "value"),
    [
        ("title", "Torch", "Torch"),
        ("title", "", None),
        ("title", "one\r\ntwo", "one\ntwo"),
        ("price", "12", 12),
        ("price", "9.50", 9.5),
        ("stock", "false", False),
        ("note", "שלום", "שלום"),
    ],
)
def test_a_cell_is_edited_and_reset(lamp: Lamp, name: str, typed: str, value: object) -> None:
    before = lamp.value(name)
    answer = lamp.save(**{name: typed})
    assert (answer.status_code, answer.location) == (303, lamp.path)
    assert lamp.value(name) == value
    page = lamp.alice.get(lamp.path)
    assert ("edited by hand; the source says" in page) == (name != "note")
    if name != "note":
        assert lamp.save(reset=name).status_code == 303
        assert lamp.value(name) == before


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("name", "typed", "said"),
    [
        ("price", "cheap", "price must be a number such as 12 or 9.50, not"),
        ("stock", "maybe", "stock must be true or false"),
        ("sku", "B9", "identity"),
        ("title", "x" * 40_000, "32"),
    ],
)
def test_what_no_cell_takes_is_refused_and_stays_in_the_form(
    lamp: Lamp, name: str, typed: str, said: str
) -> None:
    before = lamp.detail
    answer = lamp.save(**{name: typed})
    assert answer.status_code == 422
    assert said in answer.text
    assert lamp.detail == before
    if name == "price":
        assert 'value="cheap"' in answer.text


def test_what_is_typed_in_several_cells_is_saved_at_once(lamp: Lamp) -> None:
    assert lamp.save(note="mine").status_code == 303
    answer = lamp.save(title="Torch", price="12", stock="")
    assert (answer.status_code, answer.location) == (303, lamp.path)
    assert [lamp.value(name) for name in ("title", "price", "stock", "note")] == [
        *("Torch", 12, None, "mine")
    ]
    (newest, *_) = lamp.alice.as_json(lamp.path)["changes"]
    assert len(newest["changedFieldIds"]) == 3
    # A reset saves what is typed beside it.
    assert lamp.save(price="13", reset="title").status_code == 303
    assert [lamp.value(name) for name in ("title", "price")] == ["Lamp", 13]


def test_nothing_that_is_typed_is_lost_if_one_cell_is_refused(lamp: Lamp) -> None:
    before = lamp.detail
    answer = lamp.save(title="Torch", price="cheap", stock="false", note="x" * 40_000)
    assert answer.status_code == 422
    assert lamp.detail == before
    again = sent(answer.text)
    typed = [again[f"value-{lamp.fields[name]}"] for name in ("title", "price", "stock", "note")]
    assert typed == ["Torch", "cheap", "false", "x" * 40_000]
    assert lamp.save(answer.text, price="12", note="y").status_code == 303
    assert [lamp.value(name) for name in ("title", "price", "stock", "note")] == [
        *("Torch", 12, False, "y")
    ]


def test_a_concurrent_edit_loses_no_cell_of_the_form(lamp: Lamp, store: Store) -> None:
    page = lamp.alice.get(lamp.path)
    World(store, "alice").edit(lamp.dataset, "title", "Of somebody else")
    answer = lamp.save(page, price="12", note="mine")
    assert answer.status_code == 409
    # Their edit is shown, and is not undone by a cell that nobody has touched here.
    assert "title now says" not in answer.text
    assert lamp.save(answer.text).status_code == 303
    assert [lamp.value(name) for name in ("title", "price", "note")] == [
        *("Of somebody else", 12, "mine")
    ]


STRANGE = [
    "a\nb",
    "a\r\nb\rc",
    " a ",
    "\n",
    "\na",
    "<b>&amp;",
    '"',
    "x" * 100 + "\n",
    "\x0b\x1c\x85",
    "0.10",
]


@pytest.mark.parametrize("text", STRANGE)
def test_a_cell_that_nobody_touched_is_not_edited(lamp: Lamp, store: Store, text: str) -> None:
    World(store, "alice").edit(lamp.dataset, "note", text)
    assert lamp.value("note") == text
    before = lamp.detail
    assert lamp.save().status_code == 303
    assert lamp.detail == before
    assert lamp.save(title="Torch").status_code == 303
    assert lamp.value("note") == text
    assert list(lamp.detail["overrides"]) == [lamp.fields["title"]]


def test_a_row_that_is_too_long_for_one_form_says_where_its_cells_are_edited(
    store: Store, alice: Visitor
) -> None:
    columns: list[dict[str, object]] = [
        {"name": f"t{number}", "type": "string"} for number in range(40)
    ]
    columns[:0] = [{"name": "sku", "type": "string", "key": True}]
    dataset = made.make_dataset(store, "alice", "long", columns)
    texts = {f"t{number}": "é" * 8_000 for number in range(40)}
    made.take(store, dataset, [{"sku": "A1", **texts}], owner="alice")
    (row,) = queries.rows(store, "alice", dataset, 10)[0]
    path = f"/datasets/{ids.format_uuid(dataset)}/rows/{row['id']}"
    page = alice.get(path)
    form = sent(page)
    fields = {
        column["name"]: column["id"]
        for column in queries.dataset(store, "alice", dataset)["columns"]
    }
    assert f"value-{fields['t0']}" in form
    assert f"value-{fields['t39']}" not in form
    assert "livedata rows edit long A1 t39= --owner alice" in page
    form[f"value-{fields['t0']}"] = "short"
    assert alice.client.post(path, data=form).status_code == 303
    (row,) = queries.rows(store, "alice", dataset, 10)[0]
    assert (row["data"][fields["t0"]], row["data"][fields["t39"]]) == ("short", texts["t39"])


def test_a_cell_of_a_column_that_came_after_the_form_is_refused_and_not_lost(
    lamp: Lamp, store: Store
) -> None:
    revision = str(lamp.detail["revisionId"])
    remark = add_column(store, lamp, "remark")
    # The form shows the row at a revision that is older than the column.
    page = lamp.alice.get(lamp.path)
    assert sent(page)["revision"] == revision
    World(store, "alice").edit(lamp.dataset, "title", "Of somebody else")
    answer = lamp.save(page, title="Mine", remark="typed")
    assert answer.status_code == 409
    assert "title now says “Of somebody else”." in answer.text
    assert "remark now" not in answer.text
    assert sent(answer.text)[f"value-{remark}"] == "typed"
    assert lamp.save(answer.text).status_code == 303
    assert [lamp.value(name) for name in ("title", "remark")] == ["Mine", "typed"]


def test_all_that_is_wrong_in_a_form_is_told_at_once(lamp: Lamp, store: Store) -> None:
    for name, kind in (("seen", "date"), ("home", "url")):
        add_column(store, lamp, name, kind)
    before = lamp.detail
    answer = lamp.save(price="abc", seen="notadate", home="nowhere", note="x" * 40_000)
    assert answer.status_code == 422
    said = re.sub("<[^>]+>", "", answer.text)
    for line in (
        "price must be a number such as 12 or 9.50, not &#39;abc&#39;.",
        "note is longer than 32768 characters.",
        "seen must be an ISO date such as 2026-01-31",
        "home must be an absolute http or https address",
    ):
        assert line in said
    assert lamp.detail == before


def add_column(store: Store, lamp: Lamp, name: str, kind: str = "string") -> str:
    """Give the dataset a column of the user; its field."""
    now = queries.dataset(store, lamp.alice.owner, lamp.dataset)
    kept = [{key: column[key] for key in ("id", "name", "type")} for column in now["columns"]]
    columns = [*kept, {"name": name, "type": kind, "ownership": "user"}]
    body = read(UpdateDataset, {"expectedSchemaVersion": now["schemaVersion"], "columns": columns})
    field = datasets.update(store, lamp.alice.owner, lamp.dataset, body)["columns"][-1]["id"]
    lamp.fields[name] = field
    return field


def test_an_edit_of_somebody_else_is_told_and_nothing_is_lost(lamp: Lamp, store: Store) -> None:
    page = lamp.alice.get(lamp.path)
    World(store, "alice").edit(lamp.dataset, "title", "Of somebody else")
    answer = lamp.save(page, title="Mine")
    assert answer.status_code == 409
    assert "has changed since you opened it" in answer.text
    assert "title now says “Of somebody else”." in answer.text
    assert 'value="Mine"' in answer.text
    assert lamp.value("title") == "Of somebody else"
    # The page that was answered knows the new state, so its form is accepted as it stands.
    assert lamp.save(answer.text).status_code == 303
    assert lamp.value("title") == "Mine"


def test_a_form_that_is_sent_twice_writes_once(lamp: Lamp) -> None:
    page = lamp.alice.get(lamp.path)
    before = len(lamp.alice.as_json(lamp.path)["changes"])
    assert [lamp.save(page, title="Torch").status_code for _ in "ab"] == [303, 303]
    (newest, *earlier) = lamp.alice.as_json(lamp.path)["changes"]
    assert (len(earlier), newest["origin"]) == (before, "user")
    assert lamp.alice.get(lamp.path).count("by hand<") == 1


def test_the_history_names_who_changed_what(lamp: Lamp, store: Store) -> None:
    lamp.save(title="Torch")
    page = lamp.alice.get(lamp.path)
    assert "<del>Lamp</del><ins>Torch</ins>" in page
    assert "by hand<" in page
    key = accounts.create_key(store, "alice", "my phone")
    World(store, "alice").edit(lamp.dataset, "title", "Lantern", ids.KeyId(ids.raw_id(key["id"])))
    for path in (lamp.path, f"{lamp.path.partition('/rows')[0]}/changes"):
        assert "by hand, <bdi>my phone</bdi>" in lamp.alice.get(path)


def test_a_number_that_changed_is_plotted(lamp: Lamp, store: Store) -> None:
    first, *others = made.ITEMS
    for price in (11, 9):
        made.take(store, lamp.dataset, [{**first, "price": price}, *others], owner="alice")
    made.take(store, lamp.dataset, others, owner="alice")
    page = lamp.alice.get(lamp.path)
    assert 'aria-label="From 10 to 9; the lowest is 9, the highest 11."' in page


def test_the_history_of_one_cell_stands_alone(lamp: Lamp, store: Store) -> None:
    changed = {**made.ITEMS[0], "price": 12}
    made.take(store, lamp.dataset, [changed, *made.ITEMS[1:]], owner="alice")
    lamp.save(title="mine")
    whole = lamp.alice.as_json(lamp.path)["changes"]
    prices = lamp.alice.as_json(f"{lamp.path}?field={lamp.fields['price']}")["changes"]
    assert [change["sequence"] for change in prices] == [whole[1]["sequence"], whole[2]["sequence"]]
    page = lamp.alice.get(f"{lamp.path}?field={lamp.fields['price']}")
    assert "History of <bdi>price</bdi>" in page
    assert 'aria-label="From 10 to 12' in page
    title = lamp.alice.get(f"{lamp.path}?field={lamp.fields['title']}")
    assert "over time" not in title
    assert "This cell has not changed." in lamp.alice.get(
        f"{lamp.path}?field={lamp.fields['note']}"
    )


def test_a_line_says_that_it_does_not_begin_with_the_row(lamp: Lamp, store: Store) -> None:
    assert "earlier changes" not in lamp.alice.get(lamp.path)
    lamp_now, *others = made.ITEMS
    for price in range(51):
        made.take(store, lamp.dataset, [{**lamp_now, "price": price}, *others], owner="alice")
    newest, oldest = lamp.alice.pages(lamp.path)
    assert "A line covers the changes of its page" in newest
    assert 'aria-label="From 1 to 50' in newest
    assert "A line covers" not in oldest
    assert 'aria-label="From 10 to 0' in oldest


def test_bob_can_neither_see_nor_edit_it(lamp: Lamp, bob: Visitor) -> None:
    bob.get(lamp.path, 404)
    title, revision = f"value-{lamp.fields['title']}", str(lamp.detail["revisionId"])
    form = {title: "x", "revision": revision}
    assert bob.post(lamp.path, bob.token("/"), **form).status_code == 404
    assert lamp.value("title") == "Lamp"


def test_a_form_of_nonsense_is_refused(lamp: Lamp) -> None:
    title = f"value-{lamp.fields['title']}"
    revision = str(lamp.detail["revisionId"])
    for form in (
        {title: "y", "revision": "x"},
        {title: "y", "revision": ""},
        {title: "y", "revision": str(lamp.id)},
        {"reset": lamp.fields["title"], "request": "x" * 500, "revision": revision},
        {"reset": lamp.fields["sku"], "revision": revision},
    ):
        answer = lamp.alice.post(lamp.path, lamp.alice.token("/"), **form)
        assert answer.status_code in {409, 422}, form
    for form in ({f"value-{lamp.id}": "x"}, {"reset": "x"}, {"value-": "x"}):
        answer = lamp.alice.post(lamp.path, lamp.alice.token("/"), **form, revision=revision)
        assert answer.status_code == 400, form
    assert lamp.value("title") == "Lamp"
