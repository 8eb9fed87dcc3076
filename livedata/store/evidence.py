"""Where cells were read, as it is stored and as it is answered.

A row whose cells all come from one item of one page keeps that pair in two columns
(``observation_id``, ``item``); any other row keeps references per cell, as JSON in ``evidence``.
An entry of an observation is named by item and column, so no name is stored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import orjson
from msgspec import Struct

from livedata.extraction.cells import excerpt
from livedata.model.harvest import PageRead
from livedata.model.ids import (
    DatasetId,
    ObservationId,
    RunId,
    format_uuid,
    new_id,
)
from livedata.model.row import (
    CellEvidence,
    CellOverride,
    CellOverrides,
    Cells,
    Evidence,
    EvidenceRef,
    FieldEvidence,
    MissingReason,
    MissingReasons,
    Reference,
    RowEvidence,
    Scalar,
)
from livedata.store.database import codec
from livedata.store.database.backend import Writer
from livedata.store.database.codec import Fields
from livedata.store.database.statements import insert

_ADD_OBSERVATION = insert(
    "observations",
    *("id", "dataset_id", "run_id", "source_url", "observed_at", "digest", "entries"),
)


def decode(observation: ObservationId | None, item: int | None, cells: str | None) -> Evidence:
    """The evidence of a row or revision from its three columns."""
    if observation is not None and item is not None:
        return RowEvidence(observation, item)
    return CellEvidence(
        {
            # JSON has no bytes: ids stand in it as hex.
            position: [(ObservationId(bytes.fromhex(page)), number) for page, number in references]
            for position, references in codec.load_positions(codec.EVIDENCE, cells).items()
        }
    )


def encode(evidence: Evidence) -> dict[str, object]:
    """The three columns of a row or revision."""
    if isinstance(evidence, RowEvidence):
        return {"observation_id": evidence.observation, "item": evidence.item, "evidence": None}
    cells = {
        position: [(observation.hex(), item) for observation, item in references]
        for position, references in sorted(evidence.by_position.items())
    }
    return {"observation_id": None, "item": None, "evidence": codec.dump_positions(cells)}


class StoredCells(Struct, frozen=True):
    """The cells of a row or revision as stored, by position; decoded once."""

    values: list[Scalar]
    reasons: dict[int, MissingReason]
    overrides: dict[int, Any]
    evidence: Evidence

    def data(self, fields: Fields, *, pad: bool) -> Cells:
        """Field id -> value; with `pad`, every field of today, else those of the time."""
        # Fields are only ever added at the end, so a shorter list is an older one.
        missing = len(fields.ids) - len(self.values) if pad else 0
        return fields.cells([*self.values, *[None] * missing])

    def missing(self, fields: Fields, *, pad: bool) -> MissingReasons:
        """Field id -> reason, of every field of today with `pad`, else of those of the time."""
        width = len(fields.ids) if pad else len(self.values)
        return fields.reasons(self.values, self.reasons, self.overrides, width)

    def read(self, fields: Fields) -> list[int]:
        """The positions whose shown values were read from the source."""
        return [
            position
            for position, value in enumerate(self.values)
            # A text that could not be typed was read as well, and a person wants to see it. What
            # was read for an overridden cell belongs to its override.
            if (value is not None or self.reasons.get(position) == "extraction_failed")
            and position not in self.overrides
            and position not in fields.hidden
            and fields.collected[position]
            and self.evidence.references(position)
        ]

    def read_below(self, fields: Fields) -> list[int]:
        """The positions of overrides whose source value was read."""
        return [
            position
            for position, kept in self.overrides.items()
            if position not in fields.hidden
            and (kept["value"] is not None or kept.get("reason") == "extraction_failed")
            and self.evidence.references(position)
        ]

    def field_evidence(self, fields: Fields) -> FieldEvidence:
        """Field id -> where its value was read."""
        return {
            fields.ids[position]: self.references(fields, position)
            for position in self.read(fields)
        }

    def overridden(self, fields: Fields) -> CellOverrides:
        """Field id -> the latest source value under a hand edit."""
        if not self.overrides:
            return {}
        below = self.read_below(fields)
        answers: CellOverrides = {}
        for position, kept in self.overrides.items():
            if position in fields.hidden:
                continue
            references = self.references(fields, position) if position in below else []
            override: CellOverride = {"value": kept["value"], "evidence": references}
            if kept["value"] is None:
                override["missingReason"] = kept.get("reason", "unknown")
            answers[fields.ids[position]] = override
        return answers

    def references(self, fields: Fields, position: int) -> list[EvidenceRef]:
        """The entries that the cell at a position was read from."""
        return [
            {"observationId": format_uuid(observation), "entryId": fields.entry(item, position)}
            for observation, item in self.evidence.references(position)
        ]


def stored_cells(columns: Sequence[Any]) -> StoredCells:
    """The cells from the columns data, reasons, overrides, observation_id, item, evidence."""
    data, reasons, overrides, observation, item, cells = columns
    return StoredCells(
        codec.VALUES.load(data),
        codec.load_positions(codec.REASONS, reasons),
        codec.load_positions(codec.OVERRIDES, overrides),
        decode(observation, item, cells),
    )


class EvidenceSelection(defaultdict[ObservationId, dict[int, frozenset[int]]]):
    """What an answer refers to: observation -> item -> positions."""

    def __init__(self) -> None:
        super().__init__(dict)

    def add(self, fields: Fields, cells: StoredCells, positions: Iterable[int]) -> None:
        """The answer refers to where `positions` of these cells were read."""
        if isinstance(cells.evidence, RowEvidence):
            self.refer(cells.evidence, frozenset(positions))
            return
        for position in positions:
            for reference in cells.evidence.references(position):
                self.refer(reference, frozenset({fields.quoted[position]}))

    def refer(self, reference: Reference, positions: frozenset[int]) -> None:
        """The answer refers to these `positions` of an item."""
        if not positions:
            return
        observation, item = reference
        # Most items are referred to once: then the set is taken as it is, and shared by many rows.
        items = self[observation]
        items[item] = items[item] | positions if item in items else positions


Texts = dict[int, dict[int, str]]
"""Item -> position -> text as read."""


def observe(
    writer: Writer, dataset: DatasetId, run: RunId | None, pages: Iterable[tuple[PageRead, Texts]]
) -> dict[int, ObservationId]:
    """Keep pages with what was read on them; page number -> the id of its observation."""
    kept = [(ObservationId(new_id()), page, texts) for page, texts in pages]
    writer.many(
        _ADD_OBSERVATION,
        (
            {
                "id": observation,
                "dataset_id": dataset,
                "run_id": run,
                "source_url": page.final_url,
                "observed_at": page.at,
                "digest": bytes.fromhex(page.digest),
                "entries": _dump_entries(texts),
            }
            for observation, page, texts in kept
        ),
    )
    return {page.number: observation for observation, page, _ in kept}


def _dump_entries(texts: Texts) -> str:
    # Few texts are cut: a list around those costs less than a flag with each.
    kept: dict[int, dict[int, str | list[str]]] = {}
    for item, by_position in texts.items():
        kept[item] = {}
        for position, text in by_position.items():
            cut, truncated = excerpt(text)
            kept[item][position] = [cut] if truncated else cut
    return orjson.dumps(kept, option=orjson.OPT_NON_STR_KEYS).decode()
