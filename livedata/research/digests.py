"""Digests: of what was asked, and of what a Run found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

import msgspec

from livedata.model.research.outcome import ResearchedRow
from livedata.model.research.record import ResearchFact


def request_digest(*asked: object) -> str:
    """The digest by which the same request is known again."""
    return sha256(msgspec.json.encode(asked)).hexdigest()


def outcome_digest(rows: Sequence[ResearchedRow], facts: Iterable[ResearchFact]) -> str:
    """The digest of rows and facts, without ids and times, in whichever order facts came."""
    found = [_described(row) for row in rows]
    told = sorted(msgspec.json.encode(_told(fact)) for fact in facts if fact.stage != "output")
    return sha256(b"\n".join([*(msgspec.json.encode(row) for row in found), *told])).hexdigest()


def _described(row: ResearchedRow) -> list[object]:
    return [row.key, row.page, row.number, row.cells, row.identity, row.minted]


def _told(fact: ResearchFact) -> list[object]:
    # Ids of artifacts and steps are another Run's; the place of an offer in its answer is not.
    place = None if fact.candidate is None else fact.candidate.rpartition("/")[2]
    where = [fact.url, fact.entity, fact.key, fact.field, place]
    return [fact.stage, fact.code, fact.failure, fact.detail, where]
