"""The artifacts of a Run, as answered (interface 2.9, 4.3)."""

from __future__ import annotations

from typing import Annotated, TypedDict

from livedata.model.research.stored import SentRecipe
from livedata.model.wire import NonNegativeInt, SchemaKeyword, Timestamp, Uri, Uuid


class RunArtifact(TypedDict):
    """Interface 2.9: one body recorded while a Run was made; null in the index."""

    id: Uuid
    attemptId: Uuid
    stepId: Uuid
    kind: str
    sourceUrl: Uri
    sha256: str
    bytes: NonNegativeInt
    truncated: bool
    createdAt: Timestamp
    body: str | None


class ArtifactIndex(TypedDict):
    """Interface 4.3: what was recorded of a Run; the recipe of a research Run."""

    runId: Uuid
    recipe: SentRecipe | None
    truncated: bool
    artifacts: Annotated[list[RunArtifact], SchemaKeyword("maxItems", 200)]
