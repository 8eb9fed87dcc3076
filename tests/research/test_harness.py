"""A research Run from its question to its rows, as facts tell it: rules 14."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from livedata.model.research.answers import Unread
from livedata.model.research.memory import KnownCell, KnownEntity, KnownRow, Memory
from livedata.model.research.outcome import ResearchOutcome
from livedata.model.research.recipe import ResearchLimits
from livedata.research.harness import research
from livedata.rules.research.identity import entity_key
from tests.research.ports import MemoryRecorder, page, ports, recipe

LIST = "https://a.example/list"
COGWHEEL = "https://b.example/cogwheel"
TOP = "https://c.example/top"
OTHER = "https://d.example/x"
NOTHING = (None, None)


def row(
    name: str, quote: str | None = None, **cells: tuple[str | None, str | None]
) -> dict[str, Any]:
    return {
        "name": name,
        "nameQuote": name if quote is None else quote,
        "officialUrl": None,
        "aliases": [],
        "scope": [],
        "cells": [
            {
                "attribute": label,
                "value": value,
                "quote": words,
                "reason": None if value else "unknown",
            }
            for label, (value, words) in cells.items()
        ],
    }


def answers(rows: Mapping[str, list[dict[str, Any]]]) -> Any:
    return lambda message: {"rows": rows[message["page"]["url"]], "hasMore": False}


def known(
    name: str, anchor: str, url: str | None, *, present: bool = True
) -> tuple[KnownEntity, KnownRow]:
    key = entity_key("company", anchor, ())
    cell = KnownCell(name, None, url, name)
    empty = KnownCell(None, "unknown", None, None)
    urls = () if anchor == name.lower() else (anchor,)
    return (
        KnownEntity(key, "company", anchor, (), (name.lower(),), urls, (name,)),
        KnownRow(key, "present" if present else "missing", [cell, cell, cell, empty, empty]),
    )


def memory(*rows: tuple[KnownEntity, KnownRow]) -> Memory:
    return Memory([entity for entity, _ in rows], [known for _, known in rows])


def test_the_worked_example_is_told_by_its_facts() -> None:
    recorder = MemoryRecorder()
    outcome = asyncio.run(
        research(
            recipe("City", "Founded", limits=ResearchLimits(pages=3)),
            memory(
                known("Cogwheel", "cogwheel", COGWHEEL),
                known("Mercury", "mercury.com", None, present=False),
                known("Mercury", "mercury-marine.com", None, present=False),
            ),
            ports(
                answers(
                    {
                        LIST: [
                            row(
                                "Acme Ltd", City=("Paris", "Acme Ltd, Paris"), Founded=(None, None)
                            ),
                            row("Bolt", "Bolt AS"),
                        ],
                        TOP: [
                            row(
                                "ACME",
                                City=("Paris", "ACME of Paris"),
                                Founded=("1999", "founded 1999"),
                            ),
                            row("Bolt", City=("Oslo", "Bolt of Oslo"), Founded=("1990", "1990")),
                            row("Mercury"),
                            row("Dyn", Founded=("2012", "Dyn, since 2011")),
                        ],
                    }
                ),
                [
                    page(LIST, "Acme Ltd, Paris\nBolt"),
                    Unread(COGWHEEL, "forbidden", 403),
                    page(
                        TOP,
                        "ACME of Paris\nBolt of Oslo 1990\nMercury\nDyn, since 2011\nand Cogwheel",
                    ),
                ],
                results=[LIST, COGWHEEL, TOP, OTHER],
                recorder=recorder,
            ),
        )
    )
    told = {
        (fact.code, fact.url, fact.entity, fact.field)
        for fact in recorder.facts
        if fact.failure or fact.code in ("row_kept", "row_merged")
    }
    assert told == {
        ("read_forbidden", COGWHEEL, None, None),
        ("page_budget", OTHER, None, None),
        ("name_quote_not_on_page", LIST, "Bolt", None),
        ("row_kept", LIST, "Acme Ltd", None),
        ("row_merged", TOP, "ACME", None),
        ("quote_not_on_page", TOP, "ACME", "field-4"),
        ("row_kept", TOP, "Bolt", None),
        ("identity_ambiguous", TOP, "Mercury", None),
        ("digits_not_in_quote", TOP, "Dyn", "field-4"),
        ("row_kept", TOP, "Dyn", None),
        ("mentioned_not_offered", TOP, "Cogwheel", None),
    }
    assert (outcome.stop, outcome.inputs) == ("page_budget", {"limit": 3, "reached": 3})
    assert outcome.gone == []
    assert [
        (each.url, each.outcome) for each in outcome.pages if each.outcome != "unattempted"
    ] == [
        (COGWHEEL, "unreadable"),
        (LIST, "checked"),
        (TOP, "checked"),
    ]
    assert values(outcome) == {
        "Acme Ltd": [("Paris", None), (None, "extraction_failed")],
        "Bolt": [("Oslo", None), ("1990", None)],
        "Dyn": [(None, "unknown"), (None, "extraction_failed")],
    }


def values(outcome: ResearchOutcome) -> dict[str | None, list[tuple[str | None, str | None]]]:
    return {
        row.cells[0].value: [(cell.value, cell.reason) for cell in row.cells[3:]]
        for row in outcome.rows
    }
