"""Records that contradict others, as the database itself finds them; sound ones are not read."""

from __future__ import annotations

from collections.abc import Iterator

from livedata.store.database.backend import Reader, Row
from livedata.store.database.schema import TABLES

UNIQUE = frozenset((table.name, columns) for table in TABLES for columns in table.unique)
"""(table, columns) of every unique index but primary keys: what two processes cannot do at once."""


def missing_indexes(reader: Reader) -> list[tuple[str, str]]:
    """(table, columns) of every unique index that the store has lost."""
    return sorted(UNIQUE - set(reader.unique_indexes()))


def repeated_requests(reader: Reader) -> Iterator[Row]:
    """(dataset, row key, request id, count) of every request that was written more than once."""
    return reader.each(
        "SELECT v.dataset_id, r.row_key, v.request_id, count(*) FROM revisions v "
        "LEFT JOIN rows r ON r.id = v.row_id WHERE v.request_id IS NOT NULL "
        "GROUP BY v.dataset_id, v.row_id, r.row_key, v.request_id HAVING count(*) > 1"
    )


def lost_cursors(reader: Reader) -> Iterator[Row]:
    """(dataset, name, position, head) of every cursor that is at no place of its feed."""
    return reader.each(
        "SELECT c.dataset_id, c.name, c.position, d.head FROM cursors c "
        "JOIN datasets d ON d.id = c.dataset_id WHERE c.position < 0 OR c.position > d.head"
    )


def odd_heirs(reader: Reader) -> Iterator[Row]:
    """(dataset, dataset that it takes over) of each that could not do so any more."""
    # What it takes over stays until its first accepted Run, which ends that.
    return reader.each(
        "SELECT d.id, d.takes_over FROM datasets d LEFT JOIN datasets o ON o.id = d.takes_over "
        "WHERE d.takes_over IS NOT NULL AND (d.head > 0 OR o.id IS NULL OR o.owner <> d.owner)"
    )


def odd_attempts(reader: Reader, most: int) -> Iterator[Row]:
    """(Run, number) of every attempt whose number or times cannot be."""
    return reader.each(
        "SELECT run_id, number FROM attempts "
        "WHERE number NOT BETWEEN 1 AND :most OR ended_at < started_at",
        most=most,
    )


def field_index(reader: Reader) -> Iterator[Row]:
    """(dataset, sequence, mask, fields as listed) if the two differ; the mask may be None."""
    # Two questions in one, because SQLite before 3.39 has no FULL JOIN: revisions that the index
    # misses or has wrong, then entries without a revision. The sum of different powers of two is
    # their mask. For PostgreSQL 1 is an int4, and 1 << 32 would be 1 again; and a sum of bigints is
    # a decimal: hence the CASTs.
    return reader.each(
        "WITH listed AS (SELECT dataset_id, sequence, "
        "CAST(sum(CAST(1 AS BIGINT) << position) AS BIGINT) AS mask "
        "FROM revision_fields GROUP BY dataset_id, sequence) "
        "SELECT v.dataset_id, v.sequence, v.changed, coalesce(l.mask, 0) FROM revisions v "
        "LEFT JOIN listed l ON l.dataset_id = v.dataset_id AND l.sequence = v.sequence "
        "WHERE v.changed <> coalesce(l.mask, 0) "
        "UNION ALL SELECT l.dataset_id, l.sequence, NULL, l.mask FROM listed l "
        "LEFT JOIN revisions v ON v.dataset_id = l.dataset_id AND v.sequence = l.sequence "
        "WHERE v.id IS NULL"
    )


def bodies(reader: Reader) -> Iterator[Row]:
    """(dataset, hash, body) of every text that is kept."""
    return reader.each("SELECT dataset_id, hash, body FROM bodies")


def artifacts_without_body(reader: Reader) -> Iterator[Row]:
    """(dataset, artifact) of every artifact whose body should be kept, and is not."""
    return reader.each(
        "SELECT a.dataset_id, a.id FROM artifacts a WHERE a.kept AND NOT EXISTS "
        "(SELECT 1 FROM bodies b WHERE b.dataset_id = a.dataset_id AND b.hash = a.hash)"
    )


def attempts_without_memory(reader: Reader) -> Iterator[Row]:
    """(dataset, attempt) of every attempt that knew something which is not kept."""
    return reader.each(
        "SELECT r.dataset_id, t.id FROM research_attempts t JOIN runs r ON r.id = t.run_id "
        "WHERE t.memory IS NOT NULL AND NOT EXISTS "
        "(SELECT 1 FROM bodies b WHERE b.dataset_id = r.dataset_id AND b.hash = t.memory)"
    )


def rows_without_entity(reader: Reader) -> Iterator[Row]:
    """(dataset, key) of every row that stands for nobody, of the datasets that have entities."""
    return reader.each(
        "SELECT w.dataset_id, w.row_key FROM rows w "
        "WHERE w.dataset_id IN (SELECT DISTINCT dataset_id FROM entities) AND NOT EXISTS "
        "(SELECT 1 FROM entities e WHERE e.dataset_id = w.dataset_id AND e.key = w.row_key)"
    )


def entities_without_row(reader: Reader) -> Iterator[Row]:
    """(dataset, key) of every entity that no row stands for."""
    return reader.each(
        "SELECT e.dataset_id, e.key FROM entities e WHERE NOT EXISTS "
        "(SELECT 1 FROM rows w WHERE w.dataset_id = e.dataset_id AND w.row_key = e.key)"
    )
