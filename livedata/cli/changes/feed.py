"""``changes``: the history of a dataset is read page by page, once or as it grows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import click
from msgspec import Struct

from livedata.cli.column_input import find_column
from livedata.cli.context import CommandContext
from livedata.cli.output.change_lines import print_lines
from livedata.cli.output.streams import print_json_lines
from livedata.hints import Subject, hint
from livedata.model.ids import DatasetId, Micros, RowId, raw_id
from livedata.model.problem import Remedy
from livedata.model.row import ChangePage
from livedata.services import feed, queries
from livedata.services.notices.changes_by_name import ChangesByName
from livedata.store.database.store import Database

PAGE = 100
# SQLite tells no other process that something was written, so a follower has to look.
POLL_SECONDS = 0.5


class Selection(Struct, frozen=True):
    """The revisions that are printed, in a person's words: all, or of a row, a column or kinds."""

    dataset: str | None
    row: str | None
    field: str | None
    kinds: Sequence[str]
    limit: int | None


class _Revisions(Struct, frozen=True):
    """The revisions of a dataset, or of one row, column or some kinds, at most `limit`."""

    db: Database
    owner: str
    dataset_id: DatasetId
    row_id: RowId | None
    field_id: str | None
    kinds: Sequence[str]
    limit: int | None

    def pages(self, after: int, *, follow: bool) -> Iterator[tuple[ChangePage, int]]:
        """Yield the pages that have something, each with the sequence up to which all is read.

        All pages of one drain share its ``through``, as interface 4.2 has it.
        """
        left = self.limit
        while left is None or left > 0:
            # The first page fixes the end of a drain, so that it ends although the dataset grows.
            through: int | None = None
            following: int | None = after
            while following is not None and (left is None or left > 0):
                page = self._page(following, through)
                through, following = page["through"], page["nextAfter"]
                # A filter may match nothing up to the end of the drain; the next drain still
                # begins behind it, and reads nothing twice.
                after = through if following is None else following
                if self.kinds:
                    page["data"] = [c for c in page["data"] if c["kind"] in self.kinds]
                if left is not None:
                    if len(page["data"]) > left:
                        page["data"] = page["data"][:left]
                        after = page["data"][-1]["sequence"]
                    left -= len(page["data"])
                if page["data"]:
                    yield page, after
            if not follow:
                return
            time.sleep(POLL_SECONDS)

    def _page(self, after: int, through: int | None) -> ChangePage:
        return feed.changes(
            self.db,
            self.owner,
            self.dataset_id,
            after=after,
            through=through,
            limit=PAGE if self.limit is None or self.kinds else min(PAGE, self.limit),
            row_id=self.row_id,
            field_id=self.field_id,
        )


def print_changes(
    ctx: CommandContext,
    selection: Selection,
    *,
    after: int | None,
    since: Micros | None,
    cursor: str | None,
    follow: bool,
    by_name: bool,
) -> None:
    """Print the selected revisions, from one of the three places on, or from the first."""
    with ctx.reading() as db:
        dataset_id = _find_dataset(db, ctx.owner, selection.dataset)
        start = after or 0
        if since is not None:
            start = feed.last_before(db, dataset_id, since)
        if cursor is not None:
            _check_cursor_name(cursor)
            start = feed.cursor(db, dataset_id, cursor)
        revisions = _select(db, ctx.owner, dataset_id, selection)
        if by_name:
            print_page = _by_name(db, dataset_id)
        else:
            print_page = _print_json if ctx.json else print_lines
        try:
            with _cursor_keeper(ctx, dataset_id, cursor) as keep:
                for page, position in revisions.pages(start, follow=follow):
                    # The lines are flushed before the cursor moves: a reader that is killed in
                    # between sees them again, and never misses one.
                    print_page(page)
                    keep(position)
        except KeyboardInterrupt:
            # Ctrl-C is how a follower ends; any other output was cut short by it.
            if not follow:
                raise


def _find_dataset(db: Database, owner: str, name: str | None) -> DatasetId:
    if name is not None:
        return queries.find_dataset(db, owner, name)
    # Six tell one dataset from several, and whether more than five can be named.
    datasets = queries.datasets(db, owner, 6)
    if len(datasets) == 1:
        return DatasetId(raw_id(datasets[0]["id"]))
    if not datasets:
        make = hint(Remedy("init"), Subject(owner))
        raise click.UsageError(f"There is no dataset yet. {make}")
    names = ", ".join(dataset["name"] for dataset in datasets[:5])
    more = ", …" if len(datasets) > 5 else ""
    raise click.UsageError(f"There is more than one dataset; name one of: {names}{more}.")


def _select(db: Database, owner: str, dataset_id: DatasetId, selection: Selection) -> _Revisions:
    row_id = field_id = None
    if selection.row is not None:
        row_id = queries.find_row(db, owner, dataset_id, selection.row)
    if selection.field is not None:
        columns = queries.dataset(db, owner, dataset_id)["columns"]
        field_id = find_column(columns, selection.field)["id"]
    return _Revisions(db, owner, dataset_id, row_id, field_id, selection.kinds, selection.limit)


def _check_cursor_name(name: str) -> None:
    # A name that nobody can see is one that nobody can type again.
    if not name.strip() or not name.isprintable():
        raise click.UsageError("A cursor's name must have characters that can be printed.")


@contextmanager
def _cursor_keeper(
    ctx: CommandContext, dataset_id: DatasetId, cursor: str | None
) -> Iterator[Callable[[int], None]]:
    """Give what stores how far the reader `cursor` came; without a name it stores nothing."""
    if cursor is None:
        yield lambda _position: None
        return
    # Writing needs SQLAlchemy: only a named reader pays for its import.
    from livedata.services.feed import keep_cursor

    with ctx.writing() as store:
        yield lambda position: keep_cursor(store, dataset_id, cursor, position)


def _by_name(db: Database, dataset_id: DatasetId) -> Callable[[ChangePage], None]:
    """Give what prints pages in the words of the table, for the programs of people."""
    with db.reading() as reader:
        names = ChangesByName.of(reader, dataset_id)
    return lambda page: print_json_lines(names.lines(page))


def _print_json(page: ChangePage) -> None:
    print_json_lines(page["data"])
