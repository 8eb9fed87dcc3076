"""The warning that credits run out."""

from __future__ import annotations

from livedata.cli.output.streams import print_message
from livedata.hints import Subject, hint
from livedata.messages.templates import plural
from livedata.model.ids import DatasetId
from livedata.model.problem import Remedy
from livedata.services import queries
from livedata.store.database.store import Database

RUNS_LEFT = 10
"""Credits for fewer Runs than this are low."""


def warn_if_low(db: Database, owner: str, *dataset_ids: DatasetId) -> None:
    """Print a warning if the credits are below ten Runs' worth of all `dataset_ids` together."""
    balance = queries.usage(db, owner)["balance"]
    price = sum(queries.run_price(db, owner, dataset_id) for dataset_id in dataset_ids)
    # One Run of each: a command may run several datasets at once.
    if balance < RUNS_LEFT * price:
        left = f"{plural(balance, 'credit')} {'is' if balance == 1 else 'are'} left"
        what = "this dataset" if len(dataset_ids) == 1 else f"these {len(dataset_ids)} datasets"
        add = hint(Remedy("grant_credits", {"credits": RUNS_LEFT * price}), Subject(owner))
        print_message(f"Only {left}, and a Run of {what} costs up to {price}. {add}")
