"""``dataset export --for-git``: files that differ just where tables do, for a history in git."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from livedata.model.ids import new_id
from tests.made import make_dataset, take

if TYPE_CHECKING:
    from livedata.model.row import Scalar
    from livedata.store.database.store import Store
    from tests.cli.shell import Shell

COLUMNS: Sequence[Mapping[str, object]] = (
    {"name": "sku", "type": "string", "key": True},
    {"name": "title", "type": "string"},
    {"name": "price", "type": "number"},
)
LAMP: Mapping[str, Scalar] = {"sku": "A1", "title": "Lamp, red", "price": 10}
CHAIR: Mapping[str, Scalar] = {"sku": "B2", "title": "Chair", "price": None}
DESK: Mapping[str, Scalar] = {"sku": "a3", "title": "Desk", "price": 7.5}


def of_git(livedata: Shell, *options: str) -> str:
    return livedata.out("dataset", "export", "shop", "--for-git", *options)


def test_rows_stand_by_their_key_with_the_columns_of_the_table_alone(
    store: Store, livedata: Shell
) -> None:
    shop = make_dataset(store, columns=COLUMNS)
    take(store, shop, [DESK, CHAIR, LAMP])
    assert of_git(livedata) == 'sku,title,price\nA1,"Lamp, red",10\nB2,Chair,\na3,Desk,7.5\n'
    assert of_git(livedata, "--columns", "price,sku") == "price,sku\n10,A1\n,B2\n7.5,a3\n"
    assert of_git(livedata, "--json").splitlines()[1] == (
        '{"sku":"B2","title":"Chair","price":null}'
    )


def test_a_run_that_changes_no_row_changes_no_byte(store: Store, livedata: Shell) -> None:
    shop = make_dataset(store, columns=COLUMNS)
    take(store, shop, [LAMP, CHAIR, DESK])
    before = of_git(livedata)
    take(store, shop, [DESK, LAMP, CHAIR])
    assert of_git(livedata) == before


def test_a_row_that_is_gone_is_gone(store: Store, livedata: Shell) -> None:
    shop = make_dataset(store, columns=COLUMNS)
    take(store, shop, [LAMP, CHAIR, DESK])
    take(store, shop, [LAMP, CHAIR])
    assert "Desk" not in of_git(livedata)


NUMBERED: Sequence[Mapping[str, object]] = (
    {"name": "number", "type": "number", "key": True},
    {"name": "title", "type": "string"},
)


def test_a_key_of_numbers_is_sorted_by_size(store: Store, livedata: Shell) -> None:
    shop = make_dataset(store, columns=NUMBERED)
    take(store, shop, [{"number": n, "title": "x"} for n in (10, 9, 100)])
    assert of_git(livedata, "--columns", "number") == "number\n9\n10\n100\n"


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    titles=st.dictionaries(st.text("aB1-é", min_size=1, max_size=3), st.text("xy,\n", min_size=1)),
    data=st.data(),
)
def test_the_order_in_which_runs_find_rows_does_not_matter(
    store: Store, livedata: Shell, titles: dict[str, str], data: st.DataObject
) -> None:
    items: list[dict[str, Scalar]] = [{"sku": key, "title": t} for key, t in titles.items()]
    texts = set()
    # Of names that no other example has: one that fails leaves its datasets behind.
    for name in (f"{number}-{new_id().hex()}" for number in range(2)):
        take(
            store,
            make_dataset(store, name=name, columns=COLUMNS),
            data.draw(st.permutations(items)),
        )
        texts.add(livedata.out("dataset", "export", name, "--for-git"))
    assert len(texts) == 1


def test_every_dataset_is_a_file_of_a_folder(store: Store, livedata: Shell, tmp_path: Path) -> None:
    for name in ("Lamps & pots", "empty"):
        make_dataset(store, name=name, columns=COLUMNS)
    take(store, make_dataset(store, columns=COLUMNS), [LAMP])
    make_dataset(store, owner="bob", name="bobs")
    tables = tmp_path / "of" / "tables"
    export = ("dataset", "export", "--all", "--for-git", "-o", str(tables))
    livedata(*export)
    assert {file.name: file.read_text() for file in tables.iterdir()} == {
        "empty.csv": "sku,title,price\n",
        "lamps-pots.csv": "sku,title,price\n",
        "shop.csv": 'sku,title,price\nA1,"Lamp, red",10\n',
    }
    assert "exists; --force replaces it" in livedata.error(*export)
    livedata(*export, "--force")
    livedata(*export, "--format", "jsonl")
    assert (tables / "shop.jsonl").read_text() == ('{"sku":"A1","title":"Lamp, red","price":10}\n')


def test_two_datasets_of_one_file_are_refused_before_any_is_written(
    store: Store, livedata: Shell, tmp_path: Path
) -> None:
    make_dataset(store, name="shop")
    make_dataset(store, name="Shop!")
    said = livedata.error("dataset", "export", "--all", "-o", str(tmp_path / "tables"))
    assert "would have one file" in said
    assert not (tmp_path / "tables").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "Name one dataset, or give --all with the folder to write to."),
        (("shop", "--all"), "Name one dataset, or give --all"),
        (("--all",), "--all writes files: name their folder, such as -o tables."),
        (("--all", "--archive", "a.zip"), "--archive writes the whole dataset"),
        (("shop", "--for-git", "--times"), "--for-git is for lines that git compares"),
        (("shop", "--for-git", "-o", "a.xlsx"), "--for-git is for lines that git compares"),
        (("shop", "--for-git", "--archive", "a.zip"), "--archive writes the whole dataset"),
    ],
)
def test_wrong_usage_is_said(livedata: Shell, options: tuple[str, ...], said: str) -> None:
    assert said in " ".join(livedata.error("dataset", "export", *options, code=2).split())


def test_git_shows_the_cell_that_changed(store: Store, livedata: Shell, tmp_path: Path) -> None:
    def git(*args: str) -> str:
        who = ("-c", "user.name=Alice", "-c", "user.email=alice@shop.example")
        done = subprocess.run(
            ["git", *who, *args], cwd=tmp_path, check=True, capture_output=True, text=True
        )
        return done.stdout

    git("init", "-q")
    shop = make_dataset(store, columns=COLUMNS)
    export = ("dataset", "export", "--all", "--for-git", "--force", "-o", str(tmp_path / "tables"))
    for items in ([CHAIR, LAMP, DESK], [DESK, {**LAMP, "price": 12}, CHAIR]):
        take(store, shop, items)
        livedata(*export)
        git("add", "tables")
        git("commit", "-q", "-m", "Tables")
    changed = [line for line in git("show", "--format=").splitlines() if line[0] in "+-"]
    assert changed[2:] == ['-A1,"Lamp, red",10', '+A1,"Lamp, red",12']
