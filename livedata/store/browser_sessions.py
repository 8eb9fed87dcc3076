"""Browsers that are signed in by a key, and links that sign one in once; asked for by hash."""

from __future__ import annotations

from livedata.model.ids import KeyId, Micros, OwnerName
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.statements import insert

_ADD_SESSION = insert("browser_sessions", "hash", "key_id", "expires_at")
_ADD_LINK = insert("sign_in_links", "hash", "key_id", "expires_at")


def add(writer: Writer, digest: bytes, key: KeyId, expires_at: Micros) -> None:
    """Keep a session of a key."""
    writer.execute(_ADD_SESSION, hash=digest, key_id=key, expires_at=expires_at)


def by_hash(
    reader: Reader, digest: bytes, now: Micros
) -> tuple[OwnerName, KeyId, int, Micros | None] | None:
    """The (owner, key, balance, last use) of a session; None if it or its key has ended."""
    row = reader.row(
        "SELECT k.owner, k.id, o.balance, k.last_used_at FROM browser_sessions s "
        "JOIN api_keys k ON k.id = s.key_id JOIN owners o ON o.name = k.owner "
        "WHERE s.hash = :digest AND s.expires_at > :now AND k.revoked_at IS NULL",
        digest=digest,
        now=now,
    )
    return None if row is None else (row[0], row[1], row[2], row[3])


def remove(writer: Writer, digest: bytes) -> None:
    """End a session."""
    writer.execute("DELETE FROM browser_sessions WHERE hash = :digest", digest=digest)


def add_link(writer: Writer, digest: bytes, key: KeyId, expires_at: Micros) -> None:
    """Keep a link that begins a session of a key."""
    writer.execute(_ADD_LINK, hash=digest, key_id=key, expires_at=expires_at)


def owner_of_link(reader: Reader, digest: bytes, now: Micros) -> OwnerName | None:
    """Whom a link signs in; None if it is used, or has ended with its time or key."""
    owner: OwnerName | None = reader.value(
        "SELECT k.owner FROM sign_in_links l JOIN api_keys k ON k.id = l.key_id "
        "WHERE l.hash = :digest AND l.expires_at > :now AND k.revoked_at IS NULL",
        digest=digest,
        now=now,
    )
    return owner


def take_link(writer: Writer, digest: bytes, now: Micros) -> KeyId | None:
    """Use a link up, and return its key; None if it is used, or has ended with its time or key."""
    # One statement: of two browsers that come with one link at once, one finds it.
    row = writer.row(
        "DELETE FROM sign_in_links WHERE hash = :digest RETURNING key_id, expires_at",
        digest=digest,
    )
    if row is None or row[1] <= now:
        return None
    valid = writer.value(
        "SELECT id FROM api_keys WHERE id = :key AND revoked_at IS NULL", key=row[0]
    )
    return None if valid is None else KeyId(valid)


def forget_ended(writer: Writer, now: Micros) -> None:
    """Forget the sessions and links that have expired."""
    writer.execute("DELETE FROM browser_sessions WHERE expires_at <= :now", now=now)
    writer.execute("DELETE FROM sign_in_links WHERE expires_at <= :now", now=now)
