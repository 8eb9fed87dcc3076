"""Owners, keys and the ledger: the balance is a row, each entry says what it became."""

from __future__ import annotations

from livedata.model.account import ApiKey, LedgerEntry
from livedata.model.errors import NotFound
from livedata.model.ids import (
    DatasetId,
    KeyId,
    Micros,
    OwnerName,
    RunId,
    format_optional_timestamp,
    format_optional_uuid,
    format_timestamp,
    format_uuid,
    new_id,
)
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.statements import insert

_OWNER = "SELECT balance FROM owners WHERE name = :owner"
_ADD_ENTRY = insert(
    "ledger",
    *("id", "owner", "kind", "credits", "balance_after"),
    *("dataset_id", "run_id", "note", "created_at"),
)
_ADD_KEY = insert("api_keys", "id", "owner", "label", "hash", "created_at")


def balance(reader: Reader, owner: OwnerName) -> int | None:
    """The credits of an owner; None for one that the store has not met."""
    found: int | None = reader.value(_OWNER, owner=owner)
    return found


def lock_owner(writer: Writer, owner: OwnerName) -> int:
    """Keep every other writer of this owner's credits out; the balance. Raises NotFound."""
    found = writer.locked(_OWNER, owner=owner)
    if found is None:
        raise NotFound("There is no such owner.")
    return int(found[0])


def add_owner(writer: Writer, owner: OwnerName, at: Micros) -> bool:
    """Add an owner with no credits yet; False if the store has met them before."""
    added = writer.execute(
        "INSERT INTO owners (name, balance, created_at) VALUES (:owner, 0, :at) "
        "ON CONFLICT (name) DO NOTHING",
        owner=owner,
        at=at,
    )
    return added == 1


def post(
    writer: Writer,
    owner: OwnerName,
    credits: int,
    at: Micros,
    *,
    dataset: DatasetId | None = None,
    run: RunId | None = None,
    note: str | None = None,
) -> int:
    """Add an entry of signed `credits` to the ledger; the balance after it.

    The entry is later than all before it, whatever the clock does. The caller has locked the owner
    and made sure that the balance stays at 0 or above.
    """
    latest = writer.value("SELECT max(created_at) FROM ledger WHERE owner = :owner", owner=owner)
    left = int(
        writer.value(
            "UPDATE owners SET balance = balance + :credits WHERE name = :owner RETURNING balance",
            owner=owner,
            credits=credits,
        )
    )
    writer.execute(
        _ADD_ENTRY,
        id=new_id(),
        owner=owner,
        kind="grant" if run is None else "charge",
        credits=credits,
        balance_after=left,
        dataset_id=dataset,
        run_id=run,
        note=note,
        created_at=max(at, (latest or 0) + 1),
    )
    return left


def ledger(
    reader: Reader, owner: OwnerName, since: Micros, limit: int = 1_000_000
) -> list[LedgerEntry]:
    """The entries since a moment, newest first, `limit` of them at most."""
    rows = reader.rows(
        "SELECT id, kind, credits, balance_after, dataset_id, run_id, note, created_at FROM ledger "
        "WHERE owner = :owner AND created_at >= :since "
        "ORDER BY created_at DESC, id DESC LIMIT :limit",
        owner=owner,
        since=since,
        limit=limit,
    )
    return [
        {
            "id": format_uuid(row[0]),
            "kind": row[1],
            "credits": row[2],
            "balanceAfter": row[3],
            "datasetId": format_optional_uuid(row[4]),
            "runId": format_optional_uuid(row[5]),
            "note": row[6],
            "createdAt": format_timestamp(row[7]),
        }
        for row in rows
    ]


def charged(reader: Reader, run: RunId) -> int:
    """The credits that a Run was charged."""
    return -int(reader.value("SELECT credits FROM ledger WHERE run_id = :run", run=run) or 0)


def add_key(
    writer: Writer, owner: OwnerName, label: str | None, digest: bytes, at: Micros
) -> KeyId:
    """Keep a key by its hash; its id."""
    key = KeyId(new_id())
    writer.execute(_ADD_KEY, id=key, owner=owner, label=label, hash=digest, created_at=at)
    return key


def by_hash(reader: Reader, digest: bytes) -> tuple[OwnerName, KeyId, int, Micros | None] | None:
    """The (owner, key, balance, last use) of the key of that hash, unless it is revoked."""
    row = reader.row(
        "SELECT k.owner, k.id, o.balance, k.last_used_at FROM api_keys k "
        "JOIN owners o ON o.name = k.owner WHERE k.hash = :digest AND k.revoked_at IS NULL",
        digest=digest,
    )
    return None if row is None else (row[0], row[1], row[2], row[3])


def keys(reader: Reader) -> list[ApiKey]:
    """Every key of every owner, oldest first."""
    rows = reader.rows(
        "SELECT id, owner, label, hash, created_at, last_used_at, revoked_at FROM api_keys "
        "ORDER BY created_at, id"
    )
    return [
        {
            "id": format_uuid(row[0]),
            "owner": row[1],
            "label": row[2],
            "hashPrefix": row[3].hex()[:8],
            "createdAt": format_timestamp(row[4]),
            "lastUsedAt": format_optional_timestamp(row[5]),
            "revokedAt": format_optional_timestamp(row[6]),
        }
        for row in rows
    ]


def use_key(writer: Writer, key: KeyId, at: Micros) -> None:
    """The key was used; the latest use stays."""
    writer.execute(
        "UPDATE api_keys SET last_used_at = :at "
        "WHERE id = :key AND coalesce(last_used_at, 0) < :at",
        key=key,
        at=at,
    )


def revoke_key(writer: Writer, key: KeyId, at: Micros) -> None:
    """From this commit on the key opens nothing."""
    writer.execute(
        "UPDATE api_keys SET revoked_at = :at WHERE id = :key AND revoked_at IS NULL",
        key=key,
        at=at,
    )
