"""A dataset of another key, or of other types or names of columns, takes the place of one (4.13).

The old one stays with its rows and history under another name. What people made of its rows comes
along at the first accepted Run of the new one (`livedata/services/rows.py:take_over`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from livedata.model import ids
from livedata.model.account import Share
from livedata.model.dataset import Column, Dataset
from livedata.model.errors import (
    ChangedMeanwhile,
    Conflict,
    Detail,
    Invalid,
    LocatedDetail,
    RunInProgress,
)
from livedata.model.ids import DatasetId, OwnerName
from livedata.model.problem import Remedy
from livedata.model.requests import CreateDataset, UpdateDataset
from livedata.model.row_name import may_name_rows
from livedata.model.source import NewColumn, pinned_column
from livedata.rules.changes import edits
from livedata.rules.conditions.parsing import parse_where
from livedata.rules.declaration import consistency
from livedata.rules.declaration.revision import MOST_COLUMNS
from livedata.rules.network.targets import TargetPolicy
from livedata.services import datasets
from livedata.services.kinds import choice as kinds
from livedata.services.notices import digests
from livedata.services.notices.told_changes import check_filter
from livedata.services.rows import placed
from livedata.services.shares import check_names
from livedata.store import (
    accounts,
    dataset_names,
    feed_tokens,
    notices,
    queue,
    recipes,
    rows,
    shares,
)
from livedata.store import datasets as dataset_store
from livedata.store.database.backend import AlreadyThere, Reader, Writer
from livedata.store.database.store import Database, Store
from livedata.store.datasets import LockedDataset
from livedata.store.notices import Notice

_LONGEST_NAME: Final = 120


class TakeOver(Struct, frozen=True):
    """What becomes of a dataset when another one takes its place.

    It is called `old_name` then. `declared` is the new one, with the columns `own` that people have
    added to the old one. Rows are the same if their cells in the columns `shared` are; `edited` is
    how many rows are edited by hand, `named_by` the column whose texts name them. `notices` are
    those that name the dataset.
    """

    dataset: Dataset
    old_name: str
    declared: CreateDataset
    own: Sequence[str]
    shared: Sequence[str]
    edited: int
    named_by: str | None
    notices: Sequence[Notice]
    shares: Sequence[Share]
    has_feed: bool

    @property
    def key(self) -> tuple[Sequence[str], Sequence[str]]:
        """The names of the key columns, before and after."""
        before = [column["name"] for column in self.dataset["columns"] if column["key"]]
        return before, self.declared.source.identity_fields

    @property
    def columns(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """The collected columns by name, each with its type, before and after."""
        return _collected(self.dataset["columns"]), _collected(_as_columns(self.declared))


def plan(
    db: Database,
    owner: OwnerName,
    dataset: DatasetId,
    declared: CreateDataset,
    targets: TargetPolicy,
) -> TakeOver:
    """What it would do if a dataset that is declared so took the place of one.

    Raises NotFound, Invalid for a declaration that is wrong, for one of the same table and for
    notices and shares that name what it has not, Conflict for research, and RunInProgress.
    """
    consistency.check(declared, targets)
    with db.reading() as reader:
        return _plan(reader, owner, dataset, declared)


def take_over(
    store: Store,
    owner: OwnerName,
    dataset: DatasetId,
    declared: CreateDataset,
    shown: TakeOver,
    zone: str,
) -> Dataset:
    """Make the dataset that takes the place of another one, as a plan has shown it; all or nothing.

    Raises what `plan` raises, ChangedMeanwhile if that is not what would be done now, and
    LimitReached.
    """
    try:
        with store.writing() as writer:
            locked = dataset_store.lock_dataset(writer, dataset, owner)
            accounts.lock_owner(writer, owner)
            now = _plan(writer, owner, dataset, declared)
            if now != shown:
                raise _changed(shown)
            aside = UpdateDataset(name=now.old_name, status="paused")
            datasets.change(writer, locked, now.dataset, aside, zone)
            new = datasets.add(writer, owner, now.declared)
            _settle(writer, owner, new, now, zone)
            # What it was to take over itself it has not: without an accepted Run it has no rows.
            dataset_store.change(writer, new, takes_over=locked.takes_over or dataset)
            dataset_store.change(writer, dataset, takes_over=None)
            _hand_over(writer, dataset, new, now)
            return dataset_store.get(writer, owner, new)
    except AlreadyThere as error:
        raise _changed(shown) from error


def _changed(shown: TakeOver) -> ChangedMeanwhile:
    return ChangedMeanwhile(
        f"{shown.dataset['name']!r} has changed since its plan was made, so nothing was done. Look "
        "at the new plan: give the same command again."
    )


def _plan(
    reader: Reader, owner: OwnerName, dataset: DatasetId, declared: CreateDataset
) -> TakeOver:
    current = dataset_store.get(reader, owner, dataset)
    _check_kind(reader, owner, dataset, current, declared)
    if queue.open_run(reader, dataset) is not None:
        raise RunInProgress("A Run of this dataset is open; let it end, then take over.")
    new = _named_as_before(current, declared)
    columns = _as_columns(new)
    ref = dataset_store.ref(reader, owner, dataset)
    of_old = placed(ref)
    known = [*notices.readable(reader, owner)]
    addresses = [share for share in shares.listed(reader, owner, dataset) if not share["revoked"]]
    wrong = [
        *_notices_problems(known, current, columns),
        *_shares_problems(owner, addresses, current, columns),
    ]
    if wrong:
        remedies = tuple(remedy for each in wrong for remedy in each.remedies)
        raise Invalid(wrong[0].message, tuple(wrong), remedies)
    return TakeOver(
        dataset=current,
        old_name=_free_name(reader, owner, current["name"]),
        declared=new,
        own=[column.name for column in new.columns[len(declared.columns) :]],
        shared=edits.shared_columns(of_old, {c["name"]: (0, c) for c in columns}),
        edited=sum(bool(edits.hand_edits(row, of_old)) for row in rows.current(reader, dataset)),
        named_by=None if ref.fields.label is None else ref.fields.columns[ref.fields.label]["name"],
        notices=[notice for notice in known if current["id"] in (notice.datasets or ())],
        shares=addresses,
        has_feed=feed_tokens.get(reader, dataset) is not None,
    )


def _check_kind(
    reader: Reader,
    owner: OwnerName,
    dataset: DatasetId,
    current: Dataset,
    declared: CreateDataset,
) -> None:
    """Raise Conflict for a dataset of research, and Invalid if it is of the same table."""
    name, (_, pinned) = current["name"], recipes.source(reader, dataset)
    if kinds.of_source(pinned).to_revise(pinned) is not None:
        raise Conflict(
            f"{name!r} is a dataset of research, and a source takes over from one of selectors "
            "alone. Revise its plan, or create the new one beside it, under another name."
        )
    identity = declared.source.identity.model_dump(mode="json", by_alias=True)
    same_key = isinstance(pinned, dict) and pinned.get("identity") == identity
    if same_key and _collected(current["columns"]) == _collected(_as_columns(declared)):
        raise Invalid(
            f"it has the key and the columns of {name!r}, so nothing has to be taken over.",
            remedies=(Remedy("revise", {"dataset": name, "owner": owner}),),
        )


def _collected(columns: Sequence[Column]) -> dict[str, str]:
    return {c["name"]: c["type"] for c in columns if c["ownership"] == "collected"}


def _as_columns(declared: CreateDataset) -> list[Column]:
    """The columns of a declaration as they will be, without their ids."""
    return [pinned_column(column, "") for column in declared.columns]


def _named_as_before(current: Dataset, declared: CreateDataset) -> CreateDataset:
    """A declaration with the name of the dataset, and with the columns that people added to it."""
    named = {column.name for column in declared.columns}
    own = [
        NewColumn.model_validate({key: value for key, value in column.items() if key != "id"})
        for column in current["columns"]
        if column["ownership"] == "user" and column["name"] not in named
    ]
    columns = (*declared.columns, *own)
    if len(columns) > MOST_COLUMNS:
        problem = (
            f"are {len(columns)} with those that were added by hand "
            f"({', '.join(column.name for column in own)}), and {MOST_COLUMNS} is the most"
        )
        raise Invalid(f"columns {problem}.", (Detail("columns", problem),))
    question = declared.question or current["question"]
    changed = {"name": current["name"], "question": question, "columns": columns}
    return declared.model_copy(update=changed)


def _free_name(reader: Reader, owner: OwnerName, name: str) -> str:
    """What the dataset is called afterwards: with (old) behind its name, or with a number too."""
    for number in count(1):
        ending = " (old)" if number == 1 else f" (old {number})"
        free = name[: _LONGEST_NAME - len(ending)].rstrip() + ending
        if dataset_names.named(reader, owner, free) is None:
            return free
    raise AssertionError  # there is always one more number


def _notices_problems(
    known: Sequence[Notice], current: Dataset, columns: Sequence[Column]
) -> Iterator[LocatedDetail]:
    """The notices that tell changes of the dataset by a column that the new one has not."""
    for notice in known:
        wanted, named = notice.change_filter, notice.datasets
        if wanted is None or not (named is None or current["id"] in named):
            continue
        try:
            # One of all datasets is for those that it fits.
            check_filter(wanted, [current["columns"]], all_of=True)
        except Invalid:
            continue
        try:
            check_filter(wanted, [columns], all_of=True)
        except Invalid as error:
            yield _unfit(
                f"notice {notice.name!r}",
                error,
                Remedy("remove_notice", {"name": notice.name, "owner": notice.owner}),
            )


def _shares_problems(
    owner: OwnerName, addresses: Sequence[Share], current: Dataset, columns: Sequence[Column]
) -> Iterator[LocatedDetail]:
    """The same of shares."""
    names = [column["name"] for column in columns]
    had = [column["name"] for column in current["columns"]]
    for share in addresses:
        try:
            # What the table has lost before is no news.
            check_names([name for name in share["columns"] or () if name in had], names)
            parse_where(share["where"], columns)
        except Invalid as error:
            called = share["label"] or share["id"]
            yield _unfit(
                f"share {called!r}",
                error,
                Remedy("revoke_share", {"id": share["id"], "owner": owner}),
            )


def _unfit(what: str, error: Invalid, remedy: Remedy) -> LocatedDetail:
    said = f"The {what} does not fit the source: {error.message}"
    return LocatedDetail("source", said, (remedy,), is_predicate=False)


def _settle(writer: Writer, owner: OwnerName, new: DatasetId, plan: TakeOver, zone: str) -> None:
    """Give the new dataset the status and the schedule of the old one; rows are called as there."""
    # Nobody else sees it yet, so nobody has to be locked out.
    made, ref = dataset_store.get(writer, owner, new), dataset_store.ref(writer, owner, new)
    locked = LockedDataset(ref, owner, made["schemaVersion"], ids.Micros(0))
    status, schedule = plan.dataset["status"], plan.dataset["schedule"]
    datasets.change(writer, locked, made, UpdateDataset(status=status, schedule=schedule), zone)
    names_rows = {column["name"]: column for column in made["columns"] if may_name_rows(column)}
    column = names_rows.get(plan.named_by or "")
    if column is not None and column["id"] != ref.fields.label:
        dataset_store.change(writer, new, label_column=column["id"])


def _hand_over(writer: Writer, old: DatasetId, new: DatasetId, plan: TakeOver) -> None:
    """Let the addresses and the notices of the old dataset be about the new one."""
    shares.move(writer, old, new)
    former, heir = plan.dataset["id"], ids.format_uuid(new)
    for notice in plan.notices:
        assert notice.datasets is not None
        others = [key for key in notice.datasets if key != former]
        # What its digest has gathered of the old one, and has not told yet, is told still.
        stays = [former] if notice.digest is not None else []
        after = replace(notice, datasets=[*others, heir, *stays])
        notices.change(writer, after)
        if after.digest is not None and after.ended_at is None:
            digests.widen(writer, notice, after)
