"""The catalogue of errors holds what the code can say, all of it and nothing else."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from livedata.cli.runs.show import OF_RESEARCH
from livedata.messages.remedies import REMEDIES
from livedata.messages.render import entry
from livedata.messages.research_findings import FACT_MEANINGS
from livedata.model.problem import Problem
from tests.errors_page import AS_FAILED, HELPED, OTHERWISE, PAGE, TABLES, helps, text
from tests.remedies_of import remedies_of

ROOT = Path(__file__).resolve().parents[1]
WORDS = ROOT / "livedata" / "messages"
"""The folder of the tables, which name every code themselves."""
NAMES_ITS_CODES = WORDS / "notice_events.py"
"""What notices say is asked for by what happened, and its code is named only here."""
FAMILIES = "address|cause|checks|evidence|fact|fetch|finding|pagination|research|run|unknown"
CODE = re.compile(rf"(?:{FAMILIES})(?:\.[a-z0-9_]+)+")
ROWS = {code for _, table in TABLES.values() for code in table} | {"fetch.run_out_of_time"}
"""Every code with words; the last has a sentence of its own."""


@cache
def nodes() -> list[tuple[Path, ast.Constant | ast.Call]]:
    """Every constant and call in the code, with its file: to read it all takes seconds."""
    return [
        (file, node)
        for package in ("livedata", "spiders")
        for file in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant | ast.Call)
    ]


def constants() -> list[tuple[Path, str]]:
    """Every string in the code, with its file; the tables of words are left out."""
    return [
        (file, node.value)
        for file, node in nodes()
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if file.parent != WORDS or file == NAMES_ITS_CODES
    ]


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == text(), "run python -m tests.errors_page"


def anchors() -> list[str]:
    return re.findall(r'<a id="([^"]+)"></a>', PAGE.read_text())


def test_each_anchor_stands_there_once() -> None:
    assert len(anchors()) == len(set(anchors())) > 300


@pytest.mark.parametrize("code", sorted(ROWS - {"fetch.run_out_of_time"}))
def test_what_a_command_names_of_a_problem_is_on_the_page(code: str) -> None:
    file, _, anchor = entry(Problem(code)).partition("#")
    assert ROOT / file == PAGE
    assert anchor in anchors()


@pytest.mark.parametrize("code", [code for title in HELPED for code in TABLES[title][1]])
def test_each_error_of_a_run_has_its_remedy(code: str) -> None:
    assert helps(code)


@pytest.mark.parametrize("code", sorted(OF_RESEARCH))
def test_a_check_of_research_is_helped_by_nothing_that_needs_selectors(code: str) -> None:
    assert "source" not in helps(code)


def test_no_two_causes_say_the_same() -> None:
    section = PAGE.read_text().partition("## Causes")[2].partition("\n## ")[0]
    said = [line.split(" | ")[1] for line in section.splitlines() if line.startswith("| <a")]
    sentences = [each for each in said if not each.startswith("{")]
    assert len(sentences) - len(set(sentences)) <= 1  # the limits of pages and of items


def test_a_cause_that_says_what_a_page_says_leads_to_each_of_its_failures() -> None:
    for code in AS_FAILED:
        line = next(line for line in PAGE.read_text().splitlines() if f"`{code}`" in line)
        assert "connection was cut" not in line
        linked = re.findall(r"\(#(fetch\.[a-z_]+)\)", line)
        assert linked
        assert set(linked) <= set(anchors())


def test_what_the_code_proposes_itself_is_not_said_otherwise() -> None:
    assert not [code for code in OTHERWISE if remedies_of().get(code)]
    assert all(any(row.startswith(family) for row in ROWS) for family in OTHERWISE)


def test_every_code_that_the_code_names_has_words() -> None:
    named = {value for _, value in constants() if CODE.fullmatch(value)}
    assert len(named) > 100
    assert named - ROWS == set()


def test_every_problem_of_a_delivery_has_words() -> None:
    """The family of notices has the events of a log too, which need none."""
    made = {
        str(call.args[0].value)
        for _, call in nodes()
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Problem" and call.args
        if isinstance(call.args[0], ast.Constant)
    }
    undelivered = {code for code in made if code.startswith("notice.")}
    assert len(undelivered) > 5
    assert undelivered - ROWS == set()


def test_every_code_with_words_is_produced_somewhere() -> None:
    values = {value for _, value in constants()}
    # A family that is put together from its prefix names the rest of the code alone.
    prefixes = {value for value in values if re.fullmatch(rf"(?:{FAMILIES})\.", value)}
    # The facts of research are recorded as they happen, by codes without a family.
    unproduced = {
        code
        for code in ROWS - values - FACT_MEANINGS.keys()
        if not (f"{code.partition('.')[0]}." in prefixes and code.partition(".")[2] in values)
    }
    assert unproduced == set()


def remedies_produced() -> list[str]:
    """The codes of remedies, wherever one is made."""
    return [
        str(call.args[0].value)
        for _, call in nodes()
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Remedy"
        if isinstance(call.args[0], ast.Constant)
    ]


def test_every_remedy_that_the_code_names_has_words() -> None:
    assert set(remedies_produced()) - REMEDIES.keys() == set()


def test_every_remedy_with_words_is_proposed_somewhere() -> None:
    hints = ROOT / "livedata" / "hints.py"
    named = {value for file, value in constants() if file != hints}
    assert REMEDIES.keys() - named == set()
