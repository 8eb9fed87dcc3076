"""Says which schedules do nothing at the moment, beside what would look well."""

from __future__ import annotations

from livedata.cli.output.streams import print_message
from livedata.cli.output.values import format_timestamp
from livedata.hints import Subject, hint
from livedata.messages.run_end import skipped_fires
from livedata.model import ids
from livedata.model.ids import DatasetId, OwnerName
from livedata.model.problem import Remedy
from livedata.services import fires
from livedata.store.database.store import Database
from livedata.store.schedules import NO_CREDITS, Skipping


def warn_of_skipped(db: Database, owner: OwnerName, only: DatasetId | None = None) -> None:
    """Say of the datasets of an owner, or of one, that their fires are skipped."""
    skipping = fires.skipping(db, owner)
    for dataset in skipping.values():
        if only in {None, dataset.dataset}:
            print_message(say_skipped(dataset, dataset.name))


def say_skipped(dataset: Skipping, name: str) -> str:
    """Say that fires of a dataset are skipped, and what helps if it is known."""
    last = format_timestamp(ids.format_timestamp(dataset.last))
    said = skipped_fires(name, dataset.count, last, dataset.reason)
    if dataset.reason != NO_CREDITS:
        return said
    return f"{said} {hint(Remedy('grant_credits'), Subject(dataset.owner))}"
