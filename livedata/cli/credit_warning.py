"""The warning that credits run out."""

from __future__ import annotations

from typing import Any

from livedata.cli.output.streams import print_message
from livedata.hints import Subject, hint
from livedata.messages.templates import plural
from livedata.model import ids
from livedata.model.ids import DatasetId
from livedata.model.problem import Remedy
from livedata.model.recipe import is_research
from livedata.services import queries
from livedata.store.database.store import Database

RUNS_LEFT = 10
"""Credits for fewer Runs than this are low."""
RECENT_RUNS = 20
DEFAULT_PAGES = 10
"""The limit of pages of a Run whose source does not set one."""


def warn_if_low(db: Database, owner: str, *dataset_ids: DatasetId) -> None:
    """Print a warning if the credits are below ten Runs' worth of all `dataset_ids` together."""
    balance = queries.usage(db, owner)["balance"]
    price = sum(_run_price(db, owner, dataset_id) for dataset_id in dataset_ids)
    # One Run of each: a command may run several datasets at once.
    if balance < RUNS_LEFT * price:
        left = f"{plural(balance, 'credit')} {'is' if balance == 1 else 'are'} left"
        what = "this dataset" if len(dataset_ids) == 1 else f"these {len(dataset_ids)} datasets"
        add = hint(Remedy("grant_credits", {"credits": RUNS_LEFT * price}), Subject(owner))
        print_message(f"Only {left}, and a Run of {what} costs up to {price}. {add}")


def _run_price(db: Database, owner: str, dataset_id: DatasetId) -> int:
    """Estimate the credits of a dataset's next Run: as the last accepted one, else the most."""
    for run in queries.runs(db, owner, dataset_id, RECENT_RUNS):
        if run["status"] == "succeeded":
            return queries.run_report(db, owner, ids.RunId(ids.raw_id(run["id"]))).charged
    # Before the first accepted Run only the limit is known: a page costs one credit.
    declared: Any = queries.source(db, owner, dataset_id)["source"]
    if is_research(declared):
        return int(declared["limits"]["maxPages"])
    if not isinstance(declared, dict) or declared["pagination"]["kind"] == "none":
        return 1
    return int(declared.get("maxPages", DEFAULT_PAGES))
