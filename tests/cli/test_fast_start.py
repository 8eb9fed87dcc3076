"""A command's file is executed at once, and what it imports when it is used."""

from __future__ import annotations

import builtins
import sys
from typing import TYPE_CHECKING, Any

import pytest

from livedata.cli.fast_start import load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEAVY = """
LOADED = "at once"

class Base:
    pass

def answer():
    return "heavy"

def open(name):
    return f"opens {name}"
"""
COMMAND = """
from __future__ import annotations

from planted import light
from planted.heavy import Base, answer
from planted.heavy import open
import planted_alone
from planted.nowhere import forgotten

LIMIT: int = 3
passing = None
del passing, forgotten
try:
    raise ValueError("told")
except ValueError as error:
    failure = str(error)

def command() -> str:
    return answer()

def of_a_module() -> str:
    return light.NAME

def built_in() -> str:
    return open("a file") + str(len("abc"))

def alone() -> int:
    return planted_alone.NUMBER

def late() -> str:
    from planted.later import NAME

    return NAME

def wrong() -> None:
    nowhere()

def made_later() -> str:
    return translated("hello")

def handled() -> tuple[str, bool]:
    return failure, "error" in globals() or "passing" in globals()

def typed(given: Base) -> list[str]:
    return [each for each in sorted(globals()) if each == "Base"]
"""
DERIVED = """
from planted.later import NAME
from planted.kind import Kind

class Derived(Kind):
    pass

def name():
    return NAME
"""


pytestmark = pytest.mark.usefixtures("planted")


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "planted"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "heavy.py").write_text(HEAVY)
    (folder / "light.py").write_text("NAME = 'light'")
    (folder / "later.py").write_text("NAME = 'later'")
    (folder / "kind.py").write_text("class Kind: pass")
    (folder / "command.py").write_text(COMMAND)
    (folder / "derived.py").write_text(DERIVED)
    (tmp_path / "planted_alone.py").write_text("NUMBER = 7")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [name for name in sys.modules if name.startswith("planted")]:
        del sys.modules[name]


def imported() -> set[str]:
    return {name for name in sys.modules if name.startswith("planted")}


def test_a_file_is_executed_without_what_it_imports() -> None:
    load("planted.command:command")
    assert imported() == {"planted.command"}


@pytest.mark.parametrize(
    ("name", "answer", "brought"),
    [
        ("command", "heavy", {"planted", "planted.heavy"}),
        ("of_a_module", "light", {"planted", "planted.light"}),
        # A name that is Python's own too is the one that is imported.
        ("built_in", "opens a file3", {"planted", "planted.heavy"}),
        ("alone", 7, {"planted_alone"}),
        ("late", "later", {"planted", "planted.later"}),
    ],
)
def test_what_is_used_is_imported_then_and_nothing_else(
    name: str, answer: Any, brought: set[str]
) -> None:
    command = load(f"planted.command:{name}")
    assert command() == answer
    assert imported() == {"planted.command", *brought}
    assert command() == answer


def test_what_the_file_itself_uses_is_imported_with_it() -> None:
    name = load("planted.derived:name")
    assert imported() == {"planted.derived", "planted", "planted.kind"}
    assert name() == "later"


def test_a_built_in_name_may_be_made_later(monkeypatch: pytest.MonkeyPatch) -> None:
    made_later = load("planted.command:made_later")
    monkeypatch.setattr(builtins, "translated", str.upper, raising=False)
    assert made_later() == "HELLO"


def test_a_file_may_delete_its_names() -> None:
    assert load("planted.command:handled")() == ("told", False)


def test_annotations_import_nothing() -> None:
    assert load("planted.command:typed")(None) == []
    assert imported() == {"planted.command"}


def test_a_name_that_is_nowhere_is_a_name_error() -> None:
    with pytest.raises(NameError, match="nowhere"):
        load("planted.command:wrong")()


def test_a_file_that_fails_is_not_kept(planted: Path) -> None:
    (planted / "broken.py").write_text("raise ValueError('broken')")
    with pytest.raises(ValueError, match="broken"):
        load("planted.broken:anything")
    assert imported() == set()


@pytest.mark.parametrize("module", ["planted.nothing", "planted_nowhere.nothing"])
def test_a_module_that_is_not_there_is_said(module: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=module):
        load(f"{module}:command")
    assert imported() == set()


def test_another_module_imports_the_same_one() -> None:
    command = load("planted.command:command")
    from planted import command as module  # type: ignore[import-not-found]

    assert module.command is command
    assert load("planted.command:command") is command
