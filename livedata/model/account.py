"""Keys and credits: specification 2.13 and 5, and the decisions that fill them in."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class LedgerEntry(TypedDict):
    """One line of the append-only ledger."""

    id: str
    kind: Literal["grant", "charge"]
    credits: int
    balanceAfter: int
    datasetId: str | None
    runId: str | None
    note: str | None
    createdAt: str


class Usage(TypedDict):
    """Specification 4.4: the balance, and the ledger of the last 30 days, newest first."""

    balance: int
    ledger: list[LedgerEntry]


class ApiKey(TypedDict):
    """A key as listed: never the key itself, but for the once in which it is made."""

    id: str
    owner: str
    label: str | None
    hashPrefix: str
    createdAt: str
    lastUsedAt: str | None
    revokedAt: str | None
    key: NotRequired[str]
