"""The settings of a dataset: what was typed is saved once, or stays in the form with the reason."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.requests import UpdateDataset
from livedata.services import datasets, queries, runs
from livedata.services.research.declaring import ResearchDeclaration, add_draft
from tests import made
from tests.services.research_table import PLAN

if TYPE_CHECKING:
    from flask import Flask

    from livedata.model.dataset import Dataset
    from livedata.model.ids import DatasetId
    from livedata.store.database.store import Store
    from tests.browsing.visitor import Visitor

_FIELD = re.compile(
    r'<input (?:id="[^"]*" )?(?:type="hidden" )?name="([^"]+)" value="([^"]*)"'
    r'|<textarea id="[^"]*" name="([^"]+)"[^>]*>\n([^<]*)</textarea>'
    r'|<select id="[^"]*" name="([^"]+)"[^>]*>(.*?)</select>',
    re.DOTALL,
)
_CHOSEN = re.compile(r'<option(?: value="([^"]*)")? selected>([^<]*)')
_FIRST = re.compile(r'<option(?: value="([^"]*)")?>([^<]*)')


@pytest.fixture
def dataset(store: Store, alice: Visitor) -> DatasetId:
    """A dataset of Alice with rows."""
    raw = made.make_dataset(store, alice.owner)
    made.take(store, raw, owner=alice.owner)
    return raw


def path_of(dataset: DatasetId) -> str:
    return f"/datasets/{ids.format_uuid(dataset)}"


def form_of(page: str, action: str) -> dict[str, str]:
    """What a browser sends of a form of a page if nobody types anything."""
    ((inside),) = re.findall(rf'<form [^>]*action="{action}">(.*?)</form>', page, re.DOTALL)
    fields = {}
    for match in _FIELD.finditer(inside):
        name = match[1] or match[3] or match[5]
        if match[5]:
            chosen = _CHOSEN.search(match[6]) or _FIRST.search(match[6])
            assert chosen is not None
            text = chosen[2] if chosen[1] is None else chosen[1]
        else:
            text = match[2] if match[1] else match[4]
        fields[name] = unescape(text)
    return fields


class Browser:
    """One of several browsers of a person: it has opened the settings, and sends their forms."""

    def __init__(self, visitor: Visitor, dataset: DatasetId) -> None:
        self.visitor, self._path = visitor, path_of(dataset)
        self.page = visitor.get(f"{self._path}/settings")

    def send(self, form: str, code: int = 303, /, **typed: str) -> str:
        """Type into a form of the page that is open, and send it; the page of the answer."""
        action = f"{self._path}/{form}"
        fields = {**form_of(self.page, action), **typed}
        answer = self.visitor.client.post(action, data=fields)
        assert answer.status_code == code, unescape(answer.text)
        if code == 303:
            assert "settings?saved=" in answer.location
        self.page = self.visitor.get(answer.location) if code == 303 else answer.text
        return unescape(self.page)

    def field(self, form: str, name: str) -> str:
        """What stands in a field."""
        return form_of(self.page, f"{self._path}/{form}")[name]

    def beside(self, name: str) -> str:
        """What is said beside a field."""
        assert f'aria-describedby="wrong-{name}"' in self.page or name == "order"
        told = self.page.partition(f'id="wrong-{name}"')[2].partition("</p>")[0]
        return re.sub("<[^>]*>", "", unescape(f"<p {told}"))


@pytest.fixture
def browser(alice: Visitor, dataset: DatasetId) -> Browser:
    return Browser(alice, dataset)


def saved(store: Store, dataset: DatasetId, owner: str = "alice") -> Dataset:
    return queries.dataset(store, ids.OwnerName(owner), dataset)


def field_of(store: Store, dataset: DatasetId, name: str) -> str:
    (field,) = [c["id"] for c in saved(store, dataset)["columns"] if c["name"] == name]
    return field


def test_what_is_typed_is_saved(browser: Browser, store: Store, dataset: DatasetId) -> None:
    page = browser.send(
        "settings", name="lamps", question="Which?\r\nAnd why?", status="active", common="0 6 * * *"
    )
    now = saved(store, dataset)
    assert (now["name"], now["question"]) == ("lamps", "Which?\nAnd why?")
    assert (now["status"], now["schedule"]) == ("active", "0 6 * * *")
    assert '<p role="status">Saved.</p>' in page
    assert "Next Runs: " in page
    assert page.count('<time class="exact"') == 3


def test_who_chooses_a_schedule_may_make_the_dataset_active_with_it(
    browser: Browser, store: Store, dataset: DatasetId
) -> None:
    offer = "Make it active too: the schedule starts Runs from then on"
    assert offer in browser.page
    # Without a schedule it says nothing, and who chooses a state means that one.
    browser.send("settings", activate="yes")
    assert saved(store, dataset)["status"] == "draft"
    browser.send("settings", activate="yes", common="0 6 * * *", status="paused")
    assert saved(store, dataset)["status"] == "paused"
    browser.send("settings", common="")
    page = browser.send("settings", activate="yes", common="0 6 * * *")
    assert saved(store, dataset)["status"] == "active"
    assert offer not in page


def test_the_settings_lead_to_who_is_told(
    browser: Browser, alice: Visitor, dataset: DatasetId
) -> None:
    link = f'href="/notices?dataset={ids.format_uuid(dataset)}">Notices of this dataset</a>'
    assert link in browser.page
    alice.get(f"/notices?dataset={ids.format_uuid(dataset)}")


def test_the_next_fires_stand_by_the_clock_of_the_service(
    alice: Visitor, app: Flask, dataset: DatasetId
) -> None:

    shared = app.extensions["livedata"]
    app.extensions["livedata"] = replace(shared, zone="Asia/Tokyo")
    page = Browser(alice, dataset).send("settings", schedule="0 9 * * *", common="other")
    assert "by the clock of Asia/Tokyo" in page
    assert "No Run starts while it is draft; active, the next would" in page
    told = page.partition("the next would: ")[2].partition("</p>")[0]
    local = re.findall(r'<time class="exact" datetime="([^"]*)"[^>]*>([^<]*)</time>', told)
    assert len(local) == 3
    assert all("T00:00:00" in at and shown.endswith(" 09:00") for at, shown in local)
    assert "tomorrow 09:00" in {shown for _, shown in local}


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("typed", "schedule"),
    [
        ({"common": "0 * * * *"}, "0 * * * *"),
        ({"schedule": "5 4 * * *"}, "5 4 * * *"),
        ({"schedule": "5 4 * * *", "common": "other"}, "5 4 * * *"),
        ({"schedule": "0 * * * *", "common": "0 * * * *"}, "0 * * * *"),
        ({}, None),
    ],
)
def test_a_schedule_is_chosen_or_typed(
    browser: Browser, store: Store, dataset: DatasetId, typed: dict[str, str], schedule: str | None
) -> None:
    browser.send("settings", **typed)
    assert saved(store, dataset)["schedule"] == schedule
    browser.send("settings", common="", schedule=schedule or "")
    assert saved(store, dataset)["schedule"] is None


def test_a_schedule_that_is_chosen_while_another_is_typed_is_asked_again(
    browser: Browser, store: Store, dataset: DatasetId
) -> None:
    browser.send("settings", 422, common="0 * * * *", schedule="5 4 * * *")
    assert "another one is chosen" in browser.beside("schedule")
    assert browser.field("settings", "schedule") == "5 4 * * *"
    assert saved(store, dataset)["schedule"] is None


def test_cron_is_not_chosen_without_its_fields(
    browser: Browser, store: Store, dataset: DatasetId
) -> None:
    browser.send("settings", common="0 * * * *")
    assert browser.field("settings", "schedule") == ""
    browser.send("settings", 422, common="other")
    assert "It is empty: type the five fields of cron" in browser.beside("schedule")
    assert saved(store, dataset)["schedule"] == "0 * * * *"


def test_what_is_long_or_dangerous_is_folded_until_it_is_told_of(
    browser: Browser, dataset: DatasetId
) -> None:
    assert browser.page.count("<details>") == 3
    assert "<details open>" not in browser.page
    danger = browser.page.partition('<section class="setting" aria-labelledby="delete">')[2]
    assert "Delete for good" in danger.partition("</section>")[0]
    refused = browser.send("delete", 422, sure="another")
    assert re.findall(r"<details open>\s*<summary>([^<:]*)", refused) == [
        "Delete this dataset for good"
    ]
    told = Browser(browser.visitor, dataset).send("columns", **{"new-name": "mine"})
    assert re.findall(r"<details open>\s*<summary>([^<:]*)", told) == ["6 columns"]


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("field", "text", "why"),
    [
        ("schedule", "every day", "must have five fields"),
        ("schedule", "0 0 30 2 *", "never comes"),
        ("name", "x" * 121, "at most 120"),
        ("name", "", "must not be empty"),
        ("name", " x", "white space"),
        ("question", "x" * 1001, "at most 1000"),
        ("status", "gone", "must be"),
    ],
)
def test_what_is_wrong_is_said_beside_its_field_and_all_stays_typed(
    browser: Browser, store: Store, dataset: DatasetId, field: str, text: str, why: str
) -> None:
    before = saved(store, dataset)
    browser.send("settings", 422, **{"question": "Mine?", field: text})
    assert why in browser.beside(field)
    if field != "status":
        assert browser.field("settings", field) == text
    if field != "question":
        assert browser.field("settings", "question") == "Mine?"
    assert saved(store, dataset) == before
    browser.send("settings", **{field: form_value(before, field)})
    assert saved(store, dataset)["question"] == (None if field == "question" else "Mine?")


def test_all_that_is_wrong_is_said_at_once(browser: Browser) -> None:
    browser.send("settings", 422, name=" mine", schedule="every day")
    assert "white space" in browser.beside("name")
    assert "five fields" in browser.beside("schedule")


def form_value(shown: Dataset, field: str) -> str:
    return str(dict(shown)[field] or "")


def test_a_name_that_is_taken_is_said_beside_it(
    browser: Browser, alice: Visitor, store: Store
) -> None:
    made.make_dataset(store, alice.owner, "lamps")
    browser.send("settings", 409, name="lamps", question="Mine?")
    assert "named 'lamps' already" in browser.beside("name")
    assert browser.field("settings", "question") == "Mine?"


def test_the_later_of_two_browsers_is_told_and_loses_nothing(
    alice: Visitor, browser: Browser, store: Store, dataset: DatasetId
) -> None:
    other = Browser(alice, dataset)
    browser.send("settings", name="first", question="Theirs?")
    other.send("settings", 409, name="second")
    assert "It is now “first”." in other.beside("name")
    assert other.field("settings", "name") == "second"
    # What nobody typed there is as it stands now, so that it undoes nothing.
    assert other.field("settings", "question") == "Theirs?"
    assert saved(store, dataset)["name"] == "first"
    other.send("settings")
    assert (saved(store, dataset)["name"], saved(store, dataset)["question"]) == (
        *("second", "Theirs?"),
    )


def test_whoever_changes_something_else_undoes_nothing(
    alice: Visitor, browser: Browser, store: Store, dataset: DatasetId
) -> None:
    other = Browser(alice, dataset)
    browser.send("settings", name="first", status="active")
    other.send("settings", question="Why?")
    now = saved(store, dataset)
    assert (now["name"], now["status"], now["question"]) == ("first", "active", "Why?")


def test_an_error_in_one_field_undoes_no_other_that_somebody_else_has_saved(
    alice: Visitor, browser: Browser, store: Store, dataset: DatasetId
) -> None:
    other = Browser(alice, dataset)
    browser.send("settings", question="Theirs?")
    other.send("settings", 422, name=" mine")
    other.send("settings", name="mine")
    assert saved(store, dataset)["question"] == "Theirs?"


def test_a_second_click_changes_nothing_more(
    browser: Browser, store: Store, dataset: DatasetId
) -> None:
    first = browser.page
    for form, typed in (
        ("settings", {"name": "lamps", "status": "active"}),
        ("columns", {"new-name": "mine", "new-type": "number"}),
    ):
        browser.page = first
        browser.send(form, **typed)
        now = saved(store, dataset)
        browser.page = first
        browser.send(form, **typed)
        assert saved(store, dataset) == now


def test_columns_get_labels_descriptions_and_places(
    browser: Browser, store: Store, dataset: DatasetId
) -> None:
    shown = saved(store, dataset)["columns"]
    price, title = field_of(store, dataset, "price"), field_of(store, dataset, "title")
    names = [column["name"] for column in shown]
    assert (names.index("title"), names.index("price")) == (1, 2)
    browser.send(
        "columns",
        **{f"label-{price}": "Preis", f"description-{title}": "As written", f"place-{price}": "1"},
    )
    columns = saved(store, dataset)["columns"]
    assert [each["name"] for each in columns] == ["price", *(n for n in names if n != "price")]
    assert columns[0]["label"] == "Preis"
    assert columns[2].get("description") == "As written"
    browser.send("columns", **{f"place-{price}": "3"})
    assert [each["name"] for each in saved(store, dataset)["columns"]] == names


def test_a_column_of_ones_own_is_added_and_stays(
    browser: Browser, store: Store, dataset: DatasetId
) -> None:
    names = [each["name"] for each in saved(store, dataset)["columns"]]
    page = browser.send("columns", **{"new-name": "mine", "new-type": "date"})
    *before, mine = saved(store, dataset)["columns"]
    assert [each["name"] for each in before] == names
    assert (mine["name"], mine["type"], mine["ownership"]) == ("mine", "date", "user")
    assert "date, your own" in page
    assert "A column stays once it is there" in page


def test_the_column_that_names_rows_is_chosen(
    browser: Browser, alice: Visitor, store: Store, dataset: DatasetId
) -> None:
    def named_by() -> str | None:
        column = queries.label_column(store, ids.OwnerName(alice.owner), dataset)
        return None if column is None else column["name"]

    assert browser.field("columns", "label-column") == "title"
    browser.send("columns", **{"label-column": "note"})
    assert named_by() == "note"
    assert browser.field("columns", "label-column") == "note"
    browser.send("columns", **{"label-column": ""})
    assert named_by() == "title"
    browser.send("columns", 422, **{"label-column": "price"})
    assert "rows are named by text" in browser.beside("label-column")
    assert named_by() == "title"


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("label-", "x" * 121, "at most 120"),
        ("label-", "", "must not be empty"),
        ("description-", "x" * 501, "at most 500"),
        ("place-", "first", "must be a whole number"),
        ("new-name", "1st", "must"),
        ("new-name", "title", "repeats the name"),
        ("new-name", "x" * 81, "at most 80"),
        ("new-type", "money", "must be"),
    ],
)
def test_what_is_wrong_with_a_column_is_said_beside_it(
    browser: Browser, store: Store, dataset: DatasetId, name: str, text: str, why: str
) -> None:
    before, price = saved(store, dataset), field_of(store, dataset, "price")
    field = f"{name}{price}" if name.endswith("-") else name
    mine = f"description-{field_of(store, dataset, 'title')}"
    typed = {"new-name": "mine"} if name == "new-type" else {}
    browser.send("columns", 422, **{**typed, mine: "Mine", field: text})
    assert why in browser.beside(field)
    assert browser.field("columns", mine) == "Mine"
    if name != "new-type":
        assert browser.field("columns", field) == text
    assert saved(store, dataset) == before


def test_columns_of_two_browsers_meet(
    alice: Visitor, browser: Browser, store: Store, dataset: DatasetId
) -> None:
    price, title = field_of(store, dataset, "price"), field_of(store, dataset, "title")
    other, third = Browser(alice, dataset), Browser(alice, dataset)
    browser.send("columns", **{f"label-{price}": "Preis", "new-name": "mine"})
    # Another field is no conflict, and undoes no column that was added meanwhile.
    other.send("columns", **{f"label-{title}": "Titel"})
    labels = {each["name"]: each["label"] for each in saved(store, dataset)["columns"]}
    assert (labels["price"], labels["title"], labels["mine"]) == ("Preis", "Titel", "mine")
    third.send("columns", 409, **{f"label-{price}": "Cost", "label-column": "note"})
    assert "It is now “Preis”." in third.beside(f"label-{price}")
    assert third.field("columns", f"label-{price}") == "Cost"
    assert third.field("columns", "label-column") == "note"
    third.send("columns")
    labels = {each["name"]: each["label"] for each in saved(store, dataset)["columns"]}
    assert labels["price"] == "Cost"


def test_an_order_that_somebody_else_has_changed_too_is_asked_again(
    alice: Visitor, browser: Browser, store: Store, dataset: DatasetId
) -> None:
    price, title = field_of(store, dataset, "price"), field_of(store, dataset, "title")
    other = Browser(alice, dataset)
    browser.send("columns", **{f"place-{price}": "1"})
    other.send("columns", 409, **{f"place-{title}": "4"})
    assert "another order now" in other.beside("order")
    assert other.field("columns", f"place-{title}") == "4"
    other.send("columns")
    names = [each["name"] for each in saved(store, dataset)["columns"]]
    assert (names[0], names[3]) == ("price", "title")


def mended(browser: Browser, selector: str = "li.card") -> str:
    text = browser.field("source", "source")
    revised = re.sub(r'itemSelector = "[^"]*"', f'itemSelector = "{selector}"', text)
    assert revised != text
    return revised


def test_the_address_that_runs_read_stands_there_with_a_way_to_another_source(
    browser: Browser, alice: Visitor, dataset: DatasetId
) -> None:
    told = browser.page.partition('<h2 id="source">')[2].partition("<details")[0]
    said = " ".join(re.sub("<[^>]*>", "", told).split())
    assert said.endswith(f"Reads {made.URL} Mend or change the source")
    (to,) = re.findall(r'href="([^"]*)">Mend or change the source', told)
    assert to == f"{path_of(dataset)}/preview"
    alice.get(to)


def test_a_source_is_revised_once(
    browser: Browser, alice: Visitor, store: Store, dataset: DatasetId
) -> None:
    owner, first, typed = ids.OwnerName(alice.owner), browser.page, mended(browser)
    page = browser.send("source", source=typed.replace("\n", "\r\n"))
    assert queries.source(store, owner, dataset)["source"]["itemSelector"] == "li.card"
    assert queries.recipe_version(store, owner, dataset) == 2
    assert "The next Run reads with this source." in page
    assert browser.field("source", "version") == "2"
    browser.page = first
    browser.send("source", source=typed)
    assert queries.recipe_version(store, owner, dataset) == 2


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (r"\[source\]", "[source", "the TOML cannot be read"),
        (r"render = .*", 'render = "magic"', 'source.render must be "static"'),
        (r"itemSelector = .*", 'itemSelector = "li:hover"', "source.itemSelector"),
        (r"maxPages = 10", "maxPagse = 10", "source.maxPagse"),
        (r"url = .*", 'url = "http://127.0.0.1/"', "source.url"),
        (r'kind = "none"', 'kind = "all"', "source.pagination"),
    ],
)
def test_what_is_wrong_with_a_source_is_said_with_line_and_field(
    browser: Browser, alice: Visitor, store: Store, dataset: DatasetId, old: str, new: str, why: str
) -> None:
    typed = re.sub(f"(?m)^{old}$", new, browser.field("source", "source"))
    lines = typed.split("\n")
    assert new in lines
    line = lines.index(new) + (0 if "pagination" in why else 1)
    page = browser.send("source", 422, source=typed)
    refusal = page.partition('id="refusal"')[2].partition("</div>")[0]
    assert f"Line {line}: {why}" in refusal or f"Line {line + 1}: {why}" in refusal
    assert browser.field("source", "source") == typed
    assert queries.recipe_version(store, ids.OwnerName(alice.owner), dataset) == 1


def test_another_name_of_a_column_is_refused(browser: Browser) -> None:
    typed = browser.field("source", "source").replace('"price"', '"cost"')
    said = 'must stay "price", whose selector it reads'
    assert said in unescape(browser.send("source", 422, source=typed))


def test_a_source_that_is_marked_as_not_ready_is_refused(browser: Browser) -> None:
    page = browser.send("source", 422, source=f"# NOT READY. Look.\n{mended(browser)}")
    assert "Line 1: this source is marked as not ready: Look. Mend it" in page


def test_the_later_of_two_revisions_is_told_and_loses_nothing(
    alice: Visitor, browser: Browser, store: Store, dataset: DatasetId
) -> None:
    other = Browser(alice, dataset)
    browser.send("source", source=mended(browser))
    typed = mended(other, "li.box")
    page = other.send("source", 409, source=typed)
    assert other.field("source", "source") == typed.rstrip("\n") + "\n"
    stands = page.partition('aria-label="What stands now"')[2].partition("</pre>")[0]
    assert 'itemSelector = "li.card"' in stands
    other.send("source", source=typed)
    source = queries.source(store, ids.OwnerName(alice.owner), dataset)["source"]
    assert source["itemSelector"] == "li.box"


def test_the_plan_of_research_is_revised_too(alice: Visitor, store: Store) -> None:
    planned = ResearchDeclaration("makers", "Who?", PLAN, ["https://x.example/"])
    raw = ids.DatasetId(ids.raw_id(add_draft(store, alice.owner, planned)["id"]))
    browser = Browser(alice, raw)
    assert "label-column" not in form_of(browser.page, f"{path_of(raw)}/columns")
    typed = browser.field("source", "source")
    revised = re.sub(r"(?m)^query = .*$", 'query = "all of them"', typed)
    browser.send("source", source=revised)
    source = queries.source(store, ids.OwnerName(alice.owner), raw)["source"]
    assert source["plan"]["query"] == "all of them"
    other = re.sub(r"(?m)^nameLabel = .*$", 'nameLabel = "Other"', revised)
    page = browser.send("source", 422, source=other)
    line = 1 + other[: other.index("nameLabel")].count("\n")
    assert f"Line {line}: nameLabel must stay" in page


def test_what_has_no_text_of_its_own_is_not_revised_here(alice: Visitor, store: Store) -> None:
    asked = ResearchDeclaration("asked", "Who?")
    raw = ids.DatasetId(ids.raw_id(add_draft(store, alice.owner, asked)["id"]))
    page = alice.get(f"{path_of(raw)}/settings")
    assert "asked has no plan yet: its first Run makes one." in page
    assert f'action="{path_of(raw)}/source"' not in page


def test_a_dataset_is_deleted_by_whoever_types_its_name(
    alice: Visitor, store: Store, dataset: DatasetId
) -> None:
    path = path_of(dataset)
    page = alice.get(f"{path}/settings")
    goes = re.sub("<[^>]*>", "", page.partition("With it go")[2].partition("</p>")[0])
    assert goes.startswith(" 3 rows, 3 changes of their history, all its Runs and its feed, and")
    token = alice.token(f"{path}/settings")
    for typed in ("", "shops", "SHOP"):
        refused = alice.post(f"{path}/delete", token, sure=typed)
        assert refused.status_code == 422
        assert "Nothing was deleted" in refused.text
    name = saved(store, dataset)["name"]
    answer = alice.post(f"{path}/delete", token, sure=name)
    assert (answer.status_code, answer.location) == (303, "/")
    assert queries.datasets(store, alice.owner, 10) == []
    assert alice.post(f"{path}/delete", token, sure=name).status_code == 404


def test_a_dataset_with_an_open_run_is_not_deleted(
    alice: Visitor, store: Store, dataset: DatasetId
) -> None:
    runs.enqueue(store, alice.owner, dataset)
    path = path_of(dataset)
    name = saved(store, dataset)["name"]
    refused = alice.post(f"{path}/delete", alice.token(f"{path}/settings"), sure=name)
    assert refused.status_code == 409
    assert "A Run of this dataset is open" in refused.text
    assert saved(store, dataset)["name"] == name


def test_what_was_typed_survives_an_update_that_comes_while_it_is_judged(
    alice: Visitor, store: Store, dataset: DatasetId, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second look finds the conflict that the first has missed."""
    browser, act, planted = Browser(alice, dataset), datasets.update, list[bool]()

    def meanwhile(*args: Any, **options: Any) -> Any:
        if not planted:
            planted.append(True)
            act(store, alice.owner, dataset, read(UpdateDataset, {"name": "theirs"}))
        return act(*args, **options)

    monkeypatch.setattr(datasets, "update", meanwhile)
    browser.send("settings", 409, name="mine")
    assert "It is now “theirs”." in browser.beside("name")
    assert browser.field("settings", "name") == "mine"
