"""Imports only go down, nothing goes round in a circle, and nothing grows long."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from typing_extensions import override

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("livedata", "spiders")

FLOORS: Mapping[str, str] = {
    "livedata": "version",
    "livedata.__main__": "entry",
    "livedata.config": "config",
    "livedata.hints": "hints",
    "livedata.model": "model",
    "livedata.messages": "messages",
    "livedata.formats": "formats",
    "livedata.extraction": "extraction",
    "livedata.rules": "rules",
    "livedata.store": "store",
    "livedata.research": "research",
    "livedata.services": "services",
    "livedata.python": "python",
    "livedata.mcp": "mcp",
    "livedata.cli": "cli",
    "livedata.api": "api",
    "livedata.pages": "pages",
    "livedata.worker": "worker",
    "livedata.wsgi": "wsgi",
    "spiders": "spiders",
}
ROOMS: Mapping[str, set[str]] = {
    "livedata.model": {"diagnosis", "research"},
    "livedata.extraction": {"hiding", "lists", "lists.identity", "lists.ranking", "matching"},
    "livedata.research": {"asking", "providers", "replay"},
    "livedata.rules": {
        *("network", "declaration", "changes", "conditions", "diagnosis", "diagnosis.research"),
        *("diagnosis.selectors", "explanation", "research"),
    },
    "livedata.store": {
        *("audit", "database", "database.sqlite", "database.postgres", "research"),
        *("migrations", "migrations.versions", "tables"),
    },
    "livedata.services": {
        *("audit", "kinds", "looks", "notices", "pages", "research"),
    },
    "livedata.worker": {"delivery"},
    "livedata.pages": {"markup"},
    "livedata.cli": {"output", "source", "dataset", "rows", "runs", "research"},
    "spiders": {
        *("fetch", "browser", "outcome", "crawl", "saved", "research", "worker", "cli"),
    },
}
"""The rooms of a floor; a floor that is not named here has none."""
FOLDERS = {
    *(
        name
        for name in FLOORS
        if name
        not in {
            *("livedata.__main__", "livedata.config", "livedata.hints"),
            "livedata.wsgi",
        }
    ),
    *(f"{floor}.{room}" for floor, rooms in ROOMS.items() for room in rooms),
}

_PURE = {"version", "model", "messages", "extraction", "rules"}
_BELOW_DOORS = {*_PURE, "formats", "store", "research", "services", "config"}
BELOW: Mapping[str, set[str]] = {
    "version": set(),
    "model": {"version"},
    "messages": {"version", "model"},
    "formats": {"version", "model"},
    "extraction": {"version", "model", "messages"},
    "rules": {"version", "model", "messages", "extraction"},
    "store": _PURE,
    "research": _PURE,
    "services": {*_PURE, "formats", "store", "research"},
    "config": _PURE,
    "hints": {"model", "messages"},
    "python": {*_BELOW_DOORS, "hints"},
    "mcp": {*_BELOW_DOORS, "hints"},
    "cli": {*_BELOW_DOORS, "hints", "api", "mcp", "pages", "worker"},
    "api": _BELOW_DOORS,
    "pages": {*_BELOW_DOORS, "hints", "api", "worker"},
    "worker": _BELOW_DOORS,
    "wsgi": {*_BELOW_DOORS, "api", "pages"},
    "entry": {"cli"},
    "spiders": {*_PURE, "research"},
}
"""What a floor may import beside itself."""

ROOMS_BELOW: Mapping[str, set[str]] = {
    "livedata.extraction.hiding": {"livedata.extraction.matching"},
    "livedata.extraction.lists": {"livedata.extraction.matching"},
    "livedata.extraction.matching": set(),
    "livedata.rules.network": set(),
    "livedata.rules.research": set(),
    "livedata.rules.declaration": {"livedata.rules.network", "livedata.rules.research"},
    "livedata.rules.changes": set(),
    "livedata.rules.conditions": set(),
    "livedata.rules.diagnosis": {"livedata.rules.changes", "livedata.rules.research"},
    "livedata.rules.explanation": {
        *("livedata.rules.network", "livedata.rules.changes", "livedata.rules.diagnosis"),
    },
    "livedata.cli.output": set(),
    "livedata.cli.source": {"livedata.cli.output"},
    "livedata.cli.dataset": {"livedata.cli.output", "livedata.cli.source"},
    "livedata.cli.research": {"livedata.cli.output", "livedata.cli.source"},
    "livedata.cli.rows": {"livedata.cli.output"},
    "livedata.cli.runs": {"livedata.cli.output"},
    "spiders.throttle": set(),
    "spiders.session": {"spiders.throttle"},
    "spiders.fetch": {"spiders.session"},
    "spiders.browser": {"spiders.session", "spiders.fetch"},
    "spiders.outcome": {"spiders.fetch"},
    "spiders.crawl": {
        *("spiders.throttle", "spiders.session", "spiders.fetch", "spiders.browser"),
        "spiders.outcome",
    },
    "spiders.research": {
        *("spiders.session", "spiders.fetch", "spiders.browser", "spiders.outcome"),
        "spiders.crawl",
    },
    "spiders.worker": {"spiders.crawl", "spiders.research"},
    "spiders.saved": {"spiders.fetch", "spiders.outcome", "spiders.crawl"},
    "spiders.cli": {"spiders.crawl", "spiders.saved", "spiders.worker"},
}
"""What a room may import of the rooms beside it."""

DOORS_OF_SPIDERS: Mapping[str, set[str]] = {
    "spiders.worker.main": {"config", "services", "store", "worker"},
    "spiders.worker.executor": {"services", "store"},
    "spiders.worker.running": {"services", "store"},
    "spiders.research.calls": {"services", "store"},
    "spiders.research.recorder": {"services", "store"},
    "spiders.worker.researcher": {"services", "store"},
    "spiders.cli.run": {"cli", "hints", "services", "store", "worker"},
    "spiders.cli.preview": {"cli", "hints", "services", "store"},
    "spiders.cli.tried_source": {"cli", "hints", "services", "store"},
    "spiders.saved.pages": {"cli"},
    "spiders.cli.source_test": {"cli", "hints"},
    "spiders.cli.trial_report": {"cli", "hints", "services"},
    "spiders.cli.init": {"cli", "hints"},
    "spiders.cli.apply": {"cli", "config", "hints", "services", "store", "worker"},
    "spiders.cli.asked": {"config"},
    "spiders.cli.page_look": {"config", "services", "store"},
    "spiders.cli.revising": {"config", "services", "store"},
    "spiders.cli.suggest": {"cli", "formats", "hints", "services"},
    "spiders.cli.init_report": {"cli", "formats"},
    "spiders.cli.progress": {"services"},
    "spiders.crawl.settings": {"config"},
}
"""The only modules of the crawler that reach above the rules, and where to."""

ONLY_IN: Mapping[str, tuple[str, ...]] = {
    "scrapy": ("spiders",),
    "scrapy_playwright": ("spiders",),
    "playwright": ("spiders",),
    "twisted": ("spiders",),
    "selectolax": ("livedata.extraction",),
    "flask": ("livedata.api", "livedata.pages"),
    "sqlalchemy": ("livedata.store",),
    "sqlmodel": ("livedata.store",),
    "alembic": ("livedata.store",),
    "sqlite3": ("livedata.store.database.sqlite",),
    "psycopg": ("livedata.store.database.postgres",),
    "prometheus_client": ("livedata.worker",),
    "celery": ("livedata.worker.engines",),
    "mcp": ("livedata.mcp",),
    "mcp_types": ("livedata.mcp",),
    "starlette": ("livedata.mcp",),
    "uvicorn": ("livedata.mcp",),
    "apprise": ("livedata.worker.delivery",),
    "pydantic_ai": ("livedata.research.providers.openai",),
    "openai": ("livedata.research.providers.openai",),
    "jsonschema_rs": ("livedata.research.providers.openai",),
    "httpx2": ("livedata.research.providers",),
}
"""The doors that may know a library, mostly one."""

NOWHERE: Mapping[str, str] = {
    # It writes and compiles the source of its methods: a millisecond for each class, at each start.
    "dataclasses": "a shape is a msgspec.Struct",
    "procrastinate": "the rows of the Runs are the queue, and crawl workers are called by NOTIFY",
}
"""The libraries that are not used here, and what is used instead."""

SQL_IN = "livedata.store"
SQL = ("SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WITH ")
"""How SQL text begins."""
OF_ONE_DATABASE = ("PRAGMA ", "BEGIN ")
"""How SQL text begins that only one database understands."""

OWN_SQL = (*ONLY_IN["sqlite3"], *ONLY_IN["psycopg"])
"""Where a database speaks its own."""

LIGHT = (
    "livedata.cli",
    "livedata.cli.commands",
    "livedata.cli.completion",
    "livedata.cli.context",
    "livedata.cli.fast_start",
    "livedata.services.feed",
    "livedata.services.queries",
    "livedata.store.database.store",
)
LIGHT_FOLDER = "livedata.store"
OF_TABLES = (
    "livedata.store.database.migrate",
    "livedata.store.migrations",
    "livedata.store.tables",
)
"""What is imported only to migrate a store, and to make `schema.py` and `schema.sql`."""
ACTS = ("livedata.services",)
"""What writes the store: heavier than a question, but an act is SQL text too."""
EXECUTES = ("spiders.cli.run", "spiders.crawl", "spiders.worker")
"""What executes Runs: the source was validated when it was declared."""
TABLES = {"alembic", "sqlalchemy", "sqlmodel"}
HEAVY = {*TABLES, "pydantic", "scrapy", "selectolax", "twisted"}

WORDLESS = (
    "livedata.extraction",
    "livedata.rules.changes.checks",
    "livedata.rules.diagnosis.run_facts",
    "livedata.services.attempts",
    "livedata.services.commit",
    "spiders.browser",
    "spiders.crawl",
    "spiders.fetch",
    "spiders.outcome",
)
"""Where what goes wrong is a `Problem`: `livedata.messages` has the words for it."""
WORDED = {
    # What is wrong with a selector is said where it is parsed: its words quote the grammar.
    "livedata.extraction.selectors",
    "livedata.extraction.derived_names",
    # Answers to the browser, which no person reads.
    "spiders.browser.egress",
    "spiders.browser.proxy_headers",
}
MISTAKES = {"RuntimeError", "TypeError", "ValueError"}
MOST_WORDS = 3
JOINTS = {"the", "is", "it", "its", "has", "was", "not", "that", "be", "are", "of", "no", "to"}
"""Words that make a sentence of other words; lists of names, SQL and scripts have none."""

CHOOSES = ("livedata.model.recipe", "livedata.services.kinds")
"""Where it is known which kind of Run one is; all else asks for what that kind answers."""
KINDS = {"selectors", "research"}
"""What a declaration calls its kind, and where a harvest has what only that kind finds."""
KIND_NAMES = {"is_research", "is_of_research", "of_research"}
"""The names under which the question for the kind is asked; to define one asks nothing."""
KIND_CLASSES = {"Recipe", "ResearchRecipe", "ResearchHarvest"}
"""The classes of which each kind has one: `isinstance` of them asks for the kind."""

LONGEST_FUNCTION = 40
LONGEST_FILE = 420
"""`python -m benchmarks.figures` names what is above 300: a reason to look for a second noun."""
WRITTEN_ONCE = "livedata.store.migrations.versions."
"""Migrations list every column, and are never touched again: their length hurts nobody."""


@dataclass(frozen=True)
class Import:
    """One import; `at_start` tells whether it happens when the module is imported.

    If not, it stands in a function (`late`), or for types alone.
    """

    name: str
    line: int
    at_start: bool
    late: bool


@dataclass(frozen=True)
class Function:
    """A function or method, and how long it is."""

    name: str
    line: int
    length: int


@dataclass(frozen=True)
class Module:
    """A module of the house, with all that it imports, wherever in the file that stands."""

    name: str
    path: str
    text: str
    imports: tuple[Import, ...]
    strings: tuple[ast.Constant, ...]
    functions: tuple[Function, ...]

    @property
    def floor(self) -> str | None:
        return floor_of(self.name)


class Imports(ast.NodeVisitor):
    """Gathers imports, those in functions and under TYPE_CHECKING too."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.found: list[Import] = []
        self.at_start = True
        self.late = False

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
        before, self.late = self.late, True
        for child in node.body:
            self._visit(child, at_start=False)
        self.late = before

    @override
    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def _visit(self, node: ast.AST, *, at_start: bool) -> None:
        before, self.at_start = self.at_start, at_start
        self.visit(node)
        self.at_start = before

    def _add(self, name: str, line: int) -> None:
        self.found.append(Import(name, line, self.at_start, self.late))


@cache
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
    imports = Imports(package)
    tree = ast.parse(text)
    imports.visit(tree)
    strings: list[ast.Constant] = []
    functions: list[Function] = []
    # Once for all rules: to walk the whole house takes a second.
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            strings.append(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            functions.append(Function(node.name, node.lineno, length))
    path = str(file.relative_to(root))
    return Module(name, path, text, tuple(imports.found), tuple(strings), tuple(functions))


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
        for imported in module.imports:
            if imported.name.partition(".")[0] in PACKAGES:
                above = floor_of(target(modules, imported.name) or imported.name)
                if above not in allowed:
                    yield f"{module.path}:{imported.line}: {own} imports {imported.name} ({above})"


def sideways(root: Path) -> Iterator[str]:
    """Imports from a room into one that it may not enter."""
    modules = house(root)
    for module in modules.values():
        own = room_of(module.name)
        if own is None:
            continue
        for imported in module.imports:
            other = room_of(target(modules, imported.name) or imported.name)
            if other in {None, own} or floor_of(other or "") != module.floor:
                continue
            if other not in ROOMS_BELOW[own]:
                yield f"{module.path}:{imported.line}: {own} imports {imported.name}"


def room_of(name: str) -> str | None:
    """The room that a module is in; None if its floor has none, or it stands beside them."""
    return next((room for room in ROOMS_BELOW if name == room or name.startswith(f"{room}.")), None)


def strangers(root: Path) -> Iterator[str]:
    """Imports of a library outside the one place that may know it."""
    for module in house(root).values():
        for imported in module.imports:
            library = imported.name.partition(".")[0]
            homes = ONLY_IN.get(library)
            if homes is not None and not within(module.name, *homes):
                known = " and ".join(homes)
                place = f"{module.path}:{imported.line}"
                yield f"{place}: imports {imported.name}, which only {known} knows"
            if library in NOWHERE:
                yield f"{module.path}:{imported.line}: imports {imported.name}: {NOWHERE[library]}"


def spoken(root: Path) -> Iterator[str]:
    """SQL outside the store, and what one database alone understands outside of its file."""
    for module in house(root).values():
        for node in module.strings:
            text = str(node.value).lstrip()
            if text.startswith(SQL) and not within(module.name, SQL_IN):
                yield f"{module.path}:{node.lineno}: SQL outside {SQL_IN}"
            if text.startswith(OF_ONE_DATABASE) and not within(module.name, *OWN_SQL):
                yield f"{module.path}:{node.lineno}: SQL that only one database understands"


def within(name: str, *rooms: str) -> bool:
    """Whether a module is one of these, or below one of them."""
    return any(name == room or name.startswith(f"{room}.") for room in rooms)


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
        for each in modules[here].imports:
            there = target(modules, each.name)
            # A package that names its own modules in __init__ reaches itself by name only.
            if there is not None and there != here and there not in seen:
                seen.add(there)
                waiting.append(there)
                yield there


def heavy(root: Path) -> Iterator[str]:
    """Light modules that bring something heavy along when they are imported."""
    modules = house(root)
    for name in modules:
        refused = _too_heavy_for(name)
        for brought, path in _brought(modules, name) if refused else ():
            if brought in refused:
                yield f"{name} imports {brought}, by way of {' > '.join(path)}"


def _too_heavy_for(name: str) -> set[str]:
    if name in LIGHT or (within(name, LIGHT_FOLDER) and not within(name, *OF_TABLES)):
        return HEAVY
    if within(name, *EXECUTES):
        return {*TABLES, "pydantic"}
    return TABLES if within(name, *ACTS) else set()


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
    for each in modules[name].imports:
        if each.at_start:
            yield target(modules, each.name) or each.name


def worded(root: Path) -> Iterator[str]:
    """English where problems are values: a text of more than three words that are joined."""
    for module in house(root).values():
        if not module.name.startswith(WORDLESS) or module.name in WORDED:
            continue
        tree = ast.parse(module.text)
        silent = {id(text) for text in _unsaid(tree)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant) or id(node) in silent:
                continue
            if isinstance(node.value, str) and _is_english(node.value):
                yield f"{module.path}:{node.lineno}: says {node.value!r}"


def _unsaid(tree: ast.AST) -> Iterator[ast.AST]:
    """The texts that no user is told: docstrings, and what is said of a mistake in the code."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            yield node.value
        raised = node.exc if isinstance(node, ast.Raise) else None
        if isinstance(raised, ast.Call) and getattr(raised.func, "id", None) in MISTAKES:
            yield from ast.walk(raised)


def _is_english(text: str) -> bool:
    words = re.findall(r"(?<!\S)[A-Za-z][a-z']*(?=[\s,;:.)]|$)", text)
    return len(words) > MOST_WORDS and not JOINTS.isdisjoint(words)


def asking(root: Path) -> Iterator[str]:
    """Questions for the kind of a Run outside of the one place that chooses by it."""
    for module, line in questions(root):
        asked = module.text.splitlines()[line - 1].strip()
        yield f"{module.path}:{line}: asks for the kind of a Run: {asked}"


def questions(root: Path) -> Iterator[tuple[Module, int]]:
    """The module and the line of each of them."""
    for module in house(root).values():
        if not within(module.name, *CHOOSES):
            for line in sorted(set(_asked_in(ast.parse(module.text)))):
                yield module, line


def _asked_in(tree: ast.AST) -> Iterator[int]:
    """The lines that ask for the kind; what stands in a definition of such a question is none."""
    if isinstance(tree, ast.FunctionDef) and tree.name in KIND_NAMES:
        return
    for node in ast.iter_child_nodes(tree):
        # A table has an entry for each kind: a third one cannot be forgotten there.
        looked_up = isinstance(tree, ast.Subscript) and node is tree.slice
        if not looked_up and _asks_for_a_kind(node):
            yield node.lineno  # type: ignore[attr-defined]  # only nodes that have a line ask
        yield from _asked_in(node)


def _asks_for_a_kind(node: ast.AST) -> bool:
    match node:
        case ast.Name(name, ast.Load()) | ast.Attribute(_, name, ast.Load()):
            return name in KIND_NAMES
        case ast.Call(ast.Name("isinstance"), [_, of]):
            named = {each.id for each in ast.walk(of) if isinstance(each, ast.Name)}
            return not named.isdisjoint(KIND_CLASSES)
        case ast.Call(ast.Name("run_kind")):
            return True
        case ast.Compare(ast.Attribute(_, name), [ast.Is() | ast.IsNot()], [ast.Constant(None)]):
            return name in KINDS
        case ast.Compare(left, _, [right]):
            constants = {each.value for each in ast.walk(right) if isinstance(each, ast.Constant)}
            return not constants.isdisjoint(KINDS) and "kind" in ast.unparse(left)
        case ast.If(test) | ast.IfExp(test):
            return isinstance(test, ast.Attribute) and test.attr in KINDS
        case ast.MatchClass(ast.Name(name)):
            return name in KIND_CLASSES
        case ast.MatchValue(ast.Constant(value)):
            return value in KINDS
        case _:
            return False


def long(root: Path) -> Iterator[str]:
    """Functions and files that nobody reads in one go."""
    for module in house(root).values():
        if module.name.startswith(WRITTEN_ONCE):
            continue
        lines = len(module.text.splitlines())
        if lines > LONGEST_FILE:
            yield f"{module.path}: {lines} lines"
        for function in module.functions:
            if function.length > LONGEST_FUNCTION:
                yield (
                    f"{module.path}:{function.line}: {function.name} has {function.length} lines"
                )


RULES = (homeless, upward, sideways, strangers, spoken, circles, heavy, worded, asking, long)


def breaches(root: Path) -> list[str]:
    """Everything that is wrong with the house at `root`."""
    return [breach for rule in RULES for breach in rule(root)]


def test_every_module_and_folder_has_its_floor() -> None:
    assert list(homeless(ROOT)) == []


def test_imports_only_go_down() -> None:
    assert list(upward(ROOT)) == []


def test_rooms_import_only_the_rooms_below_them() -> None:
    assert list(sideways(ROOT)) == []


def test_each_library_is_known_in_one_place() -> None:
    assert list(strangers(ROOT)) == []


def test_only_the_store_speaks_sql_and_one_place_of_it_that_of_one_database() -> None:
    assert list(spoken(ROOT)) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert list(circles(ROOT)) == []


def test_asking_and_writing_the_store_imports_nothing_heavy() -> None:
    assert list(heavy(ROOT)) == []


def test_what_goes_wrong_is_said_by_the_messages_alone() -> None:
    assert list(worded(ROOT)) == []


def test_one_place_alone_chooses_by_the_kind_of_a_run() -> None:
    assert list(asking(ROOT)) == []


def test_functions_and_files_stay_short() -> None:
    assert list(long(ROOT)) == []


def test_every_name_in_the_lists_of_this_test_is_there() -> None:
    modules = house(ROOT)
    homes = {home for homes in ONLY_IN.values() for home in homes}
    rooms = {LIGHT_FOLDER, SQL_IN, *FOLDERS} - {WRITTEN_ONCE.rstrip(".")}  # no package
    named = {*DOORS_OF_SPIDERS, *LIGHT, *OF_TABLES, *ACTS, *EXECUTES}
    assert {*named, *homes, *rooms} <= set(modules)


def test_every_door_of_the_crawler_uses_each_floor_that_it_is_granted() -> None:
    modules = house(ROOT)
    for name, granted in DOORS_OF_SPIDERS.items():
        used = {floor_of(target(modules, each.name) or "") for each in modules[name].imports}
        assert granted <= used, name


SOUND: Mapping[str, str] = {
    "livedata/__init__.py": "__version__ = '1'",
    "livedata/__main__.py": "from livedata.cli import main",
    "livedata/config.py": "from livedata import __version__\nfrom livedata.model import shape",
    "livedata/model/__init__.py": "",
    "livedata/model/shape.py": "KINDS = ()",
    "livedata/model/source.py": "import pydantic",
    "livedata/model/errors.py": "",
    "livedata/rules/__init__.py": "",
    "livedata/rules/changes/__init__.py": "",
    "livedata/rules/changes/cells.py": "from livedata.model.shape import KINDS",
    "livedata/store/__init__.py": "",
    "livedata/store/database/__init__.py": "",
    "livedata/store/database/store.py": "from livedata.store.database import sqlite",
    "livedata/store/database/sqlite.py": (
        "import sqlite3\nBEGIN = 'BEGIN IMMEDIATE'\ndef later():\n    import sqlalchemy"
    ),
    "livedata/store/tables/__init__.py": "import sqlmodel",
    "livedata/store/rows.py": (
        "from typing import TYPE_CHECKING\n"
        "from livedata.store.database import store\n"
        "ROW = 'SELECT data FROM rows'\n"
        "if TYPE_CHECKING:\n"
        "    from livedata.extraction.cells import Cell\n"
    ),
    "livedata/services/__init__.py": "",
    "livedata/services/queries.py": "from livedata.store import rows",
    "livedata/services/feed.py": "",
    "livedata/services/runs.py": "from livedata.rules.changes import cells\nfrom . import queries",
    "livedata/cli/__init__.py": "COMMANDS = {'run': 'spiders.cli.run:run'}\ndef main(): ...",
    "livedata/cli/rows.py": "def rows():\n    from livedata.services import queries",
    "spiders/__init__.py": "",
    "spiders/fetch/__init__.py": "",
    "spiders/fetch/page.py": "from livedata.rules.changes import cells",
    "spiders/cli/__init__.py": "",
    "spiders/cli/run.py": "from livedata.services import runs",
}
"""A small house in which all is well."""

PLANTED: Mapping[str, tuple[str, str, str]] = {
    "the model imports a rule": (
        "livedata/model/shape.py",
        "from livedata.rules.changes import cells",
        "model imports livedata.rules.changes.cells",
    ),
    "a rule imports the store inside a function": (
        "livedata/rules/changes/cells.py",
        "def f():\n    from livedata.store.database.store import Store",
        "rules imports livedata.store.database.store.Store",
    ),
    "the store imports a service for its types only": (
        "livedata/store/rows.py",
        "import typing\nif typing.TYPE_CHECKING:\n    import livedata.services.runs",
        "store imports livedata.services.runs",
    ),
    "the store goes up by a relative import": (
        "livedata/store/rows.py",
        "from ..services import runs",
        "store imports livedata.services.runs",
    ),
    "a service reads the settings": (
        "livedata/services/runs.py",
        "from livedata import config",
        "services imports livedata.config",
    ),
    "a door imports the crawler": (
        "livedata/cli/rows.py",
        "import spiders.cli.run",
        "cli imports spiders.cli.run",
    ),
    "a door imports the crawler by a text": (
        "livedata/cli/rows.py",
        "import importlib\nimportlib.import_module('spiders.cli.run')",
        "cli imports spiders.cli.run",
    ),
    "a page of the crawler asks a service": (
        "spiders/fetch/page.py",
        "from livedata.services import runs",
        "spiders imports livedata.services.runs",
    ),
    "a room of the crawler enters one above it": (
        "spiders/fetch/page.py",
        "from spiders.cli.run import run",
        "spiders.fetch imports spiders.cli.run.run",
    ),
    "a rule parses HTML itself": (
        "livedata/rules/changes/cells.py",
        "from selectolax.lexbor import LexborHTMLParser",
        "imports selectolax.lexbor.LexborHTMLParser, which only livedata.extraction knows",
    ),
    "a shape of the model is a dataclass": (
        "livedata/model/shape.py",
        "from dataclasses import dataclass",
        "imports dataclasses.dataclass: a shape is a msgspec.Struct",
    ),
    "a service imports Scrapy inside a function": (
        "livedata/services/runs.py",
        "def f():\n    import scrapy.http",
        "imports scrapy.http, which only spiders knows",
    ),
    "two modules import each other, one of them late": (
        "livedata/store/database/store.py",
        "def f():\n    from livedata.store.rows import row",
        "a circle: livedata.store.database.store <-> livedata.store.rows",
    ),
    "two modules import each other, one of them for its types only": (
        "livedata/store/database/store.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import livedata.store.rows",
        "a circle: livedata.store.database.store <-> livedata.store.rows",
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
        "livedata/store/rows.py",
        "from livedata.model import source",
        "queries > livedata.store.rows > livedata.model.source",
    ),
    "an act brings the tables along": (
        "livedata/services/runs.py",
        "from livedata.store import tables",
        "livedata.services.runs imports sqlmodel, by way of livedata.services.runs > ",
    ),
    "a service speaks SQL": (
        "livedata/services/runs.py",
        "def f(reader, name):\n    return reader.rows(f'SELECT {name} FROM runs')",
        "livedata/services/runs.py:2: SQL outside livedata.store",
    ),
    "a service knows the driver": (
        "livedata/services/runs.py",
        "def f():\n    from sqlite3 import IntegrityError",
        "imports sqlite3.IntegrityError, which only livedata.store.database.sqlite knows",
    ),
    "a service knows the engine": (
        "livedata/services/runs.py",
        "from sqlalchemy.exc import IntegrityError",
        "imports sqlalchemy.exc.IntegrityError, which only livedata.store knows",
    ),
    "a noun of the store knows a driver": (
        "livedata/store/rows.py",
        "def f():\n    from psycopg.errors import UniqueViolation",
        "imports psycopg.errors.UniqueViolation, which only livedata.store.database.postgres knows",
    ),
    "a noun of the store speaks as one database only": (
        "livedata/store/rows.py",
        "CHECK = 'PRAGMA integrity_check'",
        "livedata/store/rows.py:1: SQL that only one database understands",
    ),
    "a package brings something heavy to all in it": (
        "livedata/store/__init__.py",
        "import sqlmodel",
        "livedata.store.database.store imports sqlmodel",
    ),
    "a Run validates its source": (
        "spiders/crawl/spider.py",
        "from livedata.model import source",
        "imports pydantic, by way of spiders.crawl.spider > livedata.model.source",
    ),
    "a sentence where problems are values": (
        "livedata/rules/changes/checks.py",
        "def f(page):\n    return f'Page {page} of the list has no items.'",
        "says ' of the list has no items.'",
    ),
    "a service asks for the kind of a Run": (
        "livedata/services/runs.py",
        "def f(recipe):\n    return 1 if is_research(recipe) else 2",
        "livedata/services/runs.py:2: asks for the kind of a Run: return 1 if is_research(recipe)",
    ),
    "a view is asked for the kind of its Run": (
        "livedata/services/runs.py",
        "def f(view):\n    if view.of_research:\n        return 1",
        "livedata/services/runs.py:2: asks for the kind of a Run: if view.of_research:",
    ),
    "the type of a recipe tells the kind of a Run": (
        "livedata/store/rows.py",
        "def f(recipe):\n    return isinstance(recipe, Recipe | None)",
        "asks for the kind of a Run: return isinstance(recipe, Recipe | None)",
    ),
    "a door compares the name of a kind": (
        "livedata/cli/rows.py",
        "def f(source):\n    return source.get('kind') in ('research', 'other')",
        "asks for the kind of a Run: return source.get('kind') in ('research', 'other')",
    ),
    "what only one kind has tells the kind of a Run": (
        "livedata/services/runs.py",
        "def f(harvest):\n    return harvest.research is not None",
        "asks for the kind of a Run: return harvest.research is not None",
    ),
    "a door matches the kind of a Run": (
        "livedata/cli/rows.py",
        "def f(kind):\n    match kind:\n        case 'research':\n            return 1",
        "asks for the kind of a Run: case 'research':",
    ),
    "the crawler asks which kind a source is of": (
        "spiders/fetch/page.py",
        "def f(source):\n    return run_kind(source) != OTHER",
        "asks for the kind of a Run: return run_kind(source) != OTHER",
    ),
    "a function that is too long": (
        "livedata/rules/changes/cells.py",
        "def f():\n" + "    x = 1\n" * LONGEST_FUNCTION,
        "f has 41 lines",
    ),
    "a file that is too long": (
        "livedata/rules/changes/cells.py",
        "x = 1\n" * (LONGEST_FILE + 1),
        "livedata/rules/changes/cells.py: 421 lines",
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
