"""Feeds of changes: the token that opens one, and the Runs that it tells of."""

from __future__ import annotations

from msgspec import Struct

from livedata.model.ids import DatasetId, Micros, OwnerName, RunId
from livedata.store.database.backend import Reader, Writer


class FeedHead(Struct, frozen=True):
    """What a feed is of; `changed_at` is when anything that it shows was written last."""

    token: str
    owner: OwnerName
    name: str
    head: int
    schema_version: int
    changed_at: Micros

    def _without_secrets(self) -> str:
        return f"FeedHead({self.name!r})"

    # Logs and tracebacks show a repr, and the token opens the feed to whoever has it.
    __repr__ = _without_secrets


class RunChanges(Struct, frozen=True):
    """An accepted Run by its last revision, and what it did to the rows."""

    run: RunId
    last: int
    written_at: Micros
    new: int
    changed: int
    gone: int

    @property
    def count(self) -> int:
        """How many revisions it wrote, one after the other."""
        return self.new + self.changed + self.gone


def get(reader: Reader, dataset: DatasetId) -> str | None:
    """The token of a dataset's feed; None if it has none."""
    token: str | None = reader.value(
        "SELECT token FROM feed_tokens WHERE dataset_id = :dataset", dataset=dataset
    )
    return token


def add(writer: Writer, dataset: DatasetId, token: str, now: Micros) -> None:
    """Give the feed of a dataset a token, if it has none."""
    writer.execute(
        "INSERT INTO feed_tokens (dataset_id, token, created_at) VALUES (:dataset, :token, :now) "
        "ON CONFLICT (dataset_id) DO NOTHING",
        dataset=dataset,
        token=token,
        now=now,
    )


def remove(writer: Writer, dataset: DatasetId) -> bool:
    """End the token of a dataset's feed; False if it had none."""
    sql = "DELETE FROM feed_tokens WHERE dataset_id = :dataset"
    return writer.written(sql, dataset=dataset) > 0


def described(reader: Reader, dataset: DatasetId) -> FeedHead | None:
    """What a feed is of, with its token; None if the dataset has none."""
    row = reader.row(
        "SELECT t.token, d.owner, d.name, d.head, d.schema_version, d.rows_updated_at, "
        "d.updated_at FROM feed_tokens t JOIN datasets d ON d.id = t.dataset_id "
        "WHERE t.dataset_id = :dataset",
        dataset=dataset,
    )
    if row is None:
        return None
    token, owner, name, head, version, rows_updated_at, updated_at = row
    return FeedHead(token, owner, name, head, version, max(rows_updated_at, updated_at))


def last_run(reader: Reader, dataset: DatasetId, through: int) -> RunChanges | None:
    """The Run that wrote last up to a sequence; None if none did."""
    # One step in the index of sequences, and over what people have edited since.
    row = reader.row(
        "SELECT v.run_id, v.sequence, v.created_at, r.new_rows, r.changed_rows, r.gone_rows "
        "FROM revisions v JOIN runs r ON r.id = v.run_id "
        "WHERE v.dataset_id = :dataset AND v.sequence <= :through AND v.run_id IS NOT NULL "
        "ORDER BY v.sequence DESC LIMIT 1",
        dataset=dataset,
        through=through,
    )
    return None if row is None else RunChanges(*row)
