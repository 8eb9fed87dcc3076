"""A Run as agents understand it: how it ended, why, and who can do what about it."""

from __future__ import annotations

from typing import Final

from livedata.hints import Subject, hints
from livedata.mcp.access import DatasetAccess, OpenDataset, of_agents
from livedata.mcp.answers import Answer, cut_sentence, cut_text, fitting
from livedata.messages.render import sentence
from livedata.model.errors import NotFound
from livedata.model.ids import RunId, raw_id
from livedata.model.problem import Problem, Remedy
from livedata.services import explanation, queries
from livedata.services.run_view import viewing
from livedata.store import runs

_CAUSES: Final = 5
_FACTS: Final = 5


def explain_run(access: DatasetAccess, *, dataset: str, run: str | None) -> Answer:
    """Why a Run of a dataset ended as it did; the last one, if none is named."""
    with access.opened(dataset) as opened:
        about = opened.about()
        run_id = _find(opened, run)
        if run_id is None:
            return {**about, **_without_run(opened)}
        with viewing(opened.db, opened.owner, run_id) as view:
            explained = explanation.explain(view)
            ended = view.run["completedAt"]
    subject = Subject(opened.owner, explained.dataset, explained.run)
    causes = explained.causes[:_CAUSES]
    commands = [
        hint for cause in causes for hint in hints(of_agents(access, cause.remedies), subject)
    ]

    def build(most: int) -> Answer:
        return {
            **about,
            "from_websites": True,
            "run": explained.run,
            "status": explained.status,
            "endedAt": ended,
            "sentence": cut_sentence(explained.error),
            "causes": [_cause(cause, most) for cause in causes],
            "forOwner": [cut_text(command, 400) for command in dict.fromkeys(commands)],
        }

    return fitting(build)


def _without_run(opened: OpenDataset) -> Answer:
    """What is said of a dataset that has had no Run."""
    subject = Subject(opened.owner, opened.dataset()["name"])
    return {
        "from_websites": True,
        "run": None,
        "status": "none",
        "endedAt": None,
        "sentence": f"{opened.name!r} has had no Run yet.",
        "causes": [],
        "forOwner": [cut_text(hint, 400) for hint in hints((Remedy("run_first"),), subject)],
    }


def _find(opened: OpenDataset, given: str | None) -> RunId | None:
    """The Run of an id, or the last one; None if there is none yet. Raises NotFound."""
    if given is None:
        newest = queries.runs(opened.db, opened.owner, opened.id, 1)
        return RunId(raw_id(newest[0]["id"])) if newest else None
    # Only of this dataset: of others an agent is not even told that they are there.
    matches = runs.of_dataset_by_ends(opened.reader, opened.id, given)
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise NotFound(f"{given!r} is the beginning of {len(matches)} Run ids; write more of it.")
    raise NotFound(f"{opened.name!r} has no Run {given!r}; leave run out for its last one.")


def _cause(cause: Problem, most: int) -> Answer:
    facts = [cut_sentence(sentence(fact), most) for fact in cause.evidence[:_FACTS]]
    return {"message": cut_sentence(sentence(cause), most), "evidence": facts}
