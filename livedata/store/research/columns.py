"""What the columns of research hold."""

from __future__ import annotations

from livedata.model.research.answers import Usage
from livedata.model.research.memory import Memory
from livedata.model.research.outcome import RowIdentity
from livedata.model.research.stored import StoredRecipe
from livedata.store.database.codec import JsonColumn
from livedata.store.research.stored_step import StoredStep

RECIPE = JsonColumn[StoredRecipe](StoredRecipe)
MEMORY = JsonColumn[Memory](Memory)
STEP = JsonColumn[StoredStep](StoredStep)
USAGE = JsonColumn[Usage](Usage)
IDENTITY = JsonColumn[RowIdentity](RowIdentity)
