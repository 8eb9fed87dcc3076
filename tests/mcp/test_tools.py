"""Rules 19: what each tool answers, and in which words it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from livedata.mcp.tools import READING
from livedata.store.database.store import Store
from tests import made
from tests.mcp.asking import Agent, Call, checked
from tests.mcp.conftest import ERAS, over_stdio
from tests.services.table import A, B, C, Table

CALLS: list[Call] = [
    ("list_datasets", {}),
    ("describe_dataset", {"dataset": "shop"}),
    ("query_rows", {"dataset": "shop", "where": ["price < 20"], "order": "price desc"}),
    ("get_row", {"dataset": "shop", "row": "A1"}),
    ("list_changes", {"dataset": "shop", "when": ["row is new"]}),
    ("explain_run", {"dataset": "shop"}),
]


@pytest.mark.usefixtures("table")
def test_the_official_client_of_each_era_calls_each_tool_and_gets_the_same(tmp_path: Path) -> None:
    async def ask(client: Client) -> list[Any]:
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == [tool for tool, _ in CALLS]
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in listed.tools)
        return [await client.call_tool(tool, arguments) for tool, arguments in CALLS]

    first, second = (over_stdio(tmp_path, era, ask) for era in ERAS)
    for answers in (first, second):
        bodies = [checked(tool, answer) for (tool, _), answer in zip(CALLS, answers, strict=True)]
        assert bodies[0]["datasets"][0]["dataset"] == "shop"
        assert all(body["state"] == "ok" for body in bodies[1:])
    assert [answer.content for answer in first] == [answer.content for answer in second]


def test_the_list_says_of_each_dataset_how_it_is(table: Table, agent: Agent) -> None:
    Table(table.store, made.declared("another"))
    another, shop = agent.ask("list_datasets")["datasets"]
    assert (another["dataset"], another["state"], another["rows"]) == ("another", "draft", 0)
    assert another["why"] == "It has no rows yet: no Run has been accepted."
    assert (shop["dataset"], shop["state"], shop["rows"]) == ("shop", "ok", 3)
    assert shop["columns"] == ["sku", "title", "price", "stock", "note"]


@pytest.mark.one_database
def test_datasets_are_listed_page_by_page_each_once(store: Store) -> None:
    names = [f"{'long ' * 20}{number:03}\u202e" for number in range(120)]
    for name in names:
        Table(store, made.declared(name))
    agent, cursor = Agent(store), None
    listed: list[str] = []
    while not listed or cursor:
        answer = agent.ask("list_datasets", cursor=cursor)
        listed += [entry["dataset"] for entry in answer["datasets"]]
        cursor = answer["next"]
    assert listed == [name.replace("\u202e", r"\u202e") for name in names]


@pytest.mark.one_database
@pytest.mark.parametrize("cursor", ["", "shop", "bnVsbA", "NQ", "IlxuIg", "Inj4", "x" * 3000, "ÿ"])
def test_a_cursor_of_no_list_of_datasets_is_refused(agent: Agent, cursor: str) -> None:
    assert agent.refused("list_datasets", cursor=cursor).startswith("cursor ")


def test_a_description_says_how_much_there_is_before_it_is_asked_for(agent: Agent) -> None:
    described = agent.ask("describe_dataset", dataset="shop")
    assert described["columns"][0] == {"name": "sku", "type": "string", "key": True}
    assert (described["rows"], described["through"]) == (3, 3)
    rows = agent.ask("query_rows", dataset="shop")["rows"]
    assert abs(described["bytes"] - len(json.dumps(rows))) < 20


ROWS: list[tuple[dict[str, Any], list[list[Any]]]] = [
    ({"columns": ["title"]}, [["Lamp"], ["Chair"], ["Mug"]]),
    ({"columns": ["rowKey", "price"]}, [["A1", 10], ["B2", 25.5], ["C3", None]]),
    ({"columns": ["sku"], "where": ["price > 5"]}, [["A1"], ["B2"]]),
    ({"columns": ["sku"], "where": "price > 20"}, [["B2"]]),
    ({"columns": ["sku"], "order": "price"}, [["A1"], ["B2"], ["C3"]]),
    ({"columns": ["sku"], "order": "price desc"}, [["B2"], ["A1"], ["C3"]]),
    ({"columns": ["sku"], "order": "price DESC"}, [["B2"], ["A1"], ["C3"]]),
    ({"columns": ["sku"], "order": "title asc"}, [["B2"], ["A1"], ["C3"]]),
    ({"columns": ["sku"], "order": "rowKey desc"}, [["C3"], ["B2"], ["A1"]]),
    ({"columns": ["sku"], "at": "1"}, [["A1"]]),
    ({"columns": ["sku"], "at": "0"}, []),
]


@pytest.mark.parametrize(("asked", "expected"), ROWS)
def test_rows_are_those_that_are_asked_for(
    agent: Agent, asked: dict[str, Any], expected: list[list[Any]]
) -> None:
    answer = agent.ask("query_rows", dataset="shop", **asked)
    assert answer["rows"] == expected
    assert (answer["total"], answer["next"]) == (len(expected), None)


def test_rows_that_are_gone_are_told_when_they_are_asked_for(table: Table, agent: Agent) -> None:
    table.take(A)
    assert agent.ask("query_rows", dataset="shop", columns=["sku"])["rows"] == [["A1"]]
    answer = agent.ask("query_rows", dataset="shop", columns=["sku"], gone=True)
    assert answer["rows"] == [["A1"], ["B2"], ["C3"]]


@pytest.mark.parametrize("order", [None, "price desc", "title"])
def test_pages_are_of_the_moment_of_the_first(
    table: Table, agent: Agent, order: str | None
) -> None:
    asked: dict[str, Any] = {"dataset": "shop", "columns": ["sku"], "limit": 1, "order": order}
    keys, answer = [], agent.ask("query_rows", **asked)
    table.take({**A, "price": 99}, {**A, "sku": "D4", "title": "Axe"})
    while True:
        assert (answer["through"], answer["total"]) == (3, 3)
        keys += [key for (key,) in answer["rows"]]
        if answer["next"] is None:
            break
        answer = agent.ask("query_rows", **asked, cursor=answer["next"])
    assert sorted(keys) == ["A1", "B2", "C3"]


def test_a_row_has_the_quote_the_page_and_the_time_of_each_cell(table: Table, agent: Agent) -> None:
    table.take({**A, "price": 8}, B, C)
    table.edit("A1", {"title": "Desk lamp"})
    row = agent.ask("get_row", dataset="shop", row="A1")
    price, title, note = (row["cells"][name] for name in ("price", "title", "note"))
    assert (price["value"], price["quote"]) == (8, "8")
    assert price["page"].startswith("https://shop.example/")
    assert price["readAt"] <= row["observedAt"]
    assert (title["value"], title["edited"], title["source"]) == ("Desk lamp", True, "Lamp")
    assert title["quote"] == "Lamp"
    assert "quote" not in note
    prices = [change["cells"].get("price") for change in row["changes"]]
    assert prices == [[None, 10], [10, 8], None]


def test_who_keeps_through_gets_each_change_once(table: Table, agent: Agent) -> None:
    first = agent.ask("list_changes", dataset="shop", limit=2)
    assert ([each["sequence"] for each in first["changes"]], first["next"]) == ([1, 2], 2)
    rest = agent.ask("list_changes", dataset="shop", after=first["through"])
    assert [each["row"] for each in rest["changes"]] == ["C3"]
    assert (rest["through"], rest["next"]) == (3, None)
    table.take({**A, "price": 9}, C)
    news = agent.ask("list_changes", dataset="shop", after=rest["through"])
    assert [(each["kind"], each["row"], each["cells"]) for each in news["changes"]] == [
        ("updated", "A1", {"price": [10, 9]}),
        ("missing", "B2", {}),
    ]


def test_changes_that_meet_a_condition_say_how_and_the_others_are_passed_over(
    table: Table, agent: Agent
) -> None:
    table.take({**A, "price": 8}, {**B, "title": "Stool"}, C)
    answer = agent.ask("list_changes", dataset="shop", when=["price falls"])
    assert [each["matches"] for each in answer["changes"]] == [["price fell: 10 → 8"]]
    assert (answer["through"], answer["next"]) == (5, None)


def test_old_rows_are_never_shown_as_new(table: Table, agent: Agent) -> None:
    read_at = agent.ask("query_rows", dataset="shop")["observedAt"]
    run = table.take()
    for tool, arguments in CALLS[1:]:
        answer = agent.ask(tool, **arguments)
        assert (answer["state"], answer["since"]) == ("failed", run["completedAt"])
        assert answer["observedAt"] == read_at
        assert answer["why"] == f"{run['error']} Its rows are those that were read at {read_at}."
        assert answer["try"] == [{"tool": "explain_run", "arguments": {"dataset": "shop"}}]
    explained = agent.ask("explain_run", dataset="shop")
    assert (explained["run"], explained["status"]) == (run["id"], "failed")
    assert explained["sentence"] == run["error"]
    assert explained["causes"]


def test_a_run_that_is_named_is_explained_instead_of_the_last(table: Table, agent: Agent) -> None:
    run = table.take(A, B, C)
    table.take()
    explained = agent.ask("explain_run", dataset="shop", run=run["id"])
    assert (explained["run"], explained["status"], explained["state"]) == (
        run["id"],
        "succeeded",
        "failed",
    )


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("qury_rows", {}, "There is no tool 'qury_rows'; did you mean 'query_rows'?"),
    ("query_rows", {}, "query_rows needs 'dataset': name of the dataset, from list_datasets."),
    ("query_rows", {"dataset": "shpo"}, "'shpo'; did you mean 'shop'? There is: shop."),
    ("query_rows", {"dataset": 5}, "dataset must be a text, not 5."),
    ("query_rows", {"dataset": "shop", "colums": []}, "'colums'; did you mean 'columns'?"),
    ("query_rows", {"dataset": "shop", "columns": ["pris"]}, "There is no column 'pris'."),
    ("query_rows", {"dataset": "shop", "columns": [1]}, "columns must be a list of texts, not a"),
    ("query_rows", {"dataset": "shop", "where": ["price <"]}, "'price <'"),
    ("query_rows", {"dataset": "shop", "limit": 0}, "limit must be 1 to 200, not 0."),
    ("query_rows", {"dataset": "shop", "limit": True}, "must be a whole number, not true."),
    ("query_rows", {"dataset": "shop", "gone": "yes"}, 'gone must be true or false, not "yes".'),
    ("query_rows", {"dataset": "shop", "at": "soon"}, "'soon' is no moment: write a date"),
    ("query_rows", {"dataset": "shop", "cursor": "x"}, "cursor is not the next of an answer"),
    ("get_row", {"dataset": "shop", "row": "Z9"}, "There is no row 'Z9'"),
    ("list_changes", {"dataset": "shop", "after": 4}, "after 4 is past the last sequence"),
    ("list_changes", {"dataset": "shop", "after": -1}, "after must be at least 0, not -1."),
    ("explain_run", {"dataset": "shop", "run": "nope"}, "'shop' has no Run 'nope'; leave run out"),
]


@pytest.mark.one_database
@pytest.mark.parametrize(("tool", "arguments", "sentence"), REFUSED)
def test_what_is_wrong_is_said_in_one_sentence(
    agent: Agent, tool: str, arguments: dict[str, Any], sentence: str
) -> None:
    assert sentence in agent.refused(tool, **arguments)


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("order", "meant"),
    [
        ("-price", "price desc"),
        ("+price", "price"),
        ("price:desc", "price desc"),
        ("Price descending", "price desc"),
        ("prices desc", "price desc"),
        ("-pris", "sku desc"),
        ("", "sku desc"),
        ("price; DROP TABLE rows", "sku desc"),
    ],
)
def test_an_order_that_is_written_otherwise_is_told_as_it_is_read(
    agent: Agent, order: str, meant: str
) -> None:
    said = agent.refused("query_rows", dataset="shop", order=order)
    assert said == (
        f'order must be a column, alone or with "desc" behind it, such as {meant!r}, not '
        f'"{order}". There is: sku, title, price, stock, note, rowKey.'
    )


def test_a_cursor_belongs_to_its_question(agent: Agent) -> None:
    position = agent.ask("query_rows", dataset="shop", limit=1)["next"]
    assert "cursor is not" in agent.refused(
        "query_rows", dataset="shop", gone=True, cursor=position
    )


def test_the_run_of_another_dataset_is_not_explained(table: Table, agent: Agent) -> None:
    run = Table(table.store, made.declared("another")).take(A)
    sentence = agent.refused("explain_run", dataset="shop", run=run["id"])
    assert sentence == f"'shop' has no Run '{run['id']}'; leave run out for its last one."


@pytest.mark.usefixtures("table")
def test_an_agent_of_some_datasets_finds_no_other(store: Store) -> None:
    Table(store, made.declared("secret")).take(A)
    agent = Agent(store, "shop")
    assert [each["dataset"] for each in agent.ask("list_datasets")["datasets"]] == ["shop"]
    assert agent.refused("query_rows", dataset="secret") == (
        "There is no dataset 'secret'. There is: shop."
    )


def test_every_tool_says_first_when_to_use_it() -> None:
    for tool in READING:
        sentence = tool.about.partition(". ")[0]
        assert 40 < len(sentence) < 120, sentence
