"""The state of a table: whether what it says can be trusted, as every door tells it."""

from __future__ import annotations

from typing import Literal, TypeAlias, cast

from msgspec import Struct

from livedata.model.ids import DatasetId, format_optional_timestamp
from livedata.model.wire import Timestamp
from livedata.store import runs
from livedata.store.database.backend import Reader

TableState: TypeAlias = Literal["ok", "draft", "paused", "held", "failed", "blocked"]
_WRONG = frozenset({"held", "failed", "blocked"})


class StateOfTable(Struct, frozen=True):
    """How a table is, and when it was read last from its site; `observed_at` is None for never."""

    state: TableState
    observed_at: Timestamp | None


def state_of_table(reader: Reader, dataset: DatasetId) -> StateOfTable:
    """The state of a table (rules 17); its rows are the last good ones, whatever it is."""
    status, ended, accepted_at = runs.condition(reader, dataset)
    observed_at = format_optional_timestamp(accepted_at)
    if ended in _WRONG:
        return StateOfTable(cast("TableState", ended), observed_at)
    if status == "paused":
        return StateOfTable("paused", observed_at)
    return StateOfTable("draft" if accepted_at is None else "ok", observed_at)
