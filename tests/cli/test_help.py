from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from livedata import __version__
from livedata.cli import cli
from livedata.cli.commands import COMMANDS, Table
from tests.cli.shell import START, Shell
from tests.made import make_dataset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from livedata.store.database.store import Store

HEAVY = {
    *("flask", "orjson", "pyarrow", "pydantic", "rich", "scrapy", "sqlalchemy", "sqlite3"),
    *("sqlmodel", "twisted", "xlsxwriter"),
}


def walk(
    command: click.Command, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from walk(inner, (*path, name))


EVERY = [each for each in walk(cli, ()) if each[0]]


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
    alone = {("demo",), ("mcp",), ("preview",), ("serve",), ("worker",)}
    # About the store of all owners: there is none to name.
    whole = {("backup",), ("check",), ("doctor",), ("prune",), ("lint",), ("schema", "source")}
    if not isinstance(command, click.Group) and path not in alone:
        assert "--json" in options
        assert ("--owner" in options) == (path not in whole)


@pytest.mark.parametrize("command", ["serve", "worker"])
@pytest.mark.parametrize(
    ("crawlers", "said"),
    [
        ("0", "0 crawl workers execute nothing; give 1 to 64, such as 4"),
        ("-1", "-1 crawl workers execute nothing; give 1 to 64, such as 4"),
        ("10000", "10000 crawl workers are too many"),
        ("many", "'many' is not a valid integer"),
    ],
)
def test_a_number_of_crawl_workers_that_makes_no_sense_is_refused(
    livedata: Shell, command: str, crawlers: str, said: str
) -> None:
    assert said in " ".join(livedata.error(command, "--crawlers", crawlers, code=2).split())


def test_a_server_without_workers_has_no_number_of_them(livedata: Shell) -> None:
    said = livedata.error("serve", "--no-worker", "--crawlers", "2", code=2)
    assert "--no-worker starts no crawl worker" in said


def test_the_help_names_every_command_and_every_exit_code(livedata: Shell) -> None:
    shown = livedata.out("--help")
    assert all(f"  {name} " in shown for name in COMMANDS)
    assert all(f"{code}  " in shown for code in (*range(9), 130))


def test_the_version_is_the_package_s(livedata: Shell) -> None:
    assert __version__ in livedata.out("--version")


def lines(table: Table, *path: str) -> Iterator[tuple[tuple[str, ...], str]]:
    for name, (line, inside) in table.items():
        yield (*path, name), line
        if not isinstance(inside, str):
            yield from lines(inside, *path, name)


@pytest.mark.parametrize(("path", "line"), list(lines(COMMANDS)))
def test_the_table_and_the_command_itself_say_the_same(path: tuple[str, ...], line: str) -> None:
    command: click.Command = cli
    for name in path:
        assert isinstance(command, click.Group)
        command = command.commands[name]
    assert command.get_short_help_str(limit=len(line)) == line


@pytest.mark.parametrize(
    "args",
    [
        ("--help",),
        ("--version",),
        *((*path, "--help") for path, _ in EVERY),
        ("nonsense",),
        ("dataset", "nonsense"),
        ("changes", "--limit", "none"),
        ("dataset", "export", "shop", "--format", "sqlite"),
        ("rows", "list", "shop", "--stale", "--status", "new"),
        ("rows", "list", "shop", "--stale", "--unreadable"),
        ("credits", "grant", "much"),
        ("preview",),
        ("run", "--all", "shop"),
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


def complete(livedata: Shell, *words: str) -> list[str]:
    """What bash is offered for the last of the words."""
    done = subprocess.run(
        [sys.executable, "-c", START],
        env={
            **livedata.environ,
            "_LIVEDATA_COMPLETE": "bash_complete",
            "COMP_WORDS": shlex.join(["livedata", *words]),
            "COMP_CWORD": str(len(words)),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_completion_knows_commands_options_and_datasets(livedata: Shell, store: Store) -> None:
    make_dataset(store, name="shop")
    make_dataset(store, name="shoes")
    make_dataset(store, name="bobs", owner="bob")
    assert complete(livedata, "ru") == ["plain,run", "plain,runs"]
    assert "plain,--history" in complete(livedata, "rows", "show", "shop", "A1", "--h")
    assert sorted(complete(livedata, "rows", "list", "sh")) == ["plain,shoes", "plain,shop"]
    assert complete(livedata, "run", "shop", "sho") == ["plain,shoes", "plain,shop"]
    assert complete(livedata, "runs", "show", "--owner", "bob", "b") == ["plain,bobs"]
    assert complete(livedata, "preview", "so") == ["file,so"]


def test_completion_makes_no_store(tmp_path: Path) -> None:
    livedata = Shell(tmp_path / "none")
    assert complete(livedata, "run", "") == [""]
    assert not (tmp_path / "none").exists()


def test_tools_for_click_see_every_command_with_its_options() -> None:
    tree = click.Context(cli, info_name="livedata").to_info_dict()["command"]["commands"]
    assert sorted(tree) == sorted(COMMANDS)
    options = {option for parameter in tree["run"]["params"] for option in parameter["opts"]}
    assert {"datasets", "--all", "--owner", "--json"} <= options
    assert "revise" in tree["dataset"]["commands"]
    assert {name: command.help for name, command in cli.commands.items()}["check"]


@pytest.mark.parametrize("command", [("run",), ("preview", "shop.toml")], ids=" ".join)
def test_another_package_of_the_crawler_s_name_is_one_sentence(
    livedata: Shell, tmp_path: Path, command: tuple[str, ...]
) -> None:
    folder = tmp_path / "project" / "spiders"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    environ = {
        **livedata.environ,
        "PYTHONPATH": f"{folder.parent}:{livedata.environ['PYTHONPATH']}",
    }
    done = subprocess.run(
        [sys.executable, "-P", "-c", START, *command],
        # What is measured by coverage is reported by the name of the package, and this one is gone.
        env={name: text for name, text in environ.items() if not name.startswith("COVERAGE")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"Another package named spiders stands in front of livedata's own: {folder}" in (
        done.stderr
    )
    assert len(done.stderr.splitlines()) == 1


def test_help_is_given_although_another_package_has_the_crawler_s_name(
    livedata: Shell, tmp_path: Path
) -> None:
    (tmp_path / "spiders").mkdir()
    (tmp_path / "spiders" / "__init__.py").touch()
    done = subprocess.run(
        [sys.executable, "-P", "-c", START, "run", "--help"],
        env={
            **{name: text for name, text in livedata.environ.items() if "COVERAGE" not in name},
            "PYTHONPATH": f"{tmp_path}:{livedata.environ['PYTHONPATH']}",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("Usage: livedata run [OPTIONS]")


def test_a_mistyped_command_is_answered_with_a_near_one(livedata: Shell) -> None:
    assert "'dataset'" in livedata.error("datset", code=2)


def test_nobody_has_no_name(livedata: Shell) -> None:
    assert "--owner" in livedata.error("usage", "--owner", " ", code=2)


def test_bytes_that_are_no_text_are_wrong_usage(livedata: Shell) -> None:
    for args in (("dataset", "show", "a\udcff"), ("\udcff",), ("usage", "--owner", "\udc80")):
        assert "not valid UTF-8" in livedata.error(*args, code=2)
