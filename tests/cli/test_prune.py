"""``prune``: what is old is let go of, and told; what reads of it afterwards says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from livedata.model import ids
from tests.made import make_dataset, take

if TYPE_CHECKING:
    from livedata.store.database.store import Store
    from tests.cli.shell import Shell

GONE = "What an accepted Run noted of its pages is kept for 90 days only."


@pytest.fixture
def old_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> str:
    """The older of two accepted Runs, a hundred days later."""
    dataset = make_dataset(store)
    run = take(store, dataset)
    take(store, dataset)
    truly = ids.now
    monkeypatch.setattr(ids, "now", lambda: truly() + 100 * 86_400 * 1_000_000)
    return run


@pytest.mark.usefixtures("old_run")
def test_it_tells_what_went_a_line_each(livedata: Shell) -> None:
    told = (
        "steps          2\nfailed pages   0\nheld outputs   0\nfacts          1\nskipped fires  0\n"
        "messages       0\npage looks     0\nartifacts      0\nresearch       0\n"
    )
    dry = livedata("prune", "--dry-run")
    assert (dry.stdout, dry.stderr) == (
        told,
        "Nothing has gone: --dry-run only counts.\n",
    )
    assert livedata.out("prune") == told
    assert livedata.json("prune") == {
        "dryRun": False,
        **dict.fromkeys(("steps", "failedPages", "heldOutputs", "facts", "skippedFires"), 0),
        **dict.fromkeys(("messages", "looks", "artifacts", "research"), 0),
    }
    assert livedata.out("check") == "The store is sound: 1 dataset, 3 rows, 3 revisions.\n"


def test_who_asks_for_what_has_gone_is_told_so(livedata: Shell, old_run: str) -> None:
    assert GONE not in livedata.out("runs", "explain", old_run)
    assert GONE not in livedata.out("runs", "show", old_run)
    livedata("prune")
    explained = livedata.out("runs", "explain", old_run)
    assert explained == f"Run {old_run}: succeeded\n{GONE}\n"
    assert livedata.json("runs", "explain", old_run)["unknowns"] == [GONE]
    assert livedata.out("runs", "show", old_run).endswith(f"\n{GONE}\n")


def test_who_is_compared_with_what_has_gone_is_told_so(
    livedata: Shell, store: Store, old_run: str
) -> None:
    with store.writing() as writer:
        writer.execute("UPDATE runs SET facts = NULL WHERE id = :run", run=ids.raw_id(old_run))
    explained = livedata.json("runs", "explain", "shop")
    assert explained["comparedWith"] is None
    assert explained["unknowns"][0].startswith("The accepted Run before it is too old to compare")


def test_in_an_empty_store_there_is_nothing_to_let_go_of(livedata: Shell, store: Store) -> None:
    store.ensure()
    assert set(livedata.json("prune", "--dry-run").values()) == {True, 0}
