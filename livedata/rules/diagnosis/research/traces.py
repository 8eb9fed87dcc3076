"""Traces each entity of a research Run over the pages where it was met (interface 2.12).

An entity is absent only if a recorded fact stood in its way on every page, or if the output of
the Run was not accepted, or its own page gave its row up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

from livedata.messages.research_findings import fact_detail
from livedata.model.diagnosis.entities import EntityPath, Fact, Outcome
from livedata.model.diagnosis.recorded_research import RecordedResearch
from livedata.model.diagnosis.recorded_run import RowAtRun
from livedata.model.research.record import ResearchFact
from livedata.rules.diagnosis.entities import (
    LONGEST_DETAIL,
    STAGES,
    EntityTrace,
    Failure,
    make_path,
)
from livedata.rules.diagnosis.research import ties
from livedata.rules.diagnosis.research.pages import losing_facts, page_uri
from livedata.rules.diagnosis.research.ties import AMBIGUOUS, ResearchEntity

_TAKEN_UP: Final = frozenset({"row_supported", "row_kept", "row_merged"})
_WRITTEN: Final = frozenset({"row_written", "row_unchanged"})

Fate = Literal["kept", "stands", "lost"]
"""In the output of a Run; left in the table, since nothing showed that it is gone; or neither."""


class ResearchTrace(EntityTrace, frozen=True):
    """An entity with its way over each page, and the row that it came to, if it is in the table.

    A failure is what first stood in its way on a page. A `fate` is what the Run made of it, whether
    or not the Run was accepted.
    """

    entity: ResearchEntity
    paths: Sequence[EntityPath]
    fate: Fate


class _Ending(Struct, frozen=True):
    """What the end of the Run made of an entity, on its page if it is about one."""

    fact: Fact
    url: str | None = None


class _Step(Struct, frozen=True):
    """A fact on the way over a page: its stage, its words, and whether the way ends there."""

    stage: int
    answer: Fact
    blocks: bool


def trace_entities(recorded: RecordedResearch) -> list[ResearchTrace]:
    """The traces of all entities, by name."""
    labels = recorded.labels
    losing = losing_facts(recorded.facts)
    pages: defaultdict[str, list[_Step]] = defaultdict(list)
    for fact in recorded.facts:
        if fact.url is not None and fact.entity is None:
            answer = answer_fact(fact, labels)
            pages[fact.url].append(_Step(STAGES.index(fact.stage), answer, fact in losing))
    # Made once for a page: to encode an address takes longer than all else about a path.
    uris = {url: page_uri(url) for url in {fact.url for fact in recorded.facts} if url is not None}
    return [_trace(recorded, entity, pages, uris) for entity in ties.gather(recorded)]


def answer_fact(fact: ResearchFact, labels: Mapping[str, str]) -> Fact:
    """A recorded fact as answered, in words."""
    detail = fact_detail(fact.code, fact.detail, labels.get(fact.field or ""))
    return {
        "stage": fact.stage,
        "code": fact.code,
        "detail": detail[:LONGEST_DETAIL],
        "evidenceId": fact.evidence,
        "failure": fact.failure,
    }


def _trace(
    recorded: RecordedResearch,
    entity: ResearchEntity,
    pages: Mapping[str, Sequence[_Step]],
    uris: Mapping[str, str],
) -> ResearchTrace:
    facts = []
    labels = recorded.labels
    ways: dict[str, list[_Step]] = {}
    if entity.rests_on is not None and entity.rests_on in pages:
        ways[entity.rests_on] = []
    for fact in entity.facts:
        if fact.field is None:
            facts.append(answer_fact(fact, labels))
            if fact.url is not None:
                step = _Step(STAGES.index(fact.stage), facts[-1], fact.failure)
                ways.setdefault(fact.url, []).append(step)
    row = recorded.rows.get(entity.keys[0]) if len(entity.keys) == 1 else None
    ending = _ending(recorded, entity, row)
    if ending is not None:
        facts.append(ending.fact)
    paths = [
        _path(url, uris[url], [*pages.get(url, ()), *way], ending) for url, way in ways.items()
    ]
    outcome = _outcome(entity, ending, row, paths)
    shown = row if outcome == "present" else None
    failures = [
        Failure(path["firstFailure"], path["url"])
        for path in paths
        if path["firstFailure"] is not None
    ]
    traced = (entity.name, entity.aliases, outcome, facts, failures, shown)
    return ResearchTrace(*traced, entity, paths, _fate(entity, ending, row))


def _fate(entity: ResearchEntity, ending: _Ending | None, row: RowAtRun | None) -> Fate:
    if any(fact.code == "row_kept" for fact in entity.facts):
        return "kept"
    is_missed = ending is not None and ending.fact["code"] == "row_missing"
    return "stands" if is_missed and row is not None and row.presence == "present" else "lost"


def _path(url: str, uri: str, way: list[_Step], ending: _Ending | None) -> EntityPath:
    """The way of an entity over one page, by stage; `uri` is how its address is answered."""
    way.sort(key=lambda step: step.stage)
    facts = [step.answer for step in way]
    first = next((step.answer for step in way if step.blocks), None)
    if ending is not None:
        # Where nothing else stood in the way, it was the output of the Run that was not accepted.
        withheld = ending.fact["code"] == "output_withheld" and first is None
        if withheld or ending.url == url:
            facts.append(ending.fact)
            first = first or (ending.fact if ending.fact["failure"] else None)
    return make_path(uri, facts, first)


def _ending(
    recorded: RecordedResearch, entity: ResearchEntity, row: RowAtRun | None
) -> _Ending | None:
    """What the end of the Run made of an entity, as far as it has ended."""
    run = recorded.run
    if not recorded.accepted:
        offered = any(fact.code in _TAKEN_UP for fact in entity.facts)
        if not recorded.is_over or not offered:
            return None
        detail = f"{run['status']}: {run['error']}" if run["error"] else run["status"]
        return _Ending(_output("output_withheld", run["id"], detail))
    if row is None:
        return None
    kept = next((fact for fact in entity.facts if fact.code == "row_kept"), None)
    by_this_run = row.by == run["id"]
    if row.presence == "present":
        if kept is None:
            # Nothing showed that it is gone, so its row was left as it was.
            return _Ending(_output("row_missing", row.revision, "stands"))
        code = "row_written" if by_this_run else "row_unchanged"
        return _Ending(_output(code, row.revision), kept.url)
    return _Ending(_output("row_missing", row.revision), entity.rests_on) if by_this_run else None


def _output(code: str, evidence: str, detail: str = "") -> Fact:
    return {
        "stage": "output",
        "code": code,
        "detail": fact_detail(code, detail)[:LONGEST_DETAIL],
        "evidenceId": evidence,
        "failure": code not in _WRITTEN,
    }


def _outcome(
    entity: ResearchEntity,
    ending: _Ending | None,
    row: RowAtRun | None,
    paths: Sequence[EntityPath],
) -> Outcome:
    code = None if ending is None else ending.fact["code"]
    if code in _WRITTEN:
        return "present"
    if len(entity.keys) > 1 or any(fact.code == AMBIGUOUS for fact in entity.facts):
        return "ambiguous"
    gone = code == "row_missing" and row is not None and row.presence == "missing"
    if gone or code == "output_withheld":
        return "absent"
    return "absent" if paths and all(path["firstFailure"] for path in paths) else "unknown"
