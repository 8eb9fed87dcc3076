"""Questions to the model, and what is recorded of its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from livedata.model.problem import Problem, Remedy
from livedata.model.research.answers import CallFailure, CallUsage, Failed, ModelAnswer
from livedata.model.research.record import ArtifactKind, ResearchStep
from livedata.research.asking.budget import Limit, with_worst_case
from livedata.research.asking.prompts import HARNESS_VERSION
from livedata.research.journal import Journal, request_digest
from livedata.research.ports import Model, Place, Prices, Question, RunOver

_KINDS: Mapping[str, ArtifactKind] = {"plan": "planning.output", "rows": "extraction.output"}


class RecordedAnswer(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The body of an answer: all that a replay needs to answer alike.

    `refused` says that it was not asked because of a limit. `reused` is what an artifact says now.
    """

    answer: Any = None
    failure: CallFailure | None = None
    detail: str = ""
    model: str | None = None
    prices: Prices | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    usd: float | None = None
    reused: bool = False
    refused: Limit | None = None


class AskedQuestion(Struct, frozen=True):
    """A question with its digest, and its answer if there was one before, as it was recorded."""

    question: Question
    kind: ArtifactKind
    digest: str
    recalled: RecordedAnswer | None = None
    body: str = ""

    def with_requests(self, requests: int) -> AskedQuestion:
        """The same, to be asked at most so many times until the answer is valid."""
        return replace(self, question=replace(self.question, requests=requests))


class Answered(Struct, frozen=True):
    """What became of a question: JSON or a failure, its artifact, and what the call took.

    `usage` is None if no call was made; `detail` are the words that came with a failure.
    """

    answer: bytes | None
    failure: CallFailure | None
    artifact: str
    usage: CallUsage | None
    detail: str = ""


def unanswered(code: str, detail: str) -> Problem:
    """Why a model without an answer ends a Run, in the words of its server."""
    is_set_up_wrong = code in {"model_auth", "model_unavailable"}
    remedies = (Remedy("check_model"),) if is_set_up_wrong else ()
    return Problem(f"research.{code}", {"detail": detail}, remedies=remedies)


def question_digest(question: Question, model: str) -> str:
    """The digest of all that an answer depends on."""
    # The system text is the same for all, and the version of the harness has a digest of it.
    asked = (question.message, question.schema, question.most_output)
    return request_digest(HARNESS_VERSION, model, *asked)


async def prepare(journal: Journal, model: Model, question: Question) -> AskedQuestion:
    """A question, looked up among earlier answers."""
    kind = _KINDS[question.kind]
    digest = question_digest(question, model.name)
    body = await journal.recall(kind, digest, Place(question.source_url, question.window))
    recalled = None if body is None else msgspec.json.decode(body, type=RecordedAnswer)
    if recalled is not None and recalled.answer is None:
        recalled = None
    return AskedQuestion(question, kind, digest, recalled, body or "")


def keep_refusal(
    journal: Journal, model: Model, source_url: str, limit: Limit, step: ResearchStep
) -> str:
    """Record that a page was not asked about because of a limit, and by which prices."""
    body = RecordedAnswer(model=model.name, prices=model.prices, refused=limit)
    return journal.keep(
        step, "extraction.output", source_url, body, request_digest(limit), window=limit
    )


async def ask(journal: Journal, model: Model, asked: AskedQuestion, step: ResearchStep) -> Answered:
    """The answer, recorded with `step`. Raises RunOver if it may not be asked for any more."""
    if asked.recalled is not None:
        # The very same body, so that it is kept once.
        key = _keep(journal, asked, step, msgspec.Raw(asked.body.encode()), reused=True)
        return _answered(asked.recalled, key, None)
    try:
        answer = await model.ask(asked.question)
    except RunOver as over:
        if over.cut_off:
            untold = CallUsage("", model.name)
            step.calls.append(with_worst_case(untold, asked.question, model.prices))
        raise
    if answer.usage.requests:
        step.calls.append(with_worst_case(answer.usage, asked.question, model.prices))
    recorded = _recorded(answer, model)
    return _answered(recorded, _keep(journal, asked, step, recorded), answer.usage)


def _recorded(answer: ModelAnswer, model: Model) -> RecordedAnswer:
    body, usage = answer.body, answer.usage
    told: dict[str, Any] = {
        "model": model.name,
        "prices": model.prices,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "usd": usage.usd,
    }
    if isinstance(body, Failed):
        return RecordedAnswer(failure=body.code, detail=body.detail, **told)
    try:
        return RecordedAnswer(msgspec.json.decode(body), **told)
    except msgspec.DecodeError:
        return RecordedAnswer(failure="model_invalid_output", **told)


def _keep(
    journal: Journal,
    asked: AskedQuestion,
    step: ResearchStep,
    body: object,
    *,
    reused: bool = False,
) -> str:
    question = asked.question
    place = (question.source_url, body, asked.digest, question.window)
    return journal.keep(step, asked.kind, *place, reused=reused)


def _answered(recorded: RecordedAnswer, artifact: str, usage: CallUsage | None) -> Answered:
    answer = None if recorded.failure else msgspec.json.encode(recorded.answer)
    return Answered(answer, recorded.failure, artifact, usage, recorded.detail)
