"""docs/reference is what the code cites, and says what the API answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import reference

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("livedata", "spiders", "tests", "benchmarks", "docs")
KINDS = {".md", ".py", ".toml"}

SECTION = re.compile(r"^(?:#{2,3} |\*\*)(\d+(?:\.\d+)?)(?:\.? |\*\*)", re.MULTILINE)
NUMBER = r"\d+(?:\.\d+)?"
CITED = re.compile(
    rf"\b(interface|rules) ({NUMBER}(?:(?:, | and | to |, and ){NUMBER})*)", re.IGNORECASE
)
FOREIGN = re.compile(
    r"(?<![A-Z]{2} )(?:\b|_)(?i:specifications?)(?:\b|_)"
    r"|(?i:\bthe decisions\b|\bdecisions, |\bdesign \d)"
)
LINK = re.compile(r"\]\(([^)#\s]+)\)")


def pages() -> Iterator[tuple[str, str]]:
    """The path and text of every file that may cite, but this one."""
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in KINDS and file != Path(__file__).resolve():
                yield str(file.relative_to(ROOT)), file.read_text(encoding="utf-8")


def cited(text: str) -> Iterator[tuple[str, str]]:
    """(page, number) of every section that a text cites."""
    for page, numbers in CITED.findall(" ".join(text.split())):
        for number in re.findall(NUMBER, numbers):
            yield page.lower(), number


def sections(page: str) -> set[str]:
    """The numbers of the sections and paragraphs of a page of the reference."""
    return set(SECTION.findall((reference.FOLDER / f"{page}.md").read_text(encoding="utf-8")))


def test_every_citation_names_a_section_that_is_there() -> None:
    known = {page: sections(page) for page in ("interface", "rules")}
    unknown = [
        f"{path}: {page} {number}"
        for path, text in pages()
        for page, number in cited(text)
        if number not in known[page]
    ]
    assert unknown == []


def test_no_file_cites_what_the_repository_does_not_hold() -> None:
    foreign = [
        f"{path}:{number}: {line.strip()}"
        for path, text in pages()
        for number, line in enumerate(text.splitlines(), 1)
        if FOREIGN.search(line)
    ]
    assert foreign == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(interface 2.12)", {("interface", "2.12")}),
        ("Interface 2.2, 2.3 and 4.1.", {("interface", each) for each in ("2.2", "2.3", "4.1")}),
        ("rules 5.11 to\n    5.16; interface 9", {*cited("rules 5.11, 5.16"), ("interface", "9")}),
        ("4xx means no rules, 5xx that nothing may be read", set()),
        ("the interface takes 3", set()),
    ],
)
def test_citations_are_found(text: str, expected: set[tuple[str, str]]) -> None:
    assert set(cited(text)) == expected


@pytest.mark.parametrize(
    ("text", "foreign"),
    [
        ("Specification 2.12: a fact.", True),
        ("test_it_does_what_the_specification_says", True),
        ("(decisions, Politeness)", True),
        ('"Schedules" of the decisions', True),
        ("the exit codes of design 3", True),
        ("Pure decisions: values in, values out.", False),
        ("what the design does for it", False),
        ("the fields of the specification", True),
        ("the HTML specification", False),
    ],
)
def test_foreign_citations_are_found(text: str, foreign: bool) -> None:
    assert (FOREIGN.search(text) is not None) is foreign


@pytest.mark.parametrize("page", ["interface", "rules"])
def test_no_number_of_a_section_is_given_twice(page: str) -> None:
    numbers = SECTION.findall((reference.FOLDER / f"{page}.md").read_text(encoding="utf-8"))
    assert sorted(numbers) == sorted(set(numbers))


def test_every_link_of_the_reference_leads_somewhere() -> None:
    for page in sorted(reference.FOLDER.glob("*.md")):
        for link in LINK.findall(page.read_text(encoding="utf-8")):
            assert (reference.FOLDER / link).exists(), f"{page.name}: {link}"


def test_every_shape_of_the_api_has_its_table() -> None:
    shown = reference.shown(reference.INTERFACE.read_text(encoding="utf-8"))
    missing = sorted(reference.document()["components"]["schemas"].keys() - shown.keys())
    assert missing == [], (
        "add for each, in its section of docs/reference/interface.md, the lines "
        f"<!-- fields: Name --> and <!-- end -->, then run: {reference.COMMAND}"
    )


def test_every_table_is_up_to_date() -> None:
    text = reference.INTERFACE.read_text(encoding="utf-8")
    if reference.regenerated(text, reference.document()) != text:
        pytest.fail(f"docs/reference/interface.md is behind the shapes; run: {reference.COMMAND}")


def test_every_field_has_a_meaning() -> None:
    text = reference.INTERFACE.read_text(encoding="utf-8")
    assert reference.without_meaning(text) == [], "write the last column of their tables"
