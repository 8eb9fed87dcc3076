"""Notices: add one, list them, remove one, and show one without what is secret of it."""

from __future__ import annotations

import secrets
from base64 import b64encode
from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import islice
from typing import Any

from msgspec import Struct, json
from msgspec.structs import asdict, replace

from livedata.messages.request import format_detail, nearest, summary
from livedata.messages.templates import few
from livedata.model import ids
from livedata.model.errors import (
    ChangedMeanwhile,
    Conflict,
    Damaged,
    Detail,
    Invalid,
    LocatedDetail,
    NameTaken,
    NotFound,
)
from livedata.model.ids import MessageId, Micros, NoticeId, OwnerName
from livedata.rules.declaration.cron import schedule_problem
from livedata.rules.declaration.notices import (
    MOST,
    ChangeFilter,
    channel_of,
    format_span,
    shown_target,
)
from livedata.services.accounts import meet_owner
from livedata.services.notices import digests
from livedata.services.notices.told_changes import check_filter
from livedata.store import accounts, dataset_names, datasets, notices, outbox, schedules
from livedata.store.database.backend import AlreadyThere, Reader, Writer
from livedata.store.database.store import Database, Store
from livedata.store.notices import Notice, NoticeState, Subscription

PREFIX = "whsec_"
LONGEST_NAME = 120
OFFERED = 200
"""So many datasets can be chosen from a list: more make a page too heavy."""
_SECRET_BYTES = 32


def add(
    store: Store,
    owner: OwnerName,
    subscription: Subscription,
    zone: str = "UTC",
    *,
    secret: bytes | None = None,
    first_credits: int = 0,
) -> Notice:
    """Add a notice; one with a secret, as a webhook has, shows it nobody again.

    It is made of the 32 bytes of `secret` if these are given. Its digest fires in `zone`. A new
    owner starts with `first_credits`. Raises Invalid for a name that cannot be printed, for a
    condition or a column that is wrong and for a cron that is none, each with a detail that says
    which, NameTaken, and Conflict if the owner has too many.
    """
    try:
        with store.writing() as writer:
            meet_owner(writer, owner, first_credits)
            # Who puts something into the outbox has locked its owner too (`notifying`).
            accounts.lock_owner(writer, owner)
            return put(writer, owner, subscription, zone, secret)
    except AlreadyThere as error:
        raise _taken(subscription.name) from error


def put(
    writer: Writer, owner: OwnerName, wish: Subscription, zone: str, secret: bytes | None = None
) -> Notice:
    """The same in a transaction that goes on and has locked the owner; raises AlreadyThere."""
    if len(notices.by_name(writer, owner)) >= MOST:
        raise Conflict(
            f"{owner} has {MOST} notices, which is the most; remove one that is not needed."
        )
    _check(writer, owner, wish)
    notice = _notice(owner, wish, writer.now(), zone, secret)
    notices.add(writer, notice)
    if notice.digest is not None:
        digests.begin(writer, notice)
    return notice


def update(
    store: Store, owner: OwnerName, key: NoticeId, wish: Subscription, seen: str, zone: str
) -> None:
    """Let a notice tell what is wished; its channel, its target and its secret stay.

    `seen` is what `fingerprint` said of the one that was shown. Of what its digest gathers now it
    tells what comes from now on. Raises NotFound, Invalid as `add`, NameTaken, and ChangedMeanwhile
    for a notice that says something else now.
    """
    try:
        with store.writing() as writer:
            before = _locked(writer, owner, key)
            if fingerprint(before) != seen:
                raise ChangedMeanwhile("The notice has changed since you opened the page.")
            alter(writer, before, replace(wish, channel=before.channel, target=before.target), zone)
    except AlreadyThere as error:
        raise _taken(wish.name) from error


def alter(writer: Writer, before: Notice, wish: Subscription, zone: str) -> None:
    """The same in a transaction that goes on and has locked the owner, with the target wished."""
    _check(writer, before.owner, wish)
    after = _changed(before, wish, writer.now(), zone)
    notices.change(writer, after)
    if after.digest is not None and after.ended_at is None:
        digests.widen(writer, before, after)


def pause(store: Store, owner: OwnerName, key: NoticeId) -> None:
    """Let a notice tell nothing, and give up what waits, until it is resumed. Raises NotFound."""
    with store.writing() as writer:
        notice, now = _locked(writer, owner, key), writer.now()
        notices.end(writer, notice.id, now)
        outbox.give_up_all(writer, notice.id, now)


def resume(store: Store, owner: OwnerName, key: NoticeId, zone: str) -> None:
    """Let a notice that is off tell what comes from now on. Raises NotFound."""
    with store.writing() as writer:
        notice = _locked(writer, owner, key)
        if notice.ended_at is None:
            return
        notices.turn_on(writer, notice.id)
        digests.plan_anew(writer, replace(notice, ended_at=None), zone)


def send_again(
    store: Store, owner: OwnerName, key: NoticeId, message: MessageId, given_up_at: Micros
) -> None:
    """Let a message be delivered that was given up then; nothing if it was sent again since.

    One that is older than a day is tried once. Raises NotFound, and Conflict for a notice that is
    off.
    """
    with store.writing() as writer:
        notice = _locked(writer, owner, key)
        if notice.ended_at is not None:
            raise Conflict("The notice is off: resume it, and send the message again then.")
        outbox.wait_again(writer, notice.id, message, given_up_at)


def fingerprint(wish: Subscription) -> str:
    """What tells a wish from another one, and nothing of what is secret of it."""
    return sha256(_parts(wish)).hexdigest()


def _locked(writer: Writer, owner: OwnerName, key: NoticeId) -> Notice:
    """A notice whose owner is locked. Raises NotFound."""
    notice = notices.get(writer, key)
    if notice is None or notice.owner != owner:
        raise NotFound("There is no such notice.")
    accounts.lock_owner(writer, owner)
    notice = notices.get(writer, key)
    if notice is None:
        raise NotFound("There is no such notice.")
    return notice


def _changed(before: Notice, wish: Subscription, now: Micros, zone: str) -> Notice:
    """A notice with what is wished; a digest that stays as it was fires when it would have."""
    after = replace(before, **wished(wish))
    if wish.digest is None:
        return replace(after, digest_at=None, digest_zone=None)
    if wish.digest == before.digest or before.ended_at is not None:
        return after
    return replace(after, digest_at=digests.first_fire(wish.digest, now, zone), digest_zone=zone)


def _taken(name: str) -> NameTaken:
    return NameTaken(
        f"There is a notice named {name!r} already; choose another name, or remove that one."
    )


def added_before(
    db: Database, owner: OwnerName, wish: Subscription, secret: bytes
) -> Notice | None:
    """The notice that the same wish has added, with the same secret if it has one."""
    with db.reading() as reader:
        key = notices.by_name(reader, owner).get(wish.name)
        notice = None if key is None else notices.get(reader, key)
    if notice is None or notice.secret not in {None, _written(secret)}:
        return None
    return notice if _parts(notice) == _parts(wish) else None


def _parts(wish: Subscription) -> bytes:
    """What is wished, however it is kept."""
    # As JSON, since a store gives lists where a form had tuples.
    return json.encode(wished(wish))


def wished(wish: Subscription) -> dict[str, Any]:
    """What is wished, also of a notice as it is kept, by its parts."""
    return {name: getattr(wish, name) for name in Subscription.__struct_fields__}


def check(db: Database, owner: OwnerName, wish: Subscription) -> None:
    """Raise Invalid for all that `add` would refuse of the parts of a wish, a detail for each."""
    with db.reading() as reader:
        _check(reader, owner, wish)


def _check(reader: Reader, owner: OwnerName, wish: Subscription) -> None:
    wrong = [*_wrong_parts(wish)]
    try:
        _check_filter(reader, owner, wish)
    except Invalid as error:
        wrong += error.details
    if wrong:
        first = wrong[0]
        whole = isinstance(first, LocatedDetail)
        said = first.message if whole else summary(format_detail(first), 1)
        raise Invalid(said, tuple(wrong))


def _wrong_parts(wish: Subscription) -> Iterator[Detail]:
    """What is wrong whatever datasets there are."""
    name = wish.name
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        said = f"A notice has a name of 1 to {LONGEST_NAME} characters, such as ops."
        yield LocatedDetail("name", said, is_predicate=False)
    problem = None if wish.digest is None else schedule_problem(wish.digest)
    if problem is not None:
        yield Detail("digest", problem)


class Listing(Struct, frozen=True):
    """The notices of an owner by name, and the names of those that cannot be read.

    `datasets` are names of the owner's datasets by their ids: of those that are asked for or named
    by a notice, and of the first ones; `has_more` says if there are others. `undelivered` is how
    many messages of a notice wait since one could not be delivered, `states` how those of each
    fare, and `keys` what tells all of them apart, by name.
    """

    notices: Sequence[Notice]
    damaged: Sequence[str]
    datasets: Mapping[str, str]
    has_more: bool
    undelivered: Mapping[NoticeId, int]
    states: Mapping[NoticeId, NoticeState]
    keys: Mapping[str, NoticeId]


def listed(
    db: Database, owner: OwnerName, zone: str = "UTC", also: Collection[str] = ()
) -> Listing:
    """The notices of an owner, with their next digests in `zone`: a damaged one hides no other."""
    with db.reading() as reader:
        now = reader.now()
        readable = [_planned(notice, now, zone) for notice in notices.readable(reader, owner)]
        every = notices.by_name(reader, owner)
        damaged = sorted(every.keys() - {notice.name for notice in readable})
        undelivered, states = outbox.undelivered(reader, owner), notices.states(reader, owner)
        wanted = {*also, *(key for notice in readable for key in notice.datasets or ())}
        first = [*islice(dataset_names.after(reader, owner), OFFERED + 1)]
        names = dataset_names.of_ids(reader, owner, wanted)
        names |= {ids.format_uuid(key): name for key, name in first[:OFFERED]}
        in_order = dict(sorted(names.items(), key=lambda each: each[1]))
        told = (readable, damaged, in_order, len(first) > OFFERED)
        return Listing(*told, undelivered, states, every)


def idle_dataset(db: Database, notice: Notice) -> str | None:
    """The first dataset of a notice if no schedule reads any of them; it tells nothing then."""
    with db.reading() as reader:
        every = schedules.read_by_schedule(reader, notice.owner)
    told = [
        (name, is_read)
        for key, name, is_read in every
        if notice.datasets is None or ids.format_uuid(key) in notice.datasets
    ]
    return None if not told or any(is_read for _, is_read in told) else told[0][0]


def find(db: Database, owner: OwnerName, name: str) -> Notice:
    """The notice of that name. Raises NotFound."""
    with db.reading() as reader:
        notice = notices.get(reader, _id_of(reader, owner, name))
    assert notice is not None  # one transaction sees one state
    return notice


def name_of(db: Database, owner: OwnerName, notice: NoticeId) -> str:
    """What a notice is called, also one that is damaged. Raises NotFound."""
    with db.reading() as reader:
        every = notices.by_name(reader, owner)
    for name, key in every.items():
        if key == notice:
            return name
    raise NotFound("There is no such notice.")


def remove(store: Store, owner: OwnerName, name: str) -> None:
    """Remove a notice with what still waits for it, also one that is damaged. Raises NotFound."""
    with store.reading() as reader:
        notice = _id_of(reader, owner, name)
    with store.writing() as writer:
        accounts.lock_owner(writer, owner)
        notices.remove(writer, notice)


def _planned(notice: Notice, now: Micros, zone: str) -> Notice:
    """A notice with its next digest put right: nobody may have looked since the zone was set."""
    try:
        return replace(notice, digest_at=digests.next_fire(notice, now, zone))
    except Damaged:
        return notice


def _id_of(reader: Reader, owner: OwnerName, name: str) -> NoticeId:
    every = notices.by_name(reader, owner)
    if name in every:
        return every[name]
    near = nearest(name, [*every])
    hint = f"; did you mean {near!r}?" if near else f". There is: {few([*every]) or 'none yet'}."
    raise NotFound(f"There is no notice {name!r}{hint}")


def _check_filter(reader: Reader, owner: OwnerName, subscription: Subscription) -> None:
    """Raise Invalid for what fits no dataset, or not one of those that are named."""
    if subscription.change_filter is None:
        return
    named = datasets.chosen(reader, owner, subscription.datasets)
    tables = ([*dataset.fields.columns.values()] for dataset in named)
    check_filter(subscription.change_filter, tables, all_of=subscription.datasets is not None)


def _notice(
    owner: OwnerName, subscription: Subscription, now: Micros, zone: str, given: bytes | None
) -> Notice:
    secret, digest = None, subscription.digest
    if channel_of(subscription.channel).has_secret:
        secret = _written(given or secrets.token_bytes(_SECRET_BYTES))
    return Notice(
        **asdict(subscription),
        id=NoticeId(ids.new_id()),
        owner=owner,
        secret=secret,
        created_at=now,
        digest_at=None if digest is None else digests.first_fire(digest, now, zone),
        digest_zone=None if digest is None else zone,
    )


def _written(secret: bytes) -> str:
    """A secret as receivers of webhooks take it."""
    return PREFIX + b64encode(secret).decode()


def as_json(notice: Notice, names: Mapping[str, str]) -> dict[str, object]:
    """A notice as JSON; `names` are those of the owner's datasets by their ids."""
    return {
        "name": notice.name,
        "channel": notice.channel,
        "target": shown_target(notice.channel, notice.target),
        "on": list(notice.kinds),
        "datasets": None
        if notice.datasets is None
        else [{"id": key, "name": names.get(key)} for key in notice.datasets],
        "after": notice.threshold,
        "silentFor": _silent_for(notice),
        **{
            part: [*given] for part, given in asdict(notice.change_filter or ChangeFilter()).items()
        },
        "digest": notice.digest,
        "nextDigestAt": ids.format_optional_timestamp(notice.digest_at),
        "createdAt": ids.format_timestamp(notice.created_at),
        "endedAt": ids.format_optional_timestamp(notice.ended_at),
    }


def told_of(notice: Subscription) -> str:
    """Of what it tells, with how many Runs and how long, as they are given to `notice add`."""
    digest = "" if notice.digest is None else f" (digest {notice.digest})"
    details = {
        "changes": digest + _filter_in_words(notice.change_filter or ChangeFilter()),
        "failing": f" after {notice.threshold}",
        "silent": f" for {_silent_for(notice)}",
    }
    return ", ".join(f"{kind}{details.get(kind, '')}" for kind in notice.kinds)


def _filter_in_words(wanted: ChangeFilter) -> str:
    """What narrows the changes, behind the word itself."""
    return "".join(
        [
            f" of kind {' or '.join(wanted.kinds)}" if wanted.kinds else "",
            f" of {' or '.join(wanted.columns)}" if wanted.columns else "",
            f" but not of {' and '.join(wanted.ignore)}" if wanted.ignore else "",
            f" where {' and '.join(wanted.when)}" if wanted.when else "",
        ]
    )


def _silent_for(notice: Subscription) -> str | None:
    return None if notice.silent_for is None else format_span(notice.silent_for)
