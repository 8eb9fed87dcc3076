"""What cannot be read in the store is a 500 with its id; only the log says what it is."""

from __future__ import annotations

from contextlib import closing

import pytest

from livedata.store.database.store import Store
from tests.api.person import Person

NO_UTF8 = "CAST(x'ff' AS TEXT)"


def plant(person: Person, statement: str) -> None:
    """Write into the store as another program would."""
    with closing(Store(person.store.url)) as other, other.writing() as writer:
        writer.execute(statement)


@pytest.mark.parametrize(
    ("path", "table", "column", "value"),
    [
        ("", "datasets", "columns", "'{'"),
        pytest.param("", "datasets", "name", NO_UTF8, marks=pytest.mark.sqlite),
        ("", "datasets", "updated_at", "9223372036854775807"),
        ("/rows", "rows", "data", "'{'"),
        pytest.param("/rows", "rows", "source_url", NO_UTF8, marks=pytest.mark.sqlite),
        ("/changes", "revisions", "data", "'{'"),
        ("/changes", "schemas", "columns", "'{'"),
        ("/runs", "runs", "checks", "'{'"),
        # JSON that can be read, but is wrong inside.
        ("", "datasets", "columns", "'[1]'"),
        ("/rows", "datasets", "field_ids", "'[\"x\"]'"),
        ("/rows", "rows", "data", "'{\"a\": 1}'"),
        ("/rows", "rows", "data", "'[[\"A1\"]]'"),
        ("/changes", "revisions", "data", "'{\"a\": 1}'"),
        ("/changes", "schemas", "columns", "'[1]'"),
        ("/changes", "observations", "entries", "'{\"1\": [5]}'"),
        ("/runs", "runs", "checks", "'[1]'"),
    ],
)
def test_what_cannot_be_read_is_a_500_and_the_log_names_its_table_and_row(
    alice: Person,
    caplog: pytest.LogCaptureFixture,
    path: str,
    table: str,
    column: str,
    value: str,
) -> None:
    dataset = alice.table()
    plant(alice, f"UPDATE {table} SET {column} = {value}")
    answer = alice.ask("GET", f"{dataset}{path}")
    assert answer.status_code == 500
    assert table.encode() not in answer.data
    (record,) = [each for each in caplog.records if each.levelname == "ERROR"]
    assert answer.headers["X-Request-Id"] in record.getMessage()
    assert f"in the table {table}, row " in record.getMessage()
    assert f"the column {column} cannot be read" in record.getMessage()
    assert record.exc_info is None


def test_a_revision_that_cannot_be_read_leaves_the_rows_readable(alice: Person) -> None:
    dataset = alice.table()
    plant(alice, "UPDATE revisions SET data = '{'")
    assert len(alice.get(f"{dataset}/rows")["data"]) == 3


def test_what_is_read_but_of_another_kind_is_found_behind_the_error_that_it_causes(
    alice: Person, caplog: pytest.LogCaptureFixture
) -> None:
    (run,) = alice.get(f"{alice.table()}/runs")["data"]
    plant(alice, "UPDATE runs SET checks = '5'")
    answer = alice.ask("GET", f"/runs/{run['id']}/diagnostics")
    assert answer.status_code == 500
    (record,) = [each for each in caplog.records if each.levelname == "ERROR"]
    assert "in the table runs, row " in record.getMessage()
    assert record.exc_info is None
