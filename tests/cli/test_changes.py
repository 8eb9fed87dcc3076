from __future__ import annotations

import signal
import subprocess
from typing import TYPE_CHECKING

import orjson
import pytest

from livedata.model.ids import DatasetId
from tests.cli.test_output import on_terminal
from tests.made import ITEMS, make_dataset, take

if TYPE_CHECKING:
    from livedata.store.database.store import Store
    from tests.cli.shell import Shell

CHEAPER = ({**ITEMS[0], "price": 8}, *ITEMS[1:])


@pytest.fixture
def shop(store: Store) -> DatasetId:
    dataset = make_dataset(store)
    take(store, dataset)
    take(store, dataset, CHEAPER)
    take(store, dataset, CHEAPER[:2])
    return dataset


@pytest.mark.usefixtures("shop")
def test_a_line_says_what_a_revision_changed(livedata: Shell) -> None:
    first, *_, updated, missing = livedata.out("changes", "shop").splitlines()
    assert first.endswith("created   Lamp (A1)  sku: A1, title: Lamp, price: 10, stock: true")
    assert updated.split()[0] == "4"
    assert updated.endswith("updated   Lamp (A1)  price: 10 → 8")
    assert missing.endswith("missing   Mug (C3)")


@pytest.mark.usefixtures("shop")
def test_json_is_a_revision_a_line(livedata: Shell) -> None:
    revisions = [orjson.loads(line) for line in livedata.out("changes", "--json").splitlines()]
    assert [revision["sequence"] for revision in revisions] == [1, 2, 3, 4, 5]
    assert revisions[3]["before"] != revisions[3]["data"]


@pytest.mark.usefixtures("shop")
def test_after_and_limit_choose_a_part(livedata: Shell) -> None:
    shown = livedata.out("changes", "shop", "--after", "1", "--limit", "2")
    assert [line.split()[0] for line in shown.splitlines()] == ["2", "3"]


def test_without_limit_everything_is_printed(livedata: Shell, store: Store) -> None:
    take(store, make_dataset(store), [{"sku": f"S{n}"} for n in range(250)])
    sequences = [int(line.split()[0]) for line in livedata.out("changes").splitlines()]
    assert sequences == list(range(1, 251))
    assert len(livedata.out("changes", "--limit", "130").splitlines()) == 130


@pytest.mark.usefixtures("shop")
def test_kinds_choose_revisions_and_a_limit_counts_those(livedata: Shell) -> None:
    def sequences(*args: str) -> list[int]:
        return [int(line.split()[0]) for line in livedata.out("changes", *args).splitlines()]

    assert sequences("--kind", "updated", "--kind", "missing") == [4, 5]
    assert sequences("--kind", "created", "--limit", "2") == [1, 2]
    assert sequences("--kind", "updated", "--field", "price") == [4]
    assert sequences("--kind", "returned") == []


@pytest.mark.usefixtures("shop")
def test_a_reader_with_a_limit_goes_on_behind_the_last_line(livedata: Shell) -> None:
    read = ("changes", "--kind", "created", "--limit", "2", "--cursor", "mailer")
    lines = [livedata.out(*read).splitlines() for _ in range(3)]
    assert [[int(line.split()[0]) for line in page] for page in lines] == [[1, 2], [3], []]


@pytest.mark.usefixtures("shop")
def test_since_begins_at_a_moment(livedata: Shell) -> None:
    revisions = [orjson.loads(line) for line in livedata.out("changes", "--json").splitlines()]
    moment = revisions[3]["createdAt"]
    later = livedata.out("changes", "--since", moment).splitlines()
    assert [line.split()[0] for line in later] == ["4", "5"]
    assert livedata.out("changes", "--since", "2100-01-01T00:00:00Z") == ""
    assert "zone" in livedata.error("changes", "--since", "2026-01-01", code=2)
    twice = livedata.error("changes", "--since", moment, "--after", "1", code=2)
    assert "--after and --since both say where to begin" in twice


@pytest.mark.usefixtures("shop")
def test_kinds_have_their_colours_on_a_terminal(livedata: Shell) -> None:
    shown = on_terminal(livedata, "changes", "shop")
    assert "\x1b[32mcreated" in shown
    assert "\x1b[33mupdated" in shown
    assert "\x1b[31mmissing" in shown
    assert "\x1b" not in on_terminal(livedata, "changes", "shop", NO_COLOR="1")


@pytest.mark.usefixtures("shop")
def test_a_row_and_a_column_have_their_own_history(livedata: Shell) -> None:
    assert [w.split()[0] for w in livedata.out("changes", "--row", "A1").splitlines()] == ["1", "4"]
    shown = livedata.out("changes", "--row", "A1", "--field", "price", "--after", "1")
    assert shown.split()[0] == "4"
    assert "stock" in livedata.error("changes", "--field", "nothing")


def test_an_edit_is_told_as_one(livedata: Shell, store: Store, shop: DatasetId) -> None:
    livedata("rows", "edit", "shop", "A1", "price=7")
    assert "updated by hand  Lamp (A1)  price: 8 → 7" in livedata.out("changes", "--after", "5")
    take(store, shop, [{**ITEMS[0], "price": 6}, ITEMS[1]])
    assert "the source now says 6" in livedata.out("changes", "--after", "6")


def test_a_dataset_must_be_named_where_there_are_several(livedata: Shell, store: Store) -> None:
    assert "livedata init" in livedata.error("changes", code=2)
    make_dataset(store, name="shop")
    assert livedata.out("changes") == ""
    make_dataset(store, name="books")
    assert "books, shop" in livedata.error("changes", code=2)


@pytest.mark.usefixtures("shop")
def test_a_window_past_the_head_is_an_error(livedata: Shell) -> None:
    assert "head of this dataset, which is 5" in livedata.error("changes", "--after", "9")


@pytest.mark.usefixtures("shop")
def test_a_cursor_goes_on_where_its_reader_stopped(livedata: Shell) -> None:
    read = ("changes", "shop", "--cursor", "mail", "--limit", "3")
    assert [line.split()[0] for line in livedata.out(*read).splitlines()] == ["1", "2", "3"]
    assert [line.split()[0] for line in livedata.out(*read).splitlines()] == ["4", "5"]
    assert livedata.out(*read) == ""
    assert "--after" in livedata.error(*read, "--after", "1", code=2)


def test_a_follower_that_is_killed_resumes_and_misses_nothing(
    livedata: Shell, store: Store
) -> None:
    dataset = make_dataset(store)
    take(store, dataset, [{"sku": f"S{n}"} for n in range(450)])
    follow = ("changes", "shop", "--follow", "--cursor", "c", "--json")
    seen: list[int] = []
    for enough in (1, 150, 220):
        with livedata.start(*follow) as follower:
            seen += _read(follower, enough)
            follower.kill()
            seen += _rest(follower)
    take(store, dataset, [{"sku": f"S{n}"} for n in range(460)])
    with livedata.start(*follow) as follower:
        while seen[-1] < 460:
            seen += _read(follower, 1)
        follower.send_signal(signal.SIGINT)
        assert follower.wait(20) == 0
    fresh = [number for index, number in enumerate(seen) if number > max(seen[:index], default=0)]
    assert fresh == list(range(1, 461))


def test_a_follower_sees_what_comes_later(livedata: Shell, store: Store) -> None:
    dataset = make_dataset(store)
    with livedata.start("changes", "--follow", "--json") as follower:
        take(store, dataset)
        assert _read(follower, 3) == [1, 2, 3]
        take(store, dataset, CHEAPER)
        assert _read(follower, 1) == [4]
        follower.send_signal(signal.SIGINT)
        assert follower.wait(20) == 0
        assert follower.stderr is not None
        assert follower.stderr.read() == b""


@pytest.mark.usefixtures("shop")
def test_a_reader_that_hears_enough_is_no_error_worth_a_word(livedata: Shell) -> None:
    with livedata.start("changes", "shop", "--follow") as follower:
        assert follower.stdout is not None
        follower.stdout.readline()
        follower.stdout.close()
        livedata("rows", "edit", "shop", "A1", "note=hello")
        assert follower.wait(20) == 1
        assert follower.stderr is not None
        assert follower.stderr.read() == b""


def _read(follower: subprocess.Popen[bytes], count: int) -> list[int]:
    assert follower.stdout is not None
    return [orjson.loads(follower.stdout.readline())["sequence"] for _ in range(count)]


def _rest(follower: subprocess.Popen[bytes]) -> list[int]:
    """What a killed follower had still written, without a line that it could not end."""
    assert follower.stdout is not None
    complete = follower.stdout.read().split(b"\n")[:-1]
    return [orjson.loads(line)["sequence"] for line in complete]


@pytest.mark.usefixtures("shop")
def test_names_are_for_programs(livedata: Shell) -> None:
    revisions = [orjson.loads(line) for line in livedata.out("changes", "--names").splitlines()]
    assert list(revisions[3]) == ["sequence", "kind", "row", "at", "changed"]
    assert (revisions[3]["sequence"], revisions[3]["kind"], revisions[3]["row"]) == (
        4,
        "updated",
        "A1",
    )
    assert revisions[3]["changed"] == {"price": {"before": 10, "after": 8}}
    assert revisions[0]["changed"]["title"] == {"before": None, "after": "Lamp"}
    assert (revisions[4]["kind"], revisions[4]["row"], revisions[4]["changed"]) == (
        "missing",
        "C3",
        {},
    )
    assert "give one" in livedata.error("changes", "--names", "--json", code=2)
