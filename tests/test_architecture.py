"""Imports only go down, nothing goes round in a circle, and nothing grows long."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from typing_extensions import override

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("livedata", "spiders")

FLOORS: Mapping[str, str] = {
    "livedata": "version",
    "livedata.__main__": "entry",
    "livedata.config": "config",
    "livedata.model": "model",
    "livedata.rules": "rules",
    "livedata.store": "store",
    "livedata.research": "research",
    "livedata.services": "services",
    "livedata.cli": "cli",
    "livedata.api": "api",
    "livedata.worker": "worker",
    "livedata.wsgi": "wsgi",
    "spiders": "spiders",
}
FOLDERS = {
    *(
        name
        for name in FLOORS
        if name not in {"livedata.__main__", "livedata.config", "livedata.wsgi"}
    ),
    "livedata.store.reads",
    "livedata.store.writes",
    "livedata.store.migrations",
    "livedata.store.migrations.versions",
}

_PURE = {"version", "model", "rules"}
_BELOW_DOORS = {*_PURE, "store", "research", "services", "config"}
BELOW: Mapping[str, set[str]] = {
    "version": set(),
    "model": {"version"},
    "rules": {"version", "model"},
    "store": _PURE,
    "research": _PURE,
    "services": {*_PURE, "store", "research"},
    "config": _PURE,
    "cli": {*_BELOW_DOORS, "api", "worker"},
    "api": _BELOW_DOORS,
    "worker": _BELOW_DOORS,
    "wsgi": {*_BELOW_DOORS, "api"},
    "entry": {"cli"},
    "spiders": _PURE,
}
"""What a floor may import beside itself."""

DOORS_OF_SPIDERS: Mapping[str, set[str]] = {
    "spiders.__main__": {"config", "services", "store"},
    "spiders.command": {"cli", "services", "store"},
    "spiders.execute": {"services", "store"},
    "spiders.preview": {"cli"},
    "spiders.progress": {"cli", "services"},
    "spiders.settings": {"config"},
}
"""The only modules of the crawler that reach above the rules, and where to."""

LIGHT = ("livedata.cli", "livedata.services.lookup", "livedata.store.database")
LIGHT_FOLDER = "livedata.store.reads"
HEAVY = {"alembic", "pydantic", "scrapy", "selectolax", "sqlalchemy", "sqlmodel", "twisted"}

LONGEST_FUNCTION = 40
LONGEST_FILE = 300
WRITTEN_ONCE = "livedata.store.migrations.versions."
"""Migrations list every column, and are never touched again: their length hurts nobody."""


@dataclass(frozen=True)
class Import:
    """One import; `at_start` tells whether it happens when the module is imported."""

    name: str
    line: int
    at_start: bool


@dataclass(frozen=True)
class Module:
    """A module of the house, with all that it imports, wherever in the file that stands."""

    name: str
    path: str
    text: str
    imports: tuple[Import, ...]

    @property
    def floor(self) -> str | None:
        return floor_of(self.name)


class Imports(ast.NodeVisitor):
    """Gathers imports, those in functions and under TYPE_CHECKING too."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.found: list[Import] = []
        self.at_start = True

    @override
    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._add(alias.name, node.lineno)

    @override
    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        above = self.package.split(".")
        start = above[: len(above) - node.level + 1] if node.level else []
        base = ".".join([*start, *([node.module] if node.module else [])])
        for alias in node.names:
            self._add(f"{base}.{alias.name}", node.lineno)

    @override
    def visit_Call(self, node: ast.Call) -> None:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else None
        called = node.func.id if isinstance(node.func, ast.Name) else called
        first = node.args[0] if node.args else None
        if called in {"import_module", "__import__"} and isinstance(first, ast.Constant):
            self._add(str(first.value), node.lineno)
        self.generic_visit(node)

    @override
    def visit_If(self, node: ast.If) -> None:
        test = node.test
        name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", None)
        for child in node.body:
            self._visit(child, at_start=self.at_start and name != "TYPE_CHECKING")
        self.visit(node.test)
        for child in node.orelse:
            self.visit(child)

    @override
    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for child in node.body:
            self._visit(child, at_start=False)

    @override
    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def _visit(self, node: ast.AST, *, at_start: bool) -> None:
        before, self.at_start = self.at_start, at_start
        self.visit(node)
        self.at_start = before

    def _add(self, name: str, line: int) -> None:
        self.found.append(Import(name, line, self.at_start))


def house(root: Path) -> dict[str, Module]:
    """Every module below `root`, by name."""
    files = [file for package in PACKAGES for file in sorted((root / package).rglob("*.py"))]
    modules = [_module(root, file) for file in files]
    return {module.name: module for module in modules}


def _module(root: Path, file: Path) -> Module:
    parts = file.relative_to(root).with_suffix("").parts
    package = ".".join(parts[:-1])
    name = package if parts[-1] == "__init__" else ".".join(parts)
    text = file.read_text()
    found = Imports(package)
    found.visit(ast.parse(text))
    return Module(name, str(file.relative_to(root)), text, tuple(found.found))


def floor_of(name: str) -> str | None:
    """The floor of a module; None where the house has no place for it."""
    if name in FLOORS:
        return FLOORS[name]
    above = name.rpartition(".")[0]
    return floor_of(above) if above and above != "livedata" else None


def target(modules: Mapping[str, Module], name: str) -> str | None:
    """The module of the house that an imported name leads to: itself, or where it is defined."""
    while name:
        if name in modules:
            return name
        name = name.rpartition(".")[0]
    return None


def homeless(root: Path) -> Iterator[str]:
    """Modules and folders that the house has no place for."""
    for module in house(root).values():
        if module.floor is None:
            yield f"{module.path}: {module.name} has no floor"
    for package in PACKAGES:
        for file in sorted((root / package).rglob("*.py")):
            folder = ".".join(file.parent.relative_to(root).parts)
            if folder not in FOLDERS:
                yield f"{file.relative_to(root)}: the folder {folder} is not in the list"


def upward(root: Path) -> Iterator[str]:
    """Imports that do not go down."""
    modules = house(root)
    for module in modules.values():
        own = module.floor or ""
        allowed = BELOW.get(own, set()) | DOORS_OF_SPIDERS.get(module.name, set()) | {own}
        for one in module.imports:
            if one.name.partition(".")[0] in PACKAGES:
                above = floor_of(target(modules, one.name) or one.name)
                if above not in allowed:
                    yield f"{module.path}:{one.line}: {own} imports {one.name} ({above})"


def circles(root: Path) -> Iterator[str]:
    """Modules that import each other, however indirectly and wherever the import stands."""
    modules = house(root)
    reached = {name: set(_reached(modules, name)) for name in modules}
    told: set[str] = set()
    for name in sorted(modules):
        if name in reached[name] and name not in told:
            round_ = sorted(other for other in reached[name] if name in reached[other])
            told.update(round_)
            yield "a circle: " + " <-> ".join(round_)


def _reached(modules: Mapping[str, Module], start: str) -> Iterator[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        here = waiting.pop()
        for one in modules[here].imports:
            there = target(modules, one.name)
            # A package that names its own modules in __init__ reaches itself by name only.
            if there is not None and there != here and there not in seen:
                seen.add(there)
                waiting.append(there)
                yield there


def heavy(root: Path) -> Iterator[str]:
    """Light modules that bring something heavy along when they are imported."""
    modules = house(root)
    light = [name for name in modules if name in LIGHT or name.startswith(LIGHT_FOLDER)]
    for name in light:
        for brought, path in _brought(modules, name):
            if brought in HEAVY:
                yield f"{name} imports {brought}, by way of {' > '.join(path)}"


def _brought(modules: Mapping[str, Module], start: str) -> Iterator[tuple[str, list[str]]]:
    """Foreign packages that importing `start` imports, each with the way to it."""
    waiting = [[start]]
    seen = {start}
    while waiting:
        path = waiting.pop(0)
        for name in _at_start(modules, path[-1]):
            if name not in modules:
                yield name.partition(".")[0], path
            elif name not in seen:
                seen.add(name)
                waiting.append([*path, name])


def _at_start(modules: Mapping[str, Module], name: str) -> Iterator[str]:
    """What runs when `name` is imported: the packages around it, and its own imports."""
    above = name.rpartition(".")[0]
    if above:
        yield above
    for one in modules[name].imports:
        if one.at_start:
            yield target(modules, one.name) or one.name


def long(root: Path) -> Iterator[str]:
    """Functions and files that nobody reads in one go."""
    for module in house(root).values():
        if module.name.startswith(WRITTEN_ONCE):
            continue
        lines = len(module.text.splitlines())
        if lines > LONGEST_FILE:
            yield f"{module.path}: {lines} lines"
        for node in ast.walk(ast.parse(module.text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > LONGEST_FUNCTION:
                    yield f"{module.path}:{node.lineno}: {node.name} has {length} lines"


RULES = (homeless, upward, circles, heavy, long)


def breaches(root: Path) -> list[str]:
    """Everything that is wrong with the house at `root`."""
    return [breach for rule in RULES for breach in rule(root)]


def test_every_module_and_folder_has_its_floor() -> None:
    assert list(homeless(ROOT)) == []


def test_imports_only_go_down() -> None:
    assert list(upward(ROOT)) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert list(circles(ROOT)) == []


def test_asking_the_store_imports_nothing_heavy() -> None:
    assert list(heavy(ROOT)) == []


def test_functions_and_files_stay_short() -> None:
    assert list(long(ROOT)) == []


def test_every_name_in_the_lists_of_this_test_is_there() -> None:
    modules = house(ROOT)
    assert {*DOORS_OF_SPIDERS, *LIGHT} <= set(modules)
    assert any(name.startswith(f"{LIGHT_FOLDER}.") for name in modules)


def test_every_door_of_the_crawler_uses_each_floor_that_it_is_granted() -> None:
    modules = house(ROOT)
    for name, granted in DOORS_OF_SPIDERS.items():
        used = {floor_of(target(modules, one.name) or "") for one in modules[name].imports}
        assert granted <= used, name


SOUND: Mapping[str, str] = {
    "livedata/__init__.py": "__version__ = '1'",
    "livedata/__main__.py": "from livedata.cli import main",
    "livedata/config.py": "from livedata import __version__\nfrom livedata.model import shape",
    "livedata/model/__init__.py": "",
    "livedata/model/shape.py": "import pydantic\nKINDS = ()",
    "livedata/model/errors.py": "",
    "livedata/rules/__init__.py": "",
    "livedata/rules/cells.py": "from livedata.model.shape import KINDS",
    "livedata/store/__init__.py": "",
    "livedata/store/database.py": "import sqlite3\ndef later():\n    import sqlalchemy",
    "livedata/store/reads/__init__.py": "",
    "livedata/store/reads/rows.py": (
        "from typing import TYPE_CHECKING\n"
        "from livedata.store import database\n"
        "if TYPE_CHECKING:\n"
        "    from livedata.rules.cells import Cell\n"
    ),
    "livedata/services/__init__.py": "",
    "livedata/services/lookup.py": "from livedata.store.reads import rows",
    "livedata/services/runs.py": "from livedata.rules import cells\nfrom . import lookup",
    "livedata/cli/__init__.py": "COMMANDS = {'run': 'spiders.command:run'}\ndef main(): ...",
    "livedata/cli/rows.py": "def rows():\n    from livedata.services import lookup",
    "spiders/__init__.py": "",
    "spiders/page.py": "from livedata.rules import cells",
    "spiders/command.py": "from livedata.services import runs\nfrom spiders import page",
}
"""A small house in which all is well."""

PLANTED: Mapping[str, tuple[str, str, str]] = {
    "the model imports a rule": (
        "livedata/model/shape.py",
        "from livedata.rules import cells",
        "model imports livedata.rules.cells",
    ),
    "a rule imports the store inside a function": (
        "livedata/rules/cells.py",
        "def f():\n    from livedata.store.database import Reader",
        "rules imports livedata.store.database.Reader",
    ),
    "the store imports a service for its types only": (
        "livedata/store/reads/rows.py",
        "import typing\nif typing.TYPE_CHECKING:\n    import livedata.services.runs",
        "store imports livedata.services.runs",
    ),
    "the store goes up by a relative import": (
        "livedata/store/reads/rows.py",
        "from ...services import runs",
        "store imports livedata.services.runs",
    ),
    "a service reads the settings": (
        "livedata/services/runs.py",
        "from livedata import config",
        "services imports livedata.config",
    ),
    "a door imports the crawler": (
        "livedata/cli/rows.py",
        "import spiders.command",
        "cli imports spiders.command",
    ),
    "a door imports the crawler by a text": (
        "livedata/cli/rows.py",
        "import importlib\nimportlib.import_module('spiders.command')",
        "cli imports spiders.command",
    ),
    "a page of the crawler asks a service": (
        "spiders/page.py",
        "from livedata.services import runs",
        "spiders imports livedata.services.runs",
    ),
    "two modules import each other, one of them late": (
        "livedata/store/database.py",
        "def f():\n    from livedata.store.reads.rows import row",
        "a circle: livedata.store.database <-> livedata.store.reads.rows",
    ),
    "two modules import each other, one of them for its types only": (
        "livedata/store/database.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import livedata.store.reads.rows",
        "a circle: livedata.store.database <-> livedata.store.reads.rows",
    ),
    "a folder that nobody planned": (
        "livedata/store/helpers/text.py",
        "",
        "the folder livedata.store.helpers is not in the list",
    ),
    "a floor that nobody planned": (
        "livedata/utils/text.py",
        "",
        "livedata.utils.text has no floor",
    ),
    "a module beside the floors": (
        "livedata/helpers.py",
        "",
        "livedata.helpers has no floor",
    ),
    "the look-up brings the shapes along": (
        "livedata/store/reads/rows.py",
        "from livedata.model import shape",
        "lookup > livedata.store.reads.rows > livedata.model.shape",
    ),
    "a package brings something heavy to all in it": (
        "livedata/store/__init__.py",
        "import sqlmodel",
        "livedata.store.database imports sqlmodel",
    ),
    "a function that is too long": (
        "livedata/rules/cells.py",
        "def f():\n" + "    x = 1\n" * LONGEST_FUNCTION,
        "f has 41 lines",
    ),
    "a file that is too long": (
        "livedata/rules/cells.py",
        "x = 1\n" * (LONGEST_FILE + 1),
        "livedata/rules/cells.py: 301 lines",
    ),
}


def build(root: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def test_a_house_in_which_all_is_well_has_no_breach(tmp_path: Path) -> None:
    build(tmp_path, SOUND)
    assert breaches(tmp_path) == []


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED.keys())
def test_a_planted_breach_is_found(tmp_path: Path, planted: tuple[str, str, str]) -> None:
    path, text, expected = planted
    build(tmp_path, SOUND)
    build(tmp_path, {path: text})
    assert any(expected in breach for breach in breaches(tmp_path)), breaches(tmp_path)
