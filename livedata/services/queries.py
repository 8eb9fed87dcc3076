"""The questions of the doors: one function and one read transaction each.

All raise StoreUnavailable if the store cannot be reached, and NotFound for what this owner does not
have. Nothing heavy is imported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from livedata.model import ids
from livedata.model.account import ApiKey, Usage
from livedata.model.dataset import Column, Dataset
from livedata.model.errors import NotFound
from livedata.model.ids import DatasetId, Micros, OwnerName, RowId, RunId
from livedata.model.problem import Remedy
from livedata.model.row import ALL_ROWS, Row, RowDetail, RowFilter
from livedata.model.run import Run
from livedata.store import accounts, overrides, recipes
from livedata.store import dataset_names as name_store
from livedata.store import datasets as dataset_store
from livedata.store import rows as row_store
from livedata.store import runs as run_store
from livedata.store.database.backend import Reader
from livedata.store.database.store import Database

if TYPE_CHECKING:
    from livedata.rules.conditions.clauses import Condition
    from livedata.services.run_report import RunReport

LEDGER_WINDOW = 30 * 86_400 * 1_000_000
LEDGER_PAGE = 1_000
"""So many entries of the ledger are in an answer, if no fewer are asked for."""
RECENT_RUNS = 20


def dataset(db: Database, owner: OwnerName, dataset_id: DatasetId) -> Dataset:
    """Interface 4.1: one dataset."""
    with db.reading() as reader:
        return dataset_store.get(reader, owner, dataset_id)


def datasets(
    db: Database, owner: OwnerName, limit: int, before: tuple[Micros, str] | None = None
) -> list[Dataset]:
    """Interface 4.1: the owner's datasets, newest first."""
    with db.reading() as reader:
        return dataset_store.newest(reader, owner, limit, before)


def datasets_by_name(db: Database, owner: OwnerName, limit: int, after: str = "") -> list[Dataset]:
    """The owner's datasets by name, those behind the name of the last one already seen."""
    with db.reading() as reader:
        return dataset_store.by_name(reader, owner, limit, after)


def dataset_ahead(db: Database, owner: OwnerName, first: str, count: int) -> str | None:
    """The name of the dataset that stands so many ahead of one; None for no such."""
    with db.reading() as reader:
        return name_store.ahead(reader, owner, first, count)


def dataset_names(db: Database, owner: OwnerName) -> list[str]:
    """The names of the owner's datasets."""
    with db.reading() as reader:
        return [name for _, name in name_store.after(reader, owner)]


def names_of(db: Database, owner: OwnerName, those: Collection[str]) -> dict[str, str]:
    """The names of those of these datasets that an owner has, by their ids."""
    with db.reading() as reader:
        return name_store.of_ids(reader, owner, those)


def source(db: Database, owner: OwnerName, dataset_id: DatasetId) -> dict[str, Any]:
    """The declaration of a dataset, in the form of the body that creates one."""
    with db.reading() as reader:
        dataset = dataset_store.get(reader, owner, dataset_id)
        _, declared = recipes.source(reader, dataset_id)
    columns = [
        {key: value for key, value in column.items() if key != "id"}
        for column in dataset["columns"]
    ]
    question = {"question": dataset["question"]} if dataset["question"] else {}
    return {"name": dataset["name"], **question, "columns": columns, "source": declared}


def recipe_version(db: Database, owner: OwnerName, dataset_id: DatasetId) -> int:
    """The version of the newest recipe of a dataset. Raises NotFound."""
    with db.reading() as reader:
        dataset_store.ref(reader, owner, dataset_id)
        return recipes.source(reader, dataset_id)[0]


def find_dataset(db: Database, owner: OwnerName, given: str) -> DatasetId:
    """The dataset that a person means: by its name, its id, or an unambiguous end of its id."""
    with db.reading() as reader:
        exact = name_store.named(reader, owner, given)
        if exact is not None:
            return exact
        # All of them are read only to say which one may be meant.
        return choose_dataset(
            given,
            name_store.by_ends(reader, owner, given) or [*name_store.after(reader, owner)],
        )


def choose_dataset(given: str, candidates: Sequence[tuple[DatasetId, str]]) -> DatasetId:
    """The dataset that a person means among these, each an id and a name. Raises NotFound."""
    for dataset_id, name in candidates:
        if name == given:
            return dataset_id
    matches = [key for key, _ in candidates if ids.matches_either_end(given, key)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise NotFound(
            f"{given!r} is the beginning of {len(matches)} dataset ids; write more of it."
        )
    # Imported here because difflib takes a while, and only a wrong name needs it.
    from livedata.messages.request import nearest
    from livedata.messages.templates import few

    names = [name for _, name in candidates]
    near = nearest(given, names)
    hint = f"; did you mean {near!r}?" if near else "."
    if not names:
        raise NotFound(
            f"There is no dataset {given!r}, and no other one yet.", remedies=(Remedy("init"),)
        )
    raise NotFound(f"There is no dataset {given!r}{hint} There is: {few(names)}.")


def find_run(db: Database, owner: OwnerName, given: str) -> RunId:
    """The Run that a person means: by its id, an end of it, or as the last Run of a dataset."""
    with db.reading() as reader:
        # Names first: a name is exact, while an end of an id may fit by chance.
        exact = name_store.named(reader, owner, given)
        if exact is not None:
            return _last_run(reader, owner, exact, given)
        matches = run_store.by_ends(reader, owner, given)
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise NotFound(
                f"{given!r} is the beginning of {len(matches)} Run ids; write more of it."
            )
        dataset_matches = name_store.by_ends(reader, owner, given)
        if len(dataset_matches) == 1:
            return _last_run(reader, owner, dataset_matches[0][0], given)
        # All of them are read only to say which one may be meant.
        names = [name for _, name in name_store.after(reader, owner)]
    from livedata.messages.request import nearest  # as in `choose_dataset`

    near = nearest(given, names)
    hint = f"; did you mean {near!r}?" if near else "."
    raise NotFound(
        f"There is no Run or dataset {given!r}{hint}",
        remedies=(Remedy("list_datasets", {"owner": owner}),),
    )


def find_row(db: Database, owner: OwnerName, dataset_id: DatasetId, given: str) -> RowId:
    """The row that a person means: by its key, its id, or an unambiguous end of its id.

    A key may be cut in its middle, as tables show it. A researched row is named by any name of its
    entity too.
    """
    with db.reading() as reader:
        dataset_store.ref(reader, owner, dataset_id)
        candidates = row_store.keys(reader, dataset_id, given)
        named = row_store.keys_named(reader, dataset_id, given, candidates)
    exact = [row for row, key in candidates if key == given or key in named]
    cut = exact or [row for row, key in candidates if _is_cut_from(given, key)]
    matches = cut or [row for row, _ in candidates if ids.matches_either_end(given, row)]
    if len(matches) == 1:
        return matches[0]
    if exact:
        raise NotFound(f"{given!r} is the name of {len(exact)} rows; write the key of one of them.")
    if cut:
        raise NotFound(f"{given!r} is short for {len(cut)} row keys; write more of it.")
    if matches:
        raise NotFound(f"{given!r} is the beginning of {len(matches)} row ids; write more of it.")
    raise NotFound(
        f"There is no row {given!r}; a row is named by its key or its id, and by "
        "its name if research found it."
    )


def _is_cut_from(given: str, key: str) -> bool:
    """Tell whether `given` is `key` with its middle left out."""
    head, mark, end = given.partition("…")
    # The two ends do not overlap in the key.
    return bool(mark) and len(key) >= len(given) and key.startswith(head) and key.endswith(end)


def runs(db: Database, owner: OwnerName, dataset_id: DatasetId, limit: int) -> list[Run]:
    """Interface 4.3: the recent Runs of a dataset, newest first."""
    with db.reading() as reader:
        dataset_store.ref(reader, owner, dataset_id)
        return run_store.newest(reader, owner, dataset_id, limit)


def run(db: Database, owner: OwnerName, run_id: RunId) -> Run:
    """Interface 4.3: one Run."""
    with db.reading() as reader:
        return run_store.get(reader, owner, run_id)


def run_report(db: Database, owner: OwnerName, run_id: RunId) -> RunReport:
    """One Run with everything it stored at its end."""
    # Imported late, as below: every listing imports this module, and few tell all of a Run.
    from livedata.services.run_report import report
    from livedata.services.run_view import viewing

    with viewing(db, owner, run_id) as view:
        return report(view)


def run_price(db: Database, owner: OwnerName, dataset_id: DatasetId) -> int:
    """The credits of the next Run of a dataset: as of the last accepted one, else the most.

    Of the Runs only the newest 20 are looked at.
    """
    from livedata.services.kinds import choice as kinds
    from livedata.services.run_report import report
    from livedata.services.run_view import RunView

    with db.reading() as reader:
        dataset_store.ref(reader, owner, dataset_id)
        for run in run_store.newest(reader, owner, dataset_id, RECENT_RUNS):
            if run["status"] == "succeeded":
                # As it is told: what cannot be read of a Run is said, and no price made of it.
                return report(RunView(reader, owner, RunId(ids.raw_id(run["id"])))).charged
        # Before the first accepted Run only the limit is known: a page costs one credit.
        _, declared = recipes.source(reader, dataset_id)
        return kinds.of_source(declared).price(declared)


def rows(
    db: Database,
    owner: OwnerName,
    dataset_id: DatasetId,
    limit: int,
    only: RowFilter = ALL_ROWS,
    before: tuple[Micros, str] | None = None,
) -> tuple[list[Row], bool]:
    """Interface 4.2: a page of current rows by updatedAt, then id, descending.

    With whether there are more: at most `limit`, or as many as have the bytes of a page.
    """
    with db.reading() as reader:
        fields = dataset_store.ref(reader, owner, dataset_id).fields
        return row_store.newest(reader, dataset_id, fields, limit, only, before)


def recent_rows(
    db: Database,
    owner: OwnerName,
    dataset_id: DatasetId,
    limit: int,
    only: RowFilter = ALL_ROWS,
    where: Condition | None = None,
) -> tuple[list[Row], bool]:
    """At most `limit` current rows for a person, and whether there are more.

    By updatedAt descending; those of one Run in the order of the site. With `where` only those that
    meet the condition.
    """
    with db.reading() as reader:
        fields = dataset_store.ref(reader, owner, dataset_id).fields
        # One more than asked for tells whether there are more.
        if where is None:
            rows = row_store.recent(reader, dataset_id, fields, limit + 1, only)
        else:
            # Imported late: every listing imports this module, and few ask by a condition.
            from livedata.services.conditions import newest_rows

            rows = newest_rows(reader, dataset_id, fields, where, only, limit + 1)
    return rows[:limit], len(rows) > limit


def every_row(db: Database, owner: OwnerName, dataset_id: DatasetId) -> Iterator[Row]:
    """All rows of a dataset in the order in which Runs found them.

    The read transaction lasts until the last one is read.
    """
    with db.reading() as reader:
        fields = dataset_store.ref(reader, owner, dataset_id).fields
        yield from row_store.in_order(reader, dataset_id, fields)


def row(db: Database, owner: OwnerName, dataset_id: DatasetId, row_id: RowId) -> RowDetail:
    """Interface 4.2: one row with its evidence."""
    with db.reading() as reader:
        fields = dataset_store.ref(reader, owner, dataset_id).fields
        detail = row_store.detail(reader, dataset_id, fields, row_id)
    if detail is None:
        raise NotFound("There is no such row.")
    return detail


def label_column(db: Database, owner: OwnerName, dataset_id: DatasetId) -> Column | None:
    """The column whose texts name the rows of a dataset; None if their keys do."""
    with db.reading() as reader:
        fields = dataset_store.ref(reader, owner, dataset_id).fields
    return None if fields.label is None else fields.columns[fields.label]


def label_field(db: Database, owner: OwnerName, dataset_id: DatasetId) -> str | None:
    """The field of that column."""
    column = label_column(db, owner, dataset_id)
    return None if column is None else column["id"]


def edited_cells(db: Database, owner: OwnerName, dataset_id: DatasetId) -> dict[str, set[str]]:
    """Row id -> the fields that are edited by hand. Raises NotFound."""
    with db.reading() as reader:
        dataset = dataset_store.ref(reader, owner, dataset_id)
        return overrides.edited(reader, dataset_id, dataset.fields)


def usage(db: Database, owner: OwnerName) -> Usage:
    """The balance, and the newest entries of the ledger. Raises NotFound."""
    return usage_page(db, owner, LEDGER_PAGE)[0]


def usage_page(
    db: Database, owner: OwnerName, limit: int, before: tuple[Micros, str] | None = None
) -> tuple[Usage, bool]:
    """Interface 4.4: the balance, and the ledger of the last 30 days; whether there is more of it.

    `before` is the (createdAt, id) of the last entry already seen. Raises NotFound.
    """
    since = ids.Micros(ids.now() - LEDGER_WINDOW)
    with db.reading() as reader:
        left = _balance(reader, owner)
        # One more than the page holds tells whether there is a next page.
        entries = accounts.ledger(reader, owner, since, limit + 1, before and before[0])
    return {"balance": left, "ledger": entries[:limit]}, len(entries) > limit


def balance(db: Database, owner: OwnerName) -> int:
    """The credits of an owner. Raises NotFound."""
    with db.reading() as reader:
        return _balance(reader, owner)


def _balance(reader: Reader, owner: OwnerName) -> int:
    left = accounts.balance(reader, owner)
    if left is None:
        raise NotFound(
            f"There is no owner {owner!r} yet: the first dataset, key or grant makes one, with "
            "the first credits."
        )
    return left


def check_health(db: Database) -> None:
    """Raise StoreUnavailable if the store does not answer."""
    with db.reading() as reader:
        # Any question that reaches a table will do; no owner has the empty name.
        accounts.balance(reader, "")


def keys(db: Database, owner: OwnerName | None = None) -> list[ApiKey]:
    """Every key, or those of an owner, oldest first."""
    with db.reading() as reader:
        return accounts.keys(reader, owner)


def _last_run(reader: Reader, owner: OwnerName, dataset_id: DatasetId, given: str) -> RunId:
    latest = run_store.newest(reader, owner, dataset_id, 1)
    if latest:
        return RunId(ids.raw_id(latest[0]["id"]))
    raise NotFound(
        f"{given} has had no Run yet.",
        remedies=(Remedy("run_first", {"owner": owner, "dataset": given}),),
    )
