"""Cursors: where a list goes on, opaque, and only for the list and filters that they came from.

Specification 4.1 and 4.2. A cursor holds a moment and an id, the keyset of the last entry seen,
and a digest of its list; it grants nothing, so it needs no signature.
"""

from __future__ import annotations

import binascii
import hashlib
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode

from livedata.model import ids
from livedata.model.errors import BadRequest, Detail

Position = tuple[int, str]
"""The moment and id of the last entry seen."""

_LAYOUT = struct.Struct(">8sq16s")


def write(listed: object, moment: str, entry: str) -> str:
    """The cursor that goes on after the `entry` of `moment` in what `listed` names."""
    packed = _LAYOUT.pack(_digest(listed), ids.parse_timestamp(moment), ids.raw_id(entry))
    return urlsafe_b64encode(packed).rstrip(b"=").decode()


def read(listed: object, cursor: str | None) -> Position | None:
    """Where `cursor` goes on; raises BadRequest where it is not one of what `listed` names."""
    if cursor is None:
        return None
    try:
        packed = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        digest, at, entry = _LAYOUT.unpack(packed)
    except (ValueError, binascii.Error, struct.error):
        raise _foreign() from None
    canonical = urlsafe_b64encode(packed).rstrip(b"=").decode() == cursor
    if digest != _digest(listed) or not canonical:
        raise _foreign()
    return at, ids.format_uuid(entry)


def _foreign() -> BadRequest:
    why = "is not a cursor of this list; send the nextCursor of a page with the same filters"
    return BadRequest(f"cursor {why}.", (Detail("cursor", why),))


def _digest(listed: object) -> bytes:
    return hashlib.sha256(repr(listed).encode()).digest()[:8]
