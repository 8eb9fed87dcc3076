"""The lines of an archive: a record of the store as a JSON object, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from msgspec import Meta, Struct, defstruct, json, structs

from livedata.model.ids import format_uuid, raw_id
from livedata.store.archive.nouns import Noun, Record

_TYPES: dict[str, Any] = {
    "id": str,
    "bytes": str,
    "text": str,
    # Both databases keep integers of 64 bits.
    "integer": Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)],
}


class LineCodec:
    """Writes and reads the lines of one noun."""

    def __init__(self, noun: Noun) -> None:
        self._ids = _named(noun, "id")
        self._bytes = _named(noun, "bytes")
        self._texts = _named(noun, "text")
        self._decode = json.Decoder(_shape(noun)).decode

    def encode(self, records: Iterable[Record]) -> Iterator[bytes]:
        """The line of each record."""
        encode = json.Encoder().encode
        for record in records:
            for names, write in ((self._ids, format_uuid), (self._bytes, bytes.hex)):
                for name in names:
                    if record[name] is not None:
                        record[name] = write(record[name])
            yield encode(record) + b"\n"

    def decode(self, line: bytes) -> Record:
        """The record of a line. Raises ValueError for what no archive has."""
        record: Record = structs.asdict(self._decode(line))
        for names, read in ((self._ids, raw_id), (self._bytes, bytes.fromhex)):
            for name in names:
                if record[name] is not None:
                    record[name] = read(record[name])
        # PostgreSQL keeps no text with it. Seldom looked for: in JSON it is written so.
        if b"\\u0000" in line and any("\0" in (record[name] or "") for name in self._texts):
            raise ValueError("a text has a NUL")
        return record


def _named(noun: Noun, kind: str) -> list[str]:
    """The names of the columns of a kind."""
    return [name for name, written in noun.columns.items() if written.rstrip("?") == kind]


def _shape(noun: Noun) -> type[Struct]:
    """The type of a line: a column that is absent is null, if it may be."""
    fields: list[Any] = [
        (name, _TYPES[kind.rstrip("?")] | None, None)
        if kind.endswith("?")
        else (name, _TYPES[kind])
        for name, kind in noun.columns.items()
    ]
    return defstruct(noun.table, fields, forbid_unknown_fields=True, kw_only=True)
