"""A client that has the latest answer gets 304 instead of the same once more."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from livedata.model.ids import format_uuid
from livedata.store.database.store import Store
from tests.api.person import NOWHERE, Person
from tests.api.serving import Serving
from tests.made import ITEMS, make_dataset

ANSWERS = ("", "/rows", "/rows?limit=2&status=new", "/changes", "/changes?after=1&limit=2")


def tag_of(alice: Person, path: str) -> str:
    answer = alice.ask("GET", path)
    assert answer.status_code == 200
    return answer.headers["ETag"]


def status_with(alice: Person, path: str, tag: str) -> int:
    return alice.ask("GET", path, headers={"If-None-Match": tag}).status_code


@pytest.fixture
def path(alice: Person) -> str:
    return alice.table()


@pytest.mark.parametrize("answer", ANSWERS)
def test_the_same_answer_is_304_without_a_body(alice: Person, path: str, answer: str) -> None:
    tag = tag_of(alice, path + answer)
    for sent in (tag, f"W/{tag}", f'"x", {tag}'):
        again = alice.ask("GET", path + answer, headers={"If-None-Match": sent})
        assert (again.status_code, again.data) == (304, b"")
        assert again.headers["ETag"] == tag
        assert again.headers["X-Credits-Remaining"] == "999"
    for sent in ('"x"', "*", ""):
        assert status_with(alice, path + answer, sent) == 200


def edit(alice: Person, path: str) -> None:
    row = alice.row(path)
    body = {
        "expectedRevisionId": row["revisionId"],
        "requestId": "one",
        "values": {alice.fields(path)["note"]: "dusty"},
    }
    alice.patch(f"{path}/rows/{row['id']}", body)


def add_column(alice: Person, path: str) -> None:
    columns = alice.get(path)["dataset"]["columns"]
    new = {"name": "seen", "type": "date", "ownership": "user"}
    alice.patch(path, {"expectedSchemaVersion": 1, "columns": [*columns, new]})


@pytest.mark.parametrize(
    ("change", "moved"),
    [
        (edit, {"/rows", "/changes"}),
        (add_column, {"", "/rows"}),
        (lambda alice, path: alice.take(path), {"", "/rows"}),
        (lambda alice, path: alice.take(path, ITEMS[:2]), {"", "/rows", "/changes"}),
        (lambda alice, path: alice.patch(path, {"question": "Which?"}), {""}),
        (lambda alice, path: alice.post(f"{path}/runs", status=202), {""}),
    ],
    ids=["an edit", "a column", "the same rows again", "a row less", "a question", "a Run"],
)
def test_a_change_is_another_answer_with_another_tag(
    alice: Person, path: str, change: Callable[[Person, str], object], moved: set[str]
) -> None:
    answers = ("", "/rows", "/changes")
    before = {answer: alice.ask("GET", path + answer) for answer in answers}
    change(alice, path)
    for answer in answers:
        again = alice.ask("GET", path + answer)
        assert (again.data != before[answer].data) == (answer in moved)
        assert (again.headers["ETag"] != before[answer].headers["ETag"]) == (answer in moved)


def test_only_the_first_page_of_rows_has_a_tag(alice: Person, path: str) -> None:
    cursor = alice.get(f"{path}/rows?limit=1")["nextCursor"]
    assert "ETag" not in alice.ask("GET", f"{path}/rows?limit=1&cursor={cursor}").headers


def test_a_connection_stays_open_after_a_304(served: Serving, store: Store) -> None:
    path = f"/v1/datasets/{format_uuid(make_dataset(store, 'alice'))}/rows"
    connection = served.connect()
    headers = {"Authorization": f"Bearer {served.key}"}
    statuses = []
    for _ in range(3):
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        assert "Connection" not in answer.headers
        headers["If-None-Match"] = answer.headers["ETag"]
        statuses.append(answer.status)
    connection.close()
    assert statuses == [200, 304, 304]


def test_a_tag_is_of_one_question(alice: Person, path: str) -> None:
    tag = tag_of(alice, f"{path}/changes?after=1")
    assert status_with(alice, f"{path}/changes", tag) == 200
    assert status_with(alice, f"{path}/changes?after=4", tag) == 422
    assert status_with(alice, f"{path}/changes?rowId={NOWHERE}", tag) == 404


def test_who_may_not_see_an_answer_is_not_told_that_it_is_the_same(
    alice: Person, bob: Person, path: str
) -> None:
    for answer in ANSWERS:
        assert status_with(bob, path + answer, tag_of(alice, path + answer)) == 404
