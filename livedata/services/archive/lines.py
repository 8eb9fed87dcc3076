"""The lines of an archive: a record of the store as a JSON object, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, json

from livedata.model.ids import ID_PATTERN, format_uuid, raw_id
from livedata.store.archive.nouns import Noun, Record

# Both databases keep integers of 64 bits.
_TYPES: dict[str, Any] = {
    "id": Annotated[str, Meta(pattern=ID_PATTERN)],
    "bytes": Annotated[str, Meta(pattern="^([0-9a-f]{2})*$")],
    "text": str,
    "integer": Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)],
}


class LineCodec:
    """Writes and reads the lines of one noun."""

    def __init__(self, noun: Noun) -> None:
        self._kinds = {name: kind.rstrip("?") for name, kind in noun.columns.items()}
        self._decode = json.Decoder(_shape(noun)).decode

    def encode(self, records: Iterable[Record]) -> Iterator[bytes]:
        """The line of each record."""
        encode = json.Encoder().encode
        ids = [name for name, kind in self._kinds.items() if kind == "id"]
        others = [name for name, kind in self._kinds.items() if kind == "bytes"]
        for record in records:
            for name in ids:
                if record[name] is not None:
                    record[name] = format_uuid(record[name])
            for name in others:
                if record[name] is not None:
                    record[name] = record[name].hex()
            yield encode(record) + b"\n"

    def decode(self, line: bytes) -> Record:
        """The record of a line. Raises ValueError for what no archive has."""
        record: Record = msgspec.structs.asdict(self._decode(line))
        for name, kind in self._kinds.items():
            value = record[name]
            if value is None:
                continue
            if kind == "id":
                record[name] = raw_id(value)
            elif kind == "bytes":
                record[name] = bytes.fromhex(value)
            # PostgreSQL keeps no such text. Seldom asked: it is written as \u0000.
            elif kind == "text" and b"\\u0000" in line and "\0" in value:
                raise ValueError(f"{name} has a NUL")
        return record


def _shape(noun: Noun) -> type[Struct]:
    """The type of a line: a column that is absent is null, if it may be."""
    fields: list[Any] = [
        (name, _TYPES[kind.rstrip("?")] | None, None)
        if kind.endswith("?")
        else (name, _TYPES[kind])
        for name, kind in noun.columns.items()
    ]
    return msgspec.defstruct(noun.table, fields, forbid_unknown_fields=True, kw_only=True)
