"""Rows as they are stored -> the JSON text that is answered, with no object for each part of it.

What is written is what :mod:`livedata.store.codec` would build. A page of the change feed has
thousands of parts, most of which differ in a few places only. Names of fields and ids stand in it
as they are: they have nothing that JSON would escape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from json import JSONDecoder
from json.encoder import encode_basestring
from typing import Any

import orjson

from livedata.model.row import Scalar
from livedata.store.codec import Fields, dump
from livedata.store.ids import ident, moment

_object_at = JSONDecoder().raw_decode


class Texts:
    """Writes what belongs to the fields of one dataset; what recurs is written once."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self._whole: dict[int, tuple[int, ...]] = {}
        self._changed: dict[int, str] = {}
        self._data: dict[str, str] = {}
        self._around: dict[tuple[int, ...], list[str]] = {}
        self._forms: dict[tuple[object, ...], tuple[list[int], str]] = {}
        self._ids: dict[bytes, str] = {}
        self._moments: dict[int, str] = {}

    def ident(self, raw: bytes) -> str:
        """An id that several parts of an answer have."""
        return self._ids.get(raw) or self._ids.setdefault(raw, ident(raw))

    def moment(self, at: int) -> str:
        """A moment that several parts of an answer have."""
        return self._moments.get(at) or self._moments.setdefault(at, moment(at))

    def changed(self, mask: int) -> str:
        """The ids of the fields in a mask."""
        known = self._changed.get(mask)
        if known is None:
            ids = self._fields.ids
            known = dump([field for at, field in enumerate(ids) if mask >> at & 1])
            self._changed[mask] = known
        return known

    def data(self, text: str, values: Sequence[Scalar] | None = None) -> str:
        """Stored values by field id; `values` are those of the text where they are known."""
        known = self._data.get(text)
        if known is None:
            values = orjson.loads(text) if values is None else values
            known = self._data[text] = dump(dict(zip(self._fields.ids, values, strict=False)))
        return known

    def read(self, values: Sequence[Scalar]) -> tuple[int, ...]:
        """The positions that were read of an observed row without reasons and overrides."""
        whole = self._whole.get(count := len(values))
        if whole is None:
            collected = self._fields.collected[:count]
            whole = self._whole[count] = tuple(at for at, read in enumerate(collected) if read)
        if None in values:
            return tuple(at for at in whole if values[at] is not None)
        return whole

    def evidence(self, observation: str, item: int, positions: tuple[int, ...]) -> str:
        """Where the cells at these positions were read."""
        known = self._around.get(positions)
        if known is None:
            known = self._around[positions] = self._around_references(positions)
        return f'{observation}","entryId":"{item}/'.join(known)

    def _around_references(self, positions: Sequence[int]) -> list[str]:
        """The JSON of evidence, cut where the observation and the item stand in it."""
        parts = [
            f'"{self._fields.ids[at]}":[{{"observationId":"\0{self._fields.names[at]}"}}]'
            for at in positions
        ]
        return f"{{{','.join(parts)}}}".split("\0")

    def entries(self, text: str, wanted: Mapping[int, set[int]]) -> str:
        """The entries of an observation that are wanted, in the order of the page.

        Its items are found, not read one after the other: a page may have far more than are wanted.
        Nothing else looks like the beginning of an item, since a quote within a text is escaped
        and positions lead to no objects.
        """
        found: list[str] = []
        for start, item in sorted([(text.find(f'"{item}":{{'), item) for item in wanted]):
            if start < 0:
                continue
            by_position, _ = _object_at(text, start + len(f'"{item}":'))
            found += self._entries_of(item, by_position, wanted[item])
        return f"[{','.join(found)}]"

    def _entries_of(
        self, item: int, by_position: Mapping[str, Any], positions: set[int]
    ) -> list[str]:
        """The same of one item; mostly all of it is wanted, and none of it had to be cut."""
        shape = (item, *by_position)
        known = self._forms.get(shape)
        if known is None:
            places = [int(position) for position in by_position]
            ids = [f"{item}/{self._fields.names[at]}" for at in places]
            form = ",".join(f'{{"id":"{one}","excerpt":%s,"truncated":false}}' for one in ids)
            known = self._forms[shape] = (places, form)
        places, form = known
        if positions.issuperset(places) and list not in map(type, by_position.values()):
            return [form % tuple(map(encode_basestring, by_position.values()))]
        found = []
        for at, kept in zip(places, by_position.values(), strict=True):
            if at in positions:
                cut = isinstance(kept, list)
                excerpt = encode_basestring(kept[0] if cut else kept)
                told = "true" if cut else "false"
                found.append(
                    f'{{"id":"{item}/{self._fields.names[at]}","excerpt":{excerpt},"truncated":{told}}}'
                )
        return found
