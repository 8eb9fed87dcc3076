"""Hand edits against what the source says, asked of revisions and current rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from livedata.model.ids import (
    DatasetId,
    KeyId,
    OwnerName,
    RevisionId,
    RowId,
    format_optional_uuid,
    format_uuid,
)
from livedata.model.row import Scalar
from livedata.rules.changes.compare import SourceValue
from livedata.store.database.backend import Reader
from livedata.store.database.codec import OVERRIDES, Fields, load_positions
from livedata.store.rows import cells_of

_EDIT = """
SELECT overrides FROM revisions
WHERE row_id = :row AND origin <> 'collection' AND (changed & :bit) <> 0
ORDER BY sequence DESC LIMIT 1
"""
# The mask of a Run names what moved in the source, also under a hand edit, where nothing shows.
_MOVE = """
SELECT run_id FROM revisions
WHERE row_id = :row AND origin = 'collection' AND (changed & :bit) <> 0
ORDER BY sequence DESC LIMIT 1
"""


_LAST_EDITS = """
SELECT row_id, id, actor_id FROM revisions
WHERE dataset_id = :dataset AND origin = 'user' ORDER BY sequence
"""


class Override(Struct, frozen=True):
    """A cell that was edited by hand: its snapshot of the source then, and now.

    `run` is the last Run that found another source value.
    """

    row: str
    key: str
    field: str
    value: Scalar
    then: SourceValue
    now: SourceValue
    run: str | None


def edited(reader: Reader, dataset: DatasetId, fields: Fields) -> dict[str, set[str]]:
    """Row id -> the fields that are edited by hand."""
    rows = reader.rows(
        "SELECT id, overrides FROM rows WHERE dataset_id = :dataset AND overrides IS NOT NULL",
        dataset=dataset,
    )
    shown = {
        format_uuid(row): {
            fields.ids[position]
            for position in load_positions(OVERRIDES, text)
            if position not in fields.hidden
        }
        for row, text in rows
    }
    return {row: edited for row, edited in shown.items() if edited}


def heir(reader: Reader, owner: OwnerName, dataset: DatasetId) -> str | None:
    """The name of the dataset that is to take over the hand edits of one; None if none is."""
    sql = "SELECT name FROM datasets WHERE owner = :owner AND takes_over = :dataset"
    name: str | None = reader.value(sql, owner=owner, dataset=dataset)
    return name


def last_edits(reader: Reader, dataset: DatasetId) -> dict[RowId, tuple[RevisionId, KeyId | None]]:
    """Row -> the revision of its last edit by hand, and the key by which that was made."""
    return {
        row: (revision, actor) for row, revision, actor in reader.each(_LAST_EDITS, dataset=dataset)
    }


def moved(reader: Reader, dataset: DatasetId, fields: Fields) -> Iterator[Override]:
    """The overridden cells whose source is not what it was at their last edit, by row key."""
    rows = reader.rows(
        "SELECT id, row_key, data, reasons, overrides FROM rows "
        "WHERE dataset_id = :dataset AND overrides IS NOT NULL ORDER BY row_key",
        dataset=dataset,
    )
    for row, key, *stored in rows:
        cells = cells_of(stored)
        edited = {
            position: kept
            for position, kept in cells.overrides.items()
            if position not in fields.hidden
        }
        for position, then, now in moved_in(reader, row, edited):
            run = format_optional_uuid(reader.value(_MOVE, row=row, bit=1 << position))
            yield Override(
                format_uuid(row), key, fields.ids[position], cells.value(position), then, now, run
            )


def moved_in(
    reader: Reader, row: RowId, edited: Mapping[int, SourceValue]
) -> Iterator[tuple[int, SourceValue, SourceValue]]:
    """The positions in a row of such cells, with what the source was then, and is now."""
    for position, now in sorted(edited.items()):
        # A question for each overridden cell, and a dataset has few; the index over
        # (row, sequence) is walked backwards up to the edit.
        at_edit = load_positions(OVERRIDES, reader.value(_EDIT, row=row, bit=1 << position))
        then = at_edit.get(position)
        if then is not None and then != now:
            yield position, then, now
