"""``changes``: the history of a dataset is read page by page, once or as it grows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import click

from livedata.cli.column_input import find_column
from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options, since_option
from livedata.cli.dataset.diff import print_all
from livedata.cli.output.change_lines import print_lines
from livedata.cli.output.streams import print_json_lines
from livedata.hints import Subject, hint
from livedata.model.ids import DatasetId, Micros, RowId, raw_id
from livedata.model.problem import Remedy
from livedata.model.row import REVISION_KINDS, Change, ChangePage
from livedata.services import feed, queries
from livedata.services.conditions import RevisionMatcher
from livedata.services.notices.told_changes import ChangesByName
from livedata.services.queries import label_field
from livedata.store import datasets
from livedata.store.database.store import Database

PAGE = 100
# SQLite tells no other process that something was written, so a follower has to look.
POLL_SECONDS = 0.5


@click.command()
@click.argument("dataset", metavar="[D]", shell_complete=complete_dataset, required=False)
@click.option("--after", type=click.IntRange(0), help="Only revisions after this sequence.")
@since_option("Only revisions of then or later, such as 2026-01-31T08:00:00Z.")
@click.option("--limit", type=click.IntRange(1), help="Stop after so many revisions.")
@click.option("--follow", is_flag=True, help="Wait for more until Ctrl-C, which is exit code 0.")
@click.option("--cursor", metavar="NAME", help="Go on where the reader NAME stopped, and keep it.")
@click.option("--row", metavar="ROW", help="Only the row of this key or id.")
@click.option("--field", metavar="COLUMN", help="Only where this column changed.")
@click.option(
    "--kind", "kinds", multiple=True, type=click.Choice(REVISION_KINDS), help="Only these kinds."
)
@click.option(
    "--when",
    metavar="CLAUSE",
    multiple=True,
    help="Only where this holds, such as 'price falls by 10%' or 'price < 20', which tells when it "
    "becomes true; may be repeated: all hold.",
)
@click.option(
    "--all",
    "over_all",
    is_flag=True,
    help="What became of the rows of all datasets since --since, net, as `dataset diff` has it.",
)
@click.option("--names", is_flag=True, help="JSON lines by row key and column name, for programs.")
@common_options
def changes(
    ctx: CommandContext,
    dataset: str | None,
    after: int | None,
    since: Micros | None,
    limit: int | None,
    follow: bool,
    cursor: str | None,
    row: str | None,
    field: str | None,
    kinds: tuple[str, ...],
    when: tuple[str, ...],
    over_all: bool,
    names: bool,
) -> None:
    """Print the history of a dataset, or follow it.

    There is a line per revision, which calls the row as it was called then, with its key in
    parentheses; with one dataset D may be left out. Without --limit everything
    is printed. A named cursor is kept in the store after the lines before it were flushed, so a
    reader that is killed sees each revision at least once. --json has the revisions as the API has
    them, with ids; --names has sequence, kind, row, at and changed. --all --since TIME tells of all
    datasets what is left of their changes; its --json is an object a dataset.
    """
    selection = Selection(dataset, row, field, kinds, when, limit)
    if over_all:
        _check_over_all(selection, after, cursor, follow=follow, by_name=names)
        print_all(ctx, since)
        return
    if names and ctx.json:
        raise click.UsageError("--names and --json are two forms of the same lines; give one.")
    beginnings = {"--cursor": cursor, "--after": after, "--since": since}
    given = [name for name, value in beginnings.items() if value is not None]
    if len(given) > 1:
        raise click.UsageError(f"{given[0]} and {given[1]} both say where to begin; give one.")
    _print_changes(
        ctx, selection, after=after, since=since, cursor=cursor, follow=follow, by_name=names
    )


class Selection(NamedTuple):
    """The revisions that are printed, in a person's words: all, or of a row, a column or kinds."""

    dataset: str | None
    row: str | None
    field: str | None
    kinds: Sequence[str]
    when: Sequence[str]
    limit: int | None

    @property
    def given(self) -> Mapping[str, bool]:
        """How a person writes each part -> whether it narrows something."""
        return {
            "D": self.dataset is not None,
            "--row": self.row is not None,
            "--field": self.field is not None,
            "--kind": bool(self.kinds),
            "--when": bool(self.when),
            "--limit": self.limit is not None,
        }


def _check_over_all(
    selection: Selection, after: int | None, cursor: str | None, *, follow: bool, by_name: bool
) -> None:
    """Raise UsageError for what goes with the history of one dataset alone."""
    given = {
        "--follow": follow,
        "--cursor": cursor is not None,
        "--after": after is not None,
        "--names": by_name,
        **selection.given,
    }
    if not_taken := [name for name, is_given in given.items() if is_given]:
        raise click.UsageError(
            f"{not_taken[0]} is about the history of one dataset, without --all, which tells of "
            "all of them what is left of their changes since --since."
        )


class _Revisions(NamedTuple):
    """The revisions of a dataset, at most `limit`: all, or those that a person asks for."""

    db: Database
    owner: str
    dataset_id: DatasetId
    row_id: RowId | None
    field_id: str | None
    kinds: Sequence[str]
    matcher: RevisionMatcher | None
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
                page["data"] = self._wanted(page["data"])
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

    @property
    def _leaves_out(self) -> bool:
        """Whether some revisions of a page are not wanted."""
        return bool(self.kinds) or self.matcher is not None

    def _wanted(self, changes: list[Change]) -> list[Change]:
        if self.kinds:
            changes = [change for change in changes if change["kind"] in self.kinds]
        if self.matcher is not None and changes:
            with self.db.reading() as reader:
                changes = self.matcher.of_page(reader, changes)
        return changes

    def _page(self, after: int, through: int | None) -> ChangePage:
        return feed.changes(
            self.db,
            self.owner,
            self.dataset_id,
            after=after,
            through=through,
            limit=PAGE if self._leaves_out or self.limit is None else min(PAGE, self.limit),
            row_id=self.row_id,
            field_id=self.field_id,
        )


def _print_changes(
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
            print_page = _by_name(db, ctx.owner, dataset_id)
        elif ctx.json:
            print_page = _print_json
        else:
            print_page = partial(print_lines, label=label_field(db, ctx.owner, dataset_id))
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
    matcher = None
    if selection.when:
        matcher = RevisionMatcher.parse(db, owner, dataset_id, selection.when)
    return _Revisions(
        *(db, owner, dataset_id, row_id, field_id, selection.kinds, matcher, selection.limit)
    )


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


def _by_name(db: Database, owner: str, dataset_id: DatasetId) -> Callable[[ChangePage], None]:
    """Give what prints pages in the words of the table, for the programs of people."""
    with db.reading() as reader:
        names = ChangesByName.of(reader, datasets.ref(reader, owner, dataset_id))
    return lambda page: print_json_lines(change.line for change in names.of_page(page))


def _print_json(page: ChangePage) -> None:
    print_json_lines(page["data"])
