"""What the columns of research hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from livedata.model.research.answers import Usage
from livedata.model.research.memory import Memory
from livedata.model.research.outcome import RowIdentity
from livedata.model.research.stored import StoredRecipe
from livedata.store.database.codec import JsonColumn
from livedata.store.research import bodies, facts
from livedata.store.research.stored_step import StoredStep

RECIPE = JsonColumn[StoredRecipe](StoredRecipe)
MEMORY = JsonColumn[Memory](Memory)
STEP = JsonColumn[StoredStep](StoredStep)
USAGE = JsonColumn[Usage](Usage)
IDENTITY = JsonColumn[RowIdentity](RowIdentity)

JSON: Mapping[str, Mapping[str, Callable[[str], object]]] = {
    "entities": {"identity": IDENTITY.load},
    "research_steps": {"step": STEP.load},
    "model_calls": {"took": USAGE.load},
}
"""Table -> its columns of JSON, and what loads them."""
PACKED: Mapping[str, Mapping[str, Callable[[bytes], object]]] = {
    "bodies": {"body": bodies.unpack},
    "research_steps": {"facts": facts.unpack},
}
"""Table -> its columns of compressed bytes, and what loads them."""
MOMENTS: Mapping[str, Sequence[str]] = {
    "bodies": ("used_at",),
    "artifacts": ("answered_at", "created_at"),
    "research_attempts": ("started_at",),
    "research_steps": ("started_at",),
    "model_calls": ("created_at",),
}
"""Table -> its columns of moments."""
