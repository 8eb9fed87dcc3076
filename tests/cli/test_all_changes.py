"""``changes --all``: what is new of all datasets, grouped and net."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson
import pytest

from livedata.model import ids
from tests.browsing.world import World
from tests.made import ITEMS, make_dataset, take

if TYPE_CHECKING:
    from livedata.store.database.store import Store
    from tests.cli.shell import Shell

LONG_AGO = "2020-01-01T00:00:00Z"
CHEAPER = ({**ITEMS[0], "price": 8}, *ITEMS[1:])


@pytest.fixture
def since(store: Store) -> str:
    """A moment after which one of two datasets has changed."""
    shop, lamps = make_dataset(store), make_dataset(store, name="lamps")
    take(store, shop)
    take(store, lamps)
    moment = ids.format_timestamp(ids.now())
    take(store, shop, [{**ITEMS[0], "price": 9}, *ITEMS[1:]])
    take(store, shop, [*CHEAPER[:2], {"sku": "D4", "title": "Rug"}])
    return moment


def test_each_dataset_with_changes_has_its_counts_and_its_rows(livedata: Shell, since: str) -> None:
    result = livedata("changes", "--all", "--since", since)
    assert result.stdout == (
        "shop: 1 new, 1 changed, 1 gone.\n"
        "new      Rug (D4)  sku: D4, title: Rug\n"
        "changed  Lamp (A1)  price: 10 → 8\n"
        "gone     Mug (C3)\n"
    )
    assert result.stderr == "3 rows differ in 1 dataset.\n"
    every = livedata.out("changes", "--all", "--since", LONG_AGO)
    headings = [line for line in every.splitlines() if line.startswith(("shop", "lamps"))]
    # B2 of the first Run is as it was, and C3 came and went.
    assert headings == ["shop: 3 new.", "lamps: 3 new."]
    assert "\n\nlamps: 3 new.\n" in every


def test_rows_that_came_and_went_do_not_show(livedata: Shell, since: str) -> None:
    sequence = livedata.json("dataset", "diff", "shop", "3")
    (told,) = [
        orjson.loads(line)
        for line in livedata.out("changes", "--all", "--since", since, "--json").splitlines()
    ]
    assert sorted(told["changes"], key=lambda each: each["row"]) == sorted(
        sequence, key=lambda each: each["row"]
    )
    assert (told["dataset"]["name"], told["after"], told["isExact"]) == ("shop", 3, True)
    assert told["rowDeltas"] == {"new": 1, "changed": 1, "gone": 1, "back": 0}
    assert (told["moreChanges"], told["trouble"]) == (0, None)


@pytest.mark.usefixtures("since")
def test_nothing_new_is_a_sentence(livedata: Shell) -> None:
    result = livedata("changes", "--all", "--since", "2999-01-01T00:00:00Z")
    assert (result.stdout, result.stderr) == ("", "Nothing is new.\n")


def test_a_run_that_was_not_accepted_stands_first_with_its_sentence(
    livedata: Shell, store: Store, since: str
) -> None:
    World(store).blocked(make_dataset(store, name="broken"))
    first, empty, second, *_ = livedata.out("changes", "--all", "--since", since).splitlines()
    assert first.startswith("broken: its last Run was not accepted (blocked): ")
    assert (empty, second) == ("", "shop: 1 new, 1 changed, 1 gone.")


@pytest.mark.usefixtures("since")
@pytest.mark.parametrize(
    ("given", "named"),
    [
        (("--follow",), "--follow"),
        (("--cursor", "mailer"), "--cursor"),
        (("--after", "3"), "--after"),
        (("--names",), "--names"),
        (("--row", "A1"), "--row"),
        (("--field", "price"), "--field"),
        (("--kind", "updated"), "--kind"),
        (("--when", "price falls"), "--when"),
        (("--limit", "3"), "--limit"),
        (("shop",), "D"),
    ],
)
def test_what_is_of_one_dataset_is_refused_in_a_sentence(
    livedata: Shell, given: tuple[str, ...], named: str
) -> None:
    refused = livedata.error("changes", *given, "--all", "--since", LONG_AGO, code=2)
    assert f"{named} is about the history of one dataset, without --all" in refused


def test_without_a_moment_it_says_what_is_missing(livedata: Shell) -> None:
    refused = livedata.error("changes", "--all", code=2)
    assert "--all tells what is new since a moment: write it with --since." in refused
