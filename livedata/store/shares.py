"""Addresses at which a table is read without a key. Of what opens one only a hash is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from livedata.model.account import Share
from livedata.model.ids import DatasetId, Micros, OwnerName, ShareId, format_timestamp, format_uuid
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.codec import NAMES, dump
from livedata.store.database.statements import insert

_ADD: Final = insert(
    "shares",
    *("id", "owner", "dataset_id", "token_hash", "label", "columns", "clauses", "created_at"),
)
_LISTED: Final = """
SELECT s.id, d.name, s.label, s.columns, s.clauses, s.created_at, s.revoked_at
FROM shares s JOIN datasets d ON d.id = s.dataset_id
WHERE s.owner = :owner AND s.dataset_id = coalesce(:dataset, s.dataset_id)
ORDER BY s.created_at, s.id
"""


class Scope(Struct, frozen=True):
    """What of a dataset may be read: all, or some columns by name, and rows that meet clauses."""

    owner: OwnerName
    dataset: DatasetId
    columns: Sequence[str] = ()
    clauses: Sequence[str] = ()


def add(
    writer: Writer,
    share: ShareId,
    scope: Scope,
    token_hash: bytes,
    label: str | None,
    now: Micros,
) -> None:
    """Add an address; the caller has locked its dataset."""
    writer.execute(
        _ADD,
        id=share,
        owner=scope.owner,
        dataset_id=scope.dataset,
        token_hash=token_hash,
        label=label,
        columns=dump(list(scope.columns)) if scope.columns else None,
        clauses=dump(list(scope.clauses)),
        created_at=now,
    )


def change(writer: Writer, share: ShareId, scope: Scope) -> None:
    """Let an address show something else of its table; the caller has locked its dataset."""
    writer.execute(
        "UPDATE shares SET columns = :columns, clauses = :clauses WHERE id = :id",
        id=share,
        columns=dump(list(scope.columns)) if scope.columns else None,
        clauses=dump(list(scope.clauses)),
    )


def listed(reader: Reader, owner: OwnerName, dataset: DatasetId | None = None) -> list[Share]:
    """Every address of an owner, or of one dataset, the oldest first; revoked ones too."""
    return [
        {
            "id": format_uuid(share),
            "dataset": name,
            "label": label,
            "columns": None if columns is None else NAMES.load(columns),
            "where": NAMES.load(clauses),
            "createdAt": format_timestamp(created_at),
            "revoked": revoked_at is not None,
        }
        for share, name, label, columns, clauses, created_at, revoked_at in reader.rows(
            _LISTED, owner=owner, dataset=dataset
        )
    ]


def count(reader: Reader, dataset: DatasetId) -> int:
    """How many addresses of a dataset are open."""
    sql = "SELECT count(*) FROM shares WHERE dataset_id = :dataset AND revoked_at IS NULL"
    return int(reader.value(sql, dataset=dataset))


def move(writer: Writer, dataset: DatasetId, to: DatasetId) -> None:
    """Let every address of a dataset show another one; the caller has locked both."""
    sql = "UPDATE shares SET dataset_id = :to WHERE dataset_id = :dataset"
    writer.execute(sql, dataset=dataset, to=to)


def revoke(writer: Writer, share: ShareId, now: Micros) -> None:
    """End an address, if it is open."""
    sql = "UPDATE shares SET revoked_at = :now WHERE id = :id AND revoked_at IS NULL"
    writer.execute(sql, id=share, now=now)


def id_of(reader: Reader, dataset: DatasetId, token_hash: bytes) -> ShareId | None:
    """The address of a dataset that a token opens, or has opened; None if there is none."""
    sql = "SELECT id FROM shares WHERE dataset_id = :dataset AND token_hash = :token_hash"
    share: ShareId | None = reader.value(sql, dataset=dataset, token_hash=token_hash)
    return share


def opened_by(reader: Reader, owner: OwnerName, token_hash: bytes) -> ShareId | None:
    """The address of an owner that a token opens, or has opened; None if there is none."""
    sql = "SELECT id FROM shares WHERE owner = :owner AND token_hash = :token_hash"
    share: ShareId | None = reader.value(sql, owner=owner, token_hash=token_hash)
    return share


def by_token(reader: Reader, token_hash: bytes) -> Scope | None:
    """What an address shows; None if there is none, or it is revoked."""
    row = reader.row(
        "SELECT owner, dataset_id, columns, clauses FROM shares "
        "WHERE token_hash = :token_hash AND revoked_at IS NULL",
        token_hash=token_hash,
    )
    if row is None:
        return None
    owner, dataset, columns, clauses = row
    shown = () if columns is None else NAMES.load(columns)
    return Scope(owner, dataset, shown, NAMES.load(clauses))
