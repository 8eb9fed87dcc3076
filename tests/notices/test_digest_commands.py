"""``livedata notice`` with ``--digest``: added, listed and tried; a server tells by itself."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from livedata.model.ids import format_uuid
from livedata.services.audit.check import check_store
from livedata.services.notices import digests
from livedata.store.database.store import Store
from livedata.worker import schedules
from livedata.worker.schedules import Schedules
from tests.cli.shell import Shell
from tests.made import ITEMS, make_dataset, take
from tests.notices.conftest import add_notice, kinds_told
from tests.patience import until

pytestmark = pytest.mark.one_database
CAT = ("--command", "cat", "--on", "changes")
DAILY = ("--digest", "0 7 * * *")


@pytest.fixture
def livedata(store: Store, tmp_path: Path) -> Shell:
    """The command line over the same store as the fixture `store`."""
    assert store.url
    return Shell(tmp_path)


@pytest.mark.parametrize(
    ("cron", "said"),
    [
        ("0 0 31 2 *", "--digest must name a day that exists: this one never comes"),
        ("0 7 * * * 1", "--digest must have five fields, not 6: there is none for seconds"),
        ("@daily", '--digest must have five fields; "@daily" and other names are not supported'),
        ("60 7 * * *", '--digest has "60" for the minute, but "60" is not 0 to 59'),
    ],
)
def test_a_cron_that_never_fires_is_refused_in_one_sentence(
    livedata: Shell, cron: str, said: str
) -> None:
    error = livedata.error("notice", "add", "daily", *CAT, "--digest", cron)
    assert error == f'Error: {said}; "30 6 * * *" is every day at 06:30.\n'
    assert livedata.json("notice", "list") == []


def test_a_digest_of_no_changes_is_wrong_usage(livedata: Shell) -> None:
    words = ("--command", "cat", "--on", "failing", *DAILY)
    said = livedata.error("notice", "add", "daily", *words, code=2)
    assert "--digest gathers changes: add them to --on." in said


def test_a_list_says_by_which_cron_and_when_next(
    livedata: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIVEDATA_TIMEZONE", "Asia/Tokyo")
    added = livedata("notice", "add", "daily", *CAT, *DAILY)
    livedata("notice", "add", "plain", *CAT)
    daily, plain = livedata.json("notice", "list")
    assert added.stderr == (
        f"Its next digest is due at {daily['nextDigestAt'][:19]}Z. `livedata serve` or `livedata "
        "worker` delivers it then, else the first `livedata run` after that.\n"
        "See whether it arrives: livedata notice test daily\n"
    )
    assert (daily["digest"], daily["nextDigestAt"][10:]) == ("0 7 * * *", "T22:00:00.000000Z")
    assert (plain["digest"], plain["nextDigestAt"]) == (None, None)
    listed = livedata.out("notice", "list")
    assert "changes (digest 0 7 * * *)" in listed
    assert f"on, next digest {daily['nextDigestAt'][:19]}Z" in listed
    # Nobody has looked since the zone was set.
    monkeypatch.setenv("LIVEDATA_TIMEZONE", "UTC")
    daily, _ = livedata.json("notice", "list")
    assert daily["nextDigestAt"][10:] == "T07:00:00.000000Z"


def test_what_a_digest_would_gather_is_listed_net_and_told_to_nobody(
    livedata: Shell, store: Store
) -> None:
    dataset = make_dataset(store)
    take(store, dataset)
    take(store, dataset, [{**ITEMS[0], "price": 8}, {**ITEMS[1], "price": 30}, ITEMS[2]])
    take(store, dataset, [{**ITEMS[0], "price": 7}, *ITEMS[1:]])
    livedata("notice", "add", "daily", *CAT, *DAILY)
    tried = livedata("notice", "try", "daily", "--since", "3")
    assert tried.stdout.splitlines() == ["shop: 1 changed.", "- Lamp (A1) changed: price: 10 → 7"]
    assert tried.stderr == "A digest of 1 change; nobody was told.\n"
    assert livedata.json("notice", "try", "daily", "--since", "3") == [
        {
            "dataset": "shop",
            "kind": "changed",
            "row": "A1",
            "changed": {"price": {"before": 10, "after": 7}},
        }
    ]
    assert "A digest of 0 changes" in livedata("notice", "try", "daily", "--since", "7").stderr
    assert kinds_told(store) == []


def test_a_server_tells_a_digest_that_is_due(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "livedata.schedules")
    monkeypatch.setattr(schedules, "TICK", 0.02)
    monkeypatch.setenv("TZ", "UTC")
    dataset = make_dataset(store)
    add_notice(store, kinds=["changes"], digest="0 7 * * *")
    take(store, dataset)
    thread = Schedules(store, "UTC")
    thread.start()
    try:
        time.sleep(0.1)
        assert kinds_told(store) == []
        make_due(store)
        until(lambda: kinds_told(store) == ["digest"])
    finally:
        thread.begin_stop()
        thread.finish_stop(time.monotonic() + 10)
    assert "notice ops: a digest of what has changed" in caplog.messages


def make_due(store: Store) -> None:
    with store.writing() as writer:
        writer.execute("UPDATE notices SET digest_at = 1 WHERE digest IS NOT NULL")


def test_a_cron_that_is_damaged_keeps_no_other_digest_and_is_named(
    livedata: Shell, store: Store
) -> None:
    dataset = make_dataset(store)
    for name in ("lost", "well"):
        add_notice(store, name, kinds=["changes"], digest="0 7 * * *")
    take(store, dataset)
    with store.writing() as writer:
        writer.execute("UPDATE notices SET digest = 'soon' WHERE name = 'lost'")
    make_due(store)
    assert [digest.notice for digest in digests.tell_due(store, "UTC")] == ["well"]
    assert [notice["name"] for notice in livedata.json("notice", "list")] == ["lost", "well"]
    (problem,) = check_store(store).problems
    assert problem.startswith("The notice lost of local has the digest 'soon', which must have")
    with store.writing() as writer:
        writer.execute("UPDATE notices SET digest = '0 7 * * *', digest_at = NULL")
    assert [problem.partition(" is on ")[2] for problem in check_store(store).problems] == [
        "with the digest '0 7 * * *', and has no next fire."
    ] * 2


def test_what_a_notice_tells_of_no_dataset_is_named(store: Store) -> None:
    make_dataset(store)
    notice = add_notice(store, kinds=["changes"], digest="0 7 * * *")
    with store.writing() as writer:
        writer.execute("UPDATE notice_streams SET dataset_id = :lost", lost=b"x" * 16)
    (problem,) = check_store(store).problems
    lost = "78787878-7878-7878-7878-787878787878"
    told = f"The notice {format_uuid(notice.id)} tells of the dataset {lost}, which is not there."
    assert problem == told
