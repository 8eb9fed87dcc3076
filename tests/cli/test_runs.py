from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from livedata.hints import install_command
from livedata.model import ids
from livedata.model.harvest import StopReason
from livedata.model.problem import Problem, Remedy
from livedata.services import accounts, attempts, runs
from livedata.services.commit import AcceptancePolicy
from livedata.store.shown_runs import Progress
from tests.made import GOES_ON, ITEMS, forget_would, harvest, make_dataset, take

if TYPE_CHECKING:
    from collections.abc import Mapping

    from livedata.model.row import Scalar
    from livedata.store.database.store import Store
    from tests.cli.shell import Shell

MANY = tuple({"sku": f"S{number}"} for number in range(30))


def test_list_has_the_newest_first(livedata: Shell, store: Store) -> None:
    dataset = make_dataset(store)
    first, second = take(store, dataset), take(store, dataset)
    assert [run["id"] for run in livedata.json("runs", "list", "shop")] == [second, first]
    shown = livedata.out("runs", "list", "shop", "--limit", "1").splitlines()
    assert [line.split()[:2] for line in shown] == [["run", "status"], [second, "succeeded"]]


def test_list_without_runs_says_how_to_make_one(livedata: Shell, store: Store) -> None:
    make_dataset(store)
    assert "livedata run shop" in livedata("runs", "list", "shop").stderr
    assert "livedata run shop" in livedata.error("runs", "show", "shop")


def test_show_tells_an_accepted_run(livedata: Shell, store: Store) -> None:
    run = take(store, make_dataset(store))
    shown = livedata.out("runs", "show", "shop")
    assert f"run        {run}" in shown
    assert "rows       3 new, 0 changed, 0 gone" in shown
    assert "credits    1" in shown
    assert "passed  identity" in shown
    assert "3 items  status 200  https://shop.example/list" in shown
    assert "Why:" not in shown
    assert livedata.json("runs", "show", run[-8:])["id"] == run


def test_show_says_why_a_run_failed_and_what_to_do(livedata: Shell, store: Store) -> None:
    take(store, make_dataset(store, required=["price"]))
    shown = livedata.out("runs", "show", "shop")
    assert "FAILED  present: price: price is required" in shown
    assert "Why: price is required and empty in 1 of 3 rows" in shown
    assert "Next: Compare the source with the site: livedata preview shop\n" in shown


@pytest.mark.parametrize(
    ("ending", "next_"),
    [
        (StopReason("max_pages", GOES_ON), "Raise maxPages"),
        (StopReason("cancelled"), "livedata run shop --owner alice"),
    ],
)
def test_the_next_step_depends_on_the_end(
    livedata: Shell, store: Store, ending: StopReason, next_: str
) -> None:
    take(store, make_dataset(store, owner="alice"), owner="alice", ending=ending)
    assert next_ in livedata.out("runs", "show", "shop", "--owner", "alice")


def test_show_tells_an_open_run(livedata: Shell, store: Store) -> None:
    runs.enqueue(store, "local", make_dataset(store))
    assert "take it up: livedata run shop" in livedata.out("runs", "show", "shop")


UNPRICED: list[dict[str, Scalar]] = [{"sku": f"S{number}"} for number in range(8)]
FEW: list[dict[str, Scalar]] = [{**item, "price": 5} for item in UNPRICED]


def test_show_and_list_tell_what_looks_odd_in_an_accepted_run(
    livedata: Shell, store: Store
) -> None:
    dataset = make_dataset(store)
    take(store, dataset, FEW)
    take(store, dataset, UNPRICED)
    shown = livedata.out("runs", "show", "shop")
    assert "Looks odd: price has a value in 0 of 8 rows" in livedata.out("runs", "explain", "shop")
    assert "looks odd\n  price has a value in 0 of 8 rows now, and had one in 8 of 8" in shown
    assert "Why:" not in shown
    heading, *lines = livedata.out("runs", "list", "shop").splitlines()
    place = heading.index("odd")
    assert [line[place : place + 3].strip() for line in lines] == ["1", ""]


def test_show_tells_the_next_steps_of_a_guard(livedata: Shell, store: Store) -> None:
    dataset = make_dataset(store)
    priced: list[dict[str, Scalar]] = [{**item, "price": 5} for item in MANY]
    take(store, dataset, priced)
    run = take(store, dataset, MANY)
    shown = livedata.out("runs", "show", "shop")
    assert "Why: price has a value in 0 of 30 rows now, and had one in 30 of 30" in shown
    steps = shown.partition("Next: ")[2]
    assert "livedata preview source.toml" in steps
    assert "livedata dataset revise shop source.toml" in steps
    assert f"livedata runs accept {run}" in steps
    assert "run again" not in steps
    assert livedata.json("runs", "show", run)["error"].startswith("price has a value in 0 of 30")
    assert "price has a value in 0 of 30" in livedata.out("runs", "explain", run)


def test_accept_takes_what_the_guard_held(livedata: Shell, store: Store) -> None:
    dataset = make_dataset(store)
    take(store, dataset, MANY)
    run = take(store, dataset, MANY[:3])
    assert f"livedata runs accept {run}" in livedata.out("runs", "show", "shop")
    shown = livedata.out("runs", "accept", run)
    assert shown == "shop: accepted, 0 new, 0 changed, 27 gone, 1 credit.\n"
    assert "nothing to accept" in livedata.error("runs", "accept", run)


def test_accept_without_credits_is_exit_code_6(livedata: Shell, store: Store) -> None:
    dataset = make_dataset(store, owner="bob", balance=1)
    run, _ = runs.enqueue(store, "bob", dataset)
    accounts.grant(store, "bob", -1)
    attempt = attempts.begin(store, ids.RunId(ids.raw_id(run)))
    assert attempt is not None
    gathered = harvest(attempt.recipe, ITEMS, StopReason("natural_end"))
    assert attempts.finish(store, attempt, gathered, AcceptancePolicy()) == "held"
    livedata.error("runs", "accept", run, "--owner", "bob", code=6)


def test_an_unknown_run_is_an_error(livedata: Shell) -> None:
    assert "no Run or dataset" in livedata.error("runs", "show", "0123-4567")


def test_a_held_run_says_its_advice_once(livedata: Shell, store: Store) -> None:
    dataset = make_dataset(store)
    take(store, dataset, MANY)
    run = take(store, dataset, MANY[:3])
    shown = livedata.out("runs", "show", "shop")
    assert "held for you to look at.\n" in shown
    assert shown.count(f"livedata runs accept {run}") == 1
    assert "or run again" in shown.partition("Next: ")[2]


def test_a_step_for_a_name_that_looks_like_an_option_can_be_pasted(
    livedata: Shell, store: Store
) -> None:
    take(store, make_dataset(store, name="-lead"), ending=StopReason("cancelled"))
    assert "livedata run -- -lead" in livedata.out("runs", "show", "--", "-lead")


@pytest.mark.parametrize(
    ("remedy", "line"),
    [
        (Remedy("more_page_time"), "LIVEDATA_PAGE_SECONDS says how much there is."),
        (Remedy("allow_host", {"host": "wiki:80"}), "LIVEDATA_ALLOW_HOSTS=wiki:80."),
        (Remedy("install_browser_support"), install_command("browser")),
    ],
    ids=lambda value: value.code if isinstance(value, Remedy) else "",
)
def test_show_says_what_may_be_set_up_otherwise_on_this_machine(
    livedata: Shell, store: Store, remedy: Remedy, line: str
) -> None:
    problem = Problem("run.no_browser_support", remedies=(Remedy("run_again"), remedy))
    take(store, make_dataset(store), ending=StopReason("page_failed", problem))
    next_ = livedata.out("runs", "show", "shop").partition("Next: ")[2]
    assert f"{line}\n" in next_


def test_a_run_of_an_older_version_keeps_the_sentence_that_it_has(
    livedata: Shell, store: Store
) -> None:
    dataset = make_dataset(store)
    take(store, dataset, MANY)
    run = take(store, dataset, MANY[:3])
    told = "27 of 30 rows would be gone: take it with livedata runs accept."
    with store.writing() as writer:
        writer.execute(
            "UPDATE runs SET problem = NULL, error = :told WHERE id = :id",
            told=told,
            id=ids.raw_id(run),
        )
    assert f"Why: {told}\nNext: " in livedata.out("runs", "show", "shop")
    assert livedata.json("runs", "show", "shop")["error"] == told
    assert "The site shows far fewer rows" in livedata.out("runs", "explain", "shop")


def test_a_held_run_says_what_it_would_change(livedata: Shell, store: Store) -> None:
    dataset = make_dataset(store)
    take(store, dataset, MANY)
    other: list[Mapping[str, Scalar]] = [{"sku": "S1", "price": 5}, {"sku": "new"}, *MANY[2:5]]
    held = take(store, dataset, other)
    assert "rows       1 new, 1 changed, 26 gone if it is accepted" in livedata.out(
        "runs", "show", held
    )
    listed = livedata("runs", "list", "shop")
    assert listed.stdout.splitlines()[1].split()[5:8] == ["(1)", "(1)", "(26)"]
    assert "In brackets: what a held Run would change if it is accepted." in listed.stderr
    # A program is told what happened: nothing.
    assert livedata.json("runs", "show", held)["rowDeltas"] == {"new": 0, "changed": 0, "gone": 0}


def test_a_held_run_without_recorded_figures_has_no_zeros(livedata: Shell, store: Store) -> None:
    dataset = make_dataset(store)
    take(store, dataset, MANY)
    held = take(store, dataset, MANY[:3])
    forget_would(store, held)
    assert "rows       0 new, 0 changed, 27 gone if it is accepted" in livedata.out(
        "runs", "show", held
    )
    listed = livedata("runs", "list", "shop")
    assert listed.stdout.splitlines()[1].split()[5:8] == ["?", "?", "?"]
    assert "With a question mark: of a held Run it was not recorded." in listed.stderr
    with store.writing() as writer:
        writer.execute("DELETE FROM held_outputs")
    assert "rows       not recorded" in livedata.out("runs", "show", held)


@pytest.mark.parametrize("command", ["show", "explain"])
def test_nobody_is_told_to_accept_an_output_that_is_not_kept(
    livedata: Shell, store: Store, command: str
) -> None:
    dataset = make_dataset(store)
    take(store, dataset, MANY)
    held = take(store, dataset, MANY[:3])
    assert f"livedata runs accept {held}" in livedata.out("runs", command, held)
    take(store, dataset, MANY)
    said = livedata.out("runs", command, held)
    for advice in ("accept it", "runs accept", "second complete Run", "if it is accepted"):
        assert advice not in said
    assert "Run again: livedata run shop" in said


def test_a_held_run_that_compared_nothing_counts_nothing(livedata: Shell, store: Store) -> None:
    take(store, make_dataset(store), ending=StopReason("max_pages", GOES_ON))
    listed = livedata("runs", "list", "shop")
    assert "In brackets" not in listed.stderr
    assert "held" in listed.stdout


def test_a_run_in_progress_says_how_far_it_has_come(livedata: Shell, store: Store) -> None:
    queued = runs.take_up(store, "local", make_dataset(store), "shop")
    attempt = attempts.begin(store, queued.run)
    assert attempt is not None
    for command in ("show", "explain"):
        assert "It is not over yet." in livedata.out("runs", command, "shop")
    attempts.heartbeat(store, attempt, Progress(3, 60))
    for command in ("show", "explain"):
        said = livedata.out("runs", command, "shop")
        assert "It is not over yet: 3 pages with 60 items so far." in said
    listed = livedata("runs", "list", "shop").stderr
    assert "The Run in progress has read 3 pages with 60 items so far." in listed


def test_a_run_is_cancelled_once_and_each_refusal_is_a_sentence(
    livedata: Shell, store: Store
) -> None:
    dataset = make_dataset(store)
    queued = runs.take_up(store, "local", dataset, "shop")
    waits = livedata.out("runs", "show", "shop")
    assert "It waits for a worker to take it." in waits
    assert f"livedata runs cancel {ids.format_uuid(queued.run)}" in waits
    assert livedata.out("runs", "cancel", "shop") == "shop: cancelled.\n"
    ended = "Error: This Run has ended (failed), so there is nothing to cancel.\n"
    assert livedata.error("runs", "cancel", "shop") == ended
    attempt = attempts.begin(store, runs.take_up(store, "local", dataset, "shop").run)
    assert attempt is not None
    assert livedata.out("runs", "cancel", "shop").startswith("shop: to be cancelled.")
    assert "It is being cancelled" in livedata.out("runs", "show", "shop")
    assert "being cancelled already" in livedata.error("runs", "cancel", "shop")
    other = ids.format_uuid(attempt.run)
    livedata("key", "create", "--owner", "bob")
    assert "There is no Run or dataset" in livedata.error("runs", "cancel", other, "--owner", "bob")
    attempts.give_back(store, attempt)
    assert livedata.json("runs", "show", "shop")["error"] == "The Run was cancelled."
