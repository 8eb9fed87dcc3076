"""Owners, keys and the ledger: the balance is a row, each entry says what it became.

A key signs browsers in: their sessions, and the links that begin one, are asked for by hash.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

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
from livedata.store.database.statements import insert, listed

_OWNER = "SELECT balance FROM owners WHERE name = :owner"
_CHARGE = """
UPDATE owners SET balance = balance - :pages WHERE name = :owner AND balance >= :pages
RETURNING balance
"""
# A ledger is read by time, and each entry says what the balance became: if the clock has gone back,
# the entry still must be later than the one that it builds on.
_ADD_ENTRY = """
INSERT INTO ledger
    (id, owner, kind, credits, dataset_id, run_id, note, balance_after, created_at)
VALUES (:id, :owner, :kind, :credits, :dataset_id, :run_id, :note,
    (SELECT balance FROM owners WHERE name = :owner),
    (SELECT CASE WHEN max(created_at) >= :now THEN max(created_at) + 1 ELSE :now END
     FROM ledger WHERE owner = :owner))
"""
_OPEN_RUNS = """
SELECT owner, count(*) FROM runs WHERE status IN ('queued', 'running')
"""
_END = Micros(2**63 - 1)
_ADD_KEY = insert("api_keys", "id", "owner", "label", "hash", "created_at")
_ADD_SESSION = insert("browser_sessions", "hash", "key_id", "expires_at")
_ADD_LINK = insert("sign_in_links", "hash", "key_id", "expires_at")


def balance(reader: Reader, owner: OwnerName) -> int | None:
    """The credits of an owner; None for one that the store has not met."""
    left: int | None = reader.value(_OWNER, owner=owner)
    return left


def lock_owner(writer: Writer, owner: OwnerName) -> int:
    """Keep every other writer of this owner's credits out; the balance. Raises NotFound."""
    return locking_owner(writer, owner)()


def locking_owner(writer: Writer, owner: OwnerName, *, briefly: bool = True) -> Callable[[], int]:
    """The same together with the next question; not `briefly` if much is computed meanwhile."""
    # The last lock of an act: Run, dataset, owner. Two acts that lock in another order could wait
    # for each other for ever. And no sooner than need be, since all Runs of an owner wait here:
    # when it came before their rows, an owner had 26 Runs a second on any number of machines.
    lock = writer.lock_briefly if briefly else writer.lock
    answer = lock(_OWNER, owner=owner)

    def balance() -> int:
        for (left,) in answer():
            return int(left)
        raise no_owner()

    return balance


def count_open_runs(reader: Reader, owners: Collection[OwnerName]) -> dict[OwnerName, int]:
    """Owner -> how many of their Runs have not ended, of those that have any."""
    names, named = listed("owner", owners)
    sql = f"{_OPEN_RUNS} AND owner IN ({names}) GROUP BY owner"
    return dict(reader.rows(sql, **named))


def no_owner() -> NotFound:
    """The error for an owner that the store has not met."""
    return NotFound("There is no such owner.")


def add_owner(writer: Writer, owner: OwnerName, now: Micros) -> bool:
    """Add an owner with no credits yet; False if the store has met them before."""
    # No question first: two processes may meet the same owner at the same moment.
    added = writer.written(
        "INSERT INTO owners (name, balance, created_at) VALUES (:owner, 0, :now) "
        "ON CONFLICT (name) DO NOTHING",
        owner=owner,
        now=now,
    )
    return added == 1


def post(
    writer: Writer,
    owner: OwnerName,
    credits: int,
    now: Micros,
    *,
    note: str | None = None,
) -> None:
    """Add an entry of signed `credits` to the ledger.

    The caller has locked the owner and made sure that the balance stays at 0 or above.
    """
    # A stored balance and no sum over the ledger: each Run and each answer of the API asks for it.
    writer.execute(
        "UPDATE owners SET balance = balance + :credits WHERE name = :owner",
        owner=owner,
        credits=credits,
    )
    _add_entry(writer, owner, credits, now, note=note)


def charge(
    writer: Writer, owner: OwnerName, pages: int, now: Micros, dataset: DatasetId, run: RunId
) -> Callable[[], bool]:
    """Charge a Run for its pages, together with the next question, and lock its owner.

    Whether the credits sufficed: if not, the transaction must end without what it wrote.
    """
    # Compared as they are charged: a balance that was read before may be spent by somebody else.
    # Six Runs at once brought one to -3 on PostgreSQL.
    answer = writer.lock_briefly(_CHARGE, owner=owner, pages=pages)
    _add_entry(writer, owner, -pages, now, dataset, run)
    return lambda: bool(answer())


def _add_entry(
    writer: Writer,
    owner: OwnerName,
    credits: int,
    now: Micros,
    dataset: DatasetId | None = None,
    run: RunId | None = None,
    note: str | None = None,
) -> None:
    writer.execute(
        _ADD_ENTRY,
        id=new_id(),
        owner=owner,
        kind="grant" if run is None else "charge",
        credits=credits,
        dataset_id=dataset,
        run_id=run,
        note=note,
        now=now,
    )


def ledger(
    reader: Reader,
    owner: OwnerName,
    since: Micros,
    limit: int,
    before: Micros | None = None,
    passed: int = 0,
) -> list[LedgerEntry]:
    """The entries since a moment, and before another, newest first, `limit` of them at most.

    Behind so many that are passed over.
    """
    # No two entries of an owner are of one moment.
    rows = reader.rows(
        "SELECT id, kind, credits, balance_after, dataset_id, run_id, note, created_at FROM ledger "
        "WHERE owner = :owner AND created_at >= :since AND created_at < :before "
        "ORDER BY created_at DESC LIMIT :limit OFFSET :passed",
        owner=owner,
        since=since,
        before=_END if before is None else before,
        limit=limit,
        passed=passed,
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


def count_entries(reader: Reader, owner: OwnerName, since: Micros, most: int) -> int:
    """How many entries there are since a moment; `most` of them are counted."""
    count: int = reader.value(
        "SELECT count(*) FROM (SELECT 1 FROM ledger WHERE owner = :owner "
        "AND created_at >= :since LIMIT :most) counted",
        owner=owner,
        since=since,
        most=most,
    )
    return count


def looked_back(reader: Reader, owner: OwnerName, since: Micros, limit: int) -> Micros:
    """Where the last `limit` entries begin, if that is later than a moment."""
    first: Micros | None = reader.value(
        "SELECT created_at FROM ledger WHERE owner = :owner AND created_at >= :since "
        "ORDER BY created_at DESC LIMIT 1 OFFSET :limit",
        owner=owner,
        since=since,
        limit=limit,
    )
    return since if first is None else Micros(first + 1)


def charged_since(
    reader: Reader, owner: OwnerName, since: Micros, limit: int
) -> list[tuple[DatasetId, int, int]]:
    """(dataset, Runs, credits) of the charges since a moment, `limit` at most that took most."""
    rows = reader.rows(
        "SELECT dataset_id, count(*), -CAST(sum(credits) AS BIGINT) AS taken FROM ledger "
        "WHERE owner = :owner AND created_at >= :since AND dataset_id IS NOT NULL "
        "GROUP BY dataset_id ORDER BY taken DESC, dataset_id LIMIT :limit",
        owner=owner,
        since=since,
        limit=limit,
    )
    return [(row[0], row[1], row[2]) for row in rows]


def balance_at(reader: Reader, owner: OwnerName, moment: Micros) -> int:
    """The credits that an owner had at a moment."""
    left: int | None = reader.value(
        "SELECT balance_after FROM ledger WHERE owner = :owner AND created_at < :moment "
        "ORDER BY created_at DESC LIMIT 1",
        owner=owner,
        moment=moment,
    )
    return left or 0


def granted(reader: Reader, owner: OwnerName, since: Micros) -> list[tuple[Micros, int]]:
    """(moment, credits) of every grant since a moment."""
    rows = reader.rows(
        "SELECT created_at, credits FROM ledger "
        "WHERE kind = 'grant' AND owner = :owner AND created_at >= :since",
        owner=owner,
        since=since,
    )
    return [(row[0], row[1]) for row in rows]


def charged(reader: Reader, run: RunId) -> int:
    """The credits that a Run was charged."""
    return -int(reader.value("SELECT credits FROM ledger WHERE run_id = :run", run=run) or 0)


def add_key(
    writer: Writer, owner: OwnerName, label: str | None, digest: bytes, now: Micros
) -> KeyId:
    """Keep a key by its hash; its id."""
    # Only the hash: who copies the file of the store can use no key of it.
    key = KeyId(new_id())
    writer.execute(_ADD_KEY, id=key, owner=owner, label=label, hash=digest, created_at=now)
    return key


def by_hash(reader: Reader, digest: bytes) -> tuple[OwnerName, KeyId, int, Micros | None] | None:
    """The (owner, key, balance, last use) of the key of that hash; None if it is revoked."""
    row = reader.row(
        "SELECT k.owner, k.id, o.balance, k.last_used_at FROM api_keys k "
        "JOIN owners o ON o.name = k.owner WHERE k.hash = :digest AND k.revoked_at IS NULL",
        digest=digest,
    )
    return None if row is None else (row[0], row[1], row[2], row[3])


def id_of_key(reader: Reader, owner: OwnerName, digest: bytes) -> KeyId | None:
    """The key of an owner of that hash, also one that is revoked; None if there is none."""
    sql = "SELECT id FROM api_keys WHERE owner = :owner AND hash = :digest"
    key: KeyId | None = reader.value(sql, owner=owner, digest=digest)
    return key


def keys(reader: Reader, owner: OwnerName | None = None) -> list[ApiKey]:
    """Every key of an owner, or of every one, oldest first."""
    rows = reader.rows(
        "SELECT id, owner, label, hash, created_at, last_used_at, revoked_at FROM api_keys "
        "WHERE owner = coalesce(:owner, owner) ORDER BY created_at, id",
        owner=owner,
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


def use_key(writer: Writer, key: KeyId, used_at: Micros) -> None:
    """Note the latest use of a key."""
    # Several processes note uses, and an older one may come later. NULL is not smaller than
    # anything, so the first use needs coalesce.
    writer.execute(
        "UPDATE api_keys SET last_used_at = :used_at "
        "WHERE id = :key AND coalesce(last_used_at, 0) < :used_at",
        key=key,
        used_at=used_at,
    )


def revoke_key(writer: Writer, key: KeyId, now: Micros) -> None:
    """Revoke a key: from this commit on it opens nothing."""
    # A second revocation keeps the moment of the first.
    writer.execute(
        "UPDATE api_keys SET revoked_at = :now WHERE id = :key AND revoked_at IS NULL",
        key=key,
        now=now,
    )


def add_session(writer: Writer, digest: bytes, key: KeyId, expires_at: Micros) -> None:
    """Keep a session of a key."""
    writer.execute(_ADD_SESSION, hash=digest, key_id=key, expires_at=expires_at)


def session_by_hash(
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


def remove_session(writer: Writer, digest: bytes) -> None:
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


def forget_ended_sessions(writer: Writer, now: Micros) -> None:
    """Forget the sessions and links that have expired."""
    writer.execute("DELETE FROM browser_sessions WHERE expires_at <= :now", now=now)
    writer.execute("DELETE FROM sign_in_links WHERE expires_at <= :now", now=now)
