"""What research has kept, as the judge of a store reads it."""

from __future__ import annotations

from collections.abc import Iterator

from livedata.store.database.backend import Reader, Row


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
