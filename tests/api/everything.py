"""A request for every endpoint that succeeds, and the world of data that it needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from livedata.model import ids
from livedata.services.research import recording
from tests import made
from tests.api.contract import ENDPOINTS
from tests.api.person import NOWHERE, Person
from tests.services.research_table import ResearchTable, answer, artifact_of, step_of

if TYPE_CHECKING:
    from werkzeug.test import TestResponse

    from livedata.store.database.store import Store

ROUTES = sorted(ENDPOINTS, key=lambda route: (route[1], route[0]))
NAMES = [" ".join(route) for route in ROUTES]


@dataclass
class World:
    """A dataset of a person with rows and Runs, and an id for each placeholder of a path."""

    person: Person
    path: str = field(init=False)
    ids: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.path = self.person.dataset("world")
        run = self.person.take(self.path)
        row = self.person.row(self.path)
        self.revision = row["revisionId"]
        self.title = self.person.fields(self.path)["title"]
        self.ids = {
            "datasetId": self.path.rpartition("/")[2],
            "rowId": row["id"],
            "runId": run,
            "artifactId": NOWHERE,
        }

    def path_of(self, template: str, **instead: str) -> str:
        """A path below /v1 with the ids of this world."""
        return template.removeprefix("/v1").format(**(self.ids | instead))

    def body_of(self, method: str, template: str) -> Any:
        """A body that the endpoint accepts, or None if it reads none."""
        if method == "POST" and template == "/v1/datasets":
            return made.declared("another")
        if template == "/v1/research/datasets":
            return {"name": "question", "prompt": "Which lamps are there?"}
        if method == "PATCH" and template.endswith("{rowId}"):
            values = {self.title: "Torch"}
            return {"expectedRevisionId": self.revision, "requestId": "r", "values": values}
        return {"question": "Which?"} if method == "PATCH" else None

    def ask(self, route: tuple[str, str], who: Person | None = None, **kwargs: Any) -> TestResponse:
        """Send the request that succeeds, as `who`; the answer."""
        method, template = route
        body = self.body_of(method, template)
        sent = {"json": body} if body is not None else {}
        return (who or self.person).ask(method, self.path_of(template), **(sent | kwargs))


def record_artifact(store: Store) -> dict[str, str]:
    """The ids of a Run of Alice, and of the artifact that it has recorded."""
    table = ResearchTable(store, "alice")
    attempt = table.begin()
    table.remember(attempt)
    artifact = artifact_of(answer())
    recording.record(store, attempt, step_of("extract", artifacts=[artifact]))
    return {"runId": ids.format_uuid(attempt.run), "artifactId": artifact.id}
