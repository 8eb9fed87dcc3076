"""Ids and moments as the store keeps them: 16 bytes, and microseconds since 1970 in UTC."""

from __future__ import annotations

import os
import time
from binascii import hexlify
from datetime import UTC, datetime, timedelta
from struct import Struct
from typing import Final, NewType

# 16 bytes are less than half of an id's text, in every table and every index over it, and alike on
# all databases. A type for each kind, so that no id is handed over in place of another.
DatasetId = NewType("DatasetId", bytes)
RunId = NewType("RunId", bytes)
AttemptId = NewType("AttemptId", bytes)
RowId = NewType("RowId", bytes)
RevisionId = NewType("RevisionId", bytes)
ObservationId = NewType("ObservationId", bytes)
KeyId = NewType("KeyId", bytes)
NoticeId = NewType("NoticeId", bytes)
MessageId = NewType("MessageId", bytes)
ShareId = NewType("ShareId", bytes)
LookId = NewType("LookId", bytes)
OwnerName = str
"""Who owns datasets and credits: a name that people write as it is."""
Micros = NewType("Micros", int)
"""A moment, in microseconds since 1970 in UTC."""

ID_PATTERN: Final = r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
"""A UUID in the form 8-4-4-4-12, in any case."""

END_OF_TIME: Final = 253_402_300_800_000_000
"""The first moment that no calendar here can show: the year 10,000, in microseconds."""
ID_LENGTH: Final = 16
"""The bytes of an id."""
_GROUPS: Final = Struct("8s4s4s4s12s").unpack
"""The groups of an id's hex digits."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE = datetime(1970, 1, 1)  # noqa: DTZ001  (written without its zone, for which Z stands)


def new_id() -> bytes:
    """A new UUIDv7."""
    # Ordered by the millisecond of its making, so new rows go to the end of an index. The two
    # masks write the version (7) and the variant into their bits.
    raw = bytearray((time.time_ns() // 1_000_000).to_bytes(6, "big") + os.urandom(10))
    raw[6] = raw[6] & 0x0F | 0x70
    raw[8] = raw[8] & 0x3F | 0x80
    return bytes(raw)


def after(raw: bytes, number: int) -> bytes:
    """The id that is `number` after another, for parts whose ids are derived and not stored."""
    # The first nine bytes hold the moment, the version and the variant: they stay.
    tail = (int.from_bytes(raw[9:], "big") + number) % (1 << 56)
    return raw[:9] + tail.to_bytes(7, "big")


def format_uuid(raw: bytes) -> str:
    """The id as people and programs see it: 8-4-4-4-12."""
    # A sentence about a damaged store names ids of other lengths too.
    return b"-".join(_GROUPS(hexlify(raw))).decode() if len(raw) == ID_LENGTH else raw.hex()


def format_optional_uuid(raw: bytes | None) -> str | None:
    """The id as people and programs see it; None for None."""
    return None if raw is None else format_uuid(raw)


def raw_id(text: str) -> bytes:
    """The 16 bytes of an id in its 8-4-4-4-12 form; ValueError for anything else."""
    raw = bytes.fromhex(text.replace("-", ""))
    if len(raw) != ID_LENGTH:
        raise ValueError(text)
    return raw


def matches_either_end(given: str, raw: bytes) -> bool:
    """Whether a person who writes `given` may mean this id: the whole of it, or either end."""
    text, wanted = format_uuid(raw), given.lower()
    # The beginning of a UUIDv7 is its time: ids of one moment differ only at their end.
    return bool(wanted) and (text.startswith(wanted) or text.endswith(wanted))


def now() -> Micros:
    """The present moment."""
    return Micros(time.time_ns() // 1000)


def ticks() -> int:
    """The microseconds of the machine's own clock, which nobody sets; 0 is its start."""
    return time.monotonic_ns() // 1000


def format_timestamp(moment: Micros) -> str:
    """The moment in ISO 8601, with microseconds and Z."""
    # In two parts: to make a time of all the microseconds costs twice as much.
    seconds, fraction = divmod(moment, 1_000_000)
    return f"{(_NAIVE + timedelta(0, seconds)).isoformat()}.{fraction:06}Z"


def to_datetime(moment: Micros) -> datetime:
    """The moment as an aware datetime."""
    return _EPOCH + timedelta(microseconds=moment)


def format_optional_timestamp(moment: Micros | None) -> str | None:
    """The moment in ISO 8601; None for None."""
    return None if moment is None else format_timestamp(moment)


def microseconds(when: datetime) -> Micros:
    """The moment of an aware datetime."""
    # timestamp() is a float, which cannot hold the microseconds of every year.
    return Micros((when - _EPOCH) // timedelta(microseconds=1))


def parse_timestamp(text: str) -> Micros:
    """The moment of an ISO 8601 date-time with a zone. Raises ValueError for any other text."""
    when = datetime.fromisoformat(text)
    if when.tzinfo is None:
        raise ValueError("a date-time needs its zone, such as Z")
    return microseconds(when)
