"""A Run as agents understand it: how it ended, why, and who can do what about it."""

from __future__ import annotations

from typing import Final

from livedata.hints import Subject, hints
from livedata.mcp.access import DatasetAccess, OpenDataset
from livedata.mcp.answers import Answer, cut_sentence, cut_text
from livedata.messages.render import sentence
from livedata.model.errors import NotFound
from livedata.model.ids import RunId, format_uuid
from livedata.model.problem import Problem
from livedata.services import explanation, queries
from livedata.services.run_view import viewing

_CAUSES: Final = 5
_FACTS: Final = 5


def explain_run(access: DatasetAccess, *, dataset: str, run: str | None) -> Answer:
    """Why a Run of a dataset ended as it did; the last one, if none is named."""
    with access.opened(dataset) as opened:
        run_id = _find(opened, run)
        about = opened.about()
        with viewing(opened.db, opened.owner, run_id) as view:
            explained = explanation.explain(view)
            ended = view.run["completedAt"]
    subject = Subject(opened.owner, explained.dataset, explained.run)
    causes = explained.causes[:_CAUSES]
    commands = [hint for cause in causes for hint in hints(cause.remedies, subject)]
    return {
        **about,
        "from_websites": True,
        "run": explained.run,
        "status": explained.status,
        "endedAt": ended,
        "sentence": cut_sentence(explained.error),
        "causes": [_cause(cause) for cause in causes],
        "forOwner": [cut_text(command, 400) for command in dict.fromkeys(commands)],
    }


def _find(opened: OpenDataset, given: str | None) -> RunId:
    name = opened.dataset()["name"]
    run = queries.find_run(opened.db, opened.owner, name if given is None else given)
    ours = queries.run(opened.db, opened.owner, run)["datasetId"]
    if ours != format_uuid(opened.id):
        raise NotFound(f"{name!r} has no Run {given!r}; leave run out for its last one.")
    return run


def _cause(cause: Problem) -> Answer:
    facts = [sentence(fact) for fact in cause.evidence[:_FACTS]]
    return {"message": cut_sentence(sentence(cause)), "evidence": [*map(cut_sentence, facts)]}
