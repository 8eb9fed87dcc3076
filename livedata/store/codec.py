"""Rows as they are stored <-> as they are answered.

Stored: values by position, reasons and overrides by position, evidence as (observation, item).
Answered: everything by field id. :class:`Fields` knows which position is which field.
"""

from __future__ import annotations

import zlib
from base64 import b85decode, b85encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from livedata.model.dataset import Column
from livedata.model.row import (
    CellOverride,
    CellOverrides,
    Cells,
    EvidenceRef,
    FieldEvidence,
    MissingReasons,
    ObservationEntry,
    Scalar,
)
from livedata.rules.cells import excerpt

_PACKED = "z:"
"""How packed text begins; no JSON does."""


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of a dataset: `ids` by position, and the column of each."""

    ids: list[str]
    columns: dict[str, Column]

    @property
    def positions(self) -> dict[str, int]:
        """Field id -> position."""
        return {field: position for position, field in enumerate(self.ids)}

    def collected(self, position: int) -> bool:
        """Whether the field at `position` is read from the source."""
        return self.columns[self.ids[position]]["ownership"] == "collected"

    def entry(self, item: int, position: int) -> str:
        """The name of the entry for one cell: the item's number on its page, and the column."""
        return f"{item}/{self.columns[self.ids[position]]['name']}"


def fields_of(field_ids: str, columns: str) -> Fields:
    """The fields of a dataset from its two stored columns."""
    return Fields(
        orjson.loads(field_ids), {column["id"]: column for column in orjson.loads(columns)}
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
    """The cells of a row or revision as stored."""

    data: str
    reasons: str | None
    overrides: str | None
    observation: str | None
    item: int | None

    def values(self, fields: Fields, *, pad: bool) -> Cells:
        """Field id -> value; with `pad`, every field of today, else those of the time."""
        values: list[Scalar] = orjson.loads(self.data)
        if pad:
            values += [None] * (len(fields.ids) - len(values))
        return dict(zip(fields.ids, values, strict=False))

    def missing(self, fields: Fields) -> MissingReasons:
        """Field id -> reason."""
        return {fields.ids[at]: why for at, why in load_positions(self.reasons).items()}

    def evidence(self, fields: Fields) -> FieldEvidence:
        """Field id -> where its value was read; overridden cells keep theirs with the override."""
        if self.observation is None:
            return {}
        values: Sequence[Scalar] = orjson.loads(self.data)
        covered, reasons = load_positions(self.overrides), load_positions(self.reasons)
        return {
            fields.ids[at]: self._refs(fields, at)
            for at, value in enumerate(values)
            if at not in covered
            and (value is not None or reasons.get(at) == "extraction_failed")
            and fields.collected(at)
        }

    def overridden(self, fields: Fields) -> CellOverrides:
        """Field id -> the latest source value under a hand edit."""
        if self.overrides is None:
            return {}
        found: CellOverrides = {}
        for at, kept in load_positions(self.overrides).items():
            value, reason = kept["value"], kept.get("reason")
            known = value is not None or reason == "extraction_failed"
            refs = self._refs(fields, at) if known and self.observation else []
            override: CellOverride = {"value": value, "evidence": refs}
            if reason is not None:
                override["missingReason"] = reason
            found[fields.ids[at]] = override
        return found

    def _refs(self, fields: Fields, position: int) -> list[EvidenceRef]:
        assert self.observation is not None
        assert self.item is not None
        return [{"observationId": self.observation, "entryId": fields.entry(self.item, position)}]


def dump_entries(texts: Mapping[int, Mapping[int, str]]) -> str:
    """Item -> position -> text as read; a text that had to be cut stands in a list."""
    kept: dict[int, dict[int, str | list[str]]] = {}
    for item, by_position in texts.items():
        kept[item] = {}
        for position, text in by_position.items():
            cut, truncated = excerpt(text)
            kept[item][position] = [cut] if truncated else cut
    return orjson.dumps(kept, option=orjson.OPT_NON_STR_KEYS).decode()


def load_entries(text: str, fields: Fields, wanted: set[str]) -> list[ObservationEntry]:
    """The entries of an observation that are `wanted` by name, in the order of the page."""
    found: list[ObservationEntry] = []
    items = {name.partition("/")[0] for name in wanted}
    for item, by_position in orjson.loads(text).items():
        if item not in items:  # a page may have far more than an answer names
            continue
        for position, kept in by_position.items():
            name = fields.entry(int(item), int(position))
            if name in wanted:
                cut = isinstance(kept, list)
                found.append({"id": name, "excerpt": kept[0] if cut else kept, "truncated": cut})
    return found


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
