"""Research Runs by their facts: made by hand, or at random."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from livedata.model.dataset import Column
from livedata.model.diagnosis.recorded_research import RecordedResearch
from livedata.model.diagnosis.recorded_run import CellAtRun, RowAtRun
from livedata.model.research.recipe import (
    Attribute,
    ResearchField,
    ResearchLimits,
    ResearchRecipe,
    TablePlan,
)
from livedata.model.research.record import KnownCell, KnownRow, Memory, ResearchFact
from livedata.model.run import Run, Stage

RUN = "00000000-0000-7000-8000-000000000001"
EARLIER = "00000000-0000-7000-8000-000000000000"
LABELS = ("Name", "Evidence", "Source", "City", "Founded")
FIELDS = [
    ResearchField(f"00000000-0000-7000-9000-00000000000{number}", label.lower(), label, number)
    for number, label in enumerate(LABELS)
]
NAME, EVIDENCE, SOURCE, CITY, FOUNDED = FIELDS
COLUMNS: list[Column] = [
    {
        "id": field.id,
        "label": field.label,
        "ownership": "collected",
        "name": field.name,
        "type": "string",
        "key": field is NAME,
    }
    for field in FIELDS
]
PLAN = TablePlan(
    title="Companies",
    row_meaning="A company",
    name_label="Company",
    query="companies",
    kind="company",
    kind_description="A company",
    scope_fields=(),
    attributes=tuple(Attribute(field, f"Its {field.name}") for field in (CITY, FOUNDED)),
)
RECIPE = ResearchRecipe(1, "Which companies?", (), PLAN, NAME, EVIDENCE, SOURCE, ResearchLimits())


def fact(
    stage: Stage, code: str, url: str | None = None, entity: str | None = None, **more: Any
) -> ResearchFact:
    """A fact; its evidence is the place where it happened."""
    return ResearchFact(stage, code, f"at {url}", url=url, entity=entity, **more)


def failure(
    stage: Stage, code: str, url: str | None = None, entity: str | None = None, **more: Any
) -> ResearchFact:
    """A fact that stands in the way."""
    return fact(stage, code, url, entity, failure=True, **more)


def row(key: str, cells: Sequence[tuple[str | None, Any]], by: str = RUN) -> RowAtRun:
    """A present row, by its key, with (value, reason) of each cell."""
    return RowAtRun(
        id=f"row of {key}",
        key=key,
        presence="present",
        revision=f"revision of {key}",
        by=by,
        cells=[
            CellAtRun(field.id, value, reason, None if value is None else f"{key}/{field.name}")
            for field, (value, reason) in zip(FIELDS, cells, strict=True)
        ],
    )


def known_row(key: str, name: str, url: str) -> KnownRow:
    """A row that was there before the Run, with the page that it rests on."""
    empty = KnownCell(None, "unknown", None, None)
    return KnownRow(key, "present", [KnownCell(name, None, url, name), *[empty] * 4])


def run(status: Any = "succeeded", error: str | None = None) -> Run:
    """A Run that ended so."""
    shape: Any = {"id": RUN, "datasetId": RUN, "status": status, "checks": [], "error": error}
    return shape  # type: ignore[no-any-return]  # rules use no other properties


def recorded(facts: Sequence[ResearchFact], **changes: Any) -> RecordedResearch:
    """The records of an accepted Run that checked all that it chose."""
    rows: Mapping[str, RowAtRun] = changes.pop("rows", {})
    return replace(
        RecordedResearch(
            run=run(),
            attempt="019a0000-0000-7000-8000-000000000001",
            stop={"rule": "all_selected_pages_checked", "inputs": {}},
            facts=facts,
            recipe=RECIPE,
            columns=COLUMNS,
            rows=rows,
        ),
        **changes,
    )


LIST, COGWHEEL, TOP, REST = (
    *("https://a.example/list", "https://b.example/cogwheel"),
    *("https://c.example/top", "https://d.example/x"),
)


def worked_example() -> RecordedResearch:
    """Four candidates, a limit of three pages, a refused page and defects of each kind."""
    offered = [("Acme Ltd", LIST), ("Bolt", LIST)]
    offered += [("ACME", TOP), ("Bolt", TOP), ("Mercury", TOP), ("Dyn", TOP)]
    ids = {pair: f"x{pair[1]}#{number}" for number, pair in enumerate(offered)}

    def about(stage: Stage, code: str, name: str, url: str, **more: Any) -> ResearchFact:
        return fact(stage, code, url, name, candidate=ids[name, url], **more)

    facts = [
        *(fact("discovery", "candidate_found", url) for url in (LIST, COGWHEEL, TOP, REST)),
        *(fact("selection", "page_selected", url) for url in (LIST, COGWHEEL, TOP)),
        failure("selection", "page_budget", REST),
        fact("retrieval", "page_read", LIST),
        failure("retrieval", "read_forbidden", COGWHEEL),
        fact("retrieval", "page_read", TOP),
        *(about("extraction", "row_offered", name, url) for name, url in offered),
        failure("extraction", "mentioned_not_offered", TOP, "Cogwheel", key="k-cogwheel"),
        fact("extraction", "page_checked", LIST),
        fact("extraction", "page_checked", TOP),
        about("validation", "row_supported", "Acme Ltd", LIST),
        about("validation", "name_quote_not_on_page", "Bolt", LIST, failure=True),
        *(about("validation", "row_supported", name, url) for name, url in offered[2:]),
        about("validation", "quote_not_on_page", "ACME", TOP, failure=True, field=FOUNDED.id),
        about("validation", "digits_not_in_quote", "Dyn", TOP, failure=True, field=FOUNDED.id),
        about("reconciliation", "row_kept", "Acme Ltd", LIST, key="k-acme"),
        about(
            *("reconciliation", "row_merged", "ACME", TOP),
            key="k-acme",
            detail=f'{{"winner":"{LIST}","offered":["{CITY.id}"],"merged":[]}}',
        ),
        about("reconciliation", "row_kept", "Bolt", TOP, key="k-bolt"),
        about("reconciliation", "identity_ambiguous", "Mercury", TOP, failure=True),
        about("reconciliation", "row_kept", "Dyn", TOP, key="k-dyn"),
    ]
    lost = (None, "extraction_failed")
    rows = [
        row("k-acme", [*_named("Acme Ltd", LIST), ("Bonn", None), lost]),
        row("k-bolt", [*_named("Bolt", TOP), ("Riga", None), ("2013", None)]),
        row("k-dyn", [*_named("Dyn", TOP), (None, "unknown"), lost]),
    ]
    before = [
        known_row("k-cogwheel", "Cogwheel", COGWHEEL),
        known_row("k-mercury-1", "Mercury", "https://mercury.example/"),
        known_row("k-mercury-2", "Mercury", "https://marine.example/"),
    ]
    for stood in before:
        values = [(cell.value, cell.reason) for cell in stood.cells]
        rows.append(row(stood.key, values, by=EARLIER))
    return recorded(
        facts,
        rows={each.key: each for each in rows},
        known=Memory(rows=before),
        stop={"rule": "page_budget", "inputs": {"maxPages": 3}},
    )


def _named(name: str, url: str) -> list[tuple[str | None, None]]:
    return [(name, None), (f"{name} is here", None), (url, None)]


class World:
    """A Run at random: pages that fail, rows that are refused, entities that share names."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # no secret
        self._facts: list[ResearchFact] = []
        self._urls = [
            f"https://{number % 3}.example/{number}" for number in range(self._random.randint(1, 8))
        ]
        # Several keys of one name, and several names of one key.
        self._keys = [f"k{number}" for number in range(self._random.randint(1, 10))]
        self._known = {key: self._random.choice(self._urls) for key in self._keys[::2]}

    def recorded(self) -> RecordedResearch:
        """The records of the Run, accepted or not."""
        rolls = self._random
        for url in self._urls:
            self._facts.append(fact("discovery", "candidate_found", url))
        checked = [url for url in self._urls if self._read(url)]
        offered = [each for url in checked for each in self._offer(url)]
        kept: dict[str, str] = {}
        for candidate, key, name, url in offered:
            self._reconcile(candidate, key, name, url, kept)
        status = rolls.choice(["succeeded", "succeeded", "held", "failed"])
        rows = {
            key: row(key, [*_named(self._name(key), url), (None, "unknown"), ("x", None)])
            for key, url in (kept if status == "succeeded" else {}).items()
        }
        for key, url in self._known.items():
            cells = [*_named(self._name(key), url), (None, "unknown"), ("y", None)]
            stood = row(key, cells, by=EARLIER)
            gone = status == "succeeded" and rolls.random() < 0.2
            rows.setdefault(key, replace(stood, presence="missing", by=RUN) if gone else stood)
        known = [known_row(key, self._name(key), url) for key, url in self._known.items()]
        error = None if status == "succeeded" else "It ended so."
        return recorded(self._facts, rows=rows, known=Memory(rows=known), run=run(status, error))

    def _name(self, key: str) -> str:
        return f"Name {int(key[1:]) % 7}"

    def _read(self, url: str) -> bool:
        """Whether a page was read and extracted whole."""
        roll = self._random.random()
        if roll < 0.1:
            self._facts.append(failure("selection", "page_budget", url))
            return False
        self._facts.append(fact("selection", "page_selected", url))
        if roll < 0.3:
            self._facts.append(failure("retrieval", "read_timeout", url))
            return False
        self._facts.append(fact("retrieval", "page_read", url))
        if roll < 0.4:
            self._facts.append(failure("extraction", "model_invalid_output", url))
            return False
        return True

    def _offer(self, url: str) -> list[tuple[str, str, str, str]]:
        """(candidate, key, name, page) of each row that the page supports."""
        rolls, supported = self._random, []
        for number, key in enumerate(rolls.sample(self._keys, rolls.randint(0, len(self._keys)))):
            name = rolls.choice([self._name(key), self._name(key).upper(), f"Alias {key}"])
            if key in self._known and rolls.random() < 0.2:
                entity = self._name(key)
                mentioned = failure("extraction", "mentioned_not_offered", url, entity, key=key)
                self._facts.append(mentioned)
                continue
            candidate = f"{url}#{number}"
            self._facts.append(fact("extraction", "row_offered", url, name, candidate=candidate))
            if rolls.random() < 0.2:
                code = rolls.choice(["invalid_name", "name_quote_not_on_page", "scope_missing"])
                self._facts.append(failure("validation", code, url, name, candidate=candidate))
                continue
            self._facts.append(fact("validation", "row_supported", url, name, candidate=candidate))
            if rolls.random() < 0.2:
                lost = failure(
                    *("validation", "quote_not_on_page", url, name),
                    candidate=candidate,
                    field=CITY.id,
                )
                self._facts.append(lost)
            supported.append((candidate, key, name, url))
        self._facts.append(fact("extraction", "page_checked", url))
        return supported

    def _reconcile(
        self, candidate: str, key: str, name: str, url: str, kept: dict[str, str]
    ) -> None:
        if self._random.random() < 0.1:
            unsure = failure("reconciliation", "identity_ambiguous", url, name, candidate=candidate)
            self._facts.append(unsure)
            return
        code = "row_merged" if key in kept else "row_kept"
        kept.setdefault(key, url)
        joined = fact("reconciliation", code, url, name, candidate=candidate, key=key)
        self._facts.append(joined)


def large_run(entities: int) -> RecordedResearch:
    """An accepted Run of 25 pages, each of which offers many of the entities again."""
    urls = [f"https://a.example/{number}" for number in range(25)]
    facts = [fact("discovery", "candidate_found", url) for url in urls]
    kept: dict[str, RowAtRun] = {}
    for url in urls:
        facts += [fact("selection", "page_selected", url), fact("retrieval", "page_read", url)]
    for number in range(3 * entities):
        name, key, url = f"Name {number % entities}", f"k{number % entities}", urls[number % 25]
        ends = "row_merged" if key in kept else "row_kept"
        for stage, code in (("extraction", "row_offered"), ("validation", "row_supported")):
            facts.append(fact(stage, code, url, name, candidate=f"c{number}"))  # type: ignore[arg-type]  # a stage
        facts.append(fact("reconciliation", ends, url, name, candidate=f"c{number}", key=key))
        kept[key] = row(key, [*_named(name, url), (None, "unknown"), ("x", None)])
    facts += [fact("extraction", "page_checked", url) for url in urls]
    return recorded(facts, rows=kept)
