"""What the interface's tables are written in: kinds of values, with their bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Is:
    """A rule for a value: its kind, its bounds, and whether it may be null or left out."""

    kind: str
    of: Is | None = None
    table: str = ""
    among: tuple[str, ...] = ()
    low: int | None = None
    high: int | None = None
    pattern: str = ""
    nullable: bool = False
    optional: bool = False


Table = Mapping[str, Is]

STRING, UUID, URI, WHEN = Is("string"), Is("uuid"), Is("uri"), Is("date-time")
INTEGER, COUNT, ORDINAL = Is("integer"), Is("integer", low=0), Is("integer", low=1)
NUMBER, BOOLEAN, SCALAR, ANY = Is("number"), Is("boolean"), Is("scalar"), Is("any")
SHORT_URI = replace(URI, high=2048)
FEW = Is("integer", low=0, high=25)
# 2**53 - 1: larger integers lose digits in many readers of JSON.
SAFE = Is("integer", low=0, high=9007199254740991)


def null(rule: Is) -> Is:
    return replace(rule, nullable=True)


def maybe(rule: Is) -> Is:
    return replace(rule, optional=True)


def text(low: int = 0, high: int | None = None) -> Is:
    return Is("string", low=low, high=high)


def some(*among: str) -> Is:
    return Is("string", among=among)


def many(of: Is, low: int | None = None, high: int | None = None) -> Is:
    return Is("array", of, low=low, high=high)


def by_field(of: Is) -> Is:
    return Is("by-field", of)


def by_name(of: Is) -> Is:
    return Is("by-name", of)


def a(table: str) -> Is:
    return Is("table", table=table)


RUN_STATUS = some("queued", "running", "succeeded", "failed", "blocked", "held")
