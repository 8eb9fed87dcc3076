"""Random worlds of pages, and what must hold in each: `python -m tests.research.worlds 3000`.

A second number is the first seed.
"""

from __future__ import annotations

import asyncio
import re
import sys
import traceback
from collections.abc import Sequence
from random import Random
from typing import Any

from msgspec import json
from msgspec.structs import replace

from livedata.model.research.answers import CallFailure, Failed, PageText, Unread
from livedata.model.research.outcome import ResearchOutcome
from livedata.model.research.recipe import ResearchLimits, ResearchRecipe
from livedata.model.research.record import Artifact, Memory, Spent
from livedata.research.harness import research
from livedata.research.replay.replay import replay
from livedata.research.replay.tape import dump, load
from livedata.rules.research.fold import fold
from tests.research.ports import (
    Answer,
    Killed,
    MemoryRecorder,
    ScriptedModel,
    accept,
    page,
    ports,
    recipe,
)

LINE = re.compile(
    r"^\* (?P<name>.+?) \((?P<city>\w+)\) since (?P<year>\d+)(?: see (?P<link>\S+))?$"
)
NAMES = ("Acme", "Bolt", "Cogwheel", "Dynamo", "Ember Ltd", "Flux & Co", "C++", ".NET", "Été 7")
CITIES = ("Paris", "Oslo", "Lyon", "Rome")
FAILURES: Sequence[CallFailure] = (
    *("model_invalid_output", "model_output_cut", "model_refused"),
    *("model_unavailable", "model_unavailable", "model_auth"),
)


class World:
    """Pages with lines, each of which is an entity, and a model that reads them with faults."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.seed = seed
        self.faults = self.chance.choice((0.0, 0.0, 0.1, 0.3))
        self.failures = self.chance.choice((0.0, 0.0, 0.05, 0.3))
        self.pages = [self._page(number) for number in range(self.chance.randrange(1, 9))]
        self.recipe = self._recipe()

    def _recipe(self) -> ResearchRecipe:
        urls = [each.url for each in self.pages] if self.chance.random() < 0.5 else []
        limits = ResearchLimits(
            pages=self.chance.choice((2, 5, 25)),
            tokens=self.chance.choice((12_000, 30_000, 80_000, 2_000_000)),
            usd=self.chance.choice((None, 0.1, 10.0)),
        )
        scope = ["Year"] if self.chance.random() < 0.2 else []
        return recipe("City", "Year", scope=scope, urls=urls, limits=limits)

    def _page(self, number: int) -> PageText | Unread:
        url = f"https://site{number % 4}.example/{number}"
        if self.chance.random() < 0.15:
            return Unread(url, *self.chance.choice((("http_error", 404), ("forbidden", 403))))
        count = self.chance.choice((0, 1, 3, 8, 30, 60))
        lines = [self._line(index) for index in range(count)]
        filler = "Nothing is said in this line.\n" * self.chance.choice((0, 3, 700, 3_000))
        middle = count // 2
        text = "\n".join([*lines[:middle], filler, *lines[middle:], "The end.", ""])
        cut = self.chance.random() < 0.1
        return page(url, text, [("Acme", "https://acme.example/")], cut=cut)

    def _line(self, index: int) -> str:
        name = f"{self.chance.choice(NAMES)} {index}" if index >= 8 else self.chance.choice(NAMES)
        return f"* {name} ({self.chance.choice(CITIES)}) since {self.chance.randrange(1990, 1995)}"

    def answer(self, message: dict[str, Any]) -> Answer:
        """What the model says: the same to the same question, whenever it is asked."""
        chance = Random(f"{self.seed} {json.encode(message).decode()}")
        if chance.random() < self.failures:
            return Failed(chance.choice(FAILURES))
        matches = [LINE.match(line) for line in message["page"]["text"].splitlines()]
        rows = [
            _row(match.groupdict(), message, chance, self.faults)
            for match in matches
            if match is not None and chance.random() >= self.faults
        ]
        return {"rows": rows[:25], "hasMore": len(rows) > 25}

    def changed(self) -> World:
        """The same world some days later."""
        later = World(self.seed)
        later.pages = [self._later(each) for each in self.pages]
        later.seed = self.seed + 1_000_000
        return later

    def _later(self, before: PageText | Unread) -> PageText | Unread:
        if isinstance(before, Unread) or self.chance.random() < 0.15:
            return Unread(before.url, "timeout")
        lines = before.text.splitlines()
        kept = [line for line in lines if self.chance.random() > 0.05]
        return replace(before, text="\n".join(["News of today.", *kept]) + "\n")

    def run(
        self, memory: Memory, recorder: MemoryRecorder, jitter: int | None, calls: int | None = None
    ) -> tuple[ResearchOutcome, ScriptedModel]:
        """A Run of this world as it is now."""
        reached = ports(
            self.answer,
            self.pages,
            results=[each.url for each in self.pages],
            recorder=recorder,
            jitter=jitter,
            calls=calls,
        )
        assert isinstance(reached.model, ScriptedModel)
        return asyncio.run(research(self.recipe, memory, reached)), reached.model


def _row(
    line: dict[str, str], message: dict[str, Any], chance: Random, faults: float
) -> dict[str, Any]:
    """A line as a row, with a name, a quote or a number made up as often as faults have it."""
    name, city, year = line["name"], line["city"], line["year"]
    shown = chance.choice((name, name.upper(), f" {name}  "))
    quote = f"{name} ({city})" if chance.random() >= faults else f"{name} of {city}!"
    told = year if chance.random() >= faults else str(int(year) + 1)
    links = [number for number, text, _ in message["page"]["links"] if fold(text) in fold(name)]
    return {
        "name": shown if chance.random() >= faults else f"{name} Holding",
        "nameQuote": f"{name} ({city})",
        "officialUrl": links[0] if links and chance.random() < 0.5 else None,
        "aliases": [name, "Nobody"],
        "scope": [{"label": "Year", "value": told}] if "Year" in _scope(message) else [],
        "cells": [
            {"attribute": "City", "value": city, "quote": quote, "reason": None},
            {"attribute": "Year", "value": told, "quote": f"since {year}", "reason": None},
        ][: chance.choice((1, 2, 2))],
    }


def _scope(message: dict[str, Any]) -> list[str]:
    fields: list[str] = message["table"]["rowIdentity"]["scopeFields"]
    return fields


def check(seed: int) -> None:
    """Everything that must hold in the world of a seed."""
    world = World(seed)
    recorder = MemoryRecorder()
    calls = world.chance.choice((None, None, None, 3, 7))
    outcome, model = world.run(Memory(), recorder, jitter=None, calls=calls)
    check_run(world, Memory(), outcome, recorder, model)
    if calls is None:
        check_any_order(world, outcome)
        check_killed(world, recorder)
    if outcome.problem is None:
        check_later(world, outcome)


def check_run(
    world: World,
    memory: Memory,
    outcome: ResearchOutcome,
    recorder: MemoryRecorder,
    model: ScriptedModel,
) -> None:
    """What must hold of any Run."""
    check_counts(recorder)
    check_quotes(world, outcome)
    check_budget(world.recipe.limits, outcome, model)
    keys = [row.key for row in outcome.rows]
    assert len(keys) == len(set(keys))
    assert not set(keys) & set(outcome.gone)
    check_replay(world.recipe, memory, outcome, recorder)


def check_counts(recorder: MemoryRecorder) -> None:
    for step in recorder.steps:
        if step.counts is not None:
            counts = step.counts
            assert counts.candidates == counts.rejected + counts.matched <= 25
            offered = {fact.candidate for fact in step.facts if fact.candidate is not None}
            assert len(offered) == counts.candidates
        assert step.ended is not None
        assert step.status != "running"


def check_quotes(world: World, outcome: ResearchOutcome) -> None:
    """Each written value has words that stand on its page, and its page was checked."""
    texts = {each.url: each.text for each in world.pages if isinstance(each, PageText)}
    pages = {each.number: each for each in outcome.pages}
    for row in outcome.rows:
        for cell in row.cells:
            if cell.value is not None and not cell.stands:
                assert cell.quote is not None
                assert pages[cell.quote.page].outcome == "checked"
                assert cell.quote.text in texts[pages[cell.quote.page].url]
            assert (cell.value is None) != (cell.reason is None)


def check_budget(limits: ResearchLimits, outcome: ResearchOutcome, model: ScriptedModel) -> None:
    assert model.tokens <= limits.tokens
    assert len([each for each in outcome.pages if each.outcome != "unattempted"]) <= limits.pages


def check_replay(
    recipe: ResearchRecipe, memory: Memory, outcome: ResearchOutcome, recorder: MemoryRecorder
) -> None:
    """A strict replay of the tape gives the same rows and facts, and the same bytes twice."""
    written = b"".join(dump(recorder.tape(recipe, memory, outcome)))
    first, second = (asyncio.run(replay(load(written))) for _ in range(2))
    assert first.misses == []
    assert first.identical
    assert json.encode(first) == json.encode(second)
    assert [row.key for row in first.outcome.rows] == [row.key for row in outcome.rows]


def check_any_order(world: World, outcome: ResearchOutcome) -> None:
    """The order in which answers come changes neither rows nor facts."""
    for jitter in range(2):
        again, _ = world.run(Memory(), MemoryRecorder(), jitter=jitter)
        assert json.encode(again) == json.encode(outcome)


def check_killed(world: World, recorder: MemoryRecorder) -> None:
    """An attempt that is cut anywhere leaves a prefix, and the next one asks no answer again."""
    cut = MemoryRecorder(killed_at=world.chance.randrange(len(recorder.steps)))
    try:
        world.run(Memory(), cut, jitter=world.seed)
    except Killed:
        pass
    else:
        raise AssertionError("the attempt was not cut")
    check_counts(cut)
    answered = {each.request_digest for each in cut.artifacts if _is_answer(each)}
    spent = sum(
        (call.input_tokens or 0) + (call.output_tokens or 0) for s in cut.steps for call in s.calls
    )
    memory = Memory(spent=Spent(tokens=spent))
    next_one = MemoryRecorder(earlier=cut.artifacts)
    outcome, model = world.run(memory, next_one, jitter=None)
    assert model.tokens + spent <= world.recipe.limits.tokens
    # Even if no answer were kept, the attempts together keep the limit.
    without = world.run(memory, MemoryRecorder(), jitter=None)[1]
    assert without.tokens + spent <= world.recipe.limits.tokens
    asked = {each.request_digest for each in next_one.artifacts if not _is_reused(each)}
    assert not asked & answered
    check_replay(world.recipe, memory, outcome, next_one)


def _is_answer(artifact: Artifact) -> bool:
    return artifact.kind == "extraction.output" and '"answer"' in artifact.body


def _is_reused(artifact: Artifact) -> bool:
    return artifact.kind != "extraction.output" or artifact.reused


def check_later(world: World, outcome: ResearchOutcome) -> None:
    """Keys stay, and no row goes without its own page's silence."""
    memory = accept(Memory(), outcome)
    later = world.changed()
    recorder = MemoryRecorder()
    again, model = later.run(memory, recorder, jitter=None)
    check_run(later, memory, again, recorder, model)
    texts = {each.url: each for each in later.pages if isinstance(each, PageText)}
    checked = {each.url for each in again.pages if each.outcome == "checked"}
    dead = {each.url for each in again.pages if each.status in (404, 410)}
    for row in memory.rows:
        if row.key in again.gone:
            named = row.cells[0]
            assert named.url in dead or (
                named.url in checked
                and not texts[named.url].cut
                and fold(named.value or "") not in fold(texts[named.url].text)
            )
    known = {entity.key: entity for entity in memory.entities}
    for rows in again.rows:
        entity = known.get(rows.key)
        assert rows.minted is (entity is None)
        if entity is not None:
            assert rows.identity.anchor == entity.anchor
            assert set(entity.names) <= set(rows.identity.names)


def main(count: int, first: int = 0) -> int:
    failed = 0
    for seed in range(first, first + count):
        try:
            check(seed)
        except Exception:  # noqa: BLE001  (the worlds after it are tried too)
            failed += 1
            print(f"seed {seed}:\n{traceback.format_exc(limit=-2)}")  # noqa: T201  (a command)
    print(f"{count} worlds, {failed} failed")  # noqa: T201  (a command)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:] or ("3000",))))
