"""What a notice would have told of the changes that are recorded (rules 13.9); nobody is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from livedata.messages import notice_events
from livedata.model import ids
from livedata.model.errors import Invalid
from livedata.model.ids import Micros
from livedata.rules.declaration.notices import ChangeFilter
from livedata.services.moments import find_moment
from livedata.services.notices.gathering import Gathered, gather
from livedata.services.notices.told_changes import (
    ChangeRange,
    ChangesByName,
    MatchedRevision,
    NamedChange,
    narrowed,
    told_change,
)
from livedata.store import datasets, feed
from livedata.store.database.backend import Reader
from livedata.store.database.store import Database
from livedata.store.datasets import DatasetRef
from livedata.store.notices import Notice
from livedata.store.outbox import RevisionRange


class TriedMessage(NamedTuple):
    """A message that an accepted Run would have caused: when, what it says, and its changes.

    The lines of the changes are as ``changes --names`` has them, each with what it meets.
    """

    at: Micros
    sentence: str
    changes: Sequence[NamedChange]


def tried(db: Database, notice: Notice, since: str, zone: str) -> Iterator[TriedMessage]:
    """The messages about changes after WHEN, by dataset and Run.

    Raises Invalid if the notice tells nothing of changes, or `since` is no moment of its datasets.
    """
    with db.reading() as reader:
        for dataset, after in _since(reader, notice, since, zone):
            window = RevisionRange(after, dataset.head)
            yield from _of_dataset(reader, notice, dataset, window)


def tried_digest(db: Database, notice: Notice, since: str, zone: str) -> Iterator[Gathered]:
    """What one digest of all changes after WHEN would tell, by dataset. Raises as `tried`."""
    with db.reading() as reader:
        for dataset, after in _since(reader, notice, since, zone):
            gathered = gather(reader, notice, dataset, after)
            if gathered is not None:
                yield gathered


def _since(
    reader: Reader, notice: Notice, since: str, zone: str
) -> Iterator[tuple[DatasetRef, int]]:
    """Every dataset of a notice, with the sequence at which WHEN lies in its history."""
    if "changes" not in notice.kinds:
        raise Invalid(f"The notice {notice.name} tells nothing of changes.")
    for key, _ in datasets.all_names(reader, notice.owner):
        if notice.datasets is None or ids.format_uuid(key) in notice.datasets:
            dataset = datasets.ref(reader, notice.owner, key)
            yield dataset, find_moment(reader, dataset, since, zone).sequence


def _of_dataset(
    reader: Reader, notice: Notice, dataset: DatasetRef, window: RevisionRange
) -> Iterator[TriedMessage]:
    wanted, name = notice.change_filter or ChangeFilter(), dataset.name
    columns = dataset.fields.columns
    matches = ChangeRange(notice.owner, dataset.id, window).matches(reader, wanted)
    # A notice is told at the end of Runs: of hand edits, and of what an archive brought, never.
    of_runs = (match for match in matches if match.revision.run is not None)
    names = ChangesByName.of(reader, dataset)
    for run, group in groupby(of_runs, key=lambda match: match.revision.run):
        told = [*group]
        if run is None:
            continue
        if notice.change_filter is None:
            sentence = _deltas(name, told)
        else:
            first, last = feed.of_run(reader, dataset.id, run)
            sentence = narrowed(name, wanted, len(told), last - first + 1)
        changes = [
            told_change(names.of_revision(revision, columns), wanted, sentences)
            for revision, sentences in told
        ]
        yield TriedMessage(told[0].revision.created_at, sentence, changes)


def _deltas(name: str, told: Sequence[MatchedRevision]) -> str:
    """What a notice of all changes says of a Run."""
    kinds = Counter(revision.kind for revision, _ in told)
    covered = sum(
        revision.kind == "updated" and set(revision.changed).issubset(revision.edited)
        for revision, _ in told
    )
    changed = kinds["updated"] + kinds["returned"]
    return notice_events.changes(name, kinds["created"], changed, kinds["missing"], covered)
