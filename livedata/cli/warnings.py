"""What a command warns of beside its answer: skipped schedules, and credits that run out."""

from __future__ import annotations

from livedata.cli.output.streams import print_message
from livedata.cli.output.values import format_timestamp
from livedata.hints import Subject, hint
from livedata.messages.run_end import skipped_fires
from livedata.messages.templates import plural
from livedata.model import ids
from livedata.model.ids import DatasetId, OwnerName
from livedata.model.problem import Remedy
from livedata.services import fires, queries
from livedata.store.database.store import Database
from livedata.store.schedules import NO_CREDITS, Skipping


def warn_of_skipped(db: Database, owner: OwnerName, only: DatasetId | None = None) -> None:
    """Say of the datasets of an owner, or of one, that their fires are skipped."""
    skipping = fires.skipping(db, owner, None if only is None else [only])
    for dataset in skipping.values():
        print_message(say_skipped(dataset, dataset.name))


def say_skipped(dataset: Skipping, name: str) -> str:
    """Say that fires of a dataset are skipped, and what helps if it is known."""
    last = format_timestamp(ids.format_timestamp(dataset.last))
    said = skipped_fires(name, dataset.count, last, dataset.reason)
    if dataset.reason != NO_CREDITS:
        return said
    return f"{said} {hint(Remedy('grant_credits'), Subject(dataset.owner))}"


RUNS_LEFT = 10
"""Credits for fewer Runs than this are low."""


def warn_if_low(db: Database, owner: str, *dataset_ids: DatasetId) -> None:
    """Print a warning if the credits are below ten Runs' worth of all `dataset_ids` together."""
    balance = queries.balance(db, owner)
    price = sum(queries.run_price(db, owner, dataset_id) for dataset_id in dataset_ids)
    # One Run of each: a command may run several datasets at once.
    if balance < RUNS_LEFT * price:
        left = f"{plural(balance, 'credit')} {'is' if balance == 1 else 'are'} left"
        what = "this dataset" if len(dataset_ids) == 1 else f"these {len(dataset_ids)} datasets"
        add = hint(Remedy("grant_credits", {"credits": RUNS_LEFT * price}), Subject(owner))
        print_message(f"Only {left}, and a Run of {what} costs up to {price}. {add}")
