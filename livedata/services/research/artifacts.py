"""What was recorded while a Run was made, as it is answered (interface 2.9 and 2.10)."""

from __future__ import annotations

from livedata.model.diagnosis.recorded_research import ArtifactIndex, RunArtifact
from livedata.model.errors import NotFound
from livedata.model.ids import Micros, OwnerName, RunId
from livedata.model.run import KEPT_FOR
from livedata.services.kinds import choice as kinds
from livedata.services.run_view import RunView, viewing
from livedata.store.database.store import Database
from livedata.store.research import artifacts


def index(db: Database, owner: OwnerName, run_id: RunId) -> ArtifactIndex:
    """Interface 4.3: the newest artifacts of a Run, and its recipe; none of selectors."""
    with viewing(db, owner, run_id) as view:
        listed, more = artifacts.index(view.reader, view.id, _since(view))
        recipe = kinds.of_source(view.source).sent(view.source)
    return {"runId": view.run["id"], "recipe": recipe, "truncated": more, "artifacts": listed}


def artifact(db: Database, owner: OwnerName, run_id: RunId, artifact_id: bytes) -> RunArtifact:
    """Interface 4.3: one artifact with its body. Raises NotFound."""
    with viewing(db, owner, run_id) as view:
        shown = artifacts.get(view.reader, view.ref.id, view.id, artifact_id, _since(view))
    if shown is None:
        raise NotFound(
            "There is no such artifact: this Run has recorded none of that id, or 30 days have "
            "passed."
        )
    return shown


def _since(view: RunView) -> Micros:
    return Micros(view.reader.now() - KEPT_FOR)
