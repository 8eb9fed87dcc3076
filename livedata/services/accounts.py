"""Owners, keys and credits."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from livedata.messages.templates import plural
from livedata.model import ids
from livedata.model.account import MAX_CREDITS, ApiKey, LedgerEntry, Limits
from livedata.model.errors import Conflict, Invalid, LimitReached, NotFound
from livedata.model.ids import KeyId, Micros, OwnerName
from livedata.model.problem import Remedy
from livedata.store import accounts, dataset_names, datasets
from livedata.store.audit import vitals
from livedata.store.database.backend import Writer
from livedata.store.database.store import Database, Store

PREFIX = "ld_"
LONGEST_LABEL = 200
MOST_KEYS = 1_000
"""How many keys of an owner are open at once."""
LOOKED_AT = 5_000
"""So many entries of a ledger say what each dataset took: more take longer than a person waits."""
NEAREST = 10
"""So many owners are told that are nearest to a limit."""
MOST_TOLD = 100
"""So many datasets are told of what they took."""
_SECRET_BYTES = 32


class Caller(Struct, frozen=True):
    """The owner that a key stands for, with the balance at that moment."""

    owner: OwnerName
    key: KeyId
    balance: int
    last_used_at: Micros | None


class DatasetUsage(Struct, frozen=True, rename="camel"):
    """What the Runs of a dataset were charged, and the US dollars of its research.

    Without a name it is deleted.
    """

    dataset_id: str
    name: str | None
    runs: int
    credits: int
    usd: float = 0


class LedgerEntries(Struct, frozen=True):
    """Entries of a ledger, the names of their datasets, and how many there are, up to LOOKED_AT."""

    listed: Sequence[LedgerEntry]
    names: Mapping[str, str]
    count: int


def authenticate(db: Database, secret: str) -> Caller | None:
    """Who `secret` stands for (interface 5); None for a key that is unknown or revoked."""
    with db.reading() as reader:
        row = accounts.by_hash(reader, hash_key(secret))
    return None if row is None else Caller(*row)


def used_key(store: Store, key: KeyId, moment: Micros) -> None:
    """Record that a key was used."""
    with store.writing() as writer:
        accounts.use_key(writer, key, moment)


def meet_owner(writer: Writer, owner: OwnerName, credits: int) -> None:
    """Add an owner that the store does not know yet, with a grant of `credits` in the ledger.

    Runs within the transaction of an act: if the act fails, the store does not know the owner.
    """
    now = ids.now()
    if accounts.add_owner(writer, owner, now):
        accounts.post(writer, owner, credits, now, note="first credits")


def check_datasets(writer: Writer, owner: OwnerName) -> None:
    """Raise LimitReached if an owner has as many datasets as it may have.

    It locks the owner: two who add one at once must not both find room for the last.
    """
    most = writer.limits.of(owner).datasets
    if most is not None:
        accounts.lock_owner(writer, owner)
        if datasets.owns(writer, owner, most):
            raise LimitReached(
                f"{owner} has {plural(most, 'dataset')}, as many as {owner} may have; delete "
                "one first, or ask whoever runs livedata for more."
            )


def check_open_runs(writer: Writer, owner: OwnerName) -> None:
    """The same of Runs that have not ended."""
    if writer.limits.of(owner).runs is not None:
        accounts.lock_owner(writer, owner)
        if not room_for_runs(writer, [owner])[owner]:
            raise too_many_runs(writer, owner)


def room_for_runs(writer: Writer, owners: Collection[OwnerName]) -> dict[OwnerName, int]:
    """Owner -> how many more Runs may be open, of those with a limit, and are locked."""
    limits = {owner: writer.limits.of(owner).runs for owner in owners}
    limited = {owner: most for owner, most in limits.items() if most is not None}
    opened = accounts.count_open_runs(writer, limited) if limited else {}
    return {owner: max(0, most - opened.get(owner, 0)) for owner, most in limited.items()}


def too_many_runs(writer: Writer, owner: OwnerName) -> LimitReached:
    """What an owner is told who has as many open Runs as it may have."""
    most = writer.limits.of(owner).runs or 0
    return LimitReached(
        f"{owner} has {plural(most, 'Run')} waiting or in progress, as many as {owner} may "
        "have; let one end or cancel it, or ask whoever runs livedata for more."
    )


class NearOwner(Struct, frozen=True):
    """How much an owner has of what is limited, and the most that it may have."""

    owner: OwnerName
    has: int
    most: int


class Nearest(Struct, frozen=True):
    """The owners that are nearest to a limit, the nearest first; none of what is not limited."""

    datasets: Sequence[NearOwner]
    runs: Sequence[NearOwner]


def nearest(db: Database, limits: Limits) -> Nearest:
    """Who is nearest to the limits."""
    most_datasets = [each.datasets for each in limits.sets if each.datasets is not None]
    limits_runs = any(each.runs is not None for each in limits.sets)
    with db.reading() as reader:
        had = vitals.datasets_of(reader, max(most_datasets), limits.others) if most_datasets else {}
        opened = vitals.open_runs_of(reader) if limits_runs else {}
    return Nearest(
        _nearest((owner, count, limits.of(owner).datasets) for owner, count in had.items()),
        _nearest((owner, count, limits.of(owner).runs) for owner, count in opened.items()),
    )


def _nearest(had: Iterable[tuple[OwnerName, int, int | None]]) -> list[NearOwner]:
    limited = [NearOwner(owner, count, most) for owner, count, most in had if most is not None]
    return sorted(limited, key=lambda near: (-near.has / near.most, near.owner))[:NEAREST]


def grant(
    store: Store,
    owner: OwnerName,
    credits: int,
    note: str | None = None,
    *,
    first_credits: int = 0,
) -> LedgerEntry:
    """Add credits, or take some away with a negative number, and return the entry in the ledger.

    A new owner starts with `first_credits`.
    Raises Invalid if the balance would fall below 0.
    """
    if credits == 0:
        raise Invalid("0 credits change nothing; write a positive or a negative number.")
    with store.writing() as writer:
        meet_owner(writer, owner, first_credits)
        # Locked before it is compared: a charge of another process could come between.
        balance = accounts.lock_owner(writer, owner)
        if balance + credits < 0:
            raise Invalid(f"The balance of {owner} is {balance}; it cannot fall below 0.")
        if balance + credits > MAX_CREDITS:
            raise Invalid(f"The balance of {owner} cannot grow past {MAX_CREDITS}.")
        accounts.post(writer, owner, credits, ids.now(), note=note)
        return accounts.ledger(writer, owner, since=ids.Micros(0), limit=1)[0]


def by_dataset(
    db: Database, owner: OwnerName, since: Micros, usd: Mapping[str, float]
) -> tuple[list[DatasetUsage], Micros]:
    """What the Runs of each dataset were charged, the most first, and since when that is counted.

    With the US dollars of each by its id: also what no Run was charged for. Of very many charges
    the last ones are looked at, and of very many datasets those are told that took most.
    """
    with db.reading() as reader:
        since = accounts.looked_back(reader, owner, since, LOOKED_AT)
        charged = accounts.charged_since(reader, owner, since, MOST_TOLD)
        taken = {ids.format_uuid(key): (runs, sum_) for key, runs, sum_ in charged}
        listed = [*{**taken, **usd}]
        names = dataset_names.of_ids(reader, owner, listed)
    used = [
        DatasetUsage(key, names.get(key), *taken.get(key, (0, 0)), usd.get(key, 0))
        for key in listed
    ]
    return sorted(used, key=lambda each: (-each.credits, each.name or "", each.dataset_id)), since


def entries(
    db: Database, owner: OwnerName, since: Micros, limit: int, passed: int
) -> LedgerEntries:
    """Some entries of a ledger since a moment, the newest first, behind those that are passed."""
    with db.reading() as reader:
        listed = accounts.ledger(reader, owner, since, limit, passed=passed)
        about = {entry["datasetId"] for entry in listed if entry["datasetId"] is not None}
        count = accounts.count_entries(reader, owner, since, LOOKED_AT)
        return LedgerEntries(listed, dataset_names.of_ids(reader, owner, about), count)


def create_key(
    store: Store,
    owner: OwnerName,
    label: str | None,
    *,
    secret: bytes | None = None,
    first_credits: int = 0,
) -> ApiKey:
    """A new key (interface 5): the answer is the only time that it is seen.

    It is made of the 32 bytes of `secret` if these are given; the same make the key once and return
    it again. A new owner starts with `first_credits`. Raises Invalid for a label that is too long,
    and Conflict if the owner has too many keys.
    """
    if label is not None and len(label) > LONGEST_LABEL:
        raise Invalid(f"A label has at most {LONGEST_LABEL} characters.")
    key = PREFIX + (secret or secrets.token_bytes(_SECRET_BYTES)).hex()
    digest = hash_key(key)
    with store.writing() as writer:
        meet_owner(writer, owner, first_credits)
        # Two who make one at once must not both find none, or both find room for it.
        accounts.lock_owner(writer, owner)
        made = accounts.id_of_key(writer, owner, digest)
        if made is None:
            kept = accounts.keys(writer, owner)
            if sum(each["revokedAt"] is None for each in kept) >= MOST_KEYS:
                raise Conflict(
                    f"{owner} has {MOST_KEYS:,} keys that are open; revoke one first.",
                    remedies=(Remedy("list_keys"),),
                )
            made = accounts.add_key(writer, owner, label, digest, ids.now())
        (listed,) = [
            each for each in accounts.keys(writer, owner) if each["id"] == ids.format_uuid(made)
        ]
    return {**listed, "key": key}


def revoke_key(store: Store, given: str, owner: OwnerName | None = None) -> str:
    """Revoke a key, given by its id or an unambiguous beginning or end of it; return its id.

    With `owner`, only the keys of that owner count. Raises NotFound.
    """
    with store.reading() as reader:
        candidates = [key for key in accounts.keys(reader) if owner in {None, key["owner"]}]
    matches = [
        key["id"] for key in candidates if ids.matches_either_end(given, ids.raw_id(key["id"]))
    ]
    if len(matches) != 1:
        problem = "There is no key" if not matches else f"{len(matches)} keys begin or end with"
        raise NotFound(f"{problem} {given!r}.", remedies=(Remedy("list_keys"),))
    with store.writing() as writer:
        accounts.revoke_key(writer, KeyId(ids.raw_id(matches[0])), ids.now())
    return matches[0]


def hash_key(secret: str) -> bytes:
    """The hash of a key or of a session's token, which is all that the store keeps of it."""
    # A plain hash suffices: a secret of 256 random bits cannot be guessed, unlike a password.
    return hashlib.sha256(secret.encode()).digest()
