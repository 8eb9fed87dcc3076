"""A research Run that searched, read a page, was refused another, and dropped a name."""

from __future__ import annotations

from collections.abc import Sequence

from livedata.model.research.answers import CallUsage
from livedata.model.research.record import ResearchFact
from livedata.model.run import Run
from livedata.services.research import recording
from tests.services.research_table import (
    ACME,
    BOLT,
    PAGE,
    ResearchTable,
    artifact_of,
    found_on,
    key_of,
    step_of,
)

BLOCKED = "https://blocked.example/"
SEARCH = (
    '{"query":"companies that make lamps","depth":"basic","excludeDomains":[],"credits":1.0,'
    f'"results":[{{"rank":1,"url":"{PAGE}","title":"Makers","score":0.5}},'
    f'{{"rank":2,"url":"{BLOCKED}","title":"","score":null}}]}}'
)
TEXT = f'{{"url":"{PAGE}","text":"Acme of Bern and Bolt of Basel, after Zed Lamps of old."}}'


def make_run(
    table: ResearchTable, more: Sequence[ResearchFact] = (), *, fresh: bool = False
) -> Run:
    """A Run that searched, read one page, was refused the other, and dropped a name."""
    attempt = table.begin(fresh=fresh)
    table.remember(attempt)
    search = artifact_of(SEARCH, "search.results")
    page = artifact_of(TEXT, "page.text")
    steps = [
        step_of(
            "search",
            artifacts=[search],
            calls=[CallUsage("tavily", search_credits=1.0)],
            facts=[
                ResearchFact("discovery", "candidate_found", search.id, url=url)
                for url in (PAGE, BLOCKED)
            ],
        ),
        step_of(
            "read",
            artifacts=[page],
            calls=[],
            facts=[
                ResearchFact("selection", "page_selected", page.id, url=PAGE),
                ResearchFact("selection", "page_selected", page.id, url=BLOCKED),
                ResearchFact("retrieval", "page_read", page.id, url=PAGE),
                ResearchFact("retrieval", "read_forbidden", page.id, failure=True, url=BLOCKED),
            ],
        ),
        step_of("extract", facts=[_offer("extraction", "row_offered", each) for each in NAMES]),
        step_of("preview", calls=[], facts=[*more, *_judged(), *_kept()]),
    ]
    for step in steps:
        recording.record(table.store, attempt, step)
    return table.finish(attempt, found_on(attempt, {"Acme": ACME, "Bolt": BOLT}))


NAMES = ("Acme", "Bolt", "Nix")


def _offer(stage: str, code: str, name: str, *, failure: bool = False) -> ResearchFact:
    return ResearchFact(stage, code, "x", failure, url=PAGE, entity=name, candidate=name)  # type: ignore[arg-type]  # a stage


def _judged() -> list[ResearchFact]:
    supported = [_offer("validation", "row_supported", name) for name in NAMES[:2]]
    rejected = _offer("validation", "name_quote_not_on_page", "Nix", failure=True)
    return [*supported, rejected, ResearchFact("extraction", "page_checked", "x", url=PAGE)]


def _kept() -> list[ResearchFact]:
    return [
        ResearchFact("reconciliation", "row_kept", "x", url=PAGE, entity=name, key=key_of(name))
        for name in NAMES[:2]
    ]
