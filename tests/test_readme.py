"""What the README and the pages of docs/ tell a reader to type and to open."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import livedata
from livedata.cli import cli
from livedata.cli.source.source_file import read_source
from livedata.rules.declaration import consistency
from livedata.rules.network.targets import TargetPolicy
from livedata.store.database.table import VERSION

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PAGES = (
    *(README, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"),
    *(ROOT / "examples" / "README.md", *sorted((ROOT / "docs").glob("*.md"))),
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
QUOTED = re.compile(r"`(livedata [^`\n]+)`")
SEPARATORS = {"|", "||", "&&", ";", "&", ">", ">>", "<"}


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return [body for kind, body in BLOCK.findall(text) if kind == language]


def marked(marker: str) -> str:
    """The one command line of the block below a marker of the README."""
    match = re.search(rf"^<!-- {marker} -->\n```sh\n(.+)\n```$", README.read_text(), re.MULTILINE)
    assert match, f"the README has no block of one line below <!-- {marker} -->"
    return match[1]


def command_lines(text: str) -> Iterator[str]:
    """Every ``livedata ...`` of the shell blocks, and of the running text in backticks."""
    for block in blocks(text, "sh"):
        yield from block.replace("\\\n", " ").splitlines()
    yield from QUOTED.findall(BLOCK.sub("", text))


def calls(line: str) -> Iterator[list[str]]:
    """The words after each ``livedata`` that a command line runs."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if word not in SEPARATORS:
            words.append(word)
            continue
        while words and re.fullmatch(r"\w+=.*", words[0]):
            words.pop(0)
        if words and words[0].rpartition("/")[2] == "livedata":
            yield words[1:]
        words = []


def wrong(words: list[str]) -> str | None:
    """What the command line does not know in these words; None where it knows all."""
    if not words or words[0].startswith("-"):
        return None if set(words) <= {"--help", "-h", "--version"} else f"{words} is no command"
    if words[0] not in cli.commands:
        return f"there is no command {words[0]}"
    command, rest = cli.commands[words[0]], words[1:]
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        if rest[0] not in command.commands:
            return f"{command.name} has no command {rest[0]}"
        command, rest = command.commands[rest[0]], rest[1:]
    return _wrong_words(command, rest)


def _wrong_words(command: click.Command, words: list[str]) -> str | None:
    options = {
        name: option
        for option in command.params
        if isinstance(option, click.Option)
        for name in (*option.opts, *option.secondary_opts)
    }
    operands = 0
    rest = list(words)
    while rest:
        word, equals, _ = rest.pop(0).partition("=")
        if not word.startswith("-"):
            operands += 1
        elif word in {"--help", "-h"}:
            return None
        elif word not in options:
            return f"{command.name} has no option {word}"
        elif not equals and not options[word].is_flag:
            if not rest:
                return f"{command.name} {word} lacks its value"
            rest.pop(0)
    return _wrong_count(command, operands)


def _wrong_count(command: click.Command, operands: int) -> str | None:
    arguments = [each for each in command.params if isinstance(each, click.Argument)]
    many = any(argument.nargs == -1 for argument in arguments)
    if operands > len(arguments) and not many:
        return f"{command.name} takes no more than {len(arguments)} words"
    return None


def test_the_readme_has_the_command_of_the_main_job() -> None:
    assert marked("main job").endswith("livedata demo")


def test_the_readme_has_the_command_that_runs_the_tests() -> None:
    script = ROOT / marked("tests")
    assert script.is_file()
    assert script.stat().st_mode & 0o111


def test_the_readmes_source_is_accepted(tmp_path: Path) -> None:
    (sample,) = blocks(README.read_text(), "toml")
    file = tmp_path / "source.toml"
    file.write_text(sample)
    declared = read_source(file)
    consistency.check(declared, TargetPolicy())
    assert declared.name == "books"


def test_the_readme_shows_it_says_when_not_to_use_it_and_only_then_begins() -> None:
    told = [
        *("## See it", "succeeded, 1 new, 2 changed, 1 gone", "pipx install", "uvx --from"),
        *("_LIVEDATA_COMPLETE=", "## When not to use it", "behind a login", "clicks"),
        *("more than 50 pages", "## A table of your own", "LIVEDATA_TIMEZONE"),
    ]
    readme = README.read_text()
    places = [readme.index(words) for words in told]
    assert places == sorted(places)


@pytest.mark.parametrize(
    "page",
    [
        *("schedule", "mend-a-selector", "back-up", "move-a-dataset", "deploy"),
        *(
            "test-a-source",
            "lint",
            "share",
            "spreadsheets",
            "python",
            "notebooks",
            "duckdb",
            "datasette",
            "dlt",
        ),
        "grafana",
    ],
)
def test_the_readme_leads_to_the_page_on(page: str) -> None:
    assert f"docs/how-to/{page}.md" in LINK.findall(README.read_text())


def test_the_page_of_doctor_shows_the_versions_of_livedata_and_of_the_store() -> None:
    shown = (ROOT / "docs" / "how-to" / "look-after-a-server.md").read_text()
    assert re.findall(r"^livedata {2,}(\S+)$", shown, re.MULTILINE) == [livedata.__version__]
    assert re.findall(r"^store .*, version (\d+)$", shown, re.MULTILINE) == [VERSION]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_line_names_what_there_is(page: Path) -> None:
    lines = [line for line in command_lines(page.read_text()) if "livedata" in line]
    judged = [(line, wrong(words)) for line in lines for words in calls(line)]
    assert [(line, why) for line, why in judged if why is not None] == []


def test_the_command_lines_of_the_readme_are_found() -> None:
    commands = {words[0] for line in command_lines(README.read_text()) for words in calls(line)}
    assert {"demo", "init", "preview", "dataset", "run", "rows", "changes", "check"} <= commands


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("livedata rows list books  # all of them", None),
        ("FOO=1 .venv/bin/livedata changes books --json | ./mine --odd", None),
        ("cd there && livedata --version", None),
        ("livedata rows list books --limit", "list --limit lacks its value"),
        ("livedata rows list books chairs", "list takes no more than 1 words"),
        ("livedata rows paint books", "rows has no command paint"),
        ("livedata rows list books --colour red", "list has no option --colour"),
        ("./mine | livedata fly", "there is no command fly"),
    ],
)
def test_a_command_line_is_judged_by_what_there_is(line: str, expected: str | None) -> None:
    (words,) = calls(line)
    assert wrong(words) == expected


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    links = [link for link in LINK.findall(page.read_text()) if "://" not in link]
    missing = [link for link in links if not (page.parent / link.partition("#")[0]).exists()]
    assert missing == []
