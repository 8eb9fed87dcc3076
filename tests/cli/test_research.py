"""``research plan`` and ``research create``: from a question to a dataset, and what is refused."""

from __future__ import annotations

import copy
import json
import tomllib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.shell import Shell
from tests.servers.model import ModelServer, Refusal, Status

if TYPE_CHECKING:
    from pathlib import Path

PLAN: dict[str, Any] = {
    "title": 'Lamp "makers"\n😀',
    "rowMeaning": "A company that makes lamps",
    "nameLabel": "Company",
    "query": "companies that make lamps",
    "rowIdentity": {"description": "A company", "kind": "company", "scopeFields": ["City"]},
    "attributes": [
        {"label": "Founded", "description": "The year"},
        {"label": "City", "description": "Where it is"},
        {"label": "名", "description": "Its name in Chinese"},
        {"label": "Name!", "description": "Another"},
    ],
}
COLUMNS = ["name", "evidence", "source", "founded", "city", "field", "name_2"]
URL = "https://a.example/list"
FROM_PROMPT = ("research", "create", "--name", "lamps", "--prompt", "Who makes lamps?")


@pytest.fixture(autouse=True)
def a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a model be set, which nobody asks, and no search."""
    monkeypatch.delenv("LIVEDATA_SEARCH", raising=False)
    monkeypatch.setenv("LIVEDATA_MODEL", "scripted")
    monkeypatch.setenv("LIVEDATA_MODEL_BASE_URL", "http://127.0.0.1:9/v1")


def _written(path: Path, plan: Mapping[str, Any], **more: Any) -> Path:
    path.write_text(json.dumps({**plan, **more}, indent=1))
    return path


def test_a_plan_of_the_model_s_is_a_file_that_makes_a_dataset(
    livedata: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "plan.toml"
    alike = copy.deepcopy(PLAN)
    alike["attributes"][1]["label"] = "FOUNDED"
    with ModelServer([alike, PLAN]) as server:
        monkeypatch.setenv("LIVEDATA_MODEL_BASE_URL", server.base_url)
        said = livedata("research", "plan", "Who makes lamps?", "--url", URL, "-o", str(file))
        assert livedata.json("research", "plan", "Who makes lamps?") == PLAN
    assert f"livedata research create --name NAME --plan {file}" in said.stderr
    first, second = (asked.task for asked in server.asked[:2])
    assert first["prompt"] == second["prompt"] == "Who makes lamps?"
    assert "FOUNDED" in str(second["problems"])
    assert tomllib.loads(file.read_text()) == {
        **PLAN,
        "urls": [URL],
        "maxPages": 25,
        "maxTokens": 2_000_000,
    }
    dataset = livedata.json("research", "create", "--name", "lamps", "--plan", str(file))
    assert [column["name"] for column in dataset["columns"]] == COLUMNS
    assert [column["label"] for column in dataset["columns"]][:5] == [
        *("Company", "Evidence", "Source", "Founded", "City")
    ]
    assert dataset["status"] == "draft"
    assert livedata.out("dataset", "source", "lamps") == file.read_text()
    assert livedata.json("dataset", "source", "lamps") == tomllib.loads(file.read_text())


def test_a_plan_that_is_there_is_not_overwritten_and_no_model_asked(
    livedata: Shell, tmp_path: Path
) -> None:
    file = _written(tmp_path / "plan.toml", PLAN)
    assert "--force overwrites it" in livedata.error("research", "plan", "Who?", "-o", str(file))


def test_a_model_that_gives_no_plan_says_why(
    livedata: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    for scripted, words in (
        (Refusal("I never plan."), "The model gave no plan: "),
        (Status(404), "whether the address of its server needs the path /v1"),
        (Status(401), "status 401"),
        ({**PLAN, "attributes": []}, "attributes must not be empty"),
    ):
        with ModelServer([scripted]) as server:
            monkeypatch.setenv("LIVEDATA_MODEL_BASE_URL", server.base_url)
            assert words in livedata.error("research", "plan", "Who makes lamps?")


def test_a_question_becomes_a_dataset_whose_first_run_plans(livedata: Shell) -> None:
    said = livedata(*FROM_PROMPT, "--url", URL)
    assert "livedata run lamps" in said.stdout
    assert "the first Run plans the others" in said.stdout
    assert "at most 25 credits" in said.stdout
    assert "2,000,000 tokens of scripted, whose price is not set" in said.stdout
    dataset = livedata.json("dataset", "show", "lamps")
    assert dataset["question"] == "Who makes lamps?"
    assert [column["name"] for column in dataset["columns"]] == COLUMNS[:3]
    assert "has no plan yet" in livedata.error("dataset", "source", "lamps")
    assert "lamps is a research dataset" in livedata.error("dataset", "suggest", "lamps")


def test_what_a_run_may_take_is_told_with_what_there_is_for_a_day(
    livedata: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIVEDATA_RESEARCH_TOKENS_A_DAY", "500000")
    said = livedata(*FROM_PROMPT, "--url", URL).stdout
    assert "tokens of scripted (500,000 a day for all that you research), whose price" in said


def test_what_a_run_costs_at_most_is_said_in_money_once_there_is_a_price(
    livedata: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIVEDATA_MODEL_PRICE_IN", "0.5")
    monkeypatch.setenv("LIVEDATA_MODEL_PRICE_OUT", "2")
    assert "for no more than $4.00" in livedata.out(*FROM_PROMPT, "--url", URL)
    limited = ("--name", "two", "--prompt", "Who?", "--url", URL, "--max-usd", "0.25")
    assert "for no more than $0.25" in livedata.out("research", "create", *limited)


def test_options_go_before_what_the_plan_s_file_says(livedata: Shell, tmp_path: Path) -> None:
    file = _written(tmp_path / "plan.json", PLAN, urls=[URL], maxPages=3, maxTokens=5_000)
    other = "https://b.example/"
    made = ("--name", "lamps", "--plan", str(file), "--url", other, "--max-pages", "7")
    livedata("research", "create", *made)
    declared = livedata.json("dataset", "source", "lamps")
    assert (declared["urls"], declared["maxPages"], declared["maxTokens"]) == ([other], 7, 5_000)


def test_a_schedule_makes_the_dataset_active(livedata: Shell) -> None:
    dataset = livedata.json(*FROM_PROMPT, "--url", URL, "--schedule", "0 6 * * *")
    assert (dataset["status"], dataset["schedule"]) == ("active", "0 6 * * *")
    said = livedata.error(
        "research", "create", "--name", "b", "--prompt", "?", "--url", URL, "--schedule", "daily"
    )
    assert said.startswith("Error: schedule ")
    assert len(livedata.json("dataset", "list")) == 1


def test_a_plan_is_revised_in_its_texts_and_never_in_what_its_rows_are(
    livedata: Shell, tmp_path: Path
) -> None:
    file = _written(tmp_path / "plan.json", PLAN, urls=[URL])
    livedata("research", "create", "--name", "lamps", "--plan", str(file))
    before = livedata.json("dataset", "show", "lamps")["columns"]
    revised = {**copy.deepcopy(PLAN), "query": "lamps", "urls": [], "maxPages": 9}
    revised["attributes"][0]["description"] = "The year of founding"
    said = livedata("dataset", "revise", "lamps", str(_written(file, revised)))
    assert said.stdout.splitlines() == [
        "description of founded: The year → The year of founding",
        f"query: {PLAN['query']} → lamps",
        f"urls: {URL} → none",
        "maxPages: 25 → 9",
    ]
    assert "Pinned recipe version 2" in said.stderr
    assert "Nothing to revise" in livedata("dataset", "revise", "lamps", str(file)).stderr
    assert livedata.json("dataset", "source", "lamps") == {**revised, "maxTokens": 2_000_000}
    before[3]["description"] = "The year of founding"
    assert livedata.json("dataset", "show", "lamps")["columns"] == before
    for path, value, words in (
        (("attributes",), PLAN["attributes"][:1], "is the label of no attribute"),
        (("nameLabel",), "Firm", 'nameLabel must stay "Company"'),
        (("rowIdentity", "kind"), "other", 'rowIdentity.kind must stay "company"'),
        (("rowIdentity", "scopeFields"), [], "rowIdentity.scopeFields must stay City"),
    ):
        error = livedata.error("dataset", "revise", "lamps", str(_put(file, PLAN, path, value)))
        assert words in error
        assert error.startswith(f"Error: {file}:")
    assert livedata.json("dataset", "source", "lamps")["query"] == "lamps"


def test_a_plan_may_ask_for_more_and_for_less(livedata: Shell, tmp_path: Path) -> None:
    file = _written(tmp_path / "plan.json", PLAN, urls=[URL])
    livedata("research", "create", "--name", "lamps", "--plan", str(file))
    staff = {"label": "Staff", "description": "How many work there"}
    plan = {**PLAN, "attributes": [*PLAN["attributes"][:-1], staff]}
    said = livedata("dataset", "revise", "lamps", str(_written(file, plan, urls=[URL])))
    had = livedata.json("dataset", "show", "lamps")["columns"]
    assert had[-1]["label"] == "Staff"
    assert said.stdout.splitlines() == [
        "column staff (string) is added",
        "column name_2 is dropped, and stays in the history",
    ]
    assert livedata.json("dataset", "source", "lamps")["attributes"] == plan["attributes"]


def _put(file: Path, plan: Any, path: tuple[str | int, ...], value: object) -> Path:
    changed = place = copy.deepcopy(plan)
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return _written(file, changed)


# Where in the plan, what stands there, and what is said of it.
WRONG_PLANS: dict[str, tuple[tuple[str | int, ...], object, str]] = {
    "an unknown key": (("qery",), "x", "unknown property qery; did you mean query?"),
    "a prototype": (("__proto__",), {"kind": "other"}, "unknown property __proto__"),
    "an unknown key of an attribute": (
        ("attributes", 0, "type"),
        "url",
        "attributes[0].type: unknown property type",
    ),
    "a text for a list": (("attributes",), "Founded", "attributes must be a list"),
    "a list for an object": (("rowIdentity",), [], "rowIdentity must be an object"),
    "a number for a text": (("title",), 7, "title must be a string"),
    "NUL": (("query",), "lamps\0", "query must not contain NUL"),
    "no attribute": (("attributes",), [], "attributes must not be empty"),
    "13 attributes": (
        ("attributes",),
        [{"label": f"L{number}", "description": "x"} for number in range(13)],
        "attributes must have at most 12 entries, not 13",
    ),
    "labels alike": (("attributes", 1, "label"), "FOUNDED", "attributes[1].label is"),
    "a label of ours": (("attributes", 1, "label"), "source", "attributes[1].label is"),
    "a label that is empty": (("attributes", 1, "label"), "​", "attributes[1].label must not"),
    "a scope field that is none": (
        ("rowIdentity", "scopeFields"),
        ["Town"],
        "which is the label of no attribute",
    ),
    "a kind that is none": (("rowIdentity", "kind"), "firm", '"trend" or "other", not "firm"'),
    "a query that is long": (("query",), "x" * 401, "query must have at most 400 characters"),
    "a private address": (("urls",), ["http://10.0.0.1/"], "urls[0] has the private address"),
    "another scheme": (("urls",), ["ftp://a.example/"], "urls[0] must begin with http"),
    "an address twice": (("urls",), [URL, f"{URL}#top"], "urls[1] is the same page as urls[0]"),
    "too many addresses": (
        ("urls",),
        [f"https://a.example/{number}" for number in range(21)],
        "urls must have at most 20 entries, not 21",
    ),
    "too many pages": (("maxPages",), 51, "maxPages must be at most 50, not 51"),
    "too few tokens": (("maxTokens",), 999, "maxTokens must be at least 1000, not 999"),
    "no money": (("maxUsd",), 0, "maxUsd must be more than 0"),
    "money without a price": (("maxUsd",), 1, "LIVEDATA_MODEL_PRICE_IN"),
}


@pytest.mark.parametrize("name", WRONG_PLANS)
def test_a_wrong_plan_is_told_with_file_and_line(
    livedata: Shell, tmp_path: Path, name: str
) -> None:
    path, value, words = WRONG_PLANS[name]
    file = _put(tmp_path / "plan.json", {**PLAN, "urls": [URL]}, path, value)
    error = livedata.error("research", "create", "--name", "lamps", "--plan", str(file))
    assert words in error
    assert f"{file}:" in error
    assert not (tmp_path / "livedata.db").exists()


def test_money_without_an_end_is_refused(livedata: Shell, tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text("maxUsd = inf\n", encoding="utf-8")
    error = livedata.error("research", "create", "--name", "lamps", "--plan", str(file))
    assert "maxUsd must be a number that is finite, not Infinity" in error


@pytest.mark.parametrize(
    ("name", "text"),
    [("deep.json", '{"a":' * 200 + "1" + "}" * 200), ("deep.toml", "a = " + "[" * 9_000)],
)
def test_a_deep_plan_is_told_as_such(livedata: Shell, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    create = ("research", "create", "--name", "lamps", "--plan", str(tmp_path / name))
    assert "nested" in livedata.error(*create)


def test_a_missing_model_or_search_is_said_with_the_free_ways(
    livedata: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = livedata.error(*FROM_PROMPT)
    assert "--url" in error
    assert "LIVEDATA_SEARCH=searxng" in error
    monkeypatch.delenv("LIVEDATA_MODEL")
    assert "LIVEDATA_MODEL=" in livedata.error(*FROM_PROMPT, "--url", URL)
    assert "LIVEDATA_MODEL=" in livedata.error("research", "plan", "Who?")


def test_without_the_extra_it_is_said_what_to_install(
    livedata: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("livedata.research.providers.PACKAGES", ("no_such_package",))
    error = livedata.error(*FROM_PROMPT, "--url", URL)
    assert "-m pip install 'httpx2" in error


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "Give --prompt or --plan"),
        (("--prompt", "Who?", "--plan", "plan.toml"), "Give --prompt or --plan"),
        (("--prompt", "Who?", "--max-pages", "51"), "--max-pages"),
        (("--prompt", "Who?", "--max-usd", "0"), "--max-usd"),
    ],
)
def test_wrong_usage_is_told(livedata: Shell, args: tuple[str, ...], words: str) -> None:
    assert words in livedata.error("research", "create", "--name", "lamps", *args, code=2)


@pytest.mark.parametrize("prompt", ["", "x" * 1001, "x" * 10_000])
def test_a_prompt_has_1_to_1000_characters(livedata: Shell, prompt: str) -> None:
    create = ("research", "create", "--name", "lamps", "--url", URL, "--prompt", prompt)
    assert "prompt must" in livedata.error(*create)
    assert "prompt must" in livedata.error("research", "plan", prompt)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--url", "http://10.0.0.1/"), "Error: --url http://10.0.0.1/ has the private address"),
        (("--url", URL, "--url", f"{URL}#end"), f"Error: --url {URL}#end is the same page"),
        (("--url", URL, "--max-usd", "1"), "Error: --max-usd limits money"),
    ],
)
def test_a_wrong_option_is_called_as_it_was_typed(
    livedata: Shell, options: tuple[str, ...], words: str
) -> None:
    assert words in livedata.error("research", "create", "--name", "x", "--prompt", "q", *options)


def test_an_address_of_a_server_that_is_none_is_told_without_it(
    livedata: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MODEL_BASE_URL", "SEARCH_URL"):
        monkeypatch.setenv(f"LIVEDATA_{name}", "https://user:hidden@host.example/v1")
        error = livedata.error(*FROM_PROMPT)
        monkeypatch.delenv(f"LIVEDATA_{name}")
        assert f"LIVEDATA_{name} must be an address without a user" in error
        assert "such as http://127.0.0.1:" in error
        assert "hidden" not in error


def test_a_name_is_taken_once(livedata: Shell) -> None:
    livedata(*FROM_PROMPT, "--url", URL)
    assert "There is a dataset named 'lamps' already" in livedata.error(*FROM_PROMPT, "--url", URL)


def test_a_dataset_that_is_run_at_once_stands_beside_its_run(
    livedata: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer([Status(401)]) as server:
        monkeypatch.setenv("LIVEDATA_MODEL_BASE_URL", server.base_url)
        process = livedata.start(*FROM_PROMPT, "--url", URL, "--run", "--json")
        printed, _ = process.communicate()
    assert process.returncode == 3
    made = json.loads(printed)
    assert made["run"]["status"] == "failed"
    assert made["run"]["datasetId"] == made["dataset"]["id"]
    assert made["dataset"]["lastRun"]["status"] == "failed"
