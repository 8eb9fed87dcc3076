"""What a Run records: facts by their codes, bodies by what was asked, and the digests of both."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any

import msgspec

from livedata.model.research.outcome import ResearchedRow
from livedata.model.research.record import Artifact, ArtifactKind, ResearchFact, ResearchStep
from livedata.model.run import Phase, Stage, StepStatus
from livedata.research.ports import Place, Recorder, RunOver

_CODES: Mapping[Stage, Sequence[str]] = {
    "discovery": ("explicit_source", "known_source", "candidate_found", "search_failed*"),
    "selection": (
        *("page_selected", "duplicate_url*", "excluded_domain*", "page_budget*", "unsafe_target*"),
    ),
    "retrieval": ("page_read", "text_cut"),
    "extraction": (
        *("row_offered", "no_rows_offered", "window_split", "answer_reused", "page_checked"),
        *("model_invalid_output*", "model_output_cut*", "model_refused*", "model_auth*"),
        *("model_unavailable*", "token_limit*", "cost_limit*", "deadline*", "cancelled*"),
        *("row_cap_reached*", "mentioned_not_offered*"),
    ),
    "validation": (
        *("row_supported", "invalid_name*", "name_quote_not_on_page*", "name_not_in_quote*"),
        *("scope_missing*", "quote_not_on_page*", "digits_not_in_quote*"),
    ),
    "reconciliation": (
        *("row_kept", "row_merged", "cell_conflict", "identity_ambiguous*", "over_row_limit*"),
    ),
    "output": ("outcome_digest",),
}
"""The codes of each stage (interface 2.12); those marked * stood in the way."""
_STAGES = {code.rstrip("*"): stage for stage, codes in _CODES.items() for code in codes}
_FAILURES = {code[:-1] for codes in _CODES.values() for code in codes if code.endswith("*")}


def fact(code: str, evidence: str, **about: Any) -> ResearchFact:
    """A fact with the stage that its code belongs to."""
    if code.startswith("read_"):
        return ResearchFact("retrieval", code, evidence, failure=True, **about)
    return ResearchFact(_STAGES[code], code, evidence, failure=code in _FAILURES, **about)


class Journal:
    """The steps of an attempt, and all facts of those that have ended."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.facts: list[ResearchFact] = []

    def begin(self, phase: Phase, url: str | None = None) -> ResearchStep:
        """A step that begins now."""
        return self._recorder.begin(phase, url)

    async def end(self, step: ResearchStep, status: StepStatus = "succeeded") -> None:
        """Keep a step, which has ended, with its facts."""
        step.status = status
        self.facts += step.facts
        await self._recorder.end(step)

    @asynccontextmanager
    async def cancelled_if_over(self, step: ResearchStep) -> AsyncIterator[None]:
        """End a step as cancelled if the Run is over before it has done its work."""
        try:
            yield
        except RunOver:
            await self.end(step, "cancelled")
            raise

    async def recall(self, kind: ArtifactKind, digest: str, place: Place) -> str | None:
        """The answer to just this request, if there was one."""
        return await self._recorder.recall(kind, digest, place)

    def keep(
        self,
        step: ResearchStep,
        kind: ArtifactKind,
        source_url: str,
        body: object,
        digest: str,
        window: str = "",
        *,
        reused: bool = False,
    ) -> str:
        """Record a body with a step; its id, by which facts speak of it."""
        text = msgspec.json.encode(body).decode()
        key = self._recorder.new_id()
        artifact = Artifact(key, kind, source_url, text, digest, window, reused)
        step.artifacts.append(artifact)
        return artifact.id


def request_digest(*asked: object) -> str:
    """The digest by which the same request is known again."""
    return sha256(msgspec.json.encode(asked)).hexdigest()


def outcome_digest(rows: Sequence[ResearchedRow], facts: Iterable[ResearchFact]) -> str:
    """The digest of rows and facts, without ids and times, in whichever order facts came."""
    described = [_described(row) for row in rows]
    # A fact of the output has this very digest, and others come once the Run has ended.
    told = sorted(msgspec.json.encode(_told(fact)) for fact in facts if fact.stage != "output")
    return sha256(b"\n".join([*(msgspec.json.encode(row) for row in described), *told])).hexdigest()


def _described(row: ResearchedRow) -> list[object]:
    return [row.key, row.page, row.number, row.cells, row.identity, row.minted]


def _told(fact: ResearchFact) -> list[object]:
    # Ids of artifacts and steps are another Run's; the place of an offer in its answer is not.
    place = None if fact.candidate is None else fact.candidate.rpartition("/")[2]
    where = [fact.url, fact.entity, fact.key, fact.field, place]
    return [fact.stage, fact.code, fact.failure, fact.detail, where]
