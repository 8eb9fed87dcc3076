"""The change feed: windows of a dataset's history, and the cursors of its readers."""

from __future__ import annotations

from typing import TypedDict, Unpack, cast

import orjson

from livedata.model import ids
from livedata.model.errors import Detail, Invalid, NotFound
from livedata.model.ids import DatasetId, Micros, OwnerName, RowId
from livedata.model.row import ChangePage
from livedata.store import datasets, feed, rows
from livedata.store.database.backend import Reader
from livedata.store.database.codec import Fields
from livedata.store.database.store import Database, Store


class ChangesQuery(TypedDict, total=False):
    """The parameters of a page of the change feed; the default limit is 50."""

    after: int
    through: int | None
    limit: int
    row_id: RowId | None
    field_id: str | None


def changes(
    db: Database, owner: OwnerName, dataset_id: DatasetId, **query: Unpack[ChangesQuery]
) -> ChangePage:
    """A page of the change feed."""
    return cast("ChangePage", orjson.loads(changes_json(db, owner, dataset_id, **query)))


def changes_json(
    db: Database, owner: OwnerName, dataset_id: DatasetId, **query: Unpack[ChangesQuery]
) -> bytes:
    """Interface 4.2: a page of the change feed, as the JSON that is answered.

    Raises Invalid for a window past the head or an unknown field, NotFound for an unknown row.
    """
    with db.reading() as reader:
        fields, window = _window(reader, owner, dataset_id, **query)
        return feed.page(reader, dataset_id, fields, window)


def head(db: Database, owner: OwnerName, dataset_id: DatasetId) -> int:
    """The last sequence of a dataset's feed."""
    with db.reading() as reader:
        return datasets.ref(reader, owner, dataset_id).head


def last_before(db: Database, dataset_id: DatasetId, moment: Micros) -> int:
    """The sequence of the last revision before a moment; 0 if there is none."""
    with db.reading() as reader:
        return feed.last_before(reader, dataset_id, moment)


def rows_state(db: Database, owner: OwnerName, dataset_id: DatasetId) -> tuple[object, ...]:
    """The state that a list of the current rows is made of: while it stays, so does the list."""
    with db.reading() as reader:
        dataset = datasets.ref(reader, owner, dataset_id)
        # A Run that finds nothing new moves no head, but says when each row was seen last.
        return dataset.head, *dataset.fields.columns, rows.last_accepted_run(reader, dataset_id)


def cursor(db: Database, dataset_id: DatasetId, name: str) -> int:
    """The sequence at which the reader of that name stopped; 0 for a new one."""
    with db.reading() as reader:
        return feed.cursor(reader, dataset_id, name)


def keep_cursor(store: Store, dataset_id: DatasetId, name: str, position: int) -> None:
    """Store the sequence at which the reader of that name stopped. Raises NotFound."""
    with store.writing() as writer:
        try:
            datasets.lock_dataset(writer, dataset_id)
        except NotFound:
            raise NotFound(
                f"The dataset was deleted meanwhile, so the cursor {name!r} is not kept."
            ) from None
        feed.keep_cursor(writer, dataset_id, name, position, ids.now())


def _window(
    reader: Reader,
    owner: OwnerName,
    dataset_id: DatasetId,
    *,
    after: int = 0,
    through: int | None = None,
    limit: int = 50,
    row_id: RowId | None = None,
    field_id: str | None = None,
) -> tuple[Fields, feed.RevisionFilter]:
    dataset = datasets.ref(reader, owner, dataset_id)
    if row_id is not None and rows.current_one(reader, dataset_id, row_id) is None:
        raise NotFound("There is no such row.")
    # Without `through` the window ends at the head of this transaction, which the page names: a
    # reader can then ask for the rest of the same window while new revisions arrive.
    end = dataset.head if through is None else through
    _check_window(after, end, dataset.head)
    # One that was dropped has its history too.
    places = {field: place for place, field in enumerate(dataset.fields.ids)}
    position = places.get(field_id) if field_id is not None else None
    if field_id is not None and position is None:
        message = "is not a field of this dataset"
        raise Invalid(f"{field_id} {message}.", (Detail("fieldId", message),))
    return dataset.fields, feed.RevisionFilter(after, end, limit, row_id, position)


def _check_window(after: int, through: int, last: int) -> None:
    for name, value in (("through", through), ("after", after)):
        if value > last:
            message = f"is past the head of this dataset, which is {last}"
            raise Invalid(f"{name} {value} {message}.", (Detail(name, message),))
    if after > through:
        message = f"is greater than through, which is {through}"
        raise Invalid(f"after {after} {message}.", (Detail("after", message),))
