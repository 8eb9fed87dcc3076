"""Cursors: opaque texts that say where the next page of a list begins.

Interface 4.1 and 4.2. A cursor belongs to one list with its filters. It holds the moment and
the id of the last entry seen, and a digest of the list.
"""

from __future__ import annotations

import binascii
import hashlib
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode

from livedata.model import ids
from livedata.model.errors import BadRequest, Detail

Position = tuple[ids.Micros, str]
"""The moment and id of the last entry seen."""

# Digest of the list, moment in microseconds, id. No signature: a cursor gives no access to
# anything, since the list that it continues is read for the caller's own owner.
_LAYOUT = struct.Struct(">8sq16s")


def write(listed: object, moment: str, entry: str) -> str:
    """The cursor to continue the list `listed` after the entry of this moment and id."""
    packed = _LAYOUT.pack(_digest(listed), ids.parse_timestamp(moment), ids.raw_id(entry))
    return urlsafe_b64encode(packed).rstrip(b"=").decode()


def read(listed: object, cursor: str | None) -> Position | None:
    """The position in a cursor; raises BadRequest if it is not a cursor of the list `listed`."""
    if cursor is None:
        return None
    try:
        packed = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        digest, moment, entry = _LAYOUT.unpack(packed)
    except (ValueError, binascii.Error, struct.error):
        raise _foreign() from None
    # The decoder skips characters outside its alphabet, so other texts mean the same bytes.
    canonical = urlsafe_b64encode(packed).rstrip(b"=").decode() == cursor
    if digest != _digest(listed) or not canonical:
        raise _foreign()
    return moment, ids.format_uuid(entry)


def _foreign() -> BadRequest:
    why = "is not a cursor of this list; send the nextCursor of a page with the same filters"
    return BadRequest(f"cursor {why}.", (Detail("cursor", why),))


def _digest(listed: object) -> bytes:
    return hashlib.sha256(repr(listed).encode()).digest()[:8]
