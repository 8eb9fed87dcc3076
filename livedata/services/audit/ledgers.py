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
    # one, must be the balances after them, with the 0 of the beginning.
    balances: dict[str, int] = dict(streams.owners(reader))
    left = Counter((owner, 0) for owner in balances)
    taken = Counter(balances.items())
    for entry in streams.ledger(reader):
        left[entry.owner, entry.balance_after] += 1
        taken[entry.owner, entry.balance_after - entry.credits] += 1
        for problem in records.ledger_problems(entry):
            yield f"The ledger of {entry.owner}: the entry {format_uuid(entry.id)} {problem}."
    for owner, balance in balances.items():
        if balance < 0:
            yield f"The owner {owner} has the balance {balance}, below 0."
    for owner, amount in taken - left:
        yield f"The ledger of {owner} is no running sum: {amount} is not what any entry left."
