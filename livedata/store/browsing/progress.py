"""How far an attempt in progress has come."""

from __future__ import annotations

from msgspec import Struct

from livedata.model.ids import AttemptId, RunId
from livedata.store.database.backend import Reader, Writer


class Progress(Struct, frozen=True):
    """The pages that an attempt has read so far, and the items on them."""

    pages: int
    items: int


def note(writer: Writer, attempt: AttemptId, progress: Progress) -> None:
    """Note how far an attempt has come; the caller has made sure that it still holds its Run."""
    writer.execute(
        "UPDATE attempts SET pages_read = :pages, items_read = :items WHERE id = :attempt",
        attempt=attempt,
        pages=progress.pages,
        items=progress.items,
    )


def so_far(reader: Reader, run: RunId) -> Progress | None:
    """How far the last attempt at a Run has come; None if it has noted nothing."""
    row = reader.row(
        "SELECT pages_read, items_read FROM attempts WHERE run_id = :run "
        "ORDER BY number DESC LIMIT 1",
        run=run,
    )
    return None if row is None or row[0] is None else Progress(*row)
