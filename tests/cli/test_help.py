from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest

from livedata import __version__
from livedata.cli import COMMANDS, load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.shell import Shell

HEAVY = {"orjson", "pydantic", "rich", "scrapy", "sqlalchemy", "sqlite3", "sqlmodel", "twisted"}


def walk(
    command: click.Command, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from walk(inner, (*path, name))


EVERY = [found for name in COMMANDS for found in walk(load(name), (name,))]


@pytest.mark.parametrize(("path", "command"), EVERY, ids=[" ".join(path) for path, _ in EVERY])
def test_every_command_and_option_has_a_help_line(
    livedata: Shell, path: tuple[str, ...], command: click.Command
) -> None:
    shown = livedata.out(*path, "--help")
    assert shown.startswith(f"Usage: livedata {' '.join(path)}")
    assert command.help
    for option in command.params:
        assert not isinstance(option, click.Option) or option.help, option.name


@pytest.mark.parametrize(("path", "command"), EVERY, ids=[" ".join(path) for path, _ in EVERY])
def test_owner_and_json_stand_after_every_command(
    path: tuple[str, ...], command: click.Command
) -> None:
    options = {option for parameter in command.params for option in parameter.opts}
    if not isinstance(command, click.Group) and path not in {("demo",), ("preview",), ("serve",)}:
        assert {"--owner", "--json"} <= options


def test_the_help_names_every_command_and_every_exit_code(livedata: Shell) -> None:
    shown = livedata.out("--help")
    assert all(f"  {name} " in shown for name in COMMANDS)
    assert all(f"{code}  " in shown for code in (*range(9), 130))


def test_the_version_is_the_package_s(livedata: Shell) -> None:
    assert __version__ in livedata.out("--version")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_and_the_command_itself_say_the_same(name: str) -> None:
    _place, line = COMMANDS[name]
    assert load(name).get_short_help_str(limit=len(line)) == line


# The crawler's own module is imported with it, so the help of these two costs a Scrapy.
LATE = {("run",), ("preview",)}


@pytest.mark.parametrize(
    "args",
    [
        ("--help",),
        ("--version",),
        *((*path, "--help") for path, _ in EVERY if path not in LATE),
        ("nonsense",),
        ("dataset", "nonsense"),
        ("changes", "--limit", "none"),
        ("dataset", "export", "shop", "--format", "sqlite"),
        ("rows", "list", "shop", "--stale", "--status", "new"),
        ("rows", "list", "shop", "--stale", "--unreadable"),
        ("credits", "grant", "much"),
    ],
    ids=" ".join,
)
def test_help_and_wrong_usage_import_click_alone(livedata: Shell, args: tuple[str, ...]) -> None:
    assert not livedata.modules_after(*args) & HEAVY


def test_completion_imports_click_alone(livedata: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_LIVEDATA_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "livedata dataset cr")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert not livedata.modules_after() & HEAVY


def test_a_mistyped_command_is_answered_with_a_near_one(livedata: Shell) -> None:
    assert "'dataset'" in livedata.error("datset", code=2)


def test_nobody_has_no_name(livedata: Shell) -> None:
    assert "--owner" in livedata.error("usage", "--owner", " ", code=2)


def test_bytes_that_are_no_text_are_wrong_usage(livedata: Shell) -> None:
    for args in (("dataset", "show", "a\udcff"), ("\udcff",), ("usage", "--owner", "\udc80")):
        assert "not valid UTF-8" in livedata.error(*args, code=2)
