"""``doctor``: one page about the whole, and an exit code that tells whether a person is needed."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from livedata.cli import machine
from livedata.cli.machine import file_system
from livedata.model import ids
from livedata.model.harvest import StopReason
from livedata.model.ids import Micros
from livedata.services import runs
from livedata.store import datasets, schedules
from spiders.browser.shared_browser import ON_PATH
from tests.cli.shell import Shell
from tests.made import GOES_ON, make_dataset, take

if TYPE_CHECKING:
    from pathlib import Path

    from livedata.store.database.store import Store

HOUR = 3_600_000_000
NEEDED = 9


@pytest.fixture(autouse=True)
def home_of_its_own(tmp_path: Path, store: Store) -> None:
    """A home with a store, as the product makes it, and as pytest does not."""
    store.ensure()
    tmp_path.chmod(0o700)


def test_all_is_well(livedata: Shell, store: Store) -> None:
    take(store, make_dataset(store))
    lines = livedata.out("doctor").splitlines()
    assert lines[-1] == "All is well."
    assert lines[11].split() == ["shop", "local", "1", "3", "1", "3"]
    told = livedata.json("doctor")
    assert (told["well"], told["problems"], told["workers"]) == (True, [], [])
    assert told["store"]["place"] == store.place
    assert told["growth"][0]["last7Days"] == {"runs": 1, "changes": 3}


def test_the_browser_is_looked_for_as_a_run_looks_for_it() -> None:
    assert machine.BROWSERS == ON_PATH


@pytest.mark.parametrize("command", ["doctor", "prune", "prune --dry-run", "check"])
def test_where_no_store_is_nothing_is_well_and_nothing_is_made(
    tmp_path: Path, command: str
) -> None:
    mistyped = Shell(tmp_path / "lifedata")
    said = mistyped.error(*command.split(), code=8)
    assert said.startswith(f"Error: There is no store at {mistyped.home}/livedata.db. If you ")
    assert "LIVEDATA_HOME" in said
    assert not mistyped.home.exists()


def test_in_an_empty_store_all_is_well(livedata: Shell) -> None:
    assert livedata.json("doctor")["growth"] == []


def test_what_needs_a_person_is_told_with_an_exit_code_of_its_own(
    livedata: Shell, store: Store
) -> None:
    dataset, then = make_dataset(store), Micros(ids.now() - HOUR)
    runs.enqueue(store, "local", dataset)
    with store.writing() as writer:
        writer.execute("UPDATE runs SET queued_at = :then", then=then)
        datasets.change(writer, dataset, status="active", schedule="0 6 * * *", next_run_at=then)
        for moment in (1, 2):
            schedules.skip(writer, dataset, Micros(then + moment), "no_credits")
    due = ids.format_timestamp(then)[:19] + "Z"
    late = f"1 schedule is late: shop was due at {due}, and no process took it."
    said = livedata("doctor", code=NEEDED).stdout
    assert said.partition("Needs a person:\n")[2].splitlines() == [
        f"- {late} Does any follow the schedules?",
        f"- 1 Run waits, the first since {due}, and no process executes any.",
        (
            f"- No Run came of the last 2 fires of shop of local; of that at {due}: no credits. "
            "Add credits: livedata credits grant 1000"
        ),
    ]
    assert "- 1 schedule" not in livedata("doctor", "--late", "90", code=NEEDED).stdout


def test_the_limits_of_owners_are_told_and_who_is_nearest(
    livedata: Shell, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {"DATASETS": 2, "RUNS": 3, "REQUESTS": 5}
    none = livedata.json("doctor")["limits"]
    assert none["datasets"] == {"most": None, "others": {}, "nearest": []}
    assert "datasets" not in livedata("doctor").stdout
    runs.enqueue(store, "alice", make_dataset(store, "alice"))
    for what, most in limits.items():
        monkeypatch.setenv(f"LIVEDATA_OWNER_{what}", str(most))
    assert livedata.json("doctor")["limits"] == {
        "datasets": {"most": 2, "others": {}, "nearest": [{"owner": "alice", "has": 1, "most": 2}]},
        "openRuns": {"most": 3, "others": {}, "nearest": [{"owner": "alice", "has": 1, "most": 3}]},
        "requestsASecond": {"most": 5, "others": {}},
    }
    said = livedata("doctor").stdout
    for line in (
        r"datasets +at most 2 of an owner; alice has 1",
        r"open Runs +at most 3 of an owner; alice has 1",
        r"requests +at most 5 of an owner, in a second and for each process",
    ):
        assert re.search(line, said)
    monkeypatch.setenv("LIVEDATA_OWNER_DATASETS", "2,bob=off,alice=40")
    monkeypatch.setenv("LIVEDATA_OWNER_RUNS", "alice=3")
    monkeypatch.setenv("LIVEDATA_OWNER_REQUESTS", "off,alice=9")
    told = livedata.json("doctor")["limits"]
    others = {"alice": 40, "bob": None}
    nearest = [{"owner": "alice", "has": 1, "most": 40}]
    assert told["datasets"] == {"most": 2, "others": others, "nearest": nearest}
    said = livedata("doctor").stdout
    for line in (
        r"datasets +at most 2 of an owner, at most 40 of alice, any number of bob; alice has 1",
        r"open Runs +at most 3 of alice; alice has 1",
        r"requests +at most 9 of alice, in a second and for each process",
    ):
        assert re.search(line, said)


def test_the_command_line_keeps_to_the_limits(
    livedata: Shell, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIVEDATA_OWNER_RUNS", "1")
    first, second = (make_dataset(store, "alice", name) for name in ("a", "b"))
    runs.enqueue(store, "alice", first)
    said = livedata("run", "b", "--owner", "alice", code=1).stderr
    assert said.startswith("Error: alice has 1 Run waiting or in progress, as many as alice may")
    assert second


def test_a_digest_that_nobody_told_is_told_of(livedata: Shell, store: Store) -> None:
    for name in ("daily", "weekly"):
        livedata(*("notice", "add", name, "--command", "cat", "--digest", "0 7 * * *"))
    assert livedata.json("doctor")["lateDigests"] is None
    then = Micros(ids.now() - HOUR)
    with store.writing() as writer:
        writer.execute("UPDATE notices SET digest_at = :then WHERE name = 'weekly'", then=then)
    due = ids.format_timestamp(then)
    said = livedata("doctor", code=NEEDED).stdout
    assert said.endswith(
        f"- 1 digest is late: weekly was due at {due[:19]}Z, and no process took it. Does any "
        "follow the schedules?\n"
    )
    told = livedata("doctor", "--json", code=NEEDED).stdout
    assert f'"lateDigests":{{"digests":1,"notice":"weekly","dueAt":"{due}"}}' in told.replace(
        " ", ""
    ).replace("\n", "")
    livedata("notice", "remove", "weekly")
    livedata("doctor")


def test_a_process_that_is_gone_is_told(livedata: Shell, store: Store) -> None:
    for name, lost in (("shop", "1 Run"), ("jobs", "2 Runs")):
        runs.enqueue(store, "local", make_dataset(store, name=name))
        with store.writing() as writer:
            writer.execute(
                "UPDATE runs SET status = 'running', lease_owner = 'node+boot+1/77/1', "
                "lease_until = 60000000, started_at = queued_at"
            )
        said = livedata("doctor", code=NEEDED).stdout
        assert f"- node 77 has lost {lost} at 1970-01-01T00:00:00Z" in said
        assert f"no process has taken {'it' if lost == '1 Run' else 'them'} back." in said


def test_a_home_that_others_can_read_is_told(livedata: Shell) -> None:
    livedata.home.chmod(0o755)
    (problem,) = livedata("doctor", code=NEEDED).stdout.partition("person:\n")[2].splitlines()
    assert problem.endswith(f"may stand: chmod 700 {livedata.home}")


@pytest.mark.parametrize(("mode", "code"), [(0o700, 0), (0o711, NEEDED)])
def test_a_file_that_others_can_read_is_told_if_they_can_reach_it(
    livedata: Shell, mode: int, code: int
) -> None:
    settings = livedata.home / "config.toml"
    settings.touch(0o644)
    livedata.home.chmod(mode)
    assert (f"chmod 600 {settings}" in livedata("doctor", code=code).stdout) == (code == NEEDED)


@pytest.mark.parametrize(
    ("mode", "said"),
    [(0o755, "{path}"), (0o644, "none: LIVEDATA_BROWSER names {path}, which is no program")],
)
def test_the_browser_that_is_named_is_told(
    livedata: Shell, monkeypatch: pytest.MonkeyPatch, mode: int, said: str
) -> None:
    path = livedata.home / "chrome"
    path.touch()
    path.chmod(mode)
    monkeypatch.setenv("LIVEDATA_BROWSER", str(path))
    assert livedata.json("doctor")["browser"] == said.format(path=path)


def test_browsers_are_looked_for_as_runs_do() -> None:
    assert machine.BROWSERS == ON_PATH


MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:21 / /data\\040sets rw shared:2 - nfs4 server:/export rw
24 22 0:22 / /data rw - tmpfs tmpfs rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/data sets/x.db", "nfs4"), ("/data/x.db", "tmpfs"), ("/datax", "ext4"), ("/", "ext4")],
)
def test_the_file_system_of_a_path_is_that_of_the_nearest_mount(
    tmp_path: Path, path: str, kind: str
) -> None:
    from pathlib import Path as File

    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS)
    assert file_system(File(path), mounts) == kind
    assert file_system(File(path), tmp_path / "nothing") == ""


def test_a_store_on_another_machine_is_told(
    livedata: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "file_system", lambda _: "nfs4")
    said = livedata("doctor", code=NEEDED).stdout
    assert "is on a file system of another machine (nfs4)" in said


MODEL = {
    "LIVEDATA_MODEL": "qwen3",
    "LIVEDATA_MODEL_BASE_URL": "http://127.0.0.1:11434/v1",
    "LIVEDATA_MODEL_API_KEY": "sk-secret",
    "LIVEDATA_MODEL_PRICE_IN": "0.5",
    "LIVEDATA_MODEL_PRICE_OUT": "2",
    "LIVEDATA_SEARCH": "tavily",
    "LIVEDATA_SEARCH_KEY": "tvly-secret",
}


def test_the_model_and_the_search_are_named_and_their_keys_are_not(
    livedata: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = livedata.json("doctor")
    assert nothing["model"] == "none: LIVEDATA_MODEL names one, for research"
    assert nothing["search"] == "none: research reads the addresses that a dataset names"
    for name, value in MODEL.items():
        monkeypatch.setenv(name, value)
    page = livedata.out("doctor")
    assert (
        "qwen3 at http://127.0.0.1:11434/v1, output native, with a key, $0.5 in, $2 out for a "
        "million tokens"
    ) in page
    assert "tavily, with a key" in page
    assert "secret" not in page


def test_a_dataset_that_is_held_or_was_never_accepted_is_told_with_what_helps(
    livedata: Shell, store: Store
) -> None:
    many = tuple({"sku": f"S{number}"} for number in range(30))
    shop, jobs = make_dataset(store), make_dataset(store, name="jobs", required=["price"])
    take(store, shop, many)
    held, failed = take(store, shop), take(store, jobs)
    ended = livedata.json("runs", "show", held)["completedAt"][:19] + "Z"
    broke = livedata.json("runs", "show", failed)["completedAt"][:19] + "Z"
    said = livedata("doctor", code=NEEDED).stdout
    assert said.partition("Needs a person:\n")[2].splitlines() == [
        (
            f"- The first Run of jobs of local ended failed at {broke}, and the dataset has no "
            f"rows. See what changed, and what to try: livedata runs explain {failed}"
        ),
        (
            f"- The last Run of shop of local is held since {ended}, so its rows are older. "
            f"See why, and what to do: livedata runs show {held}"
        ),
    ]
    listed = json.loads(livedata("doctor", "--json", code=NEEDED).stdout)["notAccepted"]
    assert [(each["dataset"], each["status"], each["accepted"]) for each in listed] == [
        ("jobs", "failed", 0),
        ("shop", "held", 1),
    ]


MANY = tuple({"sku": f"S{number}"} for number in range(30))
ENDS = {
    "held": (MANY, StopReason("max_pages", GOES_ON)),
    "failed": ((), StopReason("natural_end")),
    "accepted": (MANY, StopReason("natural_end")),
    "lost": (MANY[:1], StopReason("natural_end")),
}


@pytest.mark.parametrize(
    ("ends", "told"),
    [
        (["held"], "The first Run of red of c is held since {}, and the dataset has no rows."),
        (
            ["held", "held", "held"],
            (
                "None of the 3 Runs of red of c was accepted; the last one is held since {}, and "
                "the dataset has no rows."
            ),
        ),
        (["failed"], "The first Run of red of c ended failed at {}, and the dataset has no rows."),
        (
            ["held", "failed"],
            (
                "None of the 2 Runs of red of c was accepted; the last one ended failed at {}, and "
                "the dataset has no rows."
            ),
        ),
        (
            ["accepted", "failed", "failed"],
            (
                "None of the last 2 Runs of red of c was accepted; the last one ended failed at "
                "{}, so its rows are older."
            ),
        ),
        (["accepted", "lost"], "The last Run of red of c is held since {}, so its rows are older."),
    ],
)
def test_what_was_not_accepted_is_told_in_right_sentences(
    livedata: Shell, store: Store, ends: list[str], told: str
) -> None:
    dataset = make_dataset(store, "c", "red")
    for end in ends:
        items, ending = ENDS[end]
        last = take(store, dataset, items, owner="c", ending=ending)
    ended = livedata.json("runs", "show", last, "--owner", "c")["completedAt"][:19] + "Z"
    assert f"- {told.format(ended)} See " in livedata("doctor", code=NEEDED).stdout


def test_a_schedule_without_credits_is_told_wherever_it_would_look_well(
    livedata: Shell, store: Store
) -> None:
    dataset = make_dataset(store)
    take(store, dataset)
    now = ids.now()
    with store.writing() as writer:
        datasets.change(writer, dataset, status="active", schedule="0 6 * * *", next_run_at=now)
        schedules.skip(writer, dataset, now, "no_credits")
    moment = ids.format_timestamp(now)[:19] + "Z"
    told = (
        "No Run came of the last fire of {}; of that at " + f"{moment}: no credits. Add credits: "
        "livedata credits grant 1000"
    )
    assert f"- {told.format('shop of local')}\n" in livedata("doctor", code=NEEDED).stdout
    assert told.format("shop") in livedata("runs", "list", "shop").stderr
    assert told.format("shop") in livedata("dataset", "list").stderr
