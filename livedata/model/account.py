"""Keys, shared tables and credits: interface 2.13 and 5, and rules 1 and 17."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NotRequired, TypedDict

from msgspec import Struct

from livedata.model.wire import NonNegativeInt, Timestamp, Uuid

MAX_CREDITS: Final = 2**53
"""The largest balance: JSON's readers keep larger whole numbers only roughly."""


OPERATOR: Final = "local"
"""The owner as whom livedata acts at a shell: whoever can read the store needs no key for it."""


class Limits(Struct, frozen=True):
    """How much each owner but the operator may have: None is without a limit.

    `datasets` at a time, `runs` that have not ended, and `requests` to the API in a second.
    `others` are those of owners who have limits of their own.
    """

    datasets: int | None = None
    runs: int | None = None
    requests: int | None = None
    others: Mapping[str, Limits] = {}

    def of(self, owner: str) -> Limits:
        """The limits of one owner."""
        return Limits() if owner == OPERATOR else self.others.get(owner, self)

    @property
    def sets(self) -> list[Limits]:
        """Those of each owner, and the other ones."""
        return [self, *self.others.values()]


class LedgerEntry(TypedDict):
    """One line of the append-only ledger."""

    id: Uuid
    kind: Literal["grant", "charge"]
    credits: int
    balanceAfter: NonNegativeInt
    datasetId: Uuid | None
    runId: Uuid | None
    note: str | None
    createdAt: Timestamp


class Usage(TypedDict):
    """Interface 4.4: the balance, and the ledger of the last 30 days, newest first."""

    balance: NonNegativeInt
    ledger: list[LedgerEntry]


class ApiKey(TypedDict):
    """A key as listed: never the key itself, but for the once in which it is made."""

    id: Uuid
    owner: str
    label: str | None
    hashPrefix: str
    createdAt: Timestamp
    lastUsedAt: Timestamp | None
    revokedAt: Timestamp | None
    key: NotRequired[str]


class Share(TypedDict):
    """An address at which a table is read without a key; the address itself is shown once.

    `columns` are names, null for all; `where` holds for each row that is read there.
    """

    id: Uuid
    dataset: str
    label: str | None
    columns: list[str] | None
    where: list[str]
    createdAt: Timestamp
    revoked: bool
