"""``rows list --where``, ``changes --when`` and ``dataset export --where``."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest

from tests.made import ITEMS, make_dataset, take

if TYPE_CHECKING:
    from livedata.store.database.store import Store
    from tests.cli.shell import Shell

CHEAPER = ({**ITEMS[0], "price": 8}, *ITEMS[1:])


@pytest.fixture
def shop(store: Store) -> None:
    dataset = make_dataset(store)
    take(store, dataset)
    take(store, dataset, CHEAPER)
    take(store, dataset, [*CHEAPER[:2], {"sku": "D4", "title": "Rug"}])


pytestmark = pytest.mark.usefixtures("shop")


def keys(livedata: Shell, *options: str) -> list[str]:
    return [row["rowKey"] for row in livedata.json("rows", "list", "shop", *options)]


def test_rows_of_which_all_clauses_hold_are_listed(livedata: Shell) -> None:
    assert keys(livedata, "--where", "price < 20") == ["A1"]
    assert keys(livedata, "--where", "price is empty", "--where", "title = Rug") == ["D4"]
    assert keys(livedata, "--where", "price < 20", "--status", "gone") == []
    shown = livedata.out("rows", "list", "shop", "--where", "title contains LAMP").splitlines()
    assert [line.split()[1] for line in shown] == ["row", "A1"]
    nothing = livedata("rows", "list", "shop", "--where", "price > 1000")
    assert (nothing.stdout, nothing.stderr) == ("", "There are no such rows.\n")


def test_rows_are_asked_for_as_they_were(livedata: Shell) -> None:
    assert keys(livedata, "--where", "price < 9", "--at", "3") == []
    assert keys(livedata, "--where", "price < 9", "--at", "4") == ["A1"]


def test_revisions_that_meet_a_condition_are_printed(livedata: Shell) -> None:
    def sequences(*clauses: str, options: tuple[str, ...] = ()) -> list[int]:
        whens = [part for clause in clauses for part in ("--when", clause)]
        lines = livedata.out("changes", "shop", "--json", *whens, *options).splitlines()
        return [json.loads(line)["sequence"] for line in lines]

    assert sequences("price falls") == [4]
    assert sequences("price < 9") == [4]
    assert sequences("price < 9", "title = Chair") == []
    assert sequences("row is gone") == [6]
    assert sequences("row is new", options=("--limit", "2")) == [1, 2]
    assert sequences("price falls", options=("--kind", "created")) == []
    assert "price: 10 → 8" in livedata.out("changes", "shop", "--when", "price falls by 10%")


def test_a_cursor_moves_over_what_does_not_match(livedata: Shell) -> None:
    follow = ("changes", "shop", "--when", "price falls", "--cursor", "deals")
    assert "→ 8" in livedata.out(*follow)
    assert livedata.out(*follow) == ""
    assert "no changes" not in livedata.out("changes", "shop", "--cursor", "deals")


def test_an_export_has_the_rows_that_are_asked_for(livedata: Shell) -> None:
    text = livedata.out("dataset", "export", "shop", "--where", "price < 20", "--at", "3")
    assert [row["rowKey"] for row in csv.DictReader(io.StringIO(text))] == ["A1"]
    refused = livedata.error(
        *("dataset", "export", "shop", "--format", "sqlite", "-o", "x.db"),
        *("--where", "price < 20"),
        code=2,
    )
    assert "--where is for other formats" in refused


@pytest.mark.parametrize(
    "command",
    [
        ("rows", "list", "shop", "--where"),
        ("rows", "list", "shop", "--at", "3", "--where"),
        ("dataset", "export", "shop", "--where"),
        ("changes", "shop", "--when"),
    ],
)
def test_a_wrong_clause_is_one_sentence(livedata: Shell, command: tuple[str, ...]) -> None:
    assert livedata.error(*command, "prise < 20") == (
        "Error: The clause 'prise < 20' names 'prise', and there is no such column: is price "
        "meant? Write for example: price < 20\n"
    )


def test_conditions_do_not_go_with_hand_edits_and_unreadable_cells(livedata: Shell) -> None:
    for option in ("--stale", "--unreadable"):
        told = livedata.error("rows", "list", "shop", option, "--where", "price < 20", code=2)
        assert "without --at and --where" in told
