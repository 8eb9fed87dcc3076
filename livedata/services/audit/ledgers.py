"""Checks that the entries of each owner are a running sum up to the balance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from livedata.model.ids import format_uuid
from livedata.services.audit import records
from livedata.store.audit import streams
from livedata.store.database.backend import Reader


def ledger_problems(reader: Reader) -> Iterator[str]:
    """The problems of all ledgers and balances, as sentences."""
    # Entries of one moment have no order. So the balances before all entries, with the last
    # one, must be the balances after them, with the 0 of the beginning. What one entry leaves the
    # next one takes: only what is still to match is remembered, however long the ledger is.
    balances: dict[str, int] = dict(streams.owners(reader))
    left: Counter[tuple[str, int]] = Counter()
    for owner, balance in balances.items():
        _add(left, (owner, 0), 1)
        _add(left, (owner, balance), -1)
    for entry in streams.ledger(reader):
        _add(left, (entry.owner, entry.balance_after), 1)
        _add(left, (entry.owner, entry.balance_after - entry.credits), -1)
        for problem in records.ledger_problems(entry):
            yield f"The ledger of {entry.owner}: the entry {format_uuid(entry.id)} {problem}."
    for owner, balance in balances.items():
        if balance < 0:
            yield f"The owner {owner} has the balance {balance}, below 0."
    for (owner, amount), count in left.items():
        if count < 0:
            yield f"The ledger of {owner} is no running sum: {amount} is not what any entry left."


def _add(left: Counter[tuple[str, int]], balance: tuple[str, int], count: int) -> None:
    left[balance] += count
    if not left[balance]:
        del left[balance]
