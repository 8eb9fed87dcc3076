"""Owners, keys and the ledger: the balance is a row, each entry says what it became."""

from __future__ import annotations

from sqlalchemy import func, insert, update

from livedata.model.ids import new_id
from livedata.store.engine import Writer
from livedata.store.tables import KeyRecord, LedgerRecord, OwnerRecord, table

_owners = table(OwnerRecord)
_api_keys = table(KeyRecord)
_ledger = table(LedgerRecord)


def add_owner(writer: Writer, name: str, at: int) -> None:
    """An owner with nothing yet."""
    writer.execute(insert(_owners).values(name=name, balance=0, created_at=at))


def post(
    writer: Writer,
    owner: str,
    credits: int,
    at: int,
    *,
    dataset: bytes | None = None,
    run: bytes | None = None,
    note: str | None = None,
) -> int:
    """Add an entry of signed `credits` to the ledger, later than all before it, whatever the clock
    does; the balance after it.

    The caller has made sure that the balance stays at 0 or above, within this transaction.
    """
    latest = writer.value("SELECT max(created_at) FROM ledger WHERE owner = :owner", owner=owner)
    balance = writer.execute(
        update(_owners)
        .where(_owners.c.name == owner)
        .values(balance=_owners.c.balance + credits)
        .returning(_owners.c.balance)
    ).scalar_one()
    writer.execute(
        insert(_ledger).values(
            id=new_id(),
            owner=owner,
            kind="grant" if run is None else "charge",
            credits=credits,
            balance_after=balance,
            dataset_id=dataset,
            run_id=run,
            note=note,
            created_at=max(at, (latest or 0) + 1),
        )
    )
    return int(balance)


def add_key(writer: Writer, owner: str, label: str | None, digest: bytes, at: int) -> bytes:
    """Keep a key by its hash; its id."""
    key = new_id()
    writer.execute(
        insert(_api_keys).values(id=key, owner=owner, label=label, hash=digest, created_at=at)
    )
    return key


def use_key(writer: Writer, key: bytes, at: int) -> None:
    """The key was used; the latest use stays."""
    writer.execute(
        update(_api_keys)
        .where(_api_keys.c.id == key, func.coalesce(_api_keys.c.last_used_at, 0) < at)
        .values(last_used_at=at)
    )


def revoke_key(writer: Writer, key: bytes, at: int) -> None:
    """From this commit on the key opens nothing."""
    writer.execute(
        update(_api_keys)
        .where(_api_keys.c.id == key, _api_keys.c.revoked_at.is_(None))
        .values(revoked_at=at)
    )
