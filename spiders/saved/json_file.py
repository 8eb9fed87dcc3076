"""A file of JSON in a folder that people keep, and may edit or break."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import msgspec

from livedata.messages.strict_json import Unreadable, parse_json
from livedata.model.errors import Invalid

S = TypeVar("S", bound=msgspec.Struct)

AGAIN = "save the pages anew: livedata preview SOURCE --save DIR"
"""What helps if a folder is of no use."""


def read_json(path: Path, shape: type[S]) -> S:
    """What a file says. Raises Invalid for one that cannot be read."""
    try:
        return msgspec.convert(parse_json(path.read_bytes()), shape)
    except Unreadable as error:
        why = error.message
    except msgspec.ValidationError as error:
        why = str(error)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
    raise Invalid(f"{path} cannot be read ({why}); restore it, or {AGAIN}.")


def write_json(path: Path, value: Any) -> None:
    """Write a file of which people read the differences: each value has a line of its own."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")
