"""The address of a table: each of its forms, for who knows it, and nothing for anybody else."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import openpyxl
import pyarrow.parquet
import pytest
from flask.testing import FlaskClient
from typing_extensions import override

from livedata.api import close_app, create_app
from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.errors import Conflict, NotFound
from livedata.model.harvest import Harvest, PageFailure, StopReason
from livedata.model.requests import UpdateDataset
from livedata.services import datasets, shares
from livedata.services.accounts import hash_key
from livedata.services.archive import export_archive
from livedata.store import shares as share_store
from livedata.store.database.store import Store
from livedata.store.shares import Scope
from tests import made
from tests.api.person import Person
from tests.api.serving import Serving
from tests.services.table import A, B, C, Table, pages_of

if TYPE_CHECKING:
    from werkzeug.test import TestResponse

FORMS = ("csv", "json", "jsonl", "parquet", "xlsx", "changes.csv", "changes.jsonl")
HOSTILE = '=cmd|"x",\n\u202eabc'


@pytest.fixture
def table(store: Store) -> Table:
    return Table(store)


class ReadingClient(FlaskClient):
    """A client that reads each answer to its end."""

    @override
    def open(self, *args: Any, **kwargs: Any) -> TestResponse:
        return super().open(*args, **{"buffered": True, **kwargs})


@pytest.fixture
def reader(store: Store) -> Iterator[FlaskClient]:
    """A client without a key."""
    app = create_app(store, zone="UTC")
    app.test_client_class = ReadingClient
    yield app.test_client()
    close_app(app)


def share(table: Table, *columns: str, where: tuple[str, ...] = (), form: str = "csv") -> str:
    """The path of a new address."""
    _, token = shares.add(table.store, "local", table.id, columns, where, None)
    return f"/share/{token}/shop.{form}"


def other(path: str, form: str) -> str:
    """The path of another form at the same address."""
    return f"{path.partition('.')[0]}.{form}"


def lines(answer: TestResponse) -> list[list[str]]:
    assert answer.status_code == 200, answer.data
    return list(csv.reader(io.StringIO(answer.data.decode(), newline="")))


def error(answer: TestResponse, status: int = 400) -> str:
    assert answer.status_code == status, answer.data
    message: str = answer.get_json()["error"]["message"]
    return message


def test_the_whole_table_is_there_as_csv(table: Table, reader: FlaskClient) -> None:
    table.take(A, B, {**C, "title": HOSTILE})
    answer = reader.get(share(table))
    assert answer.content_type == "text/csv; charset=utf-8"
    assert answer.data.startswith(b"rowKey,status,presence,sku,title,price,stock,note\r\n")
    assert lines(answer)[1:] == [
        ["A1", "new", "present", "A1", "Lamp", "10", "true", ""],
        ["B2", "new", "present", "B2", "Chair", "25.5", "false", ""],
        ["C3", "new", "present", "C3", HOSTILE, "", "true", ""],
    ]


def test_json_tells_the_state_of_the_table_too(table: Table, reader: FlaskClient) -> None:
    table.take(A, C)
    answer = reader.get(share(table, "title", "price", form="json"))
    body = answer.get_json()
    assert body["rows"] == [["Lamp", 10], ["Mug", None]]
    assert (body["columns"], body["through"], body["state"]) == (["title", "price"], 2, "ok")
    assert body["observedAt"] == answer.headers["X-Livedata-Observed"]


def test_an_empty_table_is_a_heading_and_no_rows(table: Table, reader: FlaskClient) -> None:
    path = share(table, "title")
    assert reader.get(path).data == b"title\r\n"
    assert reader.get(other(path, "json")).get_json()["rows"] == []
    assert reader.get(other(path, "jsonl")).data == b""
    assert reader.get(other(path, "changes.jsonl")).data == b""
    parquet = pyarrow.parquet.read_table(io.BytesIO(reader.get(other(path, "parquet")).data))
    assert (parquet.num_rows, parquet.column_names) == (0, ["title"])


def test_each_form_has_the_same_rows(table: Table, reader: FlaskClient) -> None:
    table.take(A, B, {**C, "title": HOSTILE})
    path = share(table, "title", "price", "stock")
    rows: list[list[object]] = [["Lamp", 10, True], ["Chair", 25.5, False], [HOSTILE, None, True]]
    told = {form: reader.get(other(path, form)) for form in FORMS}
    assert told["json"].get_json()["rows"] == rows
    assert [[*json.loads(line).values()] for line in told["jsonl"].data.splitlines()] == rows
    parquet = pyarrow.parquet.read_table(io.BytesIO(told["parquet"].data))
    columns = [parquet.column(name).to_pylist() for name in parquet.column_names]
    assert [list(row) for row in zip(*columns, strict=True)] == rows
    assert json.loads(parquet.schema.metadata[b"livedata"]) == {
        "dataset": "shop",
        "key": "",
        "sequence": 3,
    }
    sheet: Any = openpyxl.load_workbook(io.BytesIO(told["xlsx"].data)).active
    values = [list(row) for row in sheet.iter_rows(min_row=2, values_only=True)]
    assert values == rows


def test_the_same_table_is_the_same_file_byte_by_byte(table: Table, reader: FlaskClient) -> None:
    table.take(A, B)
    path = share(table)
    for form in FORMS:
        assert reader.get(other(path, form)).data == reader.get(other(path, form)).data, form


def test_rows_that_are_gone_are_there_if_they_are_asked_for(
    table: Table, reader: FlaskClient
) -> None:
    table.take(A, B)
    table.take(B)
    path = share(table)
    assert [line[0] for line in lines(reader.get(path))[1:]] == ["B2"]
    assert [line[:3] for line in lines(reader.get(f"{path}?gone=1"))[1:]] == [
        ["A1", "gone", "missing"],
        ["B2", "unchanged", "present"],
    ]


def test_an_address_shows_the_table_as_it_was(table: Table, reader: FlaskClient) -> None:
    table.take(A)
    table.take({**A, "price": 3}, B)
    path = share(table, "title", "price")
    assert lines(reader.get(f"{path}?at=1"))[1:] == [["Lamp", "10"]]
    assert lines(reader.get(f"{path}?at=1999-01-01"))[1:] == []
    assert reader.get(f"{path}?at=1").headers["X-Livedata-Through"] == "1"
    later = reader.get(f"{path}?at=2999-01-01")
    assert (lines(later), later.headers["X-Livedata-Through"]) == (lines(reader.get(path)), "3")


def test_a_question_narrows_what_is_shared_and_never_widens_it(
    table: Table, reader: FlaskClient
) -> None:
    table.take(A, B, C)
    path = share(table, "title", "price", where=("price > 5",))
    assert lines(reader.get(f"{path}?where=price+<+20")) == [["title", "price"], ["Lamp", "10"]]
    assert lines(reader.get(f"{path}?where=rowKey+%3D+B2&columns=price"))[1:] == [["25.5"]]
    assert lines(reader.get(f"{path}?where=price+<+20&where=price+>+20"))[1:] == []
    assert lines(reader.get(f"{path}?columns=price,title"))[0] == ["price", "title"]
    secret = error(reader.get(f"{path}?where=sku+%3D+A1"))
    assert secret.startswith("The clause 'sku = A1' names 'sku', and there is no such column")
    assert "stock" not in secret
    assert error(reader.get(f"{path}?columns=stock")) == (
        "There is no column 'stock'. There is: title, price."
    )


def test_safe_puts_an_apostrophe_before_what_may_be_a_formula(
    table: Table, reader: FlaskClient
) -> None:
    texts = ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "x=1", "'=1", "ü", " =1"]
    table.take(*({**A, "sku": f"k{n}", "title": text} for n, text in enumerate(texts)))
    path = share(table, "title", "price")
    safe = [f"'{text}" if text[0] in "=+-@\t\r" else text for text in texts]
    assert [line[0] for line in lines(reader.get(path))[1:]] == texts
    assert [line[0] for line in lines(reader.get(f"{path}?safe=1"))[1:]] == safe
    told = lines(reader.get(f"{other(path, 'changes.csv')}?safe=1&columns=title"))[1:]
    assert [line[-1] for line in told] == safe
    # A number below 0 is no text.
    table.take({**A, "price": -3})
    assert lines(reader.get(f"{path}?safe=1"))[1:] == [["Lamp", "-3"]]


def test_the_changes_have_a_line_for_each_cell(table: Table, reader: FlaskClient) -> None:
    table.take(A)
    table.take({**A, "price": 3, "title": 'a "b",\r\nc'})
    table.edit("A1", {"note": "mine"})
    table.take(B)
    path = share(table, form="changes.csv")
    told = lines(reader.get(path))
    assert told[0] == ["sequence", "at", "kind", "rowKey", "column", "before", "after"]
    assert [line[:1] + line[2:] for line in told[5:]] == [
        ["2", "updated", "A1", "title", "Lamp", 'a "b",\r\nc'],
        ["2", "updated", "A1", "price", "10", "3"],
        ["3", "updated", "A1", "note", "", "mine"],
        ["4", "created", "B2", "sku", "", "B2"],
        ["4", "created", "B2", "title", "", "Chair"],
        ["4", "created", "B2", "price", "", "25.5"],
        ["4", "created", "B2", "stock", "", "false"],
        ["5", "missing", "A1", "", "", ""],
    ]
    assert lines(reader.get(f"{path}?after=3&columns=stock"))[1:] == told[-2:]
    edited = told[7][1]
    assert lines(reader.get(f"{path}?since={edited}"))[1:] == told[8:]
    assert lines(reader.get(f"{path}?after=5"))[1:] == []
    as_json = reader.get(f"{other(path, 'changes.jsonl')}?after=4").data
    assert json.loads(as_json) == {
        "sequence": 5,
        "at": told[-1][1],
        "kind": "missing",
        "rowKey": "A1",
        "column": None,
        "before": None,
        "after": None,
    }


WRONG = [
    ("?where=price", "'price'"),
    ("?where=price+<", "price"),
    ("?where=nonsense+%3D+1", "'nonsense'"),
    ("?where=price+falls", "falls"),
    ("?where=price+<+1&where=price+<+1", "where names the same value twice."),
    (f"?where={'x' * 501}", "where must have at most 500 characters"),
    ("?" + "&".join(f"where=price+<+{n}" for n in range(21)), "20"),
    ("?columns=", "columns must have names of columns"),
    ("?columns=price,,title", "columns must have names of columns"),
    ("?columns=nonsense", "There is no column 'nonsense'."),
    ("?at=nonsense", "'nonsense' is no moment"),
    ("?at=99", "past the head"),
    ("?at=" + "9" * 90, "past the head"),
    ("?at=1&at=2", "at must be given once, not 2 times."),
    ("?gone=2", 'gone must be 1 or 0, not "2".'),
    ("?safe=yes", 'safe must be 1 or 0, not "yes".'),
    ("?nonsense=1", "nonsense is not a parameter of this endpoint"),
    ("?after=1", "after is for the forms of changes, such as .changes.csv."),
    ("?since=1", "since is for the forms of changes, such as .changes.csv."),
    ("?where=%ff", "The query is not UTF-8."),
    ("?where=%00", "The query holds NUL."),
]
WRONG_OF_CHANGES = [
    ("?at=1", "at is for the forms of rows, such as .csv."),
    ("?gone=1", "gone is for the forms of rows, such as .csv."),
    ("?after=-1", "after must be at least 0, not -1."),
    ("?after=99", "after 99 is past the last sequence, which is 3."),
    ("?after=x", 'after must be a whole number, not "x".'),
    ("?since=nonsense", "'nonsense' is no moment"),
    ("?since=1&after=1", "after and since both say where to begin; give one."),
    ("?where=price+falls", "falls"),
]


@pytest.mark.parametrize(("form", "wrong"), [("csv", WRONG), ("changes.csv", WRONG_OF_CHANGES)])
def test_a_wrong_question_is_400_with_a_sentence(
    table: Table, reader: FlaskClient, form: str, wrong: list[tuple[str, str]]
) -> None:
    table.take(A, B, C)
    path = share(table, form=form)
    # To a stranger it is no question at all.
    stranger = re.sub("/share/[^/]+", "/share/nobody", path)
    for query, said in wrong:
        assert said in error(reader.get(path + query))
        assert error(reader.get(stranger + query), 404) == shares.NO_TABLE


def test_an_unknown_form_is_404(table: Table, reader: FlaskClient) -> None:
    path = share(table)
    for form in ("xml", "CSV", "csv.gz", "", "changes", "changes.parquet", "csv/"):
        answer = reader.get(other(path, form))
        assert answer.status_code == 404
        assert answer.get_json()["error"]["code"] == "not_found"
    assert reader.get(re.sub("/shop.csv", "/any name.csv", path)).status_code == 200


def test_unknown_revoked_and_deleted_are_one_answer(table: Table, reader: FlaskClient) -> None:
    table.take(A)
    another = Table(table.store, made.declared("another"))
    path, revoked, deleted = share(table), share(table), share(another)
    token = path.split("/")[2]
    for each in shares.list_shares(table.store, "local", table.id)[1:]:
        shares.revoke(table.store, "local", each["id"])
    datasets.remove(table.store, "local", another.id)
    wrong = [token[:-1], token * 2, token.upper(), token.swapcase(), f"{token}%20", "x", "%00"]
    paths = [revoked, deleted, *(f"/share/{each}/shop.csv" for each in wrong)]
    answers = [reader.get(each) for each in paths]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.data for answer in answers}) == 1
    assert reader.get(path).status_code == 200
    assert reader.post(path).status_code == 405


def test_a_revoked_address_is_dead_at_once_on_every_machine(table: Table, tmp_path: Path) -> None:
    table.take(A)
    path = share(table)
    with Serving(tmp_path) as first, Serving(tmp_path) as second, ExitStack() as stack:
        # A connection is open before and after: it remembers nothing of its first answer.
        connections = [
            stack.enter_context(closing(serving.connect())) for serving in (first, second)
        ]

        def ask_all() -> set[int]:
            statuses = set()
            for connection in connections:
                connection.request("GET", path)
                answer = connection.getresponse()
                answer.read()
                statuses.add(answer.status)
            return statuses

        assert ask_all() == {200}
        shares.revoke(table.store, "local", shares.list_shares(table.store, "local")[0]["id"])
        assert ask_all() == {404}


def test_what_a_token_opens_is_its_table_alone(
    table: Table, reader: FlaskClient, store: Store
) -> None:
    table.take(A)
    token = share(table).split("/")[2]
    header = {"Authorization": f"Bearer {token}"}
    for path in ("/v1/datasets", "/v1/usage", f"/v1/datasets/{ids.format_uuid(table.id)}/table"):
        assert reader.get(path, headers=header).status_code == 401
    answer = reader.get(share(table))
    assert "Set-Cookie" not in answer.headers
    assert answer.headers["X-Credits-Remaining"] == "0"
    # A key of the API opens no address.
    bob = Person.meet(reader, store, "bob")
    assert reader.get(f"/share/{bob.key}/shop.csv").status_code == 404


def test_another_owner_neither_sees_nor_ends_an_address(table: Table, store: Store) -> None:
    share(table)
    made.meet_owner(store, "bob", 10)
    (mine,) = shares.list_shares(store, "local")
    assert shares.list_shares(store, "bob") == []
    with pytest.raises(NotFound):
        shares.revoke(store, "bob", mine["id"])
    with pytest.raises(NotFound):
        shares.add(store, "bob", table.id, (), (), None)
    assert not shares.list_shares(store, "local")[0]["revoked"]


def test_what_is_refused_is_kept_by_no_cache_either(table: Table, reader: FlaskClient) -> None:
    path = share(table)
    for asked, status in (
        (f"{path}?where=x", 400),
        (f"{path}?at=9", 400),
        ("/share/none/shop.csv", 404),
    ):
        refused = reader.get(asked)
        assert refused.status_code == status
        assert refused.headers["Cache-Control"] == "private, no-cache"
        assert refused.headers["Referrer-Policy"] == "no-referrer"


def test_what_is_the_same_is_304_and_no_row_is_read(table: Table, reader: FlaskClient) -> None:
    table.take(A, B)
    path = share(table)
    for form in FORMS:
        first = reader.get(other(path, form))
        assert first.headers["Cache-Control"] == "private, no-cache"
        assert first.headers["Referrer-Policy"] == "no-referrer"
        with table.store.writing() as writer:
            writer.execute("UPDATE rows SET data = 'no JSON' WHERE row_key = 'B2'")
            writer.execute("UPDATE revisions SET data = 'no JSON'")
        again = reader.get(other(path, form), headers={"If-None-Match": first.headers["ETag"]})
        assert (again.status_code, again.data) == (304, b""), form
        told = ("ETag", "Cache-Control", "X-Livedata-State", "X-Livedata-Through")
        assert [again.headers[name] for name in told] == [first.headers[name] for name in told]
        head = reader.head(other(path, form))
        assert (head.status_code, head.headers["ETag"]) == (200, first.headers["ETag"])
        assert "Content-Length" not in head.headers
        table = Table(table.store, made.declared(f"shop of {form}"))
        table.take(A, B)
        path = share(table)


def test_the_entity_tag_changes_with_what_the_answer_is_made_of(
    table: Table, reader: FlaskClient
) -> None:
    table.take(A)
    whole, titles = share(table), share(table, "title")

    def tags() -> list[str]:
        paths = (whole, titles, other(titles, "json"), f"{titles}?where=title+%3D+Lamp")
        return [reader.head(path).headers["ETag"] for path in paths]

    before = tags()
    assert len({*before}) == 4
    # A Run that changes nothing: what was new is unchanged, and the table was read again.
    table.take(A)
    after = tags()
    assert [old == new for old, new in zip(before, after, strict=True)] == [
        False,
        True,
        False,
        True,
    ]
    table.take({**A, "price": 1})
    assert all(old != new for old, new in zip(after, tags(), strict=True))


def test_a_table_of_any_state_answers_its_last_good_rows(table: Table, reader: FlaskClient) -> None:
    path = share(table, "title")

    def state() -> tuple[str, int]:
        answer = reader.get(other(path, "json"))
        assert answer.headers["X-Livedata-State"] == answer.get_json()["state"]
        assert reader.head(path).headers["X-Livedata-State"] == answer.get_json()["state"]
        return answer.get_json()["state"], len(answer.get_json()["rows"])

    assert state() == ("draft", 0)
    assert "X-Livedata-Observed" not in reader.head(path).headers
    table.take(A, B)
    assert state() == ("ok", 2)
    forbidden = PageFailure(1, made.URL, "forbidden", 403, None, made.REFUSED)
    broken = PageFailure(1, made.URL, "http_error", 500, None, made.BROKEN)
    harvests: dict[str, Callable[..., Harvest]] = {
        "held": partial(pages_of, ending=StopReason("max_pages", made.GOES_ON)),
        "blocked": lambda *_: _failed(forbidden),
        "failed": lambda *_: _failed(broken),
    }
    for expected, harvest in harvests.items():
        attempt = table.begin()
        run = table.finish(attempt, harvest(attempt.recipe, [A]))
        assert run["status"] == expected
        assert state() == (expected, 2)
    table.take(A)
    datasets.update(table.store, "local", table.id, read(UpdateDataset, {"status": "paused"}))
    assert state() == ("paused", 1)


def _failed(page: PageFailure) -> Harvest:
    return Harvest([], StopReason("page_failed", page.problem), page, 1, 1)


def test_a_column_that_is_dropped_is_left_out_and_named(table: Table, reader: FlaskClient) -> None:
    table.take(A)
    path = _share_of_then(table, "title", "weight")
    alone = _share_of_then(table, "weight")
    conditional = _share_of_then(table, "title", where=("weight > 3",))
    answer = reader.get(path)
    assert lines(answer) == [["title"], ["Lamp"]]
    assert answer.headers["X-Livedata-Dropped"] == "weight"
    nothing = reader.get(other(alone, "json"))
    assert nothing.get_json()["columns"] == []
    assert "A1" not in nothing.text
    # Without its condition it would show rows that were never shared.
    assert "a condition" in error(reader.get(conditional), 409)


def _share_of_then(table: Table, *columns: str, where: tuple[str, ...] = ()) -> str:
    """An address of when the table had columns that it has no more."""
    token = f"token {ids.new_id().hex()}"
    scope, share_id = Scope("local", table.id, columns, where), ids.ShareId(ids.new_id())
    with table.store.writing() as writer:
        share_store.add(writer, share_id, scope, hash_key(token), None, ids.now())
    return f"/share/{token}/shop.csv"


def test_a_form_whose_part_is_not_installed_is_406(
    table: Table, reader: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    path = share(table)
    for form in ("parquet", "xlsx"):
        answer = reader.get(other(path, form))
        assert "a part of livedata that is not installed" in error(answer, 406)
        assert answer.get_json()["error"]["code"] == "form_unavailable"


def test_no_token_stands_in_a_log_an_archive_or_the_store(
    served: Serving, store: Store, tmp_path: Path
) -> None:
    made.meet_owner(store, "alice", 10)
    table = Table(store)
    table.take(A)
    path = share(table)
    token = path.split("/")[2]
    for each in (
        path,
        f"{path}?where=x",
        f"/share/{token}",
        *(f"//share/{token}/x.csv", f"/share//{token}/x.csv", f"/share/x/../{token}/x.csv"),
        *(f"/share//{token}", f"/share/x.csv/{token}", f"/{token}", f"/shares/{token}/x.csv"),
        path.upper(),
    ):
        with closing(served.connect()) as connection:
            connection.request("GET", each)
            connection.getresponse().read()
    assert token not in served.log()
    assert token.upper() not in served.log()
    assert "GET /share/.../shop.csv 200" in served.log()
    archive = tmp_path / "archive.zip"
    export_archive(store, "local", table.id, archive)
    assert token.encode() not in archive.read_bytes()
    with store.reading() as reader:
        kept = reader.rows("SELECT token_hash FROM shares")
    assert token.encode() not in kept[0][0]


def test_a_dataset_has_a_thousand_addresses(table: Table, reader: FlaskClient) -> None:
    table.take(A)
    with table.store.writing() as writer:
        for number in range(shares.MOST - 1):
            share_store.add(
                writer,
                ids.ShareId(ids.new_id()),
                Scope("local", table.id),
                number.to_bytes(32),
                None,
                ids.now(),
            )
    last = share(table)
    assert reader.get(last).status_code == 200
    with pytest.raises(Conflict, match="'shop' has 1,000 addresses that are open"):
        share(table)
    listed = shares.list_shares(table.store, "local", table.id)
    assert len(listed) == shares.MOST
    shares.revoke(table.store, "local", listed[0]["id"])
    share(table)
