"""Owners, keys and the ledger."""

from __future__ import annotations

from livedata.model.account import ApiKey, LedgerEntry
from livedata.model.ids import (
    format_optional_timestamp,
    format_optional_uuid,
    format_timestamp,
    format_uuid,
)
from livedata.store.database import Reader


def balance(reader: Reader, owner: str) -> int | None:
    """The credits of an owner; None for one that the store has not met."""
    found: int | None = reader.value("SELECT balance FROM owners WHERE name = :name", name=owner)
    return found


def by_hash(reader: Reader, digest: bytes) -> tuple[str, bytes, int, int | None] | None:
    """The (owner, key, balance, last use) of the key of that hash, unless it is revoked."""
    row = reader.row(
        "SELECT k.owner, k.id, o.balance, k.last_used_at FROM api_keys k "
        "JOIN owners o ON o.name = k.owner WHERE k.hash = :digest AND k.revoked_at IS NULL",
        digest=digest,
    )
    return None if row is None else (row[0], row[1], row[2], row[3])


def ledger(reader: Reader, owner: str, since: int, limit: int = 1_000_000) -> list[LedgerEntry]:
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
