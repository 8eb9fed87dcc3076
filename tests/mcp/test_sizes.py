"""However large a table is, its answers are small, and together they have all of it once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from msgspec.structs import replace

from livedata.mcp.access import DatasetAccess
from livedata.mcp.answers import LONGEST_ANSWER, compact
from livedata.mcp.server import make_server
from livedata.mcp.tools import MOST, READING
from livedata.services import explanation
from livedata.store.database.store import Store
from tests import made
from tests.mcp.asking import STEERING, TOOLS, Agent, forged, text_of
from tests.mcp.wire import wire
from tests.services.table import A, Item, Table

LONGEST = 32_768
"""So many characters has a cell at most."""
LONGEST_NAME = 120
TEXTS = {
    "plain": "x" * LONGEST,
    "steering": (STEERING * LONGEST)[:LONGEST],
    "four bytes": "\U0001f4a9" * LONGEST,
    "quotes": '\\"' * (LONGEST // 2),
}
LARGE_ROWS = 40_000
MOST_MEMORY = LARGE_ROWS * 1024
"""A KiB for each row: to hold their titles and keys takes more."""
MANY = 50
WIDE_NAMES = [f"{'c' * 77}_{number:02}" for number in range(MANY)]
"""As many columns as there may be, with names as long as may be."""
_VALUES = count(1)


def plain(count_of: int, first: int = 0) -> list[Item]:
    """So many small rows."""
    return [
        {"sku": f"K{number:06}", "title": f"Lamp {number}", "price": number % 97, "stock": True}
        for number in range(first, first + count_of)
    ]


def declared_wide(name: str, about: str) -> Mapping[str, Any]:
    """A dataset of as many columns as there may be, each described as long as may be."""
    columns = [
        {"name": column, "type": "string", "key": number == 0, "description": about[:500]}
        for number, column in enumerate(WIDE_NAMES)
    ]
    return {**made.declared(name, columns), "question": about[:1000]}


def wide_row(text: str, key: str = "key") -> Item:
    """A row with other texts in all cells but its key."""
    number = next(_VALUES)
    return {WIDE_NAMES[0]: key, **dict.fromkeys(WIDE_NAMES[1:], f"{number} {text}"[:LONGEST])}


@pytest.mark.one_database
def test_what_all_tools_announce_is_small(store: Store) -> None:
    async def sizes() -> list[int]:
        async with Client(make_server(DatasetAccess.of(store, "local", "UTC", ()), READING)) as c:
            tools = (await c.list_tools()).tools
        return [len(tool.model_dump_json(by_alias=True, exclude_unset=True)) for tool in tools]

    assert sum(anyio.run(sizes)) <= 12_000


def test_a_hundred_rows_of_four_columns_are_small(store: Store) -> None:
    Table(store).take(*plain(100))
    columns = ["sku", "title", "price", "stock"]
    answer = Agent(store).ask("query_rows", dataset="shop", columns=columns, limit=100)
    assert len(answer["rows"]) == 100
    assert answer["next"] is None
    assert len(compact(answer)) <= 8_000


@pytest.mark.one_database
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_longest_cells_are_cut_until_they_fit(store: Store, text: str) -> None:
    table = Table(store)
    table.take(*({**A, "sku": f"{number}", "title": text} for number in range(30)))
    agent = Agent(store)
    assert [row[0] for page in agent.walk(dataset="shop", limit=MOST) for row in page] == [
        str(number) for number in range(30)
    ]
    assert "characters]" in agent.ask("get_row", dataset="shop", row="7")["cells"]["title"]["value"]
    assert agent.ask("list_changes", dataset="shop", limit=MOST)["changes"]


@pytest.mark.one_database
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_table_as_wide_as_may_be_with_names_as_long_as_may_be_fits(
    store: Store, text: str
) -> None:
    name = (text * 2)[:LONGEST_NAME]
    table = Table(store, declared_wide(name, text))
    for _ in range(21):
        table.take(wide_row(text[:2_000]))
    agent = Agent(store)
    (listed,) = agent.ask("list_datasets")["datasets"]
    given = listed["dataset"]
    asked: list[tuple[str, dict[str, Any]]] = [
        ("describe_dataset", {}),
        ("query_rows", {"limit": MOST}),
        ("query_rows", {"limit": MOST, "order": f"{WIDE_NAMES[1]} desc"}),
        ("get_row", {"row": "key"}),
        ("list_changes", {"limit": MOST}),
        ("list_changes", {"limit": MOST, "when": [f"{n} changes" for n in WIDE_NAMES[1:20]]}),
        ("explain_run", {}),
    ]
    results = agent.each((tool, {"dataset": given, **more}) for tool, more in asked)
    assert [text_of(result) for result in results if result.is_error] == []
    assert len(results[1].structured_content["rows"]) == 1
    assert results[4].structured_content["changes"]
    assert results[5].structured_content["changes"]


def test_every_change_of_a_wide_row_comes_though_none_fits_whole(store: Store) -> None:
    table = Table(store, declared_wide("wide", "x"))
    for _ in range(5):
        table.take(wide_row("y" * 2_000))
    agent, after, sequences = Agent(store), 0, []
    while True:
        answer = agent.ask("list_changes", dataset="wide", after=after, limit=MOST)
        sequences += [change["sequence"] for change in answer["changes"]]
        after = answer["through"]
        if answer["next"] is None:
            break
    assert sequences == [1, 2, 3, 4, 5]


@pytest.mark.one_database
def test_two_hundred_datasets_with_long_questions_are_listed_once_each(store: Store) -> None:
    for number in range(200):
        name = f"{number:03} {chr(0x1F4A9) * (LONGEST_NAME - 4)}"
        Table(store, {**made.declared(name), "question": "?" + STEERING * 40})
    agent, names, cursor = Agent(store), [], None
    while True:
        answer = agent.ask("list_datasets", cursor=cursor)
        names += [entry["dataset"][:3] for entry in answer["datasets"]]
        cursor = answer["next"]
        if cursor is None:
            break
    assert names == [f"{number:03}" for number in range(200)]


@pytest.mark.one_database
def test_of_a_row_with_hundreds_of_changes_the_last_ones_are_told(store: Store) -> None:
    table = Table(store)
    for price in range(MOST + 50):
        table.take({**A, "price": price})
    answer = Agent(store).ask("get_row", dataset="shop", row="A1")
    assert [change["sequence"] for change in answer["changes"]] == [*range(MOST + 31, MOST + 51)]
    changes = Agent(store).ask("list_changes", dataset="shop", limit=MOST)
    assert len(changes["changes"]) == MOST
    assert changes["next"] == changes["through"] == MOST


@pytest.mark.one_database
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_run_is_explained_in_short_sentences(
    store: Store, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    Table(store).take(A)
    explain = explanation.explain
    causes = [replace(made.REFUSED, evidence=(made.BROKEN,) * 9)] * 9

    def long(view: Any) -> Any:
        return replace(explain(view), causes=causes, error=text)

    monkeypatch.setattr(explanation, "explain", long)
    monkeypatch.setattr("livedata.mcp.run.sentence", lambda _problem: text)
    answer = Agent(store).ask("explain_run", dataset="shop")
    assert len(answer["causes"]) == 5
    assert all(len(cause["evidence"]) == 5 for cause in answer["causes"])


@pytest.mark.one_database
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_refusal_is_short_whatever_was_asked(store: Store, text: str) -> None:
    Table(store).take(A)
    calls = [
        (name, {"dataset": "shop", argument.name: given})
        for name, tool in TOOLS.items()
        for argument in tool.arguments
        for given in (text * 30, text[:300], [text[:400]] * MANY, {text: text})
    ]
    for result in Agent(store).each(calls):
        assert len(text_of(result)) < 4_000 or not result.is_error


@pytest.mark.parametrize("order", [None, "price", "price desc", "title"])
@pytest.mark.parametrize("where", [None, ["price > 10"]])
def test_a_walk_gives_each_row_once_while_runs_change_the_table(
    store: Store, order: str | None, where: list[str] | None
) -> None:
    table = Table(store)
    items = plain(300)
    table.take(*items)
    expected = [item["sku"] for item in items if where is None or item["price"] > 10]  # type: ignore[operator]
    walked: list[Any] = []
    walk = Agent(store).walk(dataset="shop", order=order, where=where, limit=80)
    for number, page in enumerate(walk):
        walked += [row[0] for row in page]
        changed = [{**item, "price": 96 - number, "title": "Z"} for item in items[number::2]]
        table.take(*plain(5, 9_000 + number), *changed, *items[number + 1 :: 2])
        table.add_column(f"later_{number}")
    assert len(walked) == len(expected)
    assert sorted(walked) == expected
    assert order is not None or walked == expected


def test_a_walk_through_rows_that_are_gone_gives_each_once(store: Store) -> None:
    table = Table(store)
    table.take(*plain(60))
    table.take(*plain(50))
    walked = []
    for page in Agent(store).walk(dataset="shop", gone=True, limit=7):
        walked += [row[0] for row in page]
        table.edit("K000000", {"note": f"n{len(walked)}"})
    assert walked == [item["sku"] for item in plain(60)]


LARGE: Sequence[tuple[str, Mapping[str, Any]]] = [
    ("list_datasets", {}),
    ("describe_dataset", {"dataset": "shop"}),
    ("query_rows", {"dataset": "shop", "limit": MOST}),
    ("query_rows", {"dataset": "shop", "limit": MOST, "order": "title desc"}),
    ("query_rows", {"dataset": "shop", "limit": 1, "where": ["title ends with z"], "gone": True}),
    ("get_row", {"dataset": "shop", "row": f"K{LARGE_ROWS - 1:06}"}),
    ("get_row", {"dataset": "shop", "row": "nobody"}),
    ("list_changes", {"dataset": "shop", "limit": MOST, "after": LARGE_ROWS // 2}),
    ("list_changes", {"dataset": "shop", "when": ["row is gone"]}),
    ("explain_run", {"dataset": "shop"}),
]


@pytest.fixture
def large(store: Store) -> Store:
    """A store with a table of many rows with long titles, found on pages of a thousand."""
    items = [{**item, "title": f"{item['sku']} {'t' * 900}"} for item in plain(LARGE_ROWS)]
    starts = range(0, LARGE_ROWS, 1_000)
    Table(store).take_pages(*(items[start : start + 1_000] for start in starts))
    return store


@pytest.mark.slow
@pytest.mark.sqlite
@pytest.mark.usefixtures("large")
def test_answers_about_a_large_table_are_small_and_take_little_memory(tmp_path: Path) -> None:
    with wire(tmp_path) as opened:
        opened.warm_up("list_datasets")
        for tool, given in LARGE:
            result = opened.call(tool, **given)
            assert len(result["content"][0]["text"].encode()) <= LONGEST_ANSWER
            assert opened.grown() < MOST_MEMORY, (tool, given)
        far = {"dataset": "shop", "limit": 1, "order": "title"}
        first = opened.call("query_rows", **far)["structuredContent"]["next"]
        page = opened.call("query_rows", **far, cursor=forged(first, start=LARGE_ROWS - 1))
        assert page["structuredContent"]["rows"][0][0] == f"K{LARGE_ROWS - 1:06}"
        assert opened.grown() < MOST_MEMORY
