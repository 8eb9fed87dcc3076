"""Rows as they are stored <-> as they are answered.

Stored: values by position, reasons and overrides by position, evidence as (observation, item).
Answered: everything by field id. :class:`Fields` knows which position is which field.
"""

from __future__ import annotations

import zlib
from base64 import b85decode, b85encode
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from livedata.extraction.cells import excerpt
from livedata.model.dataset import Column
from livedata.model.ids import format_uuid
from livedata.model.row import (
    CellOverride,
    CellOverrides,
    Cells,
    EvidenceRef,
    FieldEvidence,
    MissingReason,
    MissingReasons,
    ObservationEntry,
    Scalar,
)

_PACKED = "z:"
"""How packed text begins; no JSON does."""


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of a dataset by position, as lists: their ids, names, and who writes them."""

    ids: list[str]
    columns: dict[str, Column]
    names: list[str]
    collected: list[bool]
    """Whether the field is read from the source."""

    @property
    def positions(self) -> dict[str, int]:
        """Field id -> position."""
        return {field: position for position, field in enumerate(self.ids)}

    def entry(self, item: int, position: int) -> str:
        """The name of the entry for one cell: the item's number on its page, and the column."""
        return f"{item}/{self.names[position]}"


def fields_of(field_ids: str, columns: str) -> Fields:
    """The fields of a dataset from its two stored columns."""
    ids: list[str] = orjson.loads(field_ids)
    by_id: dict[str, Column] = {column["id"]: column for column in orjson.loads(columns)}
    placed = [by_id[field] for field in ids]
    return Fields(
        ids,
        by_id,
        [column["name"] for column in placed],
        [column["ownership"] == "collected" for column in placed],
    )


def dump(value: object) -> str:
    """JSON text as the store keeps it."""
    return orjson.dumps(value).decode()


def dump_positions(value: Mapping[int, object]) -> str | None:
    """Reasons or overrides by position; nothing is kept as nothing."""
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode() if value else None


def load_positions(text: str | None) -> dict[int, Any]:
    """The opposite of :func:`dump_positions`."""
    return {int(at): value for at, value in orjson.loads(text).items()} if text else {}


@dataclass(frozen=True, slots=True)
class StoredCells:
    """The cells of a row or revision as stored, by position; decoded once."""

    values: list[Scalar]
    reasons: dict[int, MissingReason]
    overrides: dict[int, Any]
    observation: bytes | None
    item: int | None

    def data(self, fields: Fields, *, pad: bool) -> Cells:
        """Field id -> value; with `pad`, every field of today, else those of the time."""
        missing = len(fields.ids) - len(self.values) if pad else 0
        return dict(zip(fields.ids, [*self.values, *[None] * missing], strict=False))

    def missing(self, fields: Fields) -> MissingReasons:
        """Field id -> reason."""
        return {fields.ids[at]: why for at, why in self.reasons.items()}

    def read(self, fields: Fields) -> list[int]:
        """The positions whose values were read; overridden ones have theirs with the override."""
        if self.observation is None:
            return []
        return [
            at
            for at, value in enumerate(self.values)
            if (value is not None or self.reasons.get(at) == "extraction_failed")
            and at not in self.overrides
            and fields.collected[at]
        ]

    def read_below(self) -> list[int]:
        """The positions of overrides whose source value was read."""
        if self.observation is None or not self.overrides:
            return []
        return [
            at
            for at, kept in self.overrides.items()
            if kept["value"] is not None or kept.get("reason") == "extraction_failed"
        ]

    def evidence(self, fields: Fields) -> FieldEvidence:
        """Field id -> where its value was read."""
        return {fields.ids[at]: self._refs(fields, at) for at in self.read(fields)}

    def overridden(self, fields: Fields) -> CellOverrides:
        """Field id -> the latest source value under a hand edit."""
        if not self.overrides:
            return {}
        found: CellOverrides = {}
        known = self.read_below()
        for at, kept in self.overrides.items():
            refs = self._refs(fields, at) if at in known else []
            override: CellOverride = {"value": kept["value"], "evidence": refs}
            if (reason := kept.get("reason")) is not None:
                override["missingReason"] = reason
            found[fields.ids[at]] = override
        return found

    def _refs(self, fields: Fields, position: int) -> list[EvidenceRef]:
        assert self.observation is not None
        assert self.item is not None
        return [
            {
                "observationId": format_uuid(self.observation),
                "entryId": fields.entry(self.item, position),
            }
        ]


def dump_entries(texts: Mapping[int, Mapping[int, str]]) -> str:
    """Item -> position -> text as read; a text that had to be cut stands in a list."""
    kept: dict[int, dict[int, str | list[str]]] = {}
    for item, by_position in texts.items():
        kept[item] = {}
        for position, text in by_position.items():
            cut, truncated = excerpt(text)
            kept[item][position] = [cut] if truncated else cut
    return orjson.dumps(kept, option=orjson.OPT_NON_STR_KEYS).decode()


class Entries:
    """Reads the entries of observations; what items of one shape have in common is known once."""

    def __init__(self, fields: Fields) -> None:
        self._names = fields.names
        self._shapes: dict[tuple[str, ...], tuple[frozenset[int], list[str]]] = {}

    def load(self, text: str, wanted: Mapping[int, Collection[int]]) -> list[ObservationEntry]:
        """The entries that are `wanted`, item -> positions, in the order of the page.

        A page may have far more than an answer refers to.
        """
        found: list[ObservationEntry] = []
        for item, by_position in orjson.loads(text).items():
            positions = wanted.get(int(item))
            if positions is None:
                continue
            shape = tuple(by_position)
            places, names = self._shapes.get(shape) or self._shape(shape)
            if not places.issubset(positions):
                by_position = {at: kept for at, kept in by_position.items() if int(at) in positions}
                names = [self._names[int(at)] for at in by_position]
            found += [
                {"id": f"{item}/{name}", "excerpt": kept, "truncated": False}
                if isinstance(kept, str)
                else {"id": f"{item}/{name}", "excerpt": kept[0], "truncated": True}
                for name, kept in zip(names, by_position.values(), strict=True)
            ]
        return found

    def _shape(self, shape: tuple[str, ...]) -> tuple[frozenset[int], list[str]]:
        """The positions that an item has, and the names of their fields."""
        places = [int(at) for at in shape]
        known = self._shapes[shape] = (frozenset(places), [self._names[at] for at in places])
        return known


def dump_packed(value: object) -> str:
    """JSON as text that is small: what a Run records repeats itself, and is kept for every Run."""
    return _PACKED + b85encode(zlib.compress(orjson.dumps(value), 9)).decode()


def load_packed(text: str) -> Any:
    """The opposite of :func:`dump_packed`; plain JSON is read too."""
    if not text.startswith(_PACKED):
        return orjson.loads(text)
    try:
        return orjson.loads(zlib.decompress(b85decode(text.removeprefix(_PACKED))))
    except zlib.error as error:
        raise ValueError(str(error)) from error
