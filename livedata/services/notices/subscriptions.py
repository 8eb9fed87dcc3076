"""Acts on notices: add one, list them, remove one."""

from __future__ import annotations

import secrets
from base64 import b64encode
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import asdict, replace

from livedata.messages.request import nearest
from livedata.model import ids
from livedata.model.errors import Conflict, Damaged, Invalid, NameTaken, NotFound
from livedata.model.ids import Micros, NoticeId, OwnerName
from livedata.rules.declaration.notices import MOST
from livedata.services.accounts import meet_owner
from livedata.services.notices import digests
from livedata.services.notices.change_filters import check_filter
from livedata.store import accounts, datasets, notices, outbox
from livedata.store.database.backend import AlreadyThere, Reader
from livedata.store.database.store import Database, Store
from livedata.store.notices import Notice, Subscription

PREFIX = "whsec_"
LONGEST_NAME = 120
_SECRET_BYTES = 32


def add(
    store: Store,
    owner: OwnerName,
    subscription: Subscription,
    zone: str = "UTC",
    *,
    first_credits: int = 0,
) -> Notice:
    """Add a notice; a webhook gets a secret, which nobody is shown again.

    Its digest fires in `zone`. A new owner starts with `first_credits`. Raises Invalid for a name
    that cannot be printed, for a condition or a column that is wrong and for a cron that is none,
    NameTaken, and Conflict if the owner has too many.
    """
    name = subscription.name
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise Invalid(f"A notice has a name of 1 to {LONGEST_NAME} characters, such as ops.")
    try:
        with store.writing() as writer:
            meet_owner(writer, owner, first_credits)
            # Who puts something into the outbox has locked its owner too (`notifying`).
            accounts.lock_owner(writer, owner)
            if len(notices.by_name(writer, owner)) >= MOST:
                raise Conflict(
                    f"{owner} has {MOST} notices, which is the most; remove one that is not needed."
                )
            _check_filter(writer, owner, subscription)
            notice = _notice(owner, subscription, writer.now(), zone)
            notices.add(writer, notice)
            if notice.digest is not None:
                digests.begin(writer, notice)
    except AlreadyThere as error:
        raise NameTaken(
            f"There is a notice named {name!r} already; choose another name, or remove that one."
        ) from error
    return notice


class Listing(Struct, frozen=True):
    """The notices of an owner by name, and the names of those that cannot be read.

    `datasets` are the names of the owner's datasets by their ids, `undelivered` how many messages
    of a notice wait since one could not be delivered.
    """

    notices: Sequence[Notice]
    damaged: Sequence[str]
    datasets: Mapping[str, str]
    undelivered: Mapping[NoticeId, int]


def listed(db: Database, owner: OwnerName, zone: str = "UTC") -> Listing:
    """The notices of an owner, with their next digests in `zone`: a damaged one hides no other."""
    with db.reading() as reader:
        now = reader.now()
        readable = [_planned(notice, now, zone) for notice in notices.readable(reader, owner)]
        damaged = notices.by_name(reader, owner).keys() - {notice.name for notice in readable}
        undelivered = outbox.undelivered(reader, owner)
        return Listing(readable, sorted(damaged), _dataset_names(reader, owner), undelivered)


def dataset_names(db: Database, owner: OwnerName) -> dict[str, str]:
    """The names of an owner's datasets by their ids."""
    with db.reading() as reader:
        return _dataset_names(reader, owner)


def find(db: Database, owner: OwnerName, name: str) -> Notice:
    """The notice of that name. Raises NotFound."""
    with db.reading() as reader:
        notice = notices.get(reader, _id_of(reader, owner, name))
    assert notice is not None  # one transaction sees one state
    return notice


def remove(store: Store, owner: OwnerName, name: str) -> None:
    """Remove a notice with what still waits for it, also one that is damaged. Raises NotFound."""
    with store.reading() as reader:
        notice = _id_of(reader, owner, name)
    with store.writing() as writer:
        accounts.lock_owner(writer, owner)
        notices.remove(writer, notice)


def _dataset_names(reader: Reader, owner: OwnerName) -> dict[str, str]:
    return {ids.format_uuid(key): name for key, name in datasets.all_names(reader, owner)}


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
    listed_names = ", ".join([*every][:5]) or "none yet"
    hint = f"; did you mean {near!r}?" if near else f". There is: {listed_names}."
    raise NotFound(f"There is no notice {name!r}{hint}")


def _check_filter(reader: Reader, owner: OwnerName, subscription: Subscription) -> None:
    """Raise Invalid for what fits no dataset, or not one of those that are named."""
    if subscription.change_filter is None:
        return
    named = subscription.datasets
    keys = [key for key, _ in datasets.all_names(reader, owner)]
    tables = [
        [*datasets.ref(reader, owner, key).fields.columns.values()]
        for key in keys
        if named is None or ids.format_uuid(key) in named
    ]
    check_filter(subscription.change_filter, tables, all_of=named is not None)


def _notice(owner: OwnerName, subscription: Subscription, now: Micros, zone: str) -> Notice:
    secret, digest = None, subscription.digest
    if subscription.channel == "webhook":
        secret = PREFIX + b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()
    return Notice(
        **asdict(subscription),
        id=NoticeId(ids.new_id()),
        owner=owner,
        secret=secret,
        created_at=now,
        digest_at=None if digest is None else digests.first_fire(digest, now, zone),
        digest_zone=None if digest is None else zone,
    )
