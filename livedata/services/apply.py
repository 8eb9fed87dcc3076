"""Makes a store agree with the sources of a folder: what would change, and the change itself.

`plan` says what `apply` does, which plans again within its one transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from livedata.messages.request import nearest
from livedata.messages.templates import joined
from livedata.messages.validation import read
from livedata.model.dataset import Column, Dataset
from livedata.model.errors import ChangedMeanwhile
from livedata.model.ids import DatasetId, OwnerName, ShareId, format_uuid, raw_id
from livedata.model.requests import UpdateDataset
from livedata.model.source import pinned_column
from livedata.model.source_file import FileNotice, FileShare
from livedata.rules.declaration.notices import channel_of
from livedata.rules.declaration.revision import Revision
from livedata.rules.network.targets import TargetPolicy
from livedata.services import datasets, shares
from livedata.services.accounts import meet_owner
from livedata.services.folder import FolderSource, Problems, address_of, split_names, wish, wrong
from livedata.services.notices import subscriptions
from livedata.services.notices.told_changes import check_filter
from livedata.store import accounts, dataset_names, notices, recipes
from livedata.store import datasets as dataset_store
from livedata.store import shares as share_store
from livedata.store.database.backend import AlreadyThere, Reader, Writer
from livedata.store.database.store import Database, Store
from livedata.store.notices import Notice, Subscription
from livedata.store.shares import Scope

Action = Literal["create", "revise", "update", "pause", "leave"]
_EVERY: Final = 1_000_000
"""More datasets than an owner has."""


class Terms(Struct, frozen=True):
    """By what a folder is judged and applied: which addresses may be read, and in which zone."""

    targets: TargetPolicy
    zone: str = "UTC"
    prune: bool = False
    first_credits: int = 0


class NoticeStep(Struct, frozen=True):
    """A notice to add, or to change; `datasets` are the names of those it tells of."""

    wish: Subscription
    datasets: tuple[str, ...]
    before: Notice | None = None


class ShareStep(Struct, frozen=True):
    """An address to add, or one that is to show something else."""

    wanted: FileShare
    before: ShareId | None = None


class FolderStep(Struct, frozen=True):
    """What becomes of a dataset; `changes` say it in sentences.

    `same_address` is the dataset without a file that reads the address of one to be created.
    """

    name: str
    action: Action
    changes: tuple[str, ...] = ()
    source: FolderSource | None = None
    dataset: DatasetId | None = None
    same_address: str | None = None
    pins: bool = False
    values: Mapping[str, str] = {}
    notices: tuple[NoticeStep, ...] = ()
    shares: tuple[ShareStep, ...] = ()

    @property
    def file(self) -> str | None:
        """The file that declares it."""
        return None if self.source is None else self.source.file

    @property
    def said(self) -> tuple[object, ...]:
        """What a person is told of it."""
        return self.name, self.action, self.changes


class Made(Struct, frozen=True):
    """What is shown once: the token of a new share, or the secret of a new notice."""

    dataset: str
    kind: Literal["share", "notice"]
    name: str
    secret: str
    base: str | None = None


def plan(
    db: Database, owner: OwnerName, sources: Sequence[FolderSource], terms: Terms
) -> list[FolderStep]:
    """What `apply` would do, by name; what has no file comes last.

    Raises Invalid with all that is wrong beside what the store has, each with its place.
    """
    with db.reading() as reader:
        return _Planner(reader, owner, sources, terms).steps()


def apply(
    store: Store, owner: OwnerName, sources: Sequence[FolderSource], terms: Terms
) -> tuple[list[FolderStep], list[Made]]:
    """Do all of it or nothing; what was done, and what is shown once.

    Raises Invalid as `plan` does, and ChangedMeanwhile if the store changed since it was planned.
    """
    planned = plan(store, owner, sources, terms)
    if all(step.action == "leave" for step in planned):
        return planned, []
    try:
        with store.writing() as writer:
            meet_owner(writer, owner, terms.first_credits)
            # Datasets in one order, then the owner, as all acts lock: two at once never wait for
            # each other. What was planned is planned again, now that nobody else writes.
            known = (step.dataset for step in planned if step.action != "leave" and step.dataset)
            for dataset in sorted(known):
                dataset_store.lock_dataset(writer, dataset, owner)
            accounts.lock_owner(writer, owner)
            steps = _Planner(writer, owner, sources, terms).steps()
            if [step.said for step in steps] != [step.said for step in planned]:
                raise _changed()
            return steps, _act(writer, owner, steps, terms)
    except AlreadyThere as error:
        raise _changed() from error


def _changed() -> ChangedMeanwhile:
    return ChangedMeanwhile(
        "The store has changed since this was planned, so nothing was applied; apply once more."
    )


class _Planner:
    """Compares the sources of a folder with what an owner has."""

    def __init__(
        self, reader: Reader, owner: OwnerName, sources: Sequence[FolderSource], terms: Terms
    ) -> None:
        self._reader, self._owner, self._sources = reader, owner, sources
        self._prune, self._problems = terms.prune, Problems()
        owned = dataset_store.by_name(reader, owner, _EVERY)
        self._datasets = {dataset["name"]: dataset for dataset in owned}
        self._notices = {notice.name: notice for notice in notices.readable(reader, owner)}
        self._declared = {each.name for s in sources for each in s.declared.notice or ()}
        self._unreadable = notices.by_name(reader, owner).keys() - self._notices.keys()
        self._shares = [each for each in share_store.listed(reader, owner) if not each["revoked"]]
        self._columns = {name: dataset["columns"] for name, dataset in self._datasets.items()}
        self._revisions: dict[str, Revision] = {}
        for source in sources:
            with self._problems.of(source.written):
                self._columns[source.name] = self._after(source)

    def steps(self) -> list[FolderStep]:
        """The steps by name, and behind them what has no file; raises Invalid."""
        steps = [self._step(source) for source in sorted(self._sources, key=lambda s: s.name)]
        self._problems.check()
        without = self._without_file()
        addresses = {url: name for name, (url, _) in without.items()}
        steps = [
            replace(step, same_address=addresses.get(step.source.declared.source.url))
            if step.action == "create" and step.source is not None
            else step
            for step in steps
        ]
        return [*steps, *(step for _, step in without.values())]

    def _after(self, source: FolderSource) -> list[Column]:
        """The columns that a dataset has once its file is applied."""
        current = self._datasets.get(source.name)
        if current is None:
            return [pinned_column(column, "") for column in source.declared.columns]
        key = DatasetId(raw_id(current["id"]))
        if address_of(recipes.source(self._reader, key)[1]) is None:
            why = f'names "{source.name}", whose rows are read in another way: by research, say'
            raise wrong("name", f"{why}; give this source another name")
        revision = datasets.judge_revision(self._reader, self._owner, key, source.declared)
        self._revisions[source.name] = revision
        return [*revision.after]

    def _step(self, source: FolderSource) -> FolderStep:
        step = FolderStep(source.name, "leave", source=source)
        with self._problems.of(source.written):
            current = self._datasets.get(source.name)
            step = _created(source) if current is None else self._revised(source, current)
        told, shown = [*self._notice_steps(source)], [*self._share_steps(source)]
        changes = (*step.changes, *(said for _, said in told), *(said for _, said in shown))
        return replace(
            step,
            action="update" if step.action == "leave" and changes else step.action,
            changes=changes,
            notices=tuple(each for each, _ in told),
            shares=tuple(each for each, _ in shown),
        )

    def _revised(self, source: FolderSource, current: Dataset) -> FolderStep:
        key = DatasetId(raw_id(current["id"]))
        revision = self._revisions.get(source.name)
        if revision is None:  # it is told already what is wrong
            return FolderStep(source.name, "leave", source=source, dataset=key)
        datasets.check_readers(
            *(self._reader, self._owner, key, revision),
            but_shares={share.label for share in source.declared.share or ()},
            but_notices=self._declared,
        )
        values = self._values(source, current)
        known: Mapping[str, object] = {**current}
        said = [f"{name}: {known[name] or 'none'} → {new}" for name, new in values.items()]
        return FolderStep(
            source.name,
            "revise" if revision.source else "update" if revision.sentences or said else "leave",
            (*revision.sentences, *said),
            source,
            key,
            pins=bool(revision.sentences),
            values=values,
        )

    def _values(self, source: FolderSource, current: Dataset) -> dict[str, str]:
        """What an update changes beside columns."""
        wanted = source.schedule
        if source.declared.question is not None:
            wanted = {"question": source.declared.question, **wanted}
        if wanted.get("status") == "draft" and current["status"] != "draft":
            raise wrong("schedule.status", "cannot go back to draft; use active or paused")
        known: Mapping[str, object] = {**current}
        return {name: value for name, value in wanted.items() if known[name] != value}

    def _notice_steps(self, source: FolderSource) -> Iterator[tuple[NoticeStep, str]]:
        for number, given in enumerate(source.declared.notice or ()):
            with self._problems.of(source.written, f"notice[{number}]"):
                channel, target = source.targets[number]
                step, said = self._notice(source, given, wish(given, channel, target))
                if said:
                    yield step, f"notice {given.name}: {said}"

    def _notice(
        self, source: FolderSource, given: FileNotice, wanted: Subscription
    ) -> tuple[NoticeStep, str]:
        names = tuple(dict.fromkeys(given.dataset or (source.name,)))
        for number, name in enumerate(names):
            if name not in self._columns:
                near = nearest(name, [*self._columns])
                hint = f'; did you mean "{near}"?' if near else ""
                raise wrong(f"dataset[{number}]", f'names "{name}", which is no dataset{hint}')
        if wanted.change_filter is not None:
            check_filter(wanted.change_filter, [self._columns[name] for name in names], all_of=True)
        if given.name in self._unreadable:
            raise wrong("name", f'names "{given.name}", which is damaged; livedata check says more')
        before = self._notices.get(given.name)
        step = NoticeStep(wanted, names, before)
        if before is None:
            about = "" if names == (source.name,) else f" of {joined(names)}"
            return step, f"{wanted.channel}, {subscriptions.told_of(wanted)}{about}"
        if before.channel != wanted.channel:
            raise wrong(
                wanted.channel,
                f"tells otherwise than the notice that there is, by "
                f"{before.channel}; give this one another name, or remove that one",
            )
        return step, "; ".join(self._differences(before, step))

    def _differences(self, before: Notice, step: NoticeStep) -> Iterator[str]:
        old, new = subscriptions.told_of(before), subscriptions.told_of(step.wish)
        if old != new:
            yield f"{old} → {new}"
        by_id = {each["id"]: name for name, each in self._datasets.items()}
        told = None if before.datasets is None else [by_id.get(key, key) for key in before.datasets]
        if told is None or {*told} != {*step.datasets}:
            was = "all datasets" if told is None else joined(sorted(told))
            yield f"of {was} → of {joined(sorted(step.datasets))}"
        if before.target != step.wish.target:
            is_address = channel_of(before.channel).is_address
            yield f"another {'address' if is_address else before.channel}"

    def _share_steps(self, source: FolderSource) -> Iterator[tuple[ShareStep, str]]:
        for number, given in enumerate(source.declared.share or ()):
            with self._problems.of(source.written, f"share[{number}]"):
                names, clauses = split_names(given.columns), [*(given.where or ())]
                # Of no dataset yet: what is judged are columns, clauses and label.
                scope = Scope(self._owner, DatasetId(b""), names, clauses)
                shares.check(scope, given.label, self._columns[source.name])
                same = [
                    each
                    for each in self._shares
                    if (each["dataset"], each["label"]) == (source.name, given.label)
                ]
                if len(same) > 1:
                    raise wrong(
                        "label",
                        f"names {len(same)} shares that are open; revoke all but one of them",
                    )
                wanted = shares.in_words(names, clauses)
                if not same:
                    yield ShareStep(given), f"share {given.label}: {wanted}"
                elif (old := shares.in_words(same[0]["columns"] or (), same[0]["where"])) != wanted:
                    before = ShareId(raw_id(same[0]["id"]))
                    yield ShareStep(given, before), f"share {given.label}: {old} → {wanted}"

    def _without_file(self) -> dict[str, tuple[str, FolderStep]]:
        """The address and the step of each dataset of selectors that has no file."""
        declared = {source.name for source in self._sources}
        undeclared: dict[str, tuple[str, FolderStep]] = {}
        for name, dataset in self._datasets.items():
            if name in declared:
                continue
            key = DatasetId(raw_id(dataset["id"]))
            address = address_of(recipes.source(self._reader, key)[1])
            # A file declares no research, so that a folder says nothing of it.
            if address is None:
                continue
            step = FolderStep(name, "leave", dataset=key)
            if self._prune and dataset["status"] != "paused":
                said = (f"status: {dataset['status']} → paused",)
                step = replace(step, action="pause", changes=said, values={"status": "paused"})
            undeclared[name] = (address, step)
        return undeclared


def _created(source: FolderSource) -> FolderStep:
    declared, values = source.declared, source.schedule
    columns = ", ".join(
        f"{each.name} ({each.type}{', key' if each.key else ''}"
        f"{', yours' if each.ownership == 'user' else ''})"
        for each in declared.columns
    )
    said = [f"{name}: {value}" for name, value in values.items()]
    if declared.question is not None:
        said = [f"question: {declared.question}", *said]
    changes = (f"address: {declared.source.url}", f"columns: {columns}", *said)
    return FolderStep(source.name, "create", changes, source, values=values)


def _act(writer: Writer, owner: OwnerName, steps: Sequence[FolderStep], terms: Terms) -> list[Made]:
    """Do what was planned. Datasets first: a notice may tell of any of them."""
    made: list[Made] = []
    keys = {step.name: _act_on_dataset(writer, owner, step, terms) for step in steps}
    for step in steps:
        for share in step.shares:
            made += _share(writer, Scope(owner, keys[step.name]), step.name, share)
        for notice in step.notices:
            those = [format_uuid(_dataset(writer, owner, keys, name)) for name in notice.datasets]
            wanted = replace(notice.wish, datasets=those)
            if notice.before is not None:
                subscriptions.alter(writer, notice.before, wanted, terms.zone)
                continue
            # It is seen here alone: nothing that lists notices shows it.
            secret = subscriptions.put(writer, owner, wanted, terms.zone).secret
            if secret is not None:
                made.append(Made(step.name, "notice", wanted.name, secret))
    return made


def _dataset(
    reader: Reader, owner: OwnerName, keys: Mapping[str, DatasetId], name: str
) -> DatasetId:
    known = keys.get(name) or dataset_names.named(reader, owner, name)
    assert known is not None  # it was planned so
    return known


def _act_on_dataset(writer: Writer, owner: OwnerName, step: FolderStep, terms: Terms) -> DatasetId:
    source, key = step.source, step.dataset
    if key is None:
        assert source is not None  # only a file creates one
        key = datasets.add(writer, owner, source.declared)
    elif step.pins and source is not None:
        datasets.pin(writer, owner, key, source.declared, None)
    if step.values:
        locked = dataset_store.lock_dataset(writer, key, owner)
        current = dataset_store.get(writer, owner, key)
        datasets.change(writer, locked, current, read(UpdateDataset, {**step.values}), terms.zone)
    return key


def _share(writer: Writer, scope: Scope, dataset: str, step: ShareStep) -> Iterator[Made]:
    given = step.wanted
    scope = replace(scope, columns=split_names(given.columns), clauses=[*(given.where or ())])
    # Its address stays: who has it sees the new columns there.
    if step.before is not None:
        share_store.change(writer, step.before, scope)
    else:
        yield Made(
            dataset, "share", given.label, shares.put(writer, scope, given.label), given.base
        )
