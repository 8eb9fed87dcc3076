"""Puts what notices tell into the outbox, in the transaction that causes it.

A process that dies has done both or neither. Who puts something there has locked the owner of the
dataset, after the Run, the dataset and all that is written of them: so a notice cannot be removed
meanwhile, and whoever waits for the owner waits for this alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from livedata.messages import notice_events
from livedata.model import ids
from livedata.model.errors import NotFound
from livedata.model.ids import DatasetId, Micros, OwnerName, RunId
from livedata.services.commit import DatasetAtEnd, RunOutcome, charge
from livedata.services.notices.told_changes import ChangeRange, narrowed
from livedata.store import accounts, datasets, notices, outbox, schedules
from livedata.store.database.backend import Writer
from livedata.store.database.store import Store
from livedata.store.notices import Concerned, Notice, Quiet
from livedata.store.outbox import NewMessage, RevisionRange, Stream, ToldStream

STEP = 200
"""Of so many datasets one transaction notes since when they are silent."""


class _Event(Struct, frozen=True):
    """Something that a notice may tell."""

    kind: str
    sentence: str
    window: RevisionRange | None = None


def tell(writer: Writer, ended: Mapping[RunId, RunOutcome]) -> None:
    """Tell the notices of Runs that have ended in this transaction, which has locked them."""
    affected = [
        (dataset, run, outcome)
        for run, outcome in ended.items()
        # Nobody is told that a person has cancelled a Run: that says nothing of the site.
        if outcome.rule != "cancelled" and (dataset := notices.concerned(writer, run))
    ]
    # In one order, so that two who end Runs of the same owners never wait for each other.
    for dataset, run, outcome in sorted(affected, key=lambda end: (end[0].owner, end[1])):
        ask(writer, dataset, run, outcome)()


def settle(writer: Writer, run: RunId, at_end: DatasetAtEnd, end: RunOutcome) -> None:
    """Charge a Run and tell its notices of it, with its owner locked. Raises Overdrawn."""
    dataset = at_end.dataset
    check = None if end.deltas is None else charge(writer, dataset, run, end)
    # Nobody is told that a person has cancelled a Run: that says nothing of the site.
    if check is None and (end.rule == "cancelled" or not at_end.standing.has_notices):
        return
    head = dataset.ref.head + sum(end.deltas or ())
    concerned = Concerned(dataset.id, dataset.ref.name, dataset.owner, head)
    tell = ask(writer, concerned, run, end, locks=check is None)
    if check is not None:
        check()
    tell()


def ask(
    writer: Writer, dataset: Concerned, run: RunId, outcome: RunOutcome, *, locks: bool = True
) -> Callable[[], None]:
    """Ask together with the next question which notices there are; what then tells them of a Run.

    It locks the owner of the dataset, if that is not locked.
    """
    if locks:
        accounts.locking_owner(writer, dataset.owner)
    asked = notices.ask_streams(writer, dataset.owner, dataset.dataset)

    def tell() -> None:
        about = _about(dataset, run, outcome)
        told = [
            _told(writer, notice, known, dataset, about, outcome)
            for notice, known in asked()
            if covers(notice, dataset.dataset)
        ]
        outbox.put_each(writer, dataset.dataset, [each for each in told if each], writer.now())

    return tell


def tell_skipped(writer: Writer, dataset: DatasetId, owner: OwnerName, name: str) -> None:
    """Tell the notices that fires of a dataset are skipped; the caller has locked it and its owner.

    At the first for want of credits, and at the second in a row for another reason.
    """
    skipping = schedules.skipping(writer, owner, [dataset])
    if not skipping:
        return
    (fires,) = skipping
    last = f"{ids.format_timestamp(fires.last)[:19]}Z"
    told = notice_events.skipped(name, fires.count, last, fires.reason)
    data = {"dataset": _named(dataset, name), "run": None, "sentence": told}
    for notice in notices.readable(writer, owner):
        known = outbox.stream(writer, notice.id, dataset)
        if covers(notice, dataset) and not known.failing:
            messages = [NewMessage("failing", data, None)] if "failing" in notice.kinds else []
            failing = ToldStream(notice.id, replace(known, failing=True), messages)
            outbox.put_each(writer, dataset, [failing], writer.now())


def tell_silence(store: Store, enough: Callable[[], bool] = lambda: False) -> None:
    """Tell the notices of datasets of which no Run was accepted for longer than they allow.

    `enough` is asked after each transaction whether to leave the rest for later.
    """
    with store.reading() as reader:
        waiting = [*notices.waiting_for_silence(reader)]
    for owner in dict.fromkeys(notice.owner for notice in waiting):
        shortest = min(notice.silent_for or 0 for notice in waiting if notice.owner == owner)
        if not _hear(store, owner, shortest, enough):
            return
    with store.reading() as reader:
        now = reader.now()
        silent = [
            (notice, dataset)
            for notice in waiting
            if now - notice.created_at >= (notice.silent_for or 0)
            for dataset in notices.quiet(reader, notice, _before(notice, now))
            if covers(notice, dataset.dataset)
        ]
    for notice, dataset in silent:
        with suppress(NotFound):  # it was deleted, or its owner never was
            _tell_silence(store, notice, dataset)
        if enough():
            return


def _hear(store: Store, owner: OwnerName, silent_for: int, enough: Callable[[], bool]) -> bool:
    """Note of what may be silent since when it is; False if that was `enough`."""
    # Each dataset comes here once in that time, however often it has Runs.
    while True:
        with store.reading() as reader:
            before = Micros(reader.now() - silent_for)
            quiet = dict(notices.unheard(reader, owner, before, STEP))
        if not quiet:
            return True
        with store.writing() as writer:
            heard = notices.hear(writer, quiet)
        if enough():
            return False
        if len(quiet) < STEP or not heard:
            return True


def _tell_silence(store: Store, notice: Notice, dataset: Quiet) -> None:
    with store.writing() as writer:
        datasets.lock_dataset(writer, dataset.dataset, notice.owner)
        accounts.lock_owner(writer, notice.owner)
        now = writer.now()
        known = outbox.stream(writer, notice.id, dataset.dataset)
        # Asked again under the locks: a Run may have been accepted, and the notice removed.
        quiet = notices.quiet_since(writer, dataset.dataset)
        is_silent = quiet is not None and quiet < _before(notice, now)
        if known.silent or not is_silent or notices.get(writer, notice.id) is None:
            return
        since = f"{ids.format_timestamp(dataset.since)[:19]}Z"
        told = notice_events.sentence("silent", name=dataset.name, since=since)
        data = {"dataset": _named(dataset.dataset, dataset.name), "run": None, "sentence": told}
        silent = ToldStream(
            notice.id, replace(known, silent=True), [NewMessage("silent", data, None)]
        )
        outbox.put_each(writer, dataset.dataset, [silent], now)


def _told(
    writer: Writer,
    notice: Notice,
    known: Stream,
    dataset: Concerned,
    about: Mapping[str, object],
    outcome: RunOutcome,
) -> ToldStream | None:
    """What a notice is told of a Run, and knows after it; None if that is nothing new."""
    after, told = _judge(notice, known, dataset, outcome)
    if after == known and not told:
        return None
    messages = []
    for event in told:
        data = {**about, "sentence": event.sentence}
        if event.window is not None and notice.change_filter is not None:
            wanted = ChangeRange(dataset.owner, dataset.dataset, event.window)
            matches = {
                str(match.revision.sequence): match.sentences
                for match in wanted.matches(writer, notice.change_filter)
            }
            if not matches:
                continue
            count = event.window.through - event.window.after
            told_of = narrowed(dataset.name, notice.change_filter, len(matches), count)
            data |= {"sentence": told_of, "matches": matches}
        messages.append(NewMessage(event.kind, data, event.window))
    return ToldStream(notice.id, after, messages)


def _judge(
    notice: Notice, known: Stream, dataset: Concerned, outcome: RunOutcome
) -> tuple[Stream, list[_Event]]:
    """What a notice knows after the end of a Run, and what it tells of it."""
    if outcome.deltas is not None:
        told = _of_accepted(known, dataset, outcome)
        # What is told together is gathered from the history, when that is due.
        later = () if notice.digest is None else ("changes",)
        return Stream(), [
            event for event in told if event.kind in notice.kinds and event.kind not in later
        ]
    failures, held = known.failures + 1, outcome.status == "held"
    if known.failing or not (held or failures >= notice.threshold):
        return replace(known, failures=failures), []
    told_now = notice_events.failing(dataset.name, failures, outcome.problem, held=held)
    failing = [_Event("failing", told_now)] if "failing" in notice.kinds else []
    return replace(known, failures=failures, failing=True), failing


def _of_accepted(known: Stream, dataset: Concerned, outcome: RunOutcome) -> Iterator[_Event]:
    """All that may be told of an accepted Run."""
    name, (new, changed, gone) = dataset.name, outcome.deltas or (0, 0, 0)
    if known.failing:
        yield _Event("recovered", notice_events.recovered(name, known.failures))
    # Its revisions are the last of the feed: nobody else writes until the transaction ends.
    if count := new + changed + gone:
        sentence = notice_events.changes(name, new, changed, gone, outcome.covered)
        yield _Event("changes", sentence, RevisionRange(dataset.head - count, dataset.head))
    if outcome.oddities:
        yield _Event("odd", notice_events.odd(name, outcome.oddities))


def _about(dataset: Concerned, run: RunId, outcome: RunOutcome) -> dict[str, object]:
    """The dataset and the Run as every message names them."""
    new, changed, gone = outcome.deltas or (0, 0, 0)
    deltas = {"new": new, "changed": changed, "gone": gone}
    ended = {"id": ids.format_uuid(run), "status": outcome.status, "rowDeltas": deltas}
    return {"dataset": _named(dataset.dataset, dataset.name), "run": ended}


def _named(dataset: ids.DatasetId, name: str) -> dict[str, str]:
    return {"id": ids.format_uuid(dataset), "name": name}


def covers(notice: Notice, dataset: ids.DatasetId) -> bool:
    """Whether a notice is on, and is about a dataset."""
    if notice.ended_at is not None:
        return False
    return notice.datasets is None or ids.format_uuid(dataset) in notice.datasets


def _before(notice: Notice, now: Micros) -> Micros:
    return Micros(now - (notice.silent_for or 0))
