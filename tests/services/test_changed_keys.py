"""Keys that changed: most rows stand there under others, which is told, held and never believed."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from livedata.model import ids
from livedata.model.diagnosis.explanation import RunExplanation, cause_code
from livedata.model.problem import Problem
from livedata.model.run import Run
from livedata.services import explanation, queries, runs
from livedata.services.commit import AcceptancePolicy
from livedata.store.database.store import Store
from tests import made
from tests.services.table import A, Item, Table

pytestmark = pytest.mark.one_database

PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
LOSS, KEYS = "run.mass_loss", "run.keys_changed"


def rows(count: int, key: str = "K{}", first: int = 0, **cells: str) -> list[Item]:
    """Rows whose titles say which things they are, whatever their keys are."""
    numbers = range(first, first + count)
    return [
        {
            "sku": key.format(number),
            "title": cells.get("title", "Thing {}").format(number),
            "price": number,
        }
        for number in numbers
    ]


def problem(table: Table, run: Run) -> Problem | None:
    return queries.run_report(table.store, "local", raw(run)).problem


def held_by(table: Table, run: Run) -> str | None:
    """The code of what holds a Run; None if it was accepted."""
    cause = problem(table, run)
    assert (run["status"] == "held") is (cause is not None)
    return None if cause is None else cause.code


def explained(table: Table, run: Run) -> RunExplanation:
    return explanation.explanation(table.store, "local", raw(run))


def raw(run: Run) -> ids.RunId:
    return ids.RunId(ids.raw_id(run["id"]))


@pytest.mark.slow
@settings(max_examples=20, phases=PHASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    present=st.integers(20, 40),
    stay=st.integers(1, 19),
    fresh=st.integers(0, 40),
    again=st.integers(1, 4),
    alike=st.booleans(),
)
def test_keys_that_changed_are_never_believed_however_often_they_are_read(
    *, present: int, stay: int, fresh: int, again: int, alike: bool
) -> None:
    stay = min(stay, (present - 1) // 2)  # more than half of the rows are gone
    gone = present - stay
    with tempfile.TemporaryDirectory() as home:
        store = made.make_store(Path(home))
        made.meet_owner(store, "local", 1000)
        table = Table(store)
        table.take(*rows(present))
        title = "Thing {}" if alike else "Another {}"
        now = [*rows(stay), *rows(fresh, "N{}", first=stay, title=title)]
        ends = [held_by(table, table.take(*now)) for _ in range(again)]
        if 2 * fresh < gone:
            # A mass loss by itself is believed the second time.
            assert ends == [LOSS, *[None] * (again - 1)]
            return
        assert ends == [KEYS] * again
        assert table.dataset["rowCount"] == present
        # A person may accept it as it stands, and then it is what there is.
        last = table.take(*now)
        assert runs.accept(table.store, "local", raw(last)) == "succeeded"
        assert table.dataset["rowCount"] == stay + fresh
        after = table.take(*now)
        assert (after["status"], after["rowDeltas"]["new"], after["rowDeltas"]["gone"]) == (
            "succeeded",
            0,
            0,
        )


@pytest.mark.parametrize(
    ("first", "second", "codes"),
    [
        # What was held as a loss confirms no keys, and keys confirm no loss.
        (rows(6), [*rows(6), *rows(12, "N{}")], [LOSS, KEYS]),
        ([*rows(6), *rows(12, "N{}")], rows(6), [KEYS, LOSS]),
        # 24 rows are gone, and 12 are the half of them.
        (rows(12, "N{}"), rows(12, "N{}"), [KEYS, KEYS]),
        (rows(11, "N{}"), rows(11, "N{}"), [LOSS, None]),
    ],
)
def test_a_loss_and_keys_are_told_apart_by_what_is_new(
    table: Table, first: list[Item], second: list[Item], codes: list[str | None]
) -> None:
    table.take(*rows(24))
    assert [held_by(table, table.take(*now)) for now in (first, second)] == codes


def test_rows_that_come_back_in_place_of_the_others_are_keys_that_changed(table: Table) -> None:
    off = AcceptancePolicy(mass_loss=None)
    table.take(*rows(20))
    table.take_pages(rows(20, "N{}"), policy=off)
    # The site goes to and fro between two keys of the same things.
    assert [held_by(table, table.take(*rows(20))) for _ in range(2)] == [KEYS, KEYS]


def test_changed_keys_are_told_with_the_column_that_knows_the_rows_again(table: Table) -> None:
    table.take(*rows(20))
    run = table.take(*rows(20, "N{}"))
    told = problem(table, run)
    assert told is not None
    assert (told.code, told.params) == (
        "run.keys_changed",
        {
            "present": 20,
            "gone": 20,
            "share": 0.5,
            "keys": ["sku"],
            "fresh": 20,
            "same": 20,
            "better": ["title"],
            "known": 20,
            "keys_before": ["K0", "K1", "K2"],
            "keys_now": ["N0", "N1", "N2"],
        },
    )
    story = queries.run_report(table.store, "local", raw(run))
    assert story.stop == {
        "rule": "mass_loss",
        "inputs": {"present": 20, "gone": 20, "new": 20, "share": 0.5},
    }


@pytest.mark.parametrize(
    ("before", "now", "better", "said"),
    [
        # Of texts that know the rows again the one that does so best.
        (rows(20), rows(20, "N{}"), ["title"], "of which title knows 20 again"),
        # A title that was reworded here and there is still the better key.
        (
            rows(20),
            [*rows(12, "N{}"), *rows(8, "N{}", first=12, title="Reworded {}")],
            ["title"],
            "of which title knows 12 again",
        ),
        # Numbers are the last choice.
        (rows(20), rows(20, "N{}", title="All {}"), ["price"], "of which price knows 20 again"),
        # A title that many share tells nothing apart.
        (
            [{**row, "title": "Thing", "price": None} for row in rows(20)],
            [{**row, "title": "Thing", "price": None} for row in rows(20, "N{}")],
            [],
            "The key sku has changed, or the list is another one: 20 of 20 rows",
        ),
        # Another list altogether.
        (
            rows(20),
            rows(20, "N{}", first=50),
            [],
            "The key sku has changed, or the list is another one: 20 of 20 rows",
        ),
    ],
)
def test_the_better_key_is_the_column_that_knows_the_rows_again(
    table: Table, before: list[Item], now: list[Item], better: list[str], said: str
) -> None:
    table.take(*before)
    run = table.take(*now)
    told = problem(table, run)
    assert told is not None
    assert (told.code, told.params["better"]) == (KEYS, better)
    assert said in str(run["error"])


def test_two_columns_together_may_be_the_better_key(store: Store) -> None:
    declared: Any = made.declared()
    columns = [*declared["columns"], {"name": "firm", "type": "string"}]
    fields = [*declared["source"]["fields"], {"name": "firm", "read": {"selector": ".firm"}}]
    source = {**declared["source"], "fields": fields}
    table = Table(store, {**declared, "columns": columns, "source": source})

    def jobs(key: str) -> list[Item]:
        return [
            {"sku": f"{key}{number}", "title": f"Job {number // 4}", "firm": f"Firm {number % 4}"}
            for number in range(20)
        ]

    table.take(*jobs("K"))
    run = table.take(*jobs("N"))
    told = problem(table, run)
    assert told is not None
    assert told.params["better"] == ["title", "firm"]
    assert told.remedies[0].params == {
        "keys": "title and firm",
        "identity": 'kind = "composite" and fields = ["title", "firm"]',
    }


def test_explain_names_the_key_as_the_cause_and_what_gives_the_table_another(table: Table) -> None:
    table.take(*rows(20))
    told = explained(table, table.take(*rows(20, "N{}")))
    (cause,) = told.causes
    assert cause_code(cause) == "keys_changed"
    names = ("keys", "better", "known", "fresh")
    assert [cause.params[name] for name in names] == [["sku"], ["title"], 20, 20]
    assert [fact.params for fact in cause.evidence] == [
        {"before": f"K{number}", "now": f"N{number}"} for number in range(3)
    ]
    assert [remedy.code for remedy in cause.remedies] == [
        "key_of_its_own",
        "create_dataset",
        "accept_loss",
    ]


def test_a_small_table_is_not_held_and_told_as_odd(table: Table) -> None:
    table.take(*rows(19))
    run = table.take(*rows(19, "N{}"))
    story = queries.run_report(table.store, "local", raw(run))
    assert (run["status"], [odd["code"] for odd in story.facts["odd"]]) == (
        "succeeded",
        ["finding.keys_moved"],
    )
    (cause,) = explained(table, run).causes
    assert cause_code(cause) == "keys_changed"
    assert cause.params["better"] == ["title"]


def test_a_guard_that_is_off_holds_no_changed_keys(table: Table) -> None:
    table.take(*rows(20))
    off = AcceptancePolicy(guards=frozenset({"emptied_field"}))
    run = table.take_pages(rows(20, "N{}"), policy=off)
    assert run["status"] == "succeeded"


def test_the_key_of_a_row_that_was_edited_by_hand_is_compared_as_the_source_has_it(
    table: Table,
) -> None:
    table.take(*rows(20))
    table.edit("K1", {"title": "Mine"})
    told = problem(table, table.take(*rows(20, "N{}")))
    assert told is not None
    assert (told.params["better"], told.params["known"]) == (["title"], 20)


def twice(*titles: str) -> list[Item]:
    """Records that share a key, and differ in their titles."""
    return [{"sku": "K1", "title": title, "price": 1} for title in titles]


@pytest.mark.parametrize(
    ("items", "said"),
    [
        (twice("Red", "Blue"), "; choose title as the key, which tells all records apart."),
        # Two columns together do.
        (
            [*twice("Red", "Blue"), {"sku": "K2", "title": "Red", "price": 2}],
            "; choose sku with title as the key, which tells all records apart.",
        ),
        (
            [{**A, "sku": "K1", "title": None, "price": None, "stock": stock} for stock in (0, 1)],
            "; add a column to the identity, or choose one that tells them apart.",
        ),
    ],
)
def test_a_shared_key_is_told_with_the_one_that_tells_records_apart(
    table: Table, items: list[Item], said: str
) -> None:
    run = table.take(*items)
    assert run["status"] == "failed"
    assert str(run["error"]).endswith(said)


@pytest.mark.parametrize(
    ("rows_before", "remedies"),
    [
        # Without a row a dataset may still be given another identity.
        ([], ["key_by", "narrow_items", "revise"]),
        (rows(3), ["key_of_its_own", "create_dataset", "narrow_items", "revise"]),
    ],
)
def test_explain_of_a_shared_key_says_which_is_better_and_how_it_is_given(
    table: Table, rows_before: list[Item], remedies: list[str]
) -> None:
    if rows_before:
        table.take(*rows_before)
    cause, *_ = explained(table, table.take(*twice("Red", "Blue"))).causes
    assert cause_code(cause) == "key_shared"
    assert cause.params == {"differ": ["title"], "better": ["title"]}
    assert [remedy.code for remedy in cause.remedies] == remedies
