"""The observations of a whole store, and who refers to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from livedata.model.ids import DatasetId, ObservationId, RunId
from livedata.store.audit.streams import WritingRun
from livedata.store.database.backend import Reader, Row
from livedata.store.database.statements import selected


class ObservationRow(NamedTuple):
    """An observation, with the Run that it names."""

    id: ObservationId
    dataset_id: DatasetId
    run_id: RunId
    source_url: str
    entries: str
    writer: WritingRun


# An observation whose Run is missing is damage, which the judge has to see: hence LEFT.
_OBSERVATIONS = f"""
SELECT {
    selected(
        ObservationRow,
        "o",
        writer="r.dataset_id, r.status",
    )
}
FROM observations o LEFT JOIN runs r ON r.id = o.run_id
"""  # noqa: S608  (our names)


def observations(reader: Reader) -> Iterator[ObservationRow]:
    """Every observation."""
    for row in reader.each(_OBSERVATIONS):
        yield ObservationRow._make((*row[:-2], WritingRun(*row[-2:])))


def observation(reader: Reader, key: ObservationId) -> Row | None:
    """(dataset, Run, entries) of one observation."""
    sql = "SELECT dataset_id, run_id, entries FROM observations WHERE id = :key"
    return reader.row(sql, key=key)


def ids_after(reader: Reader, dataset: DatasetId, after: bytes, limit: int) -> list[ObservationId]:
    """The next ids of the observations of a dataset, in their order."""
    rows = reader.rows(
        "SELECT id FROM observations WHERE dataset_id = :dataset AND id > :after "
        "ORDER BY id LIMIT :limit",
        dataset=dataset,
        after=after,
        limit=limit,
    )
    return [key for (key,) in rows]


def references(reader: Reader, dataset: DatasetId) -> Iterator[Row]:
    """(observation, item, evidence) of every revision of a dataset."""
    return reader.each(
        "SELECT observation_id, item, evidence FROM revisions WHERE dataset_id = :dataset",
        dataset=dataset,
    )
