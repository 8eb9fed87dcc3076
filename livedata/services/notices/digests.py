"""Digests: what a notice tells of changes is gathered, and told once at the fire of a cron.

Nothing is copied meanwhile: what is gathered are the revisions after those that were told. At a
fire one transaction puts the message into the outbox and notes up to where is told, so that a
process which dies has done both or neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from livedata.model import ids
from livedata.model.errors import Damaged, Invalid, NotFound
from livedata.model.ids import DatasetId, Micros, NoticeId, OwnerName
from livedata.rules.declaration import cron
from livedata.services.notices.cloud_events import MOST_CHANGES
from livedata.services.notices.gathering import Gathered, gather, shares
from livedata.services.notices.notifying import covers
from livedata.store import accounts, datasets, digests, notices, outbox
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.store import Store
from livedata.store.notices import Notice
from livedata.store.outbox import NewMessage, Stream, ToldStream


class Digest(Struct, frozen=True):
    """A digest that was put into the outbox: of which notice, and of how many datasets."""

    notice: str
    datasets: int


class _Gathered(Struct, frozen=True):
    """What is to be told, and up to where it is told then; `before` is up to where it was."""

    before: Mapping[DatasetId, int | None]
    after: Mapping[DatasetId, int]
    parts: Sequence[Gathered]


def tell_due(store: Store, zone: str) -> Iterator[Digest]:
    """Tell what was gathered for every digest that is due, of all owners."""
    with store.reading() as reader:
        due = digests.due(reader, reader.now())
    for notice, owner in due:
        with suppress(NotFound, Damaged):  # `livedata check` names what is damaged
            told = _fire(store, notice, owner, zone)
            if told is not None:
                yield told


def replan(store: Store, zone: str) -> None:
    """Move the next fires that the time zone, or a clock that was ahead, has put wrong."""
    with store.reading() as reader:
        now = reader.now()
        planned = digests.planned(reader)
    for key, owner in planned:
        with suppress(NotFound, Damaged), store.writing() as writer:
            notice = _locked(writer, key, owner)
            if notice is not None:
                moment = next_fire(notice, now, zone)
                # What is due stays due: the next look takes it.
                if (moment or 0) > now and (notice.digest_at, notice.digest_zone) != (moment, zone):
                    digests.plan(writer, key, moment, zone)


def next_fire(notice: Notice, now: Micros, zone: str) -> Micros | None:
    """When the digest of a notice fires next; it is due if that is over. None for never."""
    if notice.digest is None or notice.digest_at is None:
        return None
    kept, present = ids.to_datetime(notice.digest_at), ids.to_datetime(now)
    try:
        fire = cron.due_at(notice.digest, kept, present, zone, notice.digest_zone)
    except Invalid as error:
        raise Damaged("notices", notice.id, "digest") from error
    return ids.microseconds(fire)


def first_fire(expression: str, now: Micros, zone: str) -> Micros:
    """When a digest fires first. Raises Invalid for a cron that is none, or never fires."""
    return ids.microseconds(cron.next_fire(expression, ids.to_datetime(now), zone))


def begin(writer: Writer, notice: Notice) -> None:
    """Let the digests of a new notice tell of what comes from now on; its owner is locked."""
    known = _covered(writer, notice)
    digests.keep(writer, notice.id, {each.dataset: each.head for each in known})


def widen(writer: Writer, before: Notice, after: Notice) -> None:
    """Let the digests of a notice that has changed tell of what was added from now on.

    Of what they told already they go on. Its owner is locked.
    """
    told = () if before.digest is None else {each.dataset for each in _covered(writer, before)}
    fresh = {
        each.dataset: each.head for each in _covered(writer, after) if each.dataset not in told
    }
    digests.keep(writer, after.id, fresh)


def plan_anew(writer: Writer, notice: Notice, zone: str) -> None:
    """Let the digests of a notice that was off fire again, of what comes from now on."""
    if notice.digest is not None:
        begin(writer, notice)
        fire = first_fire(notice.digest, writer.now(), zone)
        digests.plan(writer, notice.id, fire, zone)


def pass_over(writer: Writer, owner: OwnerName, dataset: DatasetId) -> None:
    """Let no digest tell of what a new dataset came with."""
    accounts.lock_owner(writer, owner)
    head = datasets.ref(writer, owner, dataset).head
    for notice in notices.readable(writer, owner):
        if notice.digest is not None and covers(notice, dataset):
            digests.keep(writer, notice.id, {dataset: head})


def _fire(store: Store, key: NoticeId, owner: OwnerName, zone: str) -> Digest | None:
    """Tell what was gathered, if it is due still; the digest moves on."""
    with store.reading() as reader:
        notice = notices.get(reader, key)
        if notice is None:
            return None
        next_fire(notice, reader.now(), zone)  # what cannot be read costs nothing more
        known = _covered(reader, notice)
    # Before the locks, for it may take long: revisions never change.
    gathered = _gathered(store, notice, known)
    with store.writing() as writer:
        current, now = _locked(writer, key, owner), writer.now()
        if current is None or current.digest is None:
            return None
        moment = next_fire(current, now, zone)
        if moment is None or moment > now:
            digests.plan(writer, key, moment, zone)
            return None
        still = {each.dataset: each.digested for each in _covered(writer, current)}
        # Somebody else was faster: what that one left is gathered anew at the next look.
        if any(still.get(each, before) != before for each, before in gathered.before.items()):
            return None
        digests.keep(
            writer, key, {each: head for each, head in gathered.after.items() if each in still}
        )
        parts = [part for part in gathered.parts if part.dataset.id in still]
        if parts:
            _put(writer, current, parts, now)
        # Last, as whoever ends a notice has locked its stream before.
        digests.plan(writer, key, first_fire(current.digest, now, zone), zone)
    return Digest(notice.name, len(parts)) if parts else None


def _locked(writer: Writer, key: NoticeId, owner: OwnerName) -> Notice | None:
    """A notice whose owner is locked; None if it was removed, or tells nothing any more."""
    accounts.lock_owner(writer, owner)
    notice = notices.get(writer, key)
    return None if notice is None or notice.ended_at is not None else notice


def _covered(reader: Reader, notice: Notice) -> list[digests.Gathering]:
    every = digests.gathering(reader, notice.id, notice.owner)
    return [each for each in every if covers(notice, each.dataset)]


def _gathered(store: Store, notice: Notice, known: Sequence[digests.Gathering]) -> _Gathered:
    """What is to be told of each dataset that has changed."""
    before: dict[DatasetId, int | None] = {}
    after: dict[DatasetId, int] = {}
    parts: list[Gathered] = []
    for each in known:
        if each.digested == each.head:
            continue
        # One that is damaged, or is deleted just now, holds up no other.
        with suppress(NotFound, Damaged), store.reading() as reader:
            dataset = datasets.ref(reader, notice.owner, each.dataset)
            part = gather(reader, notice, dataset, each.digested or 0, MOST_CHANGES)
            before[each.dataset], after[each.dataset] = each.digested, dataset.head
            if part is not None:
                parts.append(part)
    return _Gathered(before, after, parts)


def _put(writer: Writer, notice: Notice, parts: Sequence[Gathered], now: Micros) -> None:
    """Put the one message about all datasets into the stream of the notice itself."""
    stream = DatasetId(notice.id)
    shown = shares([len(part.changes) for part in parts], MOST_CHANGES)
    told = [part.as_kept(share) for part, share in zip(parts, shown, strict=True)]
    data = {"dataset": None, "run": None, "datasets": told}
    digest = ToldStream(notice.id, Stream(), [NewMessage(digests.KIND, data, None)])
    outbox.put_each(writer, stream, [digest], now)
