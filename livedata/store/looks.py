"""Looks at pages, asked for with their owner; whoever executes one has a lease and a fence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from livedata.model.errors import LostLease, NotFound
from livedata.model.ids import DatasetId, LookId, Micros, OwnerName, new_id
from livedata.model.look import LookTask, LookWish, PageLook
from livedata.store.database import codec
from livedata.store.database.backend import Reader, Row, Writer
from livedata.store.database.codec import JsonColumn, dump
from livedata.store.database.statements import Expiring, insert
from livedata.store.queue import Lease

LOOK_WISH = JsonColumn[LookWish](LookWish)
PAGE_LOOK = JsonColumn[PageLook](PageLook, anything=True)
KEPT_FOR: Final = 86_400 * 1_000_000
"""How long a look is kept after it was asked for last, in microseconds."""
MOST: Final = 20
"""So many that are over are kept of an owner."""
OLD: Final = Expiring("looks", "id", "asked_at < :moment", "DELETE FROM looks")

_ADD: Final = insert(
    "looks",
    *("id", "owner", "status", "wish", "chosen", "attempt", "fence", "asked_at", "dataset_id"),
)
_COLUMNS: Final = (
    "id, status, wish, seen, chosen, tried, error, far, attempt, fence, lease_owner, lease_until, "
    "lease_origin, asked_at, started_at, dataset_id"
)
_RUNS: Final = "status = 'running'"
_OPEN: Final = "status IN ('queued', 'running')"
_SELECT: Final = f"SELECT {_COLUMNS} FROM looks"  # noqa: S608  (our names)
_MINE: Final = f"{_SELECT} WHERE id = :look AND owner = :owner"
_CROWDED: Final = """
DELETE FROM looks WHERE owner = :owner AND status = 'over' AND id NOT IN (
    SELECT id FROM looks WHERE owner = :owner AND status = 'over'
    ORDER BY asked_at DESC, id DESC LIMIT :most)
"""


class StoredLook(Struct, frozen=True):
    """A look as it is kept; `dataset` is the one that it is about, or that was made of it."""

    id: LookId
    status: str
    wish: LookWish
    seen: PageLook | None
    chosen: Mapping[str, Any] | None
    tried: Mapping[str, Any] | None
    error: str | None
    far: str | None
    attempt: int
    fence: int
    lease: Lease | None
    asked: Micros
    started: Micros | None
    dataset: DatasetId | None

    @property
    def is_open(self) -> bool:
        """Whether somebody is to execute it, or does."""
        return self.status != "over"


class RunningLook(Struct, frozen=True):
    """Who executes a look: what its worker has, and what it has used."""

    id: LookId
    fence: int
    attempt: int
    lease: Lease | None


def add(
    writer: Writer,
    owner: OwnerName,
    wish: LookWish,
    now: Micros,
    *,
    dataset: DatasetId | None = None,
    chosen: Mapping[str, Any] | None = None,
) -> LookId:
    """A new look, queued; its id. Raises AlreadyThere if the owner has an open one.

    It is about a page, or about a `dataset` and the source that is to be tried, if one is `chosen`.
    """
    writer.execute(_CROWDED, owner=owner, most=MOST - 1)
    look = LookId(new_id())
    given = {"id": look, "owner": owner, "wish": dump(wish), "asked_at": now}
    about = {"dataset_id": dataset, "chosen": None if chosen is None else dump(chosen)}
    writer.execute(_ADD, **given, **about, status="queued", attempt=0, fence=0)
    return look


def lock(writer: Writer, owner: OwnerName, look: LookId) -> StoredLook:
    """A look that nobody else writes until the transaction ends. Raises NotFound."""
    return _stored(writer.locked(_MINE, look=look, owner=owner), writer.now())


def get(reader: Reader, owner: OwnerName, look: LookId) -> StoredLook:
    """A look of an owner. Raises NotFound, also for one that is to be forgotten."""
    return _stored(reader.row(_MINE, look=look, owner=owner), reader.now())


def kept(reader: Reader, owner: OwnerName) -> list[StoredLook]:
    """The looks of an owner at new pages, and the open one, the newest first."""
    rows = reader.rows(
        f"{_SELECT} WHERE owner = :owner AND (dataset_id IS NULL OR {_OPEN}) "
        "AND asked_at >= :since ORDER BY asked_at DESC, id DESC",
        owner=owner,
        since=reader.now() - KEPT_FOR,
    )
    return [_loaded(row) for row in rows]


def of_dataset(reader: Reader, owner: OwnerName, dataset: DatasetId) -> StoredLook | None:
    """The newest look that is about a dataset."""
    row = reader.row(
        # The one of which the dataset was made holds nothing any more.
        f"{_SELECT} WHERE owner = :owner AND dataset_id = :dataset AND asked_at >= :since "
        f"AND ({_OPEN} OR tried IS NOT NULL OR error IS NOT NULL) "
        "ORDER BY asked_at DESC, id DESC LIMIT 1",
        owner=owner,
        dataset=dataset,
        since=reader.now() - KEPT_FOR,
    )
    return None if row is None else _loaded(row)


def forget(writer: Writer, look: LookId) -> None:
    """Delete a look of which nothing is wanted any more."""
    writer.execute("DELETE FROM looks WHERE id = :look", look=look)


def open_of(reader: Reader, owner: OwnerName) -> StoredLook | None:
    """The look of an owner that is queued or running."""
    # One at most, by a partial unique index: also if it was asked for longer ago than a day.
    row = reader.row(f"{_SELECT} WHERE owner = :owner AND {_OPEN}", owner=owner)
    return None if row is None else _loaded(row)


def ask(
    writer: Writer, look: LookId, wish: LookWish, chosen: Mapping[str, Any] | None, now: Micros
) -> None:
    """Queue a look that is over again: for its page, or with `chosen` for a declaration.

    Raises AlreadyThere if its owner has an open one.
    """
    writer.execute(
        "UPDATE looks SET status = 'queued', wish = :wish, chosen = :chosen, tried = NULL, "
        "error = NULL, far = NULL, attempt = 0, asked_at = :now, started_at = NULL, "
        "seen = CASE WHEN :keeps = 1 THEN seen ELSE NULL END WHERE id = :look",
        look=look,
        wish=dump(wish),
        chosen=None if chosen is None else dump(chosen),
        keeps=0 if chosen is None else 1,
        now=now,
    )


def become(writer: Writer, look: LookId, dataset: DatasetId) -> None:
    """Note what a look has become, and let go of all that was seen."""
    writer.execute(
        "UPDATE looks SET seen = NULL, chosen = NULL, tried = NULL, dataset_id = :dataset "
        "WHERE id = :look",
        look=look,
        dataset=dataset,
    )


def queued(reader: Reader) -> int:
    """How many looks wait."""
    return int(reader.value("SELECT count(*) FROM looks WHERE status = 'queued'"))


def start(writer: Writer, lease: Lease, now: Micros) -> tuple[LookId, int, LookTask] | None:
    """Take the look that waits longest: its id, its fence, and what is to be done."""
    # One statement, so that of two workers one gets the row and the other none.
    row = writer.row(
        "UPDATE looks SET status = 'running', attempt = attempt + 1, fence = fence + 1, "
        "lease_owner = :holder, lease_until = :until, lease_origin = :origin, started_at = :now "
        "WHERE status = 'queued' AND id = (SELECT id FROM looks WHERE status = 'queued' "
        "ORDER BY asked_at, id LIMIT 1) RETURNING id, fence, wish, chosen, owner, dataset_id",
        holder=lease.holder,
        until=lease.until,
        origin=lease.origin,
        now=now,
    )
    if row is None:
        return None
    look, fence, wish, chosen, owner, dataset = row
    return look, fence, LookTask(LOOK_WISH.load(wish), _object(chosen), owner, dataset)


def running(reader: Reader) -> list[RunningLook]:
    """Every look that is executed."""
    lease = "lease_owner, lease_until, lease_origin"
    rows = reader.rows(f"SELECT id, fence, attempt, {lease} FROM looks WHERE {_RUNS}")  # noqa: S608
    return [RunningLook(row[0], row[1], row[2], _lease(*row[3:])) for row in rows]


def _lease(holder: str | None, until: Micros | None, origin: int | None) -> Lease | None:
    return None if holder is None or until is None else Lease(holder, until, origin)


def renew(writer: Writer, look: LookId, fence: int, lease: Lease, far: str | None) -> None:
    """Renew a lease, and note how far its look is. Raises LostLease."""
    _fenced(
        writer,
        "lease_until = :until, lease_origin = :origin, far = :far",
        look,
        fence,
        until=lease.until,
        origin=lease.origin,
        far=far,
    )


def is_held(reader: Reader, look: LookId, fence: int) -> bool:
    """Whether a look is still of whoever has this fence."""
    held = f"SELECT 1 FROM looks WHERE id = :look AND fence = :fence AND {_RUNS}"  # noqa: S608
    return reader.value(held, look=look, fence=fence) is not None


def end(
    writer: Writer,
    look: LookId,
    fence: int,
    *,
    seen: PageLook | None = None,
    tried: Mapping[str, Any] | None = None,
    error: str | None = None,
) -> None:
    """End a running look with what came of it. Raises LostLease."""
    _fenced(
        writer,
        "status = 'over', lease_owner = NULL, lease_until = NULL, lease_origin = NULL, "
        "far = NULL, seen = coalesce(:seen, seen), tried = :tried, error = :error",
        look,
        fence,
        seen=None if seen is None else dump(seen),
        tried=None if tried is None else dump(tried),
        error=error,
    )


def put(writer: Writer, look: LookId, fence: int, attempt: int) -> None:
    """Queue a running look again, which has used so many attempts. Raises LostLease."""
    _fenced(
        writer,
        "status = 'queued', attempt = :attempt, lease_owner = NULL, lease_until = NULL, "
        "lease_origin = NULL, far = NULL",
        look,
        fence,
        attempt=attempt,
    )


def stop(writer: Writer, look: LookId, error: str) -> None:
    """End an open look: whoever executes it has lost it."""
    writer.execute(
        "UPDATE looks SET status = 'over', lease_owner = NULL, lease_until = NULL, "
        "lease_origin = NULL, far = NULL, error = :error "
        "WHERE id = :look AND status IN ('queued', 'running')",
        look=look,
        error=error,
    )


def _fenced(writer: Writer, sets: str, look: LookId, fence: int, **values: object) -> None:
    sql = f"UPDATE looks SET {sets} WHERE id = :look AND fence = :fence AND {_RUNS}"  # noqa: S608
    if not writer.written(sql, look=look, fence=fence, **values):
        raise LostLease


def _stored(row: Row | None, now: Micros) -> StoredLook:
    look = None if row is None else _loaded(row)
    if look is None or look.asked < now - KEPT_FOR:
        raise NotFound("There is no such look at a page: each is kept for a day.")
    return look


def _loaded(row: Row) -> StoredLook:
    look, status, wish, seen, chosen, tried, error, far, attempt, fence, *rest = row
    *lease, asked, started, dataset = rest
    return StoredLook(
        look,
        status,
        LOOK_WISH.load(wish),
        None if seen is None else PAGE_LOOK.load(seen),
        _object(chosen),
        _object(tried),
        error,
        far,
        attempt,
        fence,
        _lease(*lease),
        asked,
        started,
        dataset,
    )


def _object(text: str | None) -> Mapping[str, Any] | None:
    return None if text is None else codec.ANY_OBJECT.load(text)
