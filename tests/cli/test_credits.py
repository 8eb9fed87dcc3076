from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.made import declared, make_dataset, take

if TYPE_CHECKING:
    from pathlib import Path

    from livedata.store.database.store import Store
    from tests.cli.shell import Shell


def test_an_owner_begins_with_a_grant(livedata: Shell) -> None:
    for owner, balance in {"local": 1_000_000, "alice": 1_000}.items():
        livedata("key", "create", "--owner", owner)
        assert livedata.json("usage", "--owner", owner)["balance"] == balance


def test_a_new_installation_says_what_there_is_to_spend(livedata: Shell) -> None:
    usage = livedata.json("usage")
    assert usage == {"balance": 1_000_000, "ledger": []}
    livedata("key", "create")
    assert livedata.json("usage")["balance"] == usage["balance"]


def test_nobody_becomes_an_owner_by_a_question(livedata: Shell) -> None:
    for _ in range(2):
        said = livedata.error("usage", "--owner", "alcie")
        assert "There is no owner 'alcie' yet: the first dataset, key or grant makes one" in said


def test_grant_adds_and_takes_away(livedata: Shell) -> None:
    assert livedata.out("credits", "grant", "5", "--note", "gift") == "local has 1000005 credits.\n"
    assert livedata.json("credits", "grant", "-5")["balanceAfter"] == 1_000_000
    assert livedata.json("usage")["ledger"][1]["note"] == "gift"


def test_a_balance_never_falls_below_0(livedata: Shell) -> None:
    assert "below 0" in livedata.error("credits", "grant", "-1001", "--owner", "alice")
    assert "change nothing" in livedata.error("credits", "grant", "0")
    livedata.error("credits", "grant", "many", code=2)


def test_usage_lists_what_runs_cost(livedata: Shell, store: Store) -> None:
    run = take(store, make_dataset(store))
    balance = livedata.json("usage")["balance"]
    shown = livedata.out("usage").splitlines()
    assert shown[1] == f"balance  {balance}"
    assert shown[4].split()[1:] == ["charge", "-1", str(balance), run]


def test_show_warns_below_ten_runs_worth(livedata: Shell, store: Store) -> None:
    take(store, make_dataset(store, owner="bob", balance=10), owner="bob")
    message = livedata("dataset", "show", "shop", "--owner", "bob").stderr
    assert "livedata credits grant 10 --owner bob" in message
    livedata("credits", "grant", "1", "--owner", "bob")
    assert livedata("dataset", "show", "shop", "--owner", "bob").stderr == ""


@pytest.mark.parametrize("amount", ["abc", "1.5", "1e3", str(2**53 + 1), ""])
def test_credits_are_a_whole_number(livedata: Shell, amount: str) -> None:
    message = livedata.error("credits", "grant", amount, code=2)
    assert (
        f"N must be a whole number such as 1000 or -50, at most {2**53}, not {amount!r}" in message
    )


def test_a_single_credit_is_one(livedata: Shell, store: Store) -> None:
    make_dataset(store, owner="bob", balance=2)
    assert livedata.out("credits", "grant", "-1", "--owner", "bob") == "bob has 1 credit.\n"
    assert "Only 1 credit is left" in livedata("dataset", "show", "shop", "--owner", "bob").stderr


def test_an_act_that_is_refused_leaves_no_owner_behind(
    livedata: Shell, store: Store, tmp_path: Path
) -> None:
    source = tmp_path / "shop.json"
    source.write_text(json.dumps({**declared(), "name": ""}))
    livedata.error("dataset", "create", str(source), "--owner", "new")
    livedata.error("credits", "grant", "0", "--owner", "new")
    livedata.error("credits", "grant", "-2000000", "--owner", "new")
    livedata.error("run", "shop", "--owner", "new")
    livedata("run", "--owner", "new")
    with store.reading() as reader:
        assert reader.rows("SELECT name FROM owners WHERE name = 'new'") == []
    source.write_text(json.dumps(declared()))
    livedata("dataset", "create", str(source), "--owner", "new")
    assert livedata.json("usage", "--owner", "new")["balance"] == 1_000
