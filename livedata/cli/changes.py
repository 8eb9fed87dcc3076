"""The command ``changes``: the history of a dataset, once or as it grows."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from livedata.cli.context import Asked, shared
from livedata.cli.output import told, when, write, write_json_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from livedata.model.dataset import Column
    from livedata.model.row import Change, ChangePage
    from livedata.store.database.store import Database

PAGE = 100
POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is read: a dataset, and of it perhaps one row or column, at most so many revisions."""

    dataset: bytes
    row: bytes | None
    field: str | None
    limit: int | None


@click.command()
@click.argument("dataset", metavar="[D]", required=False)
@click.option("--after", type=click.IntRange(0), help="Only revisions after this sequence.")
@click.option("--limit", type=click.IntRange(1), help="Stop after so many revisions.")
@click.option("--follow", is_flag=True, help="Wait for more until Ctrl-C, which is exit code 0.")
@click.option("--cursor", metavar="NAME", help="Go on where the reader NAME stopped, and keep it.")
@click.option("--row", metavar="ROW", help="Only the row of this key or id.")
@click.option("--field", metavar="COLUMN", help="Only where this column changed.")
@click.option("--names", is_flag=True, help="JSON lines by row key and column name, for programs.")
@shared
def changes(
    asked: Asked,
    dataset: str | None,
    after: int | None,
    limit: int | None,
    follow: bool,
    cursor: str | None,
    row: str | None,
    field: str | None,
    names: bool,
) -> None:
    """Print the history of dataset D, a line per revision; with one dataset D may be left out.

    Without --limit everything is printed. A named cursor is kept in the store after the lines
    before it were flushed, so a reader that is killed sees each revision at least once. --json has
    the revisions as the API has them, with ids; --names has sequence, kind, row, at and changed.
    """
    if names and asked.json:
        raise click.UsageError("--names and --json are two forms of the same lines; give one.")
    if cursor is not None and after is not None:
        raise click.UsageError("--cursor and --after both say where to begin; give one.")
    with asked.reading() as db:
        from livedata.services import feed

        found = _dataset(db, asked.owner, dataset)
        start = after or 0
        if cursor is not None:
            start = feed.cursor(db, found, _cursor_name(cursor))
        wanted = _wanted(db, asked.owner, found, row, field, limit)
        show = _by_names(db, asked.owner, found) if names else _by_ids if asked.json else _print
        try:
            with _keeping(asked, found, cursor) as keep:
                for page, position in _pages(db, asked.owner, wanted, start, follow=follow):
                    show(page)
                    keep(position)
        except KeyboardInterrupt:
            if not follow:
                raise


def _dataset(db: Database, owner: str, given: str | None) -> bytes:
    from livedata.model.ids import raw_id
    from livedata.services import queries

    if given is not None:
        return queries.find_dataset(db, owner, given)
    known = queries.datasets(db, owner, 6)
    if len(known) == 1:
        return raw_id(known[0]["id"])
    if not known:
        raise click.UsageError("There is no dataset yet; livedata init makes a start.")
    names = ", ".join(one["name"] for one in known[:5]) + (", …" if len(known) > 5 else "")
    raise click.UsageError(f"There is more than one dataset; name one of: {names}.")


def _wanted(
    db: Database, owner: str, dataset: bytes, row: str | None, field: str | None, limit: int | None
) -> Wanted:
    from livedata.cli.columns import find_column
    from livedata.services import queries

    row_id = None if row is None else queries.find_row(db, owner, dataset, row)
    if field is None:
        return Wanted(dataset, row_id, None, limit)
    columns = queries.dataset(db, owner, dataset)["columns"]
    return Wanted(dataset, row_id, find_column(columns, field)["id"], limit)


def _cursor_name(name: str) -> str:
    if not name.strip() or not name.isprintable():
        raise click.UsageError("A cursor's name must have characters that can be printed.")
    return name


@contextmanager
def _keeping(asked: Asked, dataset: bytes, cursor: str | None) -> Iterator[Callable[[int], None]]:
    """What stores how far the reader came: nothing without a name."""
    if cursor is None:
        yield lambda _position: None
        return
    # Writing needs SQLAlchemy: only a named reader pays for its import.
    from livedata.services.feed import keep_cursor

    with asked.writing() as store:
        yield lambda position: keep_cursor(store, dataset, cursor, position)


def _pages(
    db: Database, owner: str, wanted: Wanted, after: int, *, follow: bool
) -> Iterator[tuple[ChangePage, int]]:
    """The pages that have something, each with the sequence up to which all is read.

    One drain keeps its ``through`` over all its pages, as specification 4.2 has it.
    """
    left = wanted.limit
    while left is None or left > 0:
        through: int | None = None
        following: int | None = after
        while following is not None and (left is None or left > 0):
            page = _page(db, owner, wanted, following, through, min(PAGE, left or PAGE))
            through, following = page["through"], page["nextAfter"]
            after = through if following is None else following
            left = None if left is None else left - len(page["data"])
            if page["data"]:
                yield page, after
        if not follow:
            return
        time.sleep(POLL_SECONDS)


def _page(
    db: Database, owner: str, wanted: Wanted, after: int, through: int | None, limit: int
) -> ChangePage:
    from livedata.services import feed

    return feed.changes(
        db,
        owner,
        wanted.dataset,
        after=after,
        through=through,
        limit=limit,
        row_id=wanted.row,
        field_id=wanted.field,
    )


def _by_names(db: Database, owner: str, dataset: bytes) -> Callable[[ChangePage], None]:
    from livedata.cli.named import Names

    names = Names.of(db, owner, dataset)
    return lambda page: write_json_lines(names.lines(page))


def _by_ids(page: ChangePage) -> None:
    write_json_lines(page["data"])


def _print(page: ChangePage) -> None:
    schemas = {
        schema["version"]: {column["id"]: column for column in schema["fields"]}
        for schema in page["schemas"]
    }
    write("\n".join(_line(change, schemas[change["schemaVersion"]]) for change in page["data"]))


def _line(change: Change, columns: Mapping[str, Column]) -> str:
    by_hand = " by hand" if change["origin"] == "user" else ""
    moved = [_moved(change, field, columns[field]["name"]) for field in change["changedFieldIds"]]
    start = f"{change['sequence']:>6}  {when(change['createdAt'])}  {change['kind'] + by_hand:<8}"
    return "  ".join([start, _key(change, columns), *([", ".join(moved)] if moved else [])])


def _key(change: Change, columns: Mapping[str, Column]) -> str:
    """The row's key cells, which no hand edits; a revision itself knows only the row's id."""
    parts = [told(change["data"].get(field)) for field in columns if columns[field]["key"]]
    return " / ".join(parts) or change["rowId"]


def _moved(change: Change, field: str, name: str) -> str:
    after = told(change["data"].get(field))
    if change["before"] is None:
        return f"{name}: {after}"
    before = told(change["before"].get(field))
    source = change["overrides"].get(field)
    if before == after and source is not None:
        return f"{name}: stays {after}, edited by hand; the source now says {told(source['value'])}"
    return f"{name}: {before} → {after}"
