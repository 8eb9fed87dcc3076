"""What is suggested for the page that stopped a Run, from the rows that were known before it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

import pytest

from livedata.extraction.lists.mending import Unmended
from livedata.extraction.lists.page_lists import find_lists
from livedata.extraction.lists.proposal import propose
from livedata.messages.list_doubts import known_records
from livedata.messages.validation import read
from livedata.model.diagnosis.explanation import FailedPage, Suggestion
from livedata.model.diagnosis.recorded_run import CellAtRun, RecordedRun, RowAtRun
from livedata.model.requests import CreateDataset
from livedata.model.run import Run
from livedata.rules.explanation.mended_source import (
    Known,
    mended_source,
    narrower_selector,
    suggest,
)
from livedata.rules.explanation.run_context import RunContext
from livedata.rules.network.targets import TargetPolicy
from spiders.cli.proving import declare
from spiders.cli.trial import trial_recipe
from tests.lists.gold import every_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from livedata.model.dataset import CollectedType
    from livedata.model.row import Scalar

URL = "https://shop.example/list"
LAMPS = [(f"L{number}", f"Lamp {number}", number + 0.5) for number in range(1, 7)]
READS: dict[str, tuple[CollectedType, dict[str, str]]] = {
    "sku": ("string", {"kind": "attribute", "attribute": "data-sku"}),
    "name": ("string", {"kind": "text", "selector": "h2"}),
    "price": ("number", {"kind": "text", "selector": ".price"}),
}


def item(lamp: tuple[str, str, float]) -> str:
    sku, name, price = lamp
    return f"<li class=lamp data-sku={sku}><h2>{name}</h2><i class=price>{price}</i></li>"


def page(lamps: Sequence[tuple[str, str, float]] = LAMPS) -> str:
    return f"<!doctype html><ul>{''.join(map(item, lamps))}</ul>"


def suggested(
    markup: str,
    rows: Sequence[Sequence[Scalar]] = LAMPS,
    reads: dict[str, tuple[CollectedType, dict[str, str]]] = READS,
    *,
    cut: bool = False,
    unread: bool = False,
) -> Suggestion | None:
    """What is suggested if a Run with these rows before it was stopped by this page."""
    return suggest(stopped(markup, rows, reads, cut=cut, unread=unread))


def stopped(
    markup: str,
    rows: Sequence[Sequence[Scalar]],
    reads: dict[str, tuple[CollectedType, dict[str, str]]],
    *,
    cut: bool = False,
    unread: bool = False,
) -> RunContext:
    """A Run with these rows before it that was stopped by this page."""
    fields = [{"name": name, "required": False, "read": read} for name, (_, read) in reads.items()]
    columns = [
        {"id": name, "name": name, "label": name, "type": kind} for name, (kind, _) in reads.items()
    ]
    declared: dict[str, Any] = {
        "version": 1,
        "url": URL,
        "render": "static",
        "itemSelector": "li.lamp",
        "fields": fields,
        "identity": {"kind": "source-key", "field": next(iter(reads))},
        "pagination": {"kind": "none"},
        "maxPages": 1,
        "maxItems": 10_000,
        "minimumItems": 0,
        "proxy": "auto",
        "ignoreRobots": False,
    }
    recorded = RecordedRun(
        run=cast("Run", {"error": None}),
        attempt=None,
        stop=None,
        facts={},
        problem=None,
        source=declared,
        columns=cast("Any", columns),
        composite=False,
        rows={str(number): _row(str(number), list(reads), row) for number, row in enumerate(rows)},
    )
    counts = None if unread else cast("Any", {"items": 0, "matched": [], "filled": []})
    kept = FailedPage(1, URL, URL, 200, None, markup, cut, counts, None)
    return RunContext(recorded, None, kept, output_kept=False)


def _row(key: str, names: Sequence[str], values: Sequence[Scalar]) -> RowAtRun:
    cells = [CellAtRun(name, value, None, None) for name, value in zip(names, values, strict=True)]
    return RowAtRun(key, key, "present", "r", None, cells)


@pytest.mark.parametrize(
    ("change", "replaced"),
    [
        (("class=lamp", "class=ware"), [("itemSelector", "li.lamp", "li.ware")]),
        (("h2>", "b>"), [("name", "h2", "b")]),
        (("price", "cost"), [("price", ".price", "i.cost")]),
        (
            ("data-sku", "data-id"),
            [("sku", "(the item itself) @data-sku", "(the item itself) @data-id")],
        ),
        (("li", "article"), [("itemSelector", "li.lamp", "article")]),
    ],
)
def test_what_died_is_replaced_and_the_rest_is_left(
    change: tuple[str, str], replaced: list[tuple[str, str, str]]
) -> None:
    suggestion = suggested(page().replace(*change))
    assert suggestion is not None
    assert [(each["target"], each["before"], each["after"]) for each in suggestion["replaced"]] == (
        replaced
    )
    assert (suggestion["records"], suggestion["rows"], suggestion["lost"]) == (6, 6, [])


def test_a_field_whose_values_are_nowhere_is_lost() -> None:
    markup = page().replace("class=lamp", "class=ware").replace(".5</i>", " or more</i>")
    suggestion = suggested(markup)
    assert suggestion is not None
    assert suggestion["lost"] == ["price"]


@pytest.mark.parametrize(
    "markup",
    [
        page(),
        page([(f"N{number}", f"New thing {number}", number) for number in range(9)]).replace(
            "lamp", "ware"
        ),
        "<!doctype html><h1>Log in</h1>",
        "",
        "Lamps" + "<b>" * 20_000,
    ],
    ids=["nothing died", "other rows", "a wall", "nothing", "too complex to parse"],
)
def test_nothing_is_suggested_for_a_page_that_needs_or_shows_nothing(markup: str) -> None:
    assert suggested(markup) is None


def test_nothing_is_suggested_for_an_answer_that_was_not_read() -> None:
    markup = page().replace("class=lamp", "class=ware")
    assert suggested(markup, unread=True) is None
    assert suggested(markup) is not None


def test_a_part_that_begins_within_a_table_is_read_as_one() -> None:
    rows = "".join(
        f"<tr class=line data-sku={sku}><td><h2>{name}</h2><td><i class=price>{price}</i>"
        for sku, name, price in LAMPS
    )
    suggestion = suggested(f"half a cell</td></tr>{rows}", cut=True)
    assert suggestion is not None
    assert suggestion["replaced"] == [
        {"target": "itemSelector", "before": "li.lamp", "after": "tr.line"}
    ]


WORDS = [f"{number:x}z" for number in range(8_000)]
PIECE = 64 * 1024
HOSTILE: dict[str, tuple[str, Sequence[Scalar], CollectedType]] = {
    "one value everywhere": ("<p>abc" * 9_000, ["abc", "xyz"], "string"),
    "many values": ("".join(f"<p>{word}" for word in WORDS), WORDS, "string"),
    "values below many elements": (
        "<div>" * 2_000 + "".join(f"<p>{word}" for word in WORDS[:400]),
        WORDS,
        "string",
    ),
    "many values of one element": (
        f"<p class='{'a ' * 15_000}' "
        + " ".join(f"a{number}={number:x}z" for number in range(3_000)),
        WORDS,
        "string",
    ),
    "texts like numbers": (
        ("<p>5" + "<i>\u0e01" * 440 + "</i>" * 440) * 24,
        [1, 2],
        "number",
    ),
    "strangers of many kinds": (
        "".join(f"<li class='lamp c{word}' d-{word}><b class=f0>" for word in WORDS[:800])
        + "<li class=lamp>" * 700,
        WORDS,
        "string",
    ),
    "a value in each of many cells": (
        "<table>" + "".join("<tr>" + f"<td>{word}" * 12 for word in WORDS),
        WORDS,
        "string",
    ),
}


@pytest.mark.timed
@pytest.mark.parametrize("name", HOSTILE)
def test_fifty_fields_are_looked_for_on_a_hostile_page_soon(name: str) -> None:
    markup, values, kind = HOSTILE[name]
    reads = {
        f"f{number}": (kind, {"kind": "text", "selector": f".f{number}"}) for number in range(50)
    }
    context = stopped(f"<!doctype html>{markup[:PIECE]}", [[value] * 50 for value in values], reads)
    started = time.process_time()
    suggest(context)
    narrower_selector(context)
    assert time.process_time() - started < 8  # at most 2.6 alone; minutes without the budget


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (6, "6 records, 6 of them known from before"),
        (130, "130 records; of the first 100, 100 are known from before"),
    ],
)
def test_a_page_is_said_to_have_all_of_its_records(count: int, said: str) -> None:
    lamps = [(f"L{number}", f"Lamp {number}", number + 0.5) for number in range(1, count + 1)]
    suggestion = suggested(page(lamps).replace("class=price", "class=cost"), lamps)
    assert suggestion is not None
    assert known_records(suggestion) == said


@pytest.mark.parametrize("name", ["emigration", "predicates", "tenders", "xslt-index"])
def test_of_a_page_that_has_not_changed_nothing_is_replaced(name: str) -> None:
    """Links or terms alone hold the known rows as well as the records that they stand in."""
    gold = next(gold for gold in every_page() if gold.name == name)
    lists = find_lists(gold.page)
    proposal = propose(lists, lists.seen[0])
    source = declare("list", gold.url, "static", proposal, proposal.key, {"kind": "none"})
    recipe = trial_recipe(read(CreateDataset, source), TargetPolicy())
    known = Known(recipe, source["source"], proposal.values, len(proposal.rows), None)
    mending = mended_source(lists.survey, known)
    assert not isinstance(mending, Unmended)
    assert mending.suggestion["replaced"] == []
