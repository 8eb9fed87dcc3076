"""What digests of notices have told of each dataset, and when they fire next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from livedata.model.ids import DatasetId, Micros, NoticeId, OwnerName, format_uuid
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.codec import TOLD, dump
from livedata.store.schedules import LateFires

KIND = "digest"
"""The kind of a message that tells the changes of several datasets together."""


class Gathering(Struct, frozen=True):
    """A dataset of an owner, and up to where its changes were told, None if it came later."""

    dataset: DatasetId
    name: str
    head: int
    digested: int | None


def gathering(reader: Reader, notice: NoticeId, owner: OwnerName) -> list[Gathering]:
    """Every dataset of an owner by name, as the digests of a notice have told it."""
    rows = reader.rows(
        "SELECT d.id, d.name, d.head, s.digested FROM datasets d LEFT JOIN notice_streams s "
        "ON s.notice_id = :notice AND s.dataset_id = d.id WHERE d.owner = :owner ORDER BY d.name",
        notice=notice,
        owner=owner,
    )
    return [Gathering(*row) for row in rows]


def keep(writer: Writer, notice: NoticeId, digested: Mapping[DatasetId, int]) -> None:
    """Note up to where changes are told; the caller has locked the owner of the notice."""
    writer.many(
        "INSERT INTO notice_streams (notice_id, dataset_id, sequence, failures, failing, silent, "
        "fence, tries, digested) VALUES (:notice, :dataset, 0, 0, FALSE, FALSE, 0, 0, :digested) "
        "ON CONFLICT (notice_id, dataset_id) DO UPDATE SET digested = excluded.digested",
        [
            {"notice": notice, "dataset": dataset, "digested": sequence}
            for dataset, sequence in sorted(digested.items())
        ],
    )


def due(reader: Reader, now: Micros) -> list[tuple[NoticeId, OwnerName]]:
    """The notices with their owners whose digest is due, the longest due first."""
    rows = reader.rows(
        "SELECT id, owner FROM notices WHERE digest_at <= :now ORDER BY digest_at, id", now=now
    )
    return [(row[0], row[1]) for row in rows]


def late(reader: Reader, before: Micros) -> LateFires | None:
    """The digests that were due before a moment, of all owners; None if none was."""
    rows = reader.rows(
        "SELECT name, digest_at FROM notices WHERE digest_at < :before ORDER BY digest_at, id",
        before=before,
    )
    return LateFires(len(rows), *rows[0]) if rows else None


def planned(reader: Reader) -> list[tuple[NoticeId, OwnerName]]:
    """The notices of all owners that have a next digest, with their owners."""
    rows = reader.rows("SELECT id, owner FROM notices WHERE digest_at IS NOT NULL")
    return [(row[0], row[1]) for row in rows]


def every(reader: Reader) -> list[tuple[str, OwnerName, str, bool]]:
    """Every notice with a digest: name, owner, cron, and whether it is on without a next fire."""
    rows = reader.rows(
        "SELECT name, owner, digest, ended_at IS NULL AND digest_at IS NULL FROM notices "
        "WHERE digest IS NOT NULL ORDER BY owner, name"
    )
    # SQLite has no booleans: it answers 0 or 1.
    return [(name, owner, cron, bool(stands)) for name, owner, cron, stands in rows]


def plan(writer: Writer, notice: NoticeId, moment: Micros | None, zone: str) -> None:
    """Note when a digest fires next, as reckoned in a time zone; None for never."""
    writer.execute(
        "UPDATE notices SET digest_at = :moment, digest_zone = :zone WHERE id = :id",
        id=notice,
        moment=moment,
        zone=zone,
    )


def forget(writer: Writer, dataset: DatasetId) -> None:
    """Take what is told of a dataset out of all digests: it is deleted."""
    key = format_uuid(dataset)
    # Both databases search a text alike, but not JSON: which part is meant is seen below.
    rows = writer.rows(
        "SELECT o.id, o.data FROM outbox o JOIN notices n ON n.id = o.notice_id "
        "JOIN datasets d ON d.owner = n.owner WHERE d.id = :dataset AND o.kind = :kind "
        "AND o.data LIKE :named",
        dataset=dataset,
        kind=KIND,
        named=f"%{key}%",
    )
    for message, text in rows:
        data = TOLD.load(text)
        parts: list[dict[str, Any]] = data["datasets"]
        left = [part for part in parts if part["dataset"]["id"] != key]
        if len(left) < len(parts):
            writer.execute(
                "UPDATE outbox SET data = :data WHERE id = :id",
                id=message,
                data=dump({**data, "datasets": left}),
            )
