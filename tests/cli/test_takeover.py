"""``dataset create SOURCE --take-over D``: it shows its plan, asks, and does it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from livedata.model import ids
from livedata.services import runs, shares
from livedata.services.notices import feeds
from livedata.store.database.store import Store
from tests.cli.shell import Shell
from tests.made import declared, make_dataset, take
from tests.notices.conftest import add_notice
from tests.services.table import A, B
from tests.services.test_takeover import HEIR, linked

pytestmark = pytest.mark.one_database
PLAN = """\
A new dataset takes the place of shop:
  shop is renamed to 'shop (old)' and paused; its 2 rows and all history stay there
  the new one is called shop, draft, without a schedule
  key: sku -> link
  new column: link (string)
  column title: string -> boolean
  no column any more: sku
  your own columns come along: note
  these notices tell of the new one, at first of each row as new: ops
  1 shared address will show the new one, with no row at first
  the feed has another address: the present one goes on showing 'shop (old)'
  hand edits of 1 row come along at the first accepted Run, to rows with the same price, stock
"""


@pytest.fixture
def shop(store: Store, livedata: Shell) -> ids.DatasetId:
    """A dataset with a row that is edited by hand, a notice, a share and a feed."""
    dataset = make_dataset(store)
    take(store, dataset, [A, B])
    livedata("rows", "edit", "shop", "A1", "note=mine")
    add_notice(store, datasets=[dataset])
    shares.add(store, "local", dataset, ["price"], [], None)
    feeds.open_feed(store, "local", dataset)
    return dataset


def written(folder: Path, columns: list[Mapping[str, object]], name: str = "other") -> str:
    path = folder / "new.json"
    path.write_text(json.dumps(declared(name, columns)))
    return str(path)


@pytest.fixture
def source(tmp_path: Path) -> str:
    """A source with another key, and another type of a column."""
    others = [{**c, "type": "boolean"} if c["name"] == "title" else c for c in HEIR]
    return written(tmp_path, others)


def names(livedata: Shell) -> list[str]:
    return [each["name"] for each in livedata.json("dataset", "list")]


@pytest.mark.usefixtures("shop")
def test_the_plan_is_shown_and_done_if_a_person_agrees(livedata: Shell, source: str) -> None:
    words = ("dataset", "create", source, "--take-over", "shop")
    assert livedata.answered(*words, answers=["n\n"]) == (
        f"{PLAN}Take over? [y/N]: n\nNothing was done.\n",
        1,
    )
    assert names(livedata) == ["shop"]
    shown, code = livedata.answered(*words, answers=["y\n"])
    assert (code, sorted(names(livedata))) == (0, ["shop", "shop (old)"])
    asked, _, done = shown.partition("Take over? [y/N]: y\n")
    assert asked == PLAN
    made, _, rest = done.partition("It has taken the place of 'shop (old)'. Its first Run:\n")
    assert [line.split()[0] for line in made.splitlines()] == ["name", "id", "key", "columns"]
    assert rest == "livedata run shop\n"


@pytest.mark.usefixtures("shop")
def test_nothing_is_done_where_nobody_can_be_asked(livedata: Shell, source: str) -> None:
    said = livedata.error("dataset", "create", source, "--take-over", "shop", code=2)
    assert said.startswith(PLAN)
    assert said.endswith(
        "Error: nobody is there to say yes to this plan, and nothing was done: give --yes too.\n"
    )
    assert names(livedata) == ["shop"]


def test_with_yes_it_does_not_ask_and_json_is_the_new_dataset(
    livedata: Shell, store: Store, shop: ids.DatasetId, source: str
) -> None:
    made = livedata("dataset", "create", source, "--take-over", "shop", "--yes", "--json")
    assert made.stderr == PLAN
    new = json.loads(made.stdout)
    assert new == livedata.json("dataset", "show", "shop")
    assert new["id"] != ids.format_uuid(shop)
    heir = ids.DatasetId(ids.raw_id(new["id"]))
    run = take(store, heir, [{**item, "title": True} for item in linked(A, {**B, "price": 1})])
    assert livedata.json("rows", "show", "shop", "/1")["data"][new["columns"][-1]["id"]] == "mine"
    assert "looks odd" not in livedata.out("runs", "show", run)
    assert livedata("check").exit_code == 0


def test_what_stays_behind_is_told_with_the_run(
    livedata: Shell, store: Store, shop: ids.DatasetId, source: str
) -> None:
    del shop
    new = livedata.json("dataset", "create", source, "--take-over", "shop", "--yes")
    run = take(store, ids.DatasetId(ids.raw_id(new["id"])), linked({"price": 1, "stock": True}))
    assert (
        "looks odd\n  No hand edit was taken over from 'shop (old)'; those of 1 row were not, for "
        "no row here, or more than one, has the same source cells: 'A1'. What was not is still in "
        "'shop (old)'."
    ) in livedata.out("runs", "show", run)
    # No selector is to blame, so none is to be looked at.
    *_, last = livedata.out("runs", "explain", run).splitlines()
    assert last.startswith("Looks odd: No hand edit was taken over")
    completion = livedata.json("runs", "explain", run, "--summary")["completion"]
    assert [finding["code"] for finding in completion["findings"]] == ["edits_left"]


def test_a_plan_of_little_is_short(livedata: Shell, store: Store, tmp_path: Path) -> None:
    make_dataset(store, columns=[{"name": "sku", "type": "string", "key": True}])
    source = written(tmp_path, [{"name": "code", "type": "string", "key": True}])
    made = livedata("dataset", "create", source, "--take-over", "shop", "--yes")
    assert made.stderr.partition("It has taken")[0] == (
        "A new dataset takes the place of shop:\n"
        "  shop is renamed to 'shop (old)' and paused; its history stays there\n"
        "  the new one is called shop, draft, without a schedule\n"
        "  key: sku -> code\n"
        "  new column: code (string)\n"
        "  no column any more: sku\n"
        "  no row is edited by hand\n"
    )


def test_edits_that_no_column_could_match_are_told_before(
    livedata: Shell, store: Store, shop: ids.DatasetId, tmp_path: Path
) -> None:
    del store, shop
    source = written(tmp_path, [{"name": "price", "type": "string", "key": True}])
    said = livedata.error("dataset", "create", source, "--take-over", "shop", code=2)
    assert (
        "  hand edits of 1 row stay behind: the two have no column of one name and type to match "
        "rows by\n"
    ) in said


@pytest.mark.usefixtures("shop")
def test_what_the_new_columns_do_not_fit_is_named_with_what_to_do(
    livedata: Shell, tmp_path: Path
) -> None:
    livedata("notice", "add", "skus", "--command", "cat", "--when", "sku = A1")
    livedata("share", "add", "shop", "--columns", "sku", "--label", "sheet")
    *_, share = livedata.json("share", "list")
    said = livedata.error(
        "dataset", "create", written(tmp_path, [*HEIR]), "--take-over", "shop", "--yes"
    )
    assert said == (
        "Error: there are 2 problems:\n"
        "  The notice 'skus' does not fit the source: The clause 'sku = A1' names 'sku', and there "
        "is no such column: there is link, title, price, stock, note, rowKey. Write for example: "
        "title contains tea\n"
        "  The share 'sheet' does not fit the source: There is no column 'sku'. There is: link, "
        "title, price, stock, note.\n"
        "  Keep that column in the source, or remove the notice: livedata notice remove skus\n"
        "  Keep that column in the source, or end the share: livedata share revoke "
        f"{share['id']}\n"
    )
    assert names(livedata) == ["shop"]


REFUSED: Mapping[str, tuple[tuple[str, ...], int, str]] = {
    "an unknown dataset": (
        ("--take-over", "shap"),
        1,
        "Error: There is no dataset 'shap'; did you mean 'shop'? There is: shop.\n",
    ),
    "one of somebody else": (
        ("--take-over", "shop", "--owner", "bob"),
        1,
        "  Write a source to start from: livedata init\n",
    ),
    "yes without it": (
        ("--yes",),
        2,
        "Error: --yes goes with --take-over: nothing else is asked here.\n",
    ),
}


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("wish", REFUSED)
def test_wrong_usage_is_said(livedata: Shell, source: str, wish: str) -> None:
    options, code, said = REFUSED[wish]
    assert livedata.error("dataset", "create", source, *options, code=code).endswith(said)
    assert names(livedata) == ["shop"]


@pytest.mark.usefixtures("shop")
def test_the_same_table_is_to_be_revised(livedata: Shell, tmp_path: Path) -> None:
    path = tmp_path / "same.json"
    path.write_text(json.dumps(declared()))
    words = ("dataset", "create", str(path), "--take-over", "shop", "--yes")
    assert livedata.error(*words) == (
        f"Error: {path}: it has the key and the columns of 'shop', so nothing has to be taken "
        "over.\n"
        "  Mend the source and keep rows and history: livedata dataset revise shop source.toml\n"
    )


def test_an_open_run_is_waited_for(
    livedata: Shell, store: Store, shop: ids.DatasetId, source: str
) -> None:
    runs.enqueue(store, "local", shop)
    said = livedata.error("dataset", "create", source, "--take-over", "shop", "--yes", code=7)
    assert said == "Error: A Run of this dataset is open; let it end, then take over.\n"


@pytest.mark.usefixtures("shop")
def test_a_wrong_source_says_file_and_line(livedata: Shell, tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text('name = ""\n')
    said = livedata.error("dataset", "create", str(path), "--take-over", "shop", "--yes")
    assert f"{path}:1: name" in said
    assert names(livedata) == ["shop"]
