"""``research replay``: a Run once more from what it recorded, and nobody is asked."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from msgspec.structs import replace

from livedata.model import ids
from livedata.model.problem import Problem
from livedata.model.research.outcome import ResearchOutcome
from livedata.model.research.recipe import ResearchLimits
from livedata.research.asking.prompts import HARNESS_VERSION
from livedata.research.replay.tape import Tape, dump, load
from tests.cli.shell import START, Shell
from tests.makers import FIRST, dataset, makers_page, read_makers, scripted
from tests.research.recorded_run import recorded_run
from tests.servers.model import ModelServer
from tests.servers.search import Found, SearchServer
from tests.services.research_table import PAGE, ResearchTable
from tests.services.table import Table

if TYPE_CHECKING:
    from pathlib import Path

    from livedata.store.database.store import Store
    from tests.crawling import Crawling
    from tests.site import Site

KEYS = [
    *("runId", "mode", "basis", "harnessVersion", "identical", "digest", "recordedDigest"),
    *("misses", "rows", "facts", "diagnostics"),
]
OLD = 31 * 86_400 * 1_000_000
"""Microseconds after which nothing of an attempt is kept."""


@pytest.fixture
def no_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be reached."""

    def refuse(_socket: socket.socket, address: object) -> None:
        raise AssertionError(f"a replay asks {address}")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture
def file(store: Store, livedata: Shell, tmp_path: Path) -> Path:
    """The tape of a Run that found one row."""
    attempt, _ = recorded_run(store)
    file = tmp_path / "run.tape"
    livedata("research", "export", ids.format_uuid(attempt.run), "-o", str(file))
    return file


def changed(file: Path, **changes: Any) -> str:
    """The tape of another Run, that differs in what is said here."""
    return written(file, replace(load(file.read_bytes()), **changes))


def written(file: Path, tape: Tape) -> str:
    other = file.with_name("other.tape")
    other.write_bytes(b"".join(dump(tape)))
    return str(other)


def with_title(tape: Tape, title: str) -> Tape:
    assert tape.recipe.plan is not None
    return replace(tape, recipe=replace(tape.recipe, plan=replace(tape.recipe.plan, title=title)))


@pytest.mark.usefixtures("no_connections")
def test_a_run_is_replayed_to_what_it_found_and_nothing_is_written(
    store: Store, livedata: Shell
) -> None:
    table = ResearchTable(store)
    attempt, outcome = recorded_run(store, table=table)
    with store.reading() as reader:
        before = reader.rows("SELECT count(*) FROM artifacts"), table.feed()
    report = livedata.json("research", "replay", ids.format_uuid(attempt.run))
    assert list(report) == KEYS
    assert (report["identical"], report["mode"], report["misses"]) == (True, "strict", [])
    assert report["digest"] == report["recordedDigest"] == outcome.digest
    assert report["harnessVersion"] == HARNESS_VERSION
    fields = table.fields
    (row,) = report["rows"]
    assert row["data"] == {
        fields["Company"]: "Acme",
        fields["Evidence"]: "Acme",
        fields["Source"]: PAGE,
        fields["Founded"]: "1999",
        fields["City"]: "Bern",
    }
    assert row["quotes"][fields["City"]] == "Acme of Bern"
    assert "row_kept" in {fact["code"] for fact in report["facts"]}
    told = report["diagnostics"]["summary"]
    assert (told["basis"], told["totals"]["present"]) == ("replay", 1)
    with store.reading() as reader:
        assert before == (reader.rows("SELECT count(*) FROM artifacts"), table.feed())
    said = livedata.out("research", "replay", "makers", "--diff")
    assert "identical: 1 row and" in said
    assert "No row and no code of a fact changed." in said


def test_a_run_that_planned_searched_and_read_is_replayed_with_its_servers_gone(
    crawling: Crawling, site: Site, livedata: Shell, request: pytest.FixtureRequest
) -> None:
    site.page("/a", makers_page(FIRST))
    results = {"lamps": [Found(site.at("/a")), Found(site.at("/gone")), Found("http://10.0.0.1/")]}
    with ModelServer(read_makers) as model, SearchServer(results) as search:
        crawling.research = scripted(
            model.base_url, search="searxng", search_url=search.base_url, model_seconds=5
        )
        run = crawling.run(dataset(crawling.store, planned=False), allow=site.host)
        asked = len(model.asked)
    request.getfixturevalue("no_connections")
    hits = len(site.paths)
    report = livedata.json("research", "replay", run["id"])
    assert (report["identical"], report["misses"]) == (True, [])
    assert [list(row["data"].values())[3:] for row in report["rows"]] == [
        [*maker[1:]] for maker in FIRST
    ]
    assert report == livedata.json("research", "replay", run["id"])
    assert (len(model.asked), len(site.paths)) == (asked, hits)


def test_the_next_run_takes_answers_over_and_is_replayed_with_them(
    store: Store, livedata: Shell
) -> None:
    table = ResearchTable(store)
    recorded_run(store, table=table)
    _, outcome = recorded_run(store, table=table)
    report = livedata.json("research", "replay", "makers")
    assert report["digest"] == outcome.digest
    assert report["identical"]
    assert "answer_reused" in {fact["code"] for fact in report["facts"]}
    assert report["rows"][0]["new"] is False


def test_a_run_whose_time_was_over_at_once_is_replayed_to_the_same_end(
    store: Store, livedata: Shell
) -> None:
    table = ResearchTable(store, planned=False)
    recorded_run(store, table=table, calls=0)
    report = livedata.json("research", "replay", "makers")
    assert (report["identical"], report["digest"], report["misses"]) == (True, None, [])
    told = report["diagnostics"]["completion"]["observations"]["stop"]
    assert told["rule"] == "deadline"
    assert "identical: 0 rows and 0 facts, no digest." in livedata.out(
        "research", "replay", "makers"
    )


def test_a_run_that_could_not_pay_for_its_plan_is_replayed_to_the_same_end(
    store: Store, livedata: Shell
) -> None:
    table = ResearchTable(store, planned=False, limits=ResearchLimits(usd=0.000_001))
    recorded_run(store, table=table)
    report = livedata.json("research", "replay", "makers")
    assert (report["identical"], report["misses"]) == (True, [])
    assert [fact["code"] for fact in report["facts"]] == ["cost_limit"]


def test_a_tape_is_replayed_alike_in_any_process_without_a_store(file: Path) -> None:
    home = file.parent / "fresh"
    answers = []
    for seed in ("1", "2"):
        environ = {**os.environ, "LIVEDATA_HOME": str(home), "PYTHONHASHSEED": seed}
        environ.pop("LIVEDATA_DATABASE_URL", None)
        command = [sys.executable, "-c", START, "research", "replay", str(file), "--json"]
        answers.append(subprocess.run(command, capture_output=True, check=True, env=environ).stdout)
    assert answers[0] == answers[1]
    assert orjson.loads(answers[0])["identical"]
    assert not home.exists()


def test_a_replay_imports_neither_a_client_nor_a_crawler(livedata: Shell, file: Path) -> None:
    imported = livedata.modules_after("research", "replay", str(file))
    assert not imported & {"pydantic_ai", "openai", "httpx2", "scrapy", "sqlalchemy"}


def test_a_changed_plan_is_a_miss_and_loosely_taken(livedata: Shell, file: Path) -> None:
    other = written(file, with_title(load(file.read_bytes()), "Other makers"))
    result = livedata("research", "replay", other, "--json", code=1)
    report = orjson.loads(result.stdout)
    assert (report["identical"], report["rows"]) == (False, [])
    assert report["misses"] == [{"kind": "extraction.output", "sourceUrl": PAGE, "window": ""}]
    said = livedata("research", "replay", other, "--diff", code=1).stdout
    assert "not identical: 0 rows" in said
    assert f"extraction.output  {PAGE}" in said
    assert ["Acme", "lost"] in [line.split()[:2] for line in said.splitlines()]
    assert ["row_kept", "1", "0"] in [line.split() for line in said.splitlines()]
    loose = livedata.json("research", "replay", other, "--mode", "loose", "--diff")
    assert (loose["identical"], loose["diff"]) == (True, {"rows": [], "codes": []})


def test_another_text_or_prompt_is_a_miss(livedata: Shell, file: Path) -> None:
    tape = load(file.read_bytes())
    page, answer = tape.artifacts
    text = replace(page, body=page.body.replace("Acme of Bern", "Acme of Rome"))
    missed = livedata("research", "replay", changed(file, artifacts=[text, answer]), code=1)
    assert "extraction.output" in missed.stdout
    asked = replace(answer, request_digest="0" * 64)
    livedata("research", "replay", changed(file, artifacts=[page, asked]), code=1)


def test_what_was_too_long_to_be_kept_is_a_miss(livedata: Shell, file: Path) -> None:
    tape = load(file.read_bytes())
    for artifact, other in (tape.artifacts, tape.artifacts[::-1]):
        arguments = ("research", "replay", changed(file, artifacts=[other]), "--json")
        for mode in ("strict", "loose"):
            result = livedata(*arguments, "--mode", mode, code=1)
            (miss,) = orjson.loads(result.stdout)["misses"]
            assert (miss["kind"], miss["sourceUrl"]) == (artifact.kind, PAGE)


def test_another_value_is_told_by_its_column(livedata: Shell, file: Path) -> None:
    (row,) = load(file.read_bytes()).rows
    assert row.values is not None
    other = changed(file, rows=[replace(row, values=[*row.values[:-1], "Basel"])])
    report = livedata.json("research", "replay", other, "--diff")
    assert report["diff"]["rows"] == [
        {
            "rowKey": row.key,
            "name": "Acme",
            "change": "changed",
            "cells": [{"label": "City", "recorded": "Basel", "replayed": "Bern"}],
        }
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: this is no tape of a research Run."),
        ("name,city\nAcme,Bern\n", "line 1: this is no tape of a research Run."),
        ("[" * 100_000, "line 1: this is no tape of a research Run."),
        ('{"tape":"livedata-tape/9"}\n', "a tape of another form, 'livedata-tape/9'."),
    ],
    ids=["empty", "table", "nested", "form"],
)
def test_a_file_that_is_no_tape_is_refused(
    livedata: Shell, tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "run.tape"
    file.write_text(text)
    error = livedata.error("research", "replay", str(file))
    assert error.startswith(f"Error: {file}, ")
    assert said in error
    assert error.count("\n") == 1


def test_a_tape_that_is_cut_or_of_another_harness_is_refused(livedata: Shell, file: Path) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-1]))
    assert "the tape is cut: it has 1 of its 2 answers." in livedata.error(
        "research", "replay", str(file)
    )
    file.write_bytes(b"".join([*lines[:-1], lines[-1].replace(b'"body":"{', b'"body":"[')]))
    assert "line 3: this is no answer of a Run." in livedata.error("research", "replay", str(file))
    file.write_bytes(b"".join(lines))
    other = changed(file, harness="research-0/p:00000000")
    said = livedata.error("research", "replay", other)
    assert "It was recorded by the harness research-0/p:00000000" in said
    assert livedata.json("research", "replay", other, "--mode", "loose")["identical"]


@pytest.mark.parametrize("name", ["gone.tape", "gone.jsonl", "folder/gone"])
def test_a_file_that_is_not_there_is_told(livedata: Shell, name: str) -> None:
    error = livedata.error("research", "replay", name)
    assert error.startswith(f"Error: There is no file {name}")


def test_a_run_that_cannot_be_replayed_says_why(store: Store, livedata: Shell) -> None:
    Table(store).begin()
    assert "reads its pages with selectors" in livedata.error("research", "replay", "shop")
    table = ResearchTable(store)
    attempt = table.begin()
    assert "is not over yet" in livedata.error("research", "replay", "makers")
    ended = ResearchOutcome("model_unavailable", [], [], problem=Problem("run.no_model"))
    table.finish(attempt, ended)
    assert "This Run recorded nothing" in livedata.error("research", "replay", "makers")
    recorded_run(store, table=table)
    with store.writing() as writer:
        writer.execute("UPDATE research_attempts SET started_at = started_at - :age", age=OLD)
    assert "no longer kept" in livedata.error("research", "replay", "makers")
    assert "There is no Run or dataset" in livedata.error("research", "replay", "nobody")
