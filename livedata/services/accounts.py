"""Owners, keys and credits."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

from livedata.model import ids
from livedata.model.account import ApiKey, LedgerEntry
from livedata.model.errors import Invalid, NotFound
from livedata.model.problem import Remedy
from livedata.store.database import Database
from livedata.store.engine import Store
from livedata.store.reads import accounts as reads
from livedata.store.writes import accounts, datasets

PREFIX = "ld_"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who a key stands for, with a snapshot of their credits."""

    owner: str
    key: bytes
    balance: int
    last_used_at: int | None


def authenticate(db: Database, secret: str) -> Caller | None:
    """Who `secret` stands for (specification 5); None for a key that is unknown or revoked."""
    with db.reading() as reader:
        found = reads.by_hash(reader, hash_key(secret))
    return None if found is None else Caller(*found)


def used_key(store: Store, key: bytes, at: int) -> None:
    """Keep that a key was used at a moment."""
    with store.writing() as writer:
        accounts.use_key(writer, key, at)


def ensure_owner(store: Store, owner: str, credits: int) -> None:
    """Meet an owner: the first time, with a grant of `credits` in the ledger."""
    with store.reading() as reader:
        if reads.balance(reader, owner) is not None:
            return
    with store.writing() as writer:
        if reads.balance(writer, owner) is None:
            at = ids.now()
            accounts.add_owner(writer, owner, at)
            accounts.post(writer, owner, credits, at, note="first credits")


def grant(store: Store, owner: str, credits: int, note: str | None = None) -> LedgerEntry:
    """Add credits, or with a negative number take some away; the entry in the ledger.

    Raises Invalid where the balance would fall below 0.
    """
    if credits == 0:
        raise Invalid("0 credits change nothing; write a positive or a negative number.")
    with store.writing() as writer:
        balance = reads.balance(writer, owner) or 0
        if balance + credits < 0:
            raise Invalid(f"The balance of {owner} is {balance}; it cannot fall below 0.")
        if balance + credits > 2**53:
            raise Invalid(f"The balance of {owner} cannot grow past {2**53}.")
        accounts.post(writer, owner, credits, ids.now(), note=note)
        return reads.ledger(writer, owner, since=0, limit=1)[0]


def create_key(store: Store, owner: str, label: str | None) -> ApiKey:
    """A new key (specification 5): the answer is the only time that it is seen."""
    secret = PREFIX + secrets.token_hex(32)
    digest, at = hash_key(secret), ids.now()
    with store.writing() as writer:
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


def revoke_key(store: Store, given: str, owner: str | None = None) -> str:
    """End a key, named by its id or an unambiguous end of it, at once; its id.

    With `owner`, only that owner's keys are looked at. Raises NotFound.
    """
    with store.reading() as reader:
        known = [key for key in reads.keys(reader) if owner in {None, key["owner"]}]
    found = [key["id"] for key in known if ids.matches_either_end(given, ids.raw_id(key["id"]))]
    if len(found) != 1:
        what = "There is no key" if not found else f"{len(found)} keys begin or end with"
        raise NotFound(f"{what} {given!r}.", remedies=(Remedy("list_keys"),))
    with store.writing() as writer:
        accounts.revoke_key(writer, ids.raw_id(found[0]), ids.now())
    return found[0]


def hash_key(secret: str) -> bytes:
    """What is kept of a key."""
    return hashlib.sha256(secret.encode()).digest()


def keep_cursor(store: Store, dataset: bytes, name: str, position: int) -> None:
    """Remember where the reader `name` of a dataset's feed stopped."""
    with store.writing() as writer:
        datasets.keep_cursor(writer, dataset, name, position, ids.now())
