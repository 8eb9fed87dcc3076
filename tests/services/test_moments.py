"""The table of a dataset at another moment, and the difference of two."""

from __future__ import annotations

from functools import partial
from itertools import count, pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from livedata.model import ids
from livedata.model.errors import Invalid, NotFound
from livedata.model.row import Row
from livedata.services.moments import RowDiff, diff
from livedata.services.snapshot import snapshot
from livedata.store.database.store import Store
from tests.services.conftest import Clock, SetClock
from tests.services.table import A, B, C, Table
from tests.services.test_feed_laws import STEPS, table_after

DAY = 86_400


def rows_then(table: Table, when: object, zone: str = "UTC") -> dict[str, Row]:
    """The rows at WHEN, by key."""
    with snapshot(table.store, "local", table.id, str(when), zone) as then:
        return {row["rowKey"]: row for row in then.rows}


def between(table: Table, since: object, until: object = None) -> list[RowDiff]:
    """What became of the table between two moments."""
    last = None if until is None else str(until)
    return [*diff(table.store, "local", table.id, str(since), last, "UTC").rows]


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(steps=STEPS)
def test_the_table_at_each_sequence_is_what_its_revisions_leave(
    store: Store, steps: list[Any]
) -> None:
    table = table_after(store, steps)
    feed = table.feed()
    tables = [rows_then(table, sequence) for sequence in range(len(feed) + 1)]
    replayed: dict[str, Any] = {}
    assert tables[0] == {}
    for change, rows in zip(feed, tables[1:], strict=True):
        replayed[change["rowId"]] = change
        by_id = {row["id"]: row for row in rows.values()}
        assert by_id.keys() == replayed.keys()
        for row_id, last in replayed.items():
            _is_as_written(by_id[row_id], last)
    assert tables[-1] == table.rows()
    _compose(table, tables)


def _is_as_written(row: Row, last: Any) -> None:
    """A row is what its last revision says."""
    assert row["data"] == {**dict.fromkeys(row["data"]), **last["data"]}
    assert (row["revisionId"], row["presence"]) == (last["id"], last["presence"])
    assert (row["updatedAt"], row["missingReasons"]) == (last["createdAt"], last["missingReasons"])


def _compose(table: Table, tables: list[dict[str, Row]]) -> None:
    """A difference leads from one table to the other, and is the net of its parts."""
    names = {field: name for name, field in table.fields.items()}
    shown = [{key: _shown(row, names) for key, row in rows.items()} for rows in tables]
    head = len(tables) - 1
    for first, last in {(0, head), (head // 3, head), (0, head // 2), (head // 2, head)}:
        differences = between(table, first, last)
        assert _applied(shown[first], differences) == _known(shown[first], shown[last])
        step_by_step = shown[first]
        for before, after in pairwise(range(first, last + 1)):
            step_by_step = _applied(step_by_step, between(table, before, after))
        assert _known(shown[first], step_by_step) == _known(shown[first], shown[last])


def _shown(row: Row, names: dict[str, str]) -> tuple[str, dict[str, Any]]:
    cells = {names[field]: value for field, value in row["data"].items() if value is not None}
    return row["presence"], cells


def _known(
    before: dict[str, tuple[str, dict[str, Any]]], after: dict[str, tuple[str, dict[str, Any]]]
) -> dict[str, tuple[str, dict[str, Any]]]:
    """Without the rows that came and went between: no difference tells of them."""
    return {key: row for key, row in after.items() if key in before or row[0] == "present"}


def _applied(
    table: dict[str, tuple[str, dict[str, Any]]], differences: list[RowDiff]
) -> dict[str, tuple[str, dict[str, Any]]]:
    after = dict(table)
    for difference in differences:
        presence, cells = after.get(difference["row"], ("missing", {}))
        for name, cell in difference["changed"].items():
            assert cells.get(name) == cell["before"]
        cells = {**cells, **{name: cell["after"] for name, cell in difference["changed"].items()}}
        presence = {"gone": "missing", "changed": presence}.get(difference["kind"], "present")
        after[difference["row"]] = (
            presence,
            {name: value for name, value in cells.items() if value is not None},
        )
    return after


@pytest.fixture
def days(table: Table, step: Clock) -> Table:
    """A table with an accepted Run today, tomorrow, and the day after."""
    table.take(A, B)
    step(DAY)
    table.take({**A, "price": 12}, B, C)
    step(2 * DAY)
    table.take({**A, "price": 15}, C)
    return table


def _day(after: int) -> str:
    return ids.to_datetime(ids.Micros(ids.now() + after * DAY * 1_000_000)).date().isoformat()


def test_a_day_is_the_table_at_its_end(days: Table) -> None:
    assert {
        key: row["data"][days.fields["price"]] for key, row in rows_then(days, _day(-1)).items()
    } == {
        "A1": 12,
        "B2": 25.5,
        "C3": None,
    }
    assert rows_then(days, _day(-9)) == {}
    assert (
        rows_then(days, _day(0))
        == rows_then(days, _day(300))
        == rows_then(days, "9999-12-31")
        == days.rows()
    )


def test_a_moment_is_what_was_written_up_to_it(days: Table) -> None:
    written = days.feed()[2]["createdAt"]
    before = ids.format_timestamp(ids.Micros(ids.parse_timestamp(written) - 1))
    assert rows_then(days, written).keys() == {"A1", "B2", "C3"}
    assert rows_then(days, before).keys() == {"A1", "B2"}


def test_a_run_is_the_table_that_it_left_also_if_it_changed_nothing(
    days: Table, step: Clock
) -> None:
    left = days.rows()
    unchanged = days.take({**A, "price": 15}, C)["id"]
    step(4 * DAY)
    days.take(A, C)
    first = days.feed()[0]["runId"]
    assert rows_then(days, first).keys() == {"A1", "B2"}
    then = rows_then(days, unchanged)
    assert {key: row["data"] for key, row in then.items()} == {
        key: row["data"] for key, row in left.items()
    }
    assert rows_then(days, unchanged[-12:]) == then


def test_a_run_whose_id_ends_in_digits_alone_is_no_sequence(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = count(10**11)
    monkeypatch.setattr("os.urandom", lambda _size: bytes.fromhex(f"{next(numbers):020}"))
    first = table.take(A)["id"]
    table.take(A, B)
    assert first[-12:].isdigit()
    assert rows_then(table, first[-12:]).keys() == {"A1"}
    with pytest.raises(Invalid, match="The sequence 999999999999 is past the head of 'shop'"):
        rows_then(table, "999999999999")


def test_statuses_are_those_of_the_last_run_that_wrote(days: Table) -> None:
    days.edit("A1", {"note": "mine"})
    days.edit("C3", {"note": "too"})
    assert {key: row["status"] for key, row in rows_then(days, 2).items()} == {
        "A1": "new",
        "B2": "new",
    }
    assert {key: row["status"] for key, row in rows_then(days, 4).items()} == {
        "A1": "changed",
        "B2": "unchanged",
        "C3": "new",
    }
    for sequence in (6, 7):
        assert {key: row["status"] for key, row in rows_then(days, sequence).items()} == {
            "A1": "changed",
            "B2": "gone",
            "C3": "unchanged",
        }


def test_columns_are_those_of_then(days: Table) -> None:
    days.add_column("extra")
    days.edit("A1", {"extra": "x"})
    with snapshot(days.store, "local", days.id, "3") as then:
        assert "extra" not in {column["name"] for column in then.columns}
    with snapshot(days.store, "local", days.id) as now:
        assert "extra" in {column["name"] for column in now.columns}
    assert between(days, 3, 7)[0]["changed"]["extra"] == {"before": None, "after": "x"}


def test_a_difference_is_net(days: Table, step: Clock) -> None:
    step(5 * DAY)
    days.take(A, B, C)
    assert between(days, 2, 6) == [
        {"kind": "changed", "row": "A1", "changed": {"price": {"before": 10, "after": 15}}},
        {"kind": "gone", "row": "B2", "changed": {}},
        {
            "kind": "new",
            "row": "C3",
            "changed": {
                "sku": {"before": None, "after": "C3"},
                "title": {"before": None, "after": "Mug"},
                "stock": {"before": None, "after": True},
            },
        },
    ]
    assert between(days, 6) == [
        {"kind": "changed", "row": "A1", "changed": {"price": {"before": 15, "after": 10}}},
        {"kind": "back", "row": "B2", "changed": {}},
    ]
    # What came and went, and a price that is what it was, do not show.
    assert [difference["row"] for difference in between(days, 2)] == ["C3"]
    assert between(days, 4, 4) == []


@pytest.mark.parametrize(
    ("when", "sentence"),
    [
        ("yesterday", "'yesterday' is no moment: write a date and time with its zone"),
        ("2026-02-30", "'2026-02-30' is no moment"),
        ("2026-03-01T08:00", "'2026-03-01T08:00' is no moment"),
        ("", "'' is no moment"),
        ("-1", "'-1' is no moment"),
        ("7", "The sequence 7 is past the head of 'shop', which is 6."),
        ("9" * 5000, "is past the head of 'shop', which is 6."),
    ],
)
def test_what_is_no_moment_is_told_with_examples(days: Table, when: str, sentence: str) -> None:
    with pytest.raises(Invalid, match=r"moment|past") as raised:
        rows_then(days, when)
    assert sentence in raised.value.message


def test_two_moments_stand_in_their_order(days: Table) -> None:
    with pytest.raises(Invalid, match="4 is later than 2: write the earlier moment first"):
        between(days, 4, 2)


def test_another_owner_does_not_find_it(days: Table) -> None:
    with pytest.raises(NotFound), snapshot(days.store, "bob", days.id, "1"):
        pass
    with pytest.raises(NotFound):
        diff(days.store, "bob", days.id, "1", None, "UTC")


def test_a_day_ends_at_midnight_of_the_zone(table: Table, set_clock: SetClock) -> None:
    for moment, items in (("2026-03-01T22:30:00Z", [A]), ("2026-03-01T23:30:00Z", [A, B])):
        set_clock(partial(ids.parse_timestamp, moment))
        table.take(*items)
    assert rows_then(table, "2026-03-01", "UTC").keys() == {"A1", "B2"}
    assert rows_then(table, "2026-03-01", "Europe/Berlin").keys() == {"A1"}
    assert rows_then(table, "2026-03-02", "Europe/Berlin").keys() == {"A1", "B2"}
    assert rows_then(table, "2026-03-01", "America/New_York").keys() == {"A1", "B2"}
