"""Owners, keys and credits."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

from livedata.model import ids
from livedata.model.account import ApiKey, LedgerEntry
from livedata.model.errors import Invalid, NotFound
from livedata.model.ids import KeyId, Micros, OwnerName
from livedata.model.problem import Remedy
from livedata.store import accounts
from livedata.store.database.backend import Writer
from livedata.store.database.store import Database, Store

PREFIX = "ld_"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who a key stands for, with a snapshot of their credits."""

    owner: OwnerName
    key: KeyId
    balance: int
    last_used_at: Micros | None


def authenticate(db: Database, secret: str) -> Caller | None:
    """Who `secret` stands for (interface 5); None for a key that is unknown or revoked."""
    with db.reading() as reader:
        found = accounts.by_hash(reader, hash_key(secret))
    return None if found is None else Caller(*found)


def used_key(store: Store, key: KeyId, at: Micros) -> None:
    """Keep that a key was used at a moment."""
    with store.writing() as writer:
        accounts.use_key(writer, key, at)


def meet_owner(writer: Writer, owner: OwnerName, credits: int) -> None:
    """Meet an owner within an act: the first time, with a grant of `credits` in the ledger."""
    at = ids.now()
    if accounts.add_owner(writer, owner, at):
        accounts.post(writer, owner, credits, at, note="first credits")


def ensure_owner(store: Store, owner: OwnerName, credits: int) -> None:
    """Meet an owner by itself, without an act."""
    with store.reading() as reader:
        if accounts.balance(reader, owner) is not None:
            return
    with store.writing() as writer:
        meet_owner(writer, owner, credits)


def grant(
    store: Store,
    owner: OwnerName,
    credits: int,
    note: str | None = None,
    *,
    first_credits: int = 0,
) -> LedgerEntry:
    """Add credits, or with a negative number take some away; the entry in the ledger.

    An owner whom the store has not met starts with `first_credits`.
    Raises Invalid if the balance would fall below 0.
    """
    if credits == 0:
        raise Invalid("0 credits change nothing; write a positive or a negative number.")
    with store.writing() as writer:
        meet_owner(writer, owner, first_credits)
        balance = accounts.lock_owner(writer, owner)
        if balance + credits < 0:
            raise Invalid(f"The balance of {owner} is {balance}; it cannot fall below 0.")
        if balance + credits > 2**53:
            raise Invalid(f"The balance of {owner} cannot grow past {2**53}.")
        accounts.post(writer, owner, credits, ids.now(), note=note)
        return accounts.ledger(writer, owner, since=ids.Micros(0), limit=1)[0]


def create_key(
    store: Store, owner: OwnerName, label: str | None, *, first_credits: int = 0
) -> ApiKey:
    """A new key (interface 5): the answer is the only time that it is seen.

    An owner whom the store has not met starts with `first_credits`.
    """
    secret = PREFIX + secrets.token_hex(32)
    digest, at = hash_key(secret), ids.now()
    with store.writing() as writer:
        meet_owner(writer, owner, first_credits)
        key = accounts.add_key(writer, owner, label, digest, at)
    return {
        "id": ids.format_uuid(key),
        "owner": owner,
        "label": label,
        "hashPrefix": digest.hex()[:8],
        "createdAt": ids.format_timestamp(at),
        "lastUsedAt": None,
        "revokedAt": None,
        "key": secret,
    }


def revoke_key(store: Store, given: str, owner: OwnerName | None = None) -> str:
    """End a key, named by its id or an unambiguous end of it, at once; its id.

    With `owner`, only that owner's keys are looked at. Raises NotFound.
    """
    with store.reading() as reader:
        known = [key for key in accounts.keys(reader) if owner in {None, key["owner"]}]
    found = [key["id"] for key in known if ids.matches_either_end(given, ids.raw_id(key["id"]))]
    if len(found) != 1:
        what = "There is no key" if not found else f"{len(found)} keys begin or end with"
        raise NotFound(f"{what} {given!r}.", remedies=(Remedy("list_keys"),))
    with store.writing() as writer:
        accounts.revoke_key(writer, KeyId(ids.raw_id(found[0])), ids.now())
    return found[0]


def hash_key(secret: str) -> bytes:
    """What is kept of a key."""
    return hashlib.sha256(secret.encode()).digest()
