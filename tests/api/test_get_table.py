"""``GET /v1/datasets/{datasetId}/table``: what an address has, for who has a key."""

from __future__ import annotations

import csv
import io

import pytest

from livedata.api.tables import FORMS
from livedata.services import shares
from livedata.store.database.store import Store
from tests.api.person import NOWHERE, Person, raw


@pytest.fixture
def path(alice: Person) -> str:
    """The path of a table of Alice."""
    return f"{alice.table()}/table"


def test_without_a_form_it_is_json(alice: Person, path: str) -> None:
    body = alice.get(path)
    assert body["columns"][:4] == ["rowKey", "status", "presence", "sku"]
    assert [row[0] for row in body["rows"]] == ["A1", "B2", "C3"]
    assert (body["state"], body["through"]) == ("ok", 3)


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_what_an_address_has(
    alice: Person, store: Store, path: str, form: str
) -> None:
    _, token = shares.add(store, "alice", raw(path.removesuffix("/table")), (), (), None)
    query = "columns=title,price&where=price+<+20"
    answer = alice.ask("GET", f"{path}?format={form}&{query}")
    open_to_all = type(alice.client).__mro__[1](alice.client.application)
    shared = open_to_all.get(f"/share/{token}/x.{form}?{query}", buffered=True)
    assert answer.data == shared.data
    assert answer.content_type == shared.content_type
    assert answer.headers["X-Credits-Remaining"] == "999"


def test_a_condition_and_columns_narrow_it(alice: Person, path: str) -> None:
    answer = alice.ask("GET", f"{path}?format=csv&columns=price,title&where=price+<+20")
    assert list(csv.reader(io.StringIO(answer.text))) == [["price", "title"], ["10", "Lamp"]]


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("format=xml", "format must be one of json, csv, jsonl, parquet, xlsx, changes.csv, chan"),
        ("where=prize+<+20", "is price meant?"),
        ("columns=nope", "There is no column 'nope'."),
        ("after=1", "after is for the forms of changes, such as .changes.csv."),
        ("format=changes.csv&at=1", "at is for the forms of rows, such as .csv."),
        ("when=price+falls", "when is for the forms of changes, such as .changes.csv."),
        ("format=changes.csv&when=prize+falls", "is price meant?"),
        ("format=changes.csv&after=99", "after 99 is past the last sequence, which is 3."),
    ],
)
def test_a_wrong_question_is_400(alice: Person, path: str, query: str, said: str) -> None:
    assert said in alice.get(f"{path}?{query}", 400)["error"]["message"]
    # And nothing of the kind where there is no dataset.
    nowhere = f"/datasets/{NOWHERE}/table?{query}"
    assert alice.get(nowhere, 404)["error"]["code"] == "not_found"


def test_a_condition_on_changes_leaves_out_the_others(alice: Person, path: str) -> None:
    answer = alice.ask("GET", f"{path}?format=changes.csv&columns=title&when=price+<+20")
    assert [line["rowKey"] for line in csv.DictReader(io.StringIO(answer.text))] == ["A1"]
    answer = alice.ask("GET", f"{path}?format=changes.csv&when=price+falls")
    assert list(csv.DictReader(io.StringIO(answer.text))) == []


def test_the_tag_of_an_answer_gives_304(alice: Person, path: str) -> None:
    tag = alice.ask("GET", f"{path}?format=csv").headers["ETag"]
    again = alice.ask("GET", f"{path}?format=csv", headers={"If-None-Match": tag})
    assert (again.status_code, again.data) == (304, b"")
    other = alice.ask("GET", f"{path}?format=jsonl", headers={"If-None-Match": tag})
    assert other.status_code == 200


def test_the_table_of_another_owner_is_not_there(bob: Person, path: str) -> None:
    for form in FORMS:
        assert bob.get(f"{path}?format={form}", 404)["error"]["code"] == "not_found"
