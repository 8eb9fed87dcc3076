"""Judges what came of a chaos run, by the store, the log of the site and that of the receiver."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from livedata.model import ids
from livedata.store.database.store import Store

MINUTE = 60
LEAST_SHARE = 0.6
"""Of the starts a minute before the first fault, so many there are after it."""
LONGEST_DIP = 30
"""The seconds for which there may be fewer."""
_OPEN = ("queued", "running")


@dataclass(frozen=True)
class Asked:
    """A request as the site saw it, until it had answered or who asked was gone."""

    host: str
    dataset: str
    began: float
    ended: float


@dataclass(frozen=True)
class SeenRun:
    """A Run in the store."""

    id: str
    dataset: str
    status: str
    queued: float


@dataclass(frozen=True)
class Message:
    """A message of the outbox: which changes of a dataset it tells, and what became of it."""

    id: str
    dataset: str
    after: int
    through: int
    status: str


@dataclass(frozen=True)
class Outage:
    """A time in which no store was there for anybody."""

    name: str
    began: float
    ended: float


@dataclass
class Story:
    """All that is judged; moments are seconds since 1970."""

    datasets: Collection[str]
    began: float
    """Every minute from here on is due for each dataset,"""
    ended: float
    """until here."""
    first_fault: float = 0.0
    outages: Sequence[Outage] = ()
    runs: Sequence[SeenRun] = ()
    charged: Sequence[str] = ()
    """The Run of each charge."""
    starts: Sequence[float] = ()
    skipped: Sequence[tuple[str, float]] = ()
    written: Sequence[tuple[str, str]] = ()
    """The Run and the row of each change that a Run has written."""
    feeds: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """The numbers of a dataset's changes, in order."""
    heads: Mapping[str, int] = field(default_factory=dict)
    messages: Sequence[Message] = ()
    delivered: Sequence[str] = ()
    asked: Sequence[Asked] = ()
    check: str = ""
    """What `livedata check` found."""


@dataclass(frozen=True)
class Verdict:
    """A promise, what was seen of it, and what is wrong with that."""

    promise: str
    seen: str
    wrong: Sequence[str]


def judge(story: Story) -> list[Verdict]:
    """Whether each promise was kept."""
    return [
        _ended_once(story),
        _charged_once(story),
        _fired_once(story),
        _feeds_whole(story),
        _told(story),
        _asked_by_one(story),
        _kept_on(story),
        Verdict("`livedata check` is clean", story.check or "clean", _if(story.check)),
    ]


def _ended_once(story: Story) -> Verdict:
    """A Run that ended twice would have written its changes twice."""
    statuses = Counter(run.status for run in story.runs)
    # Nothing is wrong with the site: whatever is not accepted was spoiled by a fault.
    wrong = [f"{run.dataset}: {run.id} is {run.status}" for run in story.runs if not _good(run)]
    twice = (pair for pair, count in Counter(story.written).items() if count > 1)
    wrong += [f"{run} has written row {row} twice" for run, row in twice]
    wrong += [] if story.runs else ["there was no Run"]
    return Verdict("each Run ended once, accepted", _counted(statuses), wrong)


def _good(run: SeenRun) -> bool:
    return run.status == "succeeded"


def _charged_once(story: Story) -> Verdict:
    charges = Counter(story.charged)
    accepted = {run.id for run in story.runs if _good(run)}
    wrong = [f"{run} was charged {charges[run]} times" for run in accepted if charges[run] != 1]
    wrong += [f"{run} was charged and not accepted" for run in charges.keys() - accepted]
    return Verdict("each accepted Run was charged once", f"{len(story.charged)} charges", wrong)


def _fired_once(story: Story) -> Verdict:
    """Each dataset has one Run or one noted skip in each minute."""
    fires: dict[str, Counter[int]] = defaultdict(Counter)
    for run in story.runs:
        fires[run.dataset][int(run.queued // MINUTE)] += 1
    for dataset, moment in story.skipped:
        fires[dataset][int(moment // MINUTE)] += 1
    minutes = [each for each in _minutes(story) if not _was_away(story, each)]
    wrong = [
        f"{dataset} fired {fires[dataset][minute]} times at {_clock(minute * MINUTE)}"
        for dataset in story.datasets
        for minute in minutes
        if fires[dataset][minute] != 1
    ]
    skipped = sum(story.began <= moment < story.ended for _, moment in story.skipped)
    seen = f"{len(minutes)} minutes x {len(story.datasets)} datasets, {skipped} noted skips"
    wrong += [] if minutes else ["no minute was judged"]
    return Verdict("each fire has one Run, or was noted", seen, wrong)


def _minutes(story: Story) -> range:
    return range(-int(-story.began // MINUTE), -int(-story.ended // MINUTE))


def _was_away(story: Story, minute: int) -> bool:
    """Whether there was no store for the whole of a minute."""
    start = minute * MINUTE
    return any(each.began <= start and start + MINUTE <= each.ended for each in story.outages)


def _feeds_whole(story: Story) -> Verdict:
    wrong = [
        f"{dataset}: {len(numbers)} changes, numbered to {max(numbers, default=0)}, head {head}"
        for dataset, head in story.heads.items()
        if list(numbers := story.feeds.get(dataset, ())) != list(range(1, head + 1))
    ]
    count = sum(len(numbers) for numbers in story.feeds.values())
    wrong += [] if count else ["there was no change"]
    return Verdict("no feed has a gap", f"{count} changes", wrong)


def _told(story: Story) -> Verdict:
    """Each change is told of by one message, and each message was delivered."""
    arrived = Counter(story.delivered)
    wrong = [f"{each.id} is {each.status}" for each in story.messages if each.status != "sent"]
    wrong += [f"{each.id} never came" for each in story.messages if not arrived[each.id]]
    known = {each.id for each in story.messages}
    wrong += [f"{each} came, and nobody has sent it" for each in arrived.keys() - known]
    told: dict[str, list[Message]] = defaultdict(list)
    for message in story.messages:
        told[message.dataset].append(message)
    for dataset, head in story.heads.items():
        in_order = sorted(told[dataset], key=lambda each: each.through)
        ends = [0, *(each.through for each in in_order)]
        if [each.after for each in in_order] != ends[:-1] or ends[-1] != head:
            wrong.append(f"{dataset}: the messages do not tell each change up to {head} once")
    repeats = len(story.delivered) - len(arrived)
    seen = f"{len(story.messages)} notices, {repeats} came again under their id"
    return Verdict("each notice was sent", seen, wrong)


def _asked_by_one(story: Story) -> Verdict:
    by_host: dict[str, list[Asked]] = defaultdict(list)
    for each in story.asked:
        by_host[each.host].append(each)
    wrong = [
        f"{host}: {after.dataset} asked at {_clock(after.began)}, "
        f"{before.ended - after.began:.3f} s before {before.dataset} was answered"
        for host, asked in by_host.items()
        for before, after in _overlaps(asked)
    ]
    wrong += [] if story.asked else ["no host was asked"]
    seen = f"{len(story.asked)} requests to {len(by_host)} hosts"
    return Verdict("no host was asked by two at once", seen, wrong)


def _overlaps(asked: Iterable[Asked]) -> Iterator[tuple[Asked, Asked]]:
    last: Asked | None = None
    for each in sorted(asked, key=lambda each: each.began):
        if last is not None and each.began < last.ended:
            yield last, each
        if last is None or each.ended > last.ended:
            last = each


def _kept_on(story: Story) -> Verdict:
    """The starts of a minute are compared with those of the minutes before the first fault.

    A minute that touches an outage is not judged.
    """
    starts = sorted(story.starts)
    begin = int(story.began) + MINUTE
    usual = median([_rate(starts, at) for at in range(begin, int(story.first_fault))] or [0])
    promise = f"no dip below {LEAST_SHARE:.0%} of the starts a minute for {LONGEST_DIP} s"
    if not usual:
        return Verdict(promise, "too short to be judged", ())
    longest, lowest, dip = 0, usual, 0
    wrong: list[str] = []
    for at in range(int(story.first_fault), int(story.ended)):
        if any(each.began < at and at - MINUTE < each.ended for each in story.outages):
            dip = 0
            continue
        rate = _rate(starts, at)
        lowest = min(lowest, rate)
        dip = dip + 1 if rate < LEAST_SHARE * usual else 0
        longest = max(longest, dip)
        if dip == LONGEST_DIP + 1:
            wrong.append(
                f"{rate} starts in the minute before {_clock(at)}, where {usual:g} are usual"
            )
    seen = f"usually {usual:g} a minute, {lowest:g} at least; {longest} s below"
    return Verdict(promise, seen, wrong)


def _rate(starts: Sequence[float], at: int) -> int:
    """How many there were in the minute before a moment."""
    return bisect_right(starts, at) - bisect_right(starts, at - MINUTE)


def resumed(story: Story) -> Iterator[str]:
    """How soon after each outage a Run began."""
    starts = sorted(story.starts)
    for outage in story.outages:
        following = bisect_right(starts, outage.ended)
        after = "no Run began after it"
        if following < len(starts):
            after = f"a Run began {starts[following] - outage.ended:.1f} s after it"
        yield f"{outage.name}: away for {outage.ended - outage.began:.1f} s; {after}"


def read_store(store: Store, story: Story) -> None:
    """Add to a story what the store has."""
    with store.reading() as reader:
        names: dict[bytes, str] = dict(reader.rows("SELECT id, name FROM datasets"))
        story.runs = [
            SeenRun(ids.format_uuid(run), names[dataset], status, queued / 1e6)
            for run, dataset, status, queued in reader.rows(
                "SELECT id, dataset_id, status, queued_at FROM runs"
            )
        ]
        charges = "SELECT run_id FROM ledger WHERE run_id IS NOT NULL"
        story.charged = [ids.format_uuid(run) for (run,) in reader.rows(charges)]
        story.starts = [at / 1e6 for (at,) in reader.rows("SELECT started_at FROM attempts")]
        story.skipped = [
            (names[dataset], at / 1e6)
            for dataset, at in reader.rows("SELECT dataset_id, fired_at FROM skipped_fires")
        ]
        feeds: dict[str, list[int]] = defaultdict(list)
        written = []
        for dataset, number, run, row in reader.rows(
            "SELECT dataset_id, sequence, run_id, row_id FROM revisions ORDER BY sequence"
        ):
            feeds[names[dataset]].append(number)
            written.append((ids.format_uuid(run), ids.format_uuid(row)))
        story.feeds, story.written = feeds, written
        story.heads = dict(reader.rows("SELECT name, head FROM datasets"))
        story.messages = [
            Message(ids.format_uuid(message), names[dataset], after, through, status)
            for message, dataset, after, through, status in reader.rows(
                "SELECT id, dataset_id, after_sequence, through_sequence, status FROM outbox"
            )
        ]


def is_over(story: Story) -> bool:
    """Whether nothing waits any more."""
    waiting = any(run.status in _OPEN for run in story.runs)
    return not waiting and all(message.status != "waiting" for message in story.messages)


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))


def _if(text: str) -> list[str]:
    return [text] if text else []


def _clock(moment: float) -> str:
    return time.strftime("%H:%M:%S", time.gmtime(moment))
