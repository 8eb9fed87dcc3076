"""The judge of the chaos run finds each promise that was broken; and a short run keeps them all."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.chaos.__main__ import NOT_ALLOWED, lines, main, run
from tests.chaos.judge import Asked, Message, Outage, SeenRun, Story, judge, resumed
from tests.chaos.network import Machine, Network
from tests.patience import LONG, until

BEGAN = 60_000.0
MINUTES = 12
DATASETS = ("a", "b")
LAST = f"a {MINUTES - 1}"
"""A Run."""


def sound() -> Story:
    """Two datasets, each minute a Run of each, each of which changes one row and is told of."""
    pairs = [(name, minute) for minute in range(MINUTES) for name in DATASETS]
    runs = [
        SeenRun(f"{name} {minute}", name, "succeeded", BEGAN + minute * 60 + 2)
        for name, minute in pairs
    ]
    return Story(
        DATASETS,
        BEGAN,
        BEGAN + MINUTES * 60 - 30,
        first_fault=BEGAN + 180,
        outages=[Outage("the server was away", BEGAN + 400, BEGAN + 410)],
        runs=runs,
        charged=[each.id for each in runs],
        starts=[each.queued + 1 for each in runs],
        written=[(each.id, each.dataset) for each in runs],
        feeds={name: range(1, MINUTES + 1) for name in DATASETS},
        heads=dict.fromkeys(DATASETS, MINUTES),
        messages=[
            Message(f"{name} told {minute}", name, minute, minute + 1, "sent")
            for name, minute in pairs
        ],
        delivered=[f"{name} told {minute}" for name, minute in (*pairs, ("a", 0))],
        asked=[
            Asked(f"site of {each.dataset}", each.dataset, each.queued + 1, each.queued + 2)
            for each in runs
        ],
    )


def without_run(story: Story, name: str) -> Story:
    """As if a fire had been lost."""
    return replace(
        story,
        runs=[each for each in story.runs if each.id != name],
        charged=[each for each in story.charged if each != name],
    )


def with_status(story: Story, status: str) -> Story:
    """The last Run of a dataset ended otherwise, and was charged all the same."""
    changed = [replace(each, status=status) if each.id == LAST else each for each in story.runs]
    return replace(story, runs=changed)


def silent(story: Story, first: float, last: float) -> Story:
    """Nothing begins for a while; all of that begins at its end."""
    shift = [last if first <= at - BEGAN < last else at - BEGAN for at in story.starts]
    return replace(story, starts=[BEGAN + at for at in shift])


ENDED, CHARGED, FIRED = "Run ended once", "charged once", "each fire"
FEED, TOLD, BY_ONE, DIP, CHECK = "gap", "notice", "two at once", "dip", "check"
PLANTED: Mapping[str, tuple[tuple[str, ...], Callable[[Story], Story]]] = {
    "a Run is open": ((ENDED, CHARGED), lambda story: with_status(story, "running")),
    "a Run failed": ((ENDED, CHARGED), lambda story: with_status(story, "failed")),
    "a Run has written twice": (
        (ENDED,),
        lambda story: replace(story, written=[*story.written, story.written[0]]),
    ),
    "a Run was charged twice": (
        (CHARGED,),
        lambda story: replace(story, charged=[*story.charged, LAST]),
    ),
    "a Run was not charged": ((CHARGED,), lambda story: replace(story, charged=story.charged[1:])),
    "a fire is lost": ((FIRED,), lambda story: without_run(story, LAST)),
    "a fire was taken twice": (
        (FIRED,),
        lambda story: replace(story, skipped=[("a", BEGAN + 120)]),
    ),
    "a change is missing": (
        (FEED,),
        lambda story: replace(story, feeds={**story.feeds, "a": [1, *range(3, MINUTES + 1)]}),
    ),
    "the last change is missing": (
        (FEED,),
        lambda story: replace(story, feeds={**story.feeds, "a": range(1, MINUTES)}),
    ),
    "a message waits": (
        (TOLD,),
        lambda story: replace(
            story, messages=[replace(story.messages[0], status="waiting"), *story.messages[1:]]
        ),
    ),
    "a message never came": (
        (TOLD,),
        lambda story: replace(story, delivered=story.delivered[1:-1]),
    ),
    "a change was never told": (
        (TOLD,),
        lambda story: replace(story, messages=story.messages[2:], delivered=story.delivered[2:-1]),
    ),
    "a message came that nobody sent": (
        (TOLD,),
        lambda story: replace(story, delivered=[*story.delivered, "stranger"]),
    ),
    "two machines ask one host": (
        (BY_ONE,),
        lambda story: replace(
            story,
            asked=[*story.asked, Asked("site of a", "b", BEGAN + 3.999, BEGAN + 9)],
        ),
    ),
    "two ask during a long answer to another": (
        (BY_ONE,),
        lambda story: replace(
            story,
            asked=[Asked("site", "a", 1, 9), Asked("site", "b", 2, 3), Asked("site", "b", 8, 10)],
        ),
    ),
    "nothing begins for 100 seconds": ((DIP,), lambda story: silent(story, 200, 300)),
    "nothing begins after an outage": ((DIP,), lambda story: silent(story, 400, 540)),
    "the store is damaged": ((CHECK,), lambda story: replace(story, check="2 problems")),
    "nothing was seen": (
        (ENDED, FIRED, FEED, BY_ONE),
        lambda _: Story((), 0.0, 0.0),
    ),
}


def broken(story: Story) -> list[str]:
    """The promises that a judge finds broken."""
    return [verdict.promise for verdict in judge(story) if verdict.wrong]


def test_what_is_sound_is_found_sound() -> None:
    assert broken(sound()) == []


@pytest.mark.parametrize("name", PLANTED)
def test_what_was_planted_is_found_and_nothing_else(name: str) -> None:
    promises, plant = PLANTED[name]
    found = broken(plant(sound()))
    assert len(found) == len(promises)
    for promise, said in zip(promises, found, strict=True):
        assert promise in said


def test_a_skip_that_was_noted_is_no_lost_fire() -> None:
    story = without_run(sound(), LAST)
    assert broken(replace(story, skipped=[("a", BEGAN + (MINUTES - 1) * 60)])) == []


def test_a_minute_in_which_there_was_no_store_needs_no_fire() -> None:
    story = without_run(sound(), "a 5")
    away = Outage("away", BEGAN + 295, BEGAN + 361)
    assert broken(replace(story, outages=[away, *story.outages])) == []


def test_a_short_dip_and_one_in_an_outage_are_none() -> None:
    assert broken(silent(sound(), 240, 260)) == []
    assert broken(silent(sound(), 395, 425)) == []


def test_a_table_says_what_of_each_promise_was_seen_and_what_is_wrong() -> None:
    told = lines(judge(with_status(sound(), "failed")))
    assert told[0].startswith("WRONG  each Run ended once, accepted")
    assert told[3].startswith("holds  no feed has a gap")
    assert told[8] == f"  each Run ended once, accepted: a: {LAST} is failed"


def test_it_is_said_how_soon_after_an_outage_a_run_began() -> None:
    assert list(resumed(sound())) == [
        "the server was away: away for 10.0 s; a Run began 13.0 s after it"
    ]


def test_where_no_machines_can_be_made_one_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")
    result = CliRunner().invoke(main, ["--minutes", "1"])
    assert result.exit_code == NOT_ALLOWED
    assert result.output.startswith("No machines can be made here: there is no program ip")
    assert len(result.output.splitlines()) == 1


@pytest.fixture
def network() -> Iterator[Network]:
    """A network of machines. It fails with NotAllowed where the kernel gives none away."""
    with Network() as made:
        yield made


def test_what_is_parted_hears_nothing_of_each_other_and_of_all_others(network: Network) -> None:
    one, two = network.machine("one"), network.machine("two")
    with socket.create_server((network.own(0), 0)) as server:
        ways = {"own": server.getsockname()[:2], "two": (two.address, 1)}
        assert [reached(one, way) for way in ways.values()] == ["connected", "refused"]
        with network.parted(one, [two]):
            assert [reached(one, way) for way in ways.values()] == ["connected", "lost"]
            assert reached(two, (one.address, 1)) == "lost"
        assert reached(one, ways["two"]) == reached(two, (one.address, 1)) == "refused"


def test_a_machine_that_stands_still_or_dies_does_so_as_a_whole(network: Network) -> None:
    machine = network.machine("one")
    words = ("sh", "-c", "sleep 61 & sleep 62")
    outer = subprocess.Popen([*machine.enter(), *words])
    until(lambda: {"sleep 61", "sleep 62"} <= commands(machine), LONG)
    assert not commands(network.machine("two"))
    machine.freeze()
    until(lambda: {state(pid) for pid in machine.processes()} == {"T"}, LONG)
    machine.thaw()
    until(lambda: "T" not in {state(pid) for pid in machine.processes()}, LONG)
    machine.die()
    outer.wait(LONG)
    until(lambda: not machine.processes(), LONG)


@pytest.mark.slow
@pytest.mark.usefixtures("network")
def test_a_short_run_keeps_every_promise() -> None:
    """With what takes no time: kills, a crash of the server and a failover."""
    verdicts = run(0.5, 16, 2, failover=True)
    assert [line for line in lines(verdicts) if not line.startswith("holds")] == []


def reached(machine: Machine, place: tuple[str, int]) -> str:
    """What comes of a connection from a machine."""
    try_it = (
        "import socket, sys\n"
        "try: socket.create_connection((sys.argv[1], int(sys.argv[2])), 0.3)\n"
        "except TimeoutError: print('lost')\n"
        "except ConnectionRefusedError: print('refused')\n"
        "else: print('connected')\n"
    )
    words = (sys.executable, "-S", "-c", try_it, place[0], str(place[1]))
    done = subprocess.run([*machine.enter(), *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commands(machine: Machine) -> set[str]:
    """What runs on a machine, with its words."""
    lines = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in machine.processes()]
    return {line.replace(b"\0", b" ").decode().strip() for line in lines}


def state(pid: int) -> str:
    """What the kernel says a process does."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
