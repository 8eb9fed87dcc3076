"""Rows, their evidence and their history, as answered (interface 2.4 to 2.7) and as compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Annotated, Final, Literal, NamedTuple, NotRequired, TypedDict, get_args

from msgspec import Meta, Struct

from livedata.model.dataset import Schema
from livedata.model.ids import Micros, ObservationId
from livedata.model.wire import NonNegativeInt, PositiveInt, SchemaKeyword, Timestamp, Uri, Uuid

# JSON is written with integers of 64 bits at most, so none that is larger was ever written.
Scalar = str | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | float | bool | None
Presence = Literal["present", "missing"]
RowStatus = Literal["new", "changed", "unchanged", "gone"]
Alias = Annotated[str, SchemaKeyword("minLength", 1), SchemaKeyword("maxLength", 200)]
MissingReason = Literal["unknown", "not_found", "not_applicable", "extraction_failed"]
Origin = Literal["collection", "user", "migration"]
RevisionKind = Literal["created", "updated", "missing", "returned", "baseline"]

REVISION_KINDS: Final[tuple[RevisionKind, ...]] = get_args(RevisionKind)
MAX_NUMBER: Final = 2**53
"""The largest magnitude of a number in a cell: JSON's readers keep larger ones only roughly."""
MAX_REQUEST_ID: Final = 128
"""The longest request id of an edit, in characters."""

Cells = dict[Uuid, Scalar]
"""Field id -> value."""
MissingReasons = dict[Uuid, MissingReason]
"""Field id -> why the collected cell is null."""
Reference = tuple[ObservationId, int]
"""An observation (one page as one Run saw it), and the number of an item on it."""


class RowFilter(Struct, frozen=True):
    """Which rows of a dataset are asked for; without anything, all of them."""

    since: Micros | None = None
    """Only rows that were updated then or later."""
    statuses: Sequence[str] = ()
    unreadable: bool = False
    """Only rows with a cell of which the text could not be read."""
    edited: bool = False
    """Only rows with a hand edit."""


ALL_ROWS: Final = RowFilter()


class ResearchRowIdentity(TypedDict):
    """Interface 2.4: what a researched row stands for."""

    version: Literal[1]
    key: Annotated[str, SchemaKeyword("pattern", "^entity:[0-9a-f]{64}$")]
    kind: Literal["company", "person", "product", "event", "trend", "other"]
    anchor: Annotated[str, SchemaKeyword("minLength", 1), SchemaKeyword("maxLength", 4096)]
    aliases: Annotated[list[Alias], SchemaKeyword("minItems", 1), SchemaKeyword("maxItems", 100)]


class EvidenceRef(TypedDict):
    """Interface 2.5: one entry of one observation."""

    observationId: Uuid
    entryId: str


FieldEvidence = dict[Uuid, list[EvidenceRef]]


class CellOverride(TypedDict):
    """Interface 2.5: the latest source value of a cell that was edited by hand."""

    value: Scalar
    evidence: list[EvidenceRef]
    missingReason: NotRequired[MissingReason]


CellOverrides = dict[Uuid, CellOverride]


class ObservationEntry(TypedDict):
    """Interface 2.5: the text of one cell as read, at most 2,048 UTF-8 bytes of it."""

    id: str
    excerpt: str
    truncated: bool


class SourceObservation(TypedDict):
    """Interface 2.5: one page as one Run saw it."""

    # Optional in the interface, but always sent by this service.
    id: Uuid
    datasetId: NotRequired[Uuid]
    runId: NotRequired[Uuid]
    localId: NotRequired[str]
    sourceKey: NotRequired[str]
    scopeKey: NotRequired[str]
    pageKey: NotRequired[str]
    method: NotRequired[Literal["deterministic", "model"]]
    sourceUrl: Uri
    observedAt: Timestamp
    contentDigest: str
    entries: list[ObservationEntry]


class Row(TypedDict):
    """Interface 2.4: a row as listed."""

    id: Uuid
    rowKey: str
    identity: ResearchRowIdentity | None
    data: Cells
    revisionId: Uuid | None
    presence: Presence
    missingReasons: MissingReasons
    status: RowStatus
    firstSeenRunId: Uuid
    lastSeenRunId: Uuid
    sourceUrl: Uri
    observedAt: Timestamp
    updatedAt: Timestamp


class RowDetail(Row):
    """Interface 2.5: a single row with its evidence."""

    datasetId: Uuid
    evidence: FieldEvidence
    overrides: CellOverrides
    observations: list[SourceObservation]


class RowRevision(TypedDict):
    """Interface 2.6: the whole row after one change."""

    id: Uuid
    datasetId: Uuid
    rowId: Uuid
    sequence: PositiveInt
    schemaVersion: PositiveInt
    previousRevisionId: Uuid | None
    origin: Origin
    kind: RevisionKind
    changedFieldIds: list[Uuid]
    data: Cells
    evidence: FieldEvidence
    missingReasons: MissingReasons
    presence: Presence
    createdAt: Timestamp
    runId: Uuid | None
    actorId: Uuid | None
    requestId: str | None
    requestHash: str | None
    overrides: CellOverrides


class Change(RowRevision):
    """Interface 2.7: a revision in the feed, with what stood before it."""

    # Null for the first revision of a row, else the whole row before this one.
    before: Cells | None
    beforeOverrides: NotRequired[CellOverrides]


class ChangePage(TypedDict):
    """Interface 2.7: a fixed window of the history of a dataset."""

    data: Annotated[list[Change], SchemaKeyword("maxItems", 100)]
    schemas: list[Schema]
    observations: list[SourceObservation]
    through: NonNegativeInt
    nextAfter: NonNegativeInt | None


# A plain class, and not the shape of the wire: the command line makes one too, and does not pay for
# the import of what validates the bodies of requests.
class RowEdit(Struct, frozen=True):
    """Interface 4.2: cells to set or to give back to the source; None is what is not asked for."""

    expected_revision_id: str
    request_id: str
    values: Mapping[str, Scalar] | None = None
    reset_field_ids: Sequence[str] | None = None


class RowEvidence(NamedTuple):
    """All cells of a row were read from one item of one page."""

    observation: ObservationId
    item: int

    def references(self, _position: int) -> Sequence[Reference]:
        """Where the cell at a position was read, if it was read."""
        return (self,)

    def all_references(self) -> Iterable[Reference]:
        """Everything that the row refers to."""
        return (self,)


class CellEvidence(NamedTuple):
    """Each cell has references of its own; a cell that nobody read has none."""

    by_position: Mapping[int, Sequence[Reference]]

    def references(self, position: int) -> Sequence[Reference]:
        """Where the cell at a position was read."""
        return self.by_position.get(position, ())

    def all_references(self) -> Iterable[Reference]:
        """Everything that the row refers to."""
        return chain.from_iterable(self.by_position.values())


Evidence = RowEvidence | CellEvidence
NO_EVIDENCE = CellEvidence({})
