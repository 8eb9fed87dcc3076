"""What Runs cost."""

from __future__ import annotations

from typing import Any

from livedata.model.ids import raw_id
from livedata.services import queries
from livedata.store.database.store import Database

RECENT_RUNS = 20
DEFAULT_PAGES = 10
"""The most pages of a Run whose source does not say."""


def run_price(db: Database, owner: str, dataset_id: bytes) -> int:
    """Estimate the credits of a dataset's next Run: as the last accepted one, else the most."""
    for run in queries.runs(db, owner, dataset_id, RECENT_RUNS):
        if run["status"] == "succeeded":
            return queries.run_report(db, owner, raw_id(run["id"])).charged
    source: Any = queries.source(db, owner, dataset_id)["source"]
    if not isinstance(source, dict) or source["pagination"]["kind"] == "none":
        return 1
    return int(source.get("maxPages", DEFAULT_PAGES))
