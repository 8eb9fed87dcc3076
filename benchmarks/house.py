"""What is counted of the house as a whole: each function yields the places that a bound is about.

A place is a line: where it stands, and what is there.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from livedata.api import create_app
from livedata.pages import add_pages
from tests.browsing.test_one_moment import every_page
from tests.browsing.visitor import Visitor
from tests.browsing.world import World
from tests.made import make_store
from tests.test_architecture import FLOORS, PACKAGES, Module, house, questions, target, within
from tests.watched import Watched

MIGRATIONS = "livedata.store.migrations"
SHORT = 40
"""A module with fewer lines is a satellite, unless it has a reason."""
REASONS: Mapping[str, str] = {
    "livedata.store.research.expiring": "whoever lets go of it imports nothing that writes it",
}
"""Why a module is below 40 lines with fewer than two importers, if not by what it is."""
SHOWN = 3
INTERFACE = "livedata/python/"
VAGUE = frozenset({"at", "found", "one"})
"""Names of locals that say nothing of what they hold."""

Graph = Mapping[str, set[str]]


def modules_of(root: Path) -> dict[str, Module]:
    """Every module below `root` but migrations, by name."""
    return {name: module for name, module in house(root).items() if not within(name, MIGRATIONS)}


def short_modules(root: Path) -> Iterator[str]:
    """Modules below 40 lines that are no `__init__`, with those that import them."""
    importers = _importers(root)
    for name, module in modules_of(root).items():
        lines = len(module.text.splitlines())
        if lines < SHORT and not _is_package(module):
            told = ", ".join(sorted(importers[name])) or "nobody"
            yield f"{module.path}: {lines} lines, imported by {told}"


def satellites(root: Path) -> Iterator[str]:
    """Modules that one other module imports, and which: where it might live."""
    importers = _importers(root)
    for name, module in modules_of(root).items():
        if len(importers[name]) == 1 and not _is_package(module):
            lines = len(module.text.splitlines())
            yield f"{module.path}: {lines} lines, imported by {importers[name].pop()} alone"


def lonely(root: Path) -> Iterator[Module]:
    """Modules below 40 lines with fewer than two importers, but for doors.

    A door is what starts a process, and what a table names as text: a command, a page.
    """
    importers = _importers(root)
    modules = modules_of(root)
    named = {name for module in modules.values() for name in _named_in(module)}
    for name, module in modules.items():
        is_door = name in FLOORS or name.endswith(".__main__") or name in named
        is_small = len(module.text.splitlines()) < SHORT and not _is_package(module)
        if is_small and not is_door and len(importers[name]) < 2:
            yield module


def small_for_no_reason(root: Path) -> Iterator[str]:
    """Lonely modules that no reason is given for, and where each might live."""
    importers = _importers(root)
    for module in lonely(root):
        if module.name not in REASONS:
            told = ", ".join(importers[module.name]) or "nobody"
            lines = len(module.text.splitlines())
            yield f"{module.path}: {lines} lines, imported by {told}"


def late_imports(root: Path) -> Iterator[str]:
    """Imports of our own modules inside of functions, one for each statement."""
    for module in modules_of(root).values():
        late: dict[int, list[str]] = defaultdict(list)
        for each in module.imports:
            if each.late and each.name.partition(".")[0] in PACKAGES:
                late[each.line].append(each.name)
        for line, names in late.items():
            yield f"{module.path}:{line}: {', '.join(names)}"


def siblings_in_circles(root: Path) -> Iterator[str]:
    """Modules and folders of one parent that stand in a circle with a folder in it.

    An import counts wherever it stands, also in a function or for types alone. Each line has one
    of the siblings, and what it imports of the others in its circle.
    """
    modules = house(root)
    folders = {name for name, module in modules.items() if _is_package(module)}
    for graph, imports in _graphs(modules):
        for circle in _circles(graph):
            if folders.isdisjoint(circle):
                continue
            for sibling in circle:
                arrows = [imports[sibling, other] for other in circle if other in graph[sibling]]
                yield f"{sibling}: {'; '.join(map(_arrow, arrows))}"


def questions_of_kind(root: Path) -> Iterator[str]:
    """Where it is asked which kind of Run, dataset or recipe it is, outside the seam."""
    for module, line in questions(root):
        yield f"{module.path}:{line}: {module.text.splitlines()[line - 1].strip()}"


def shared_names(root: Path) -> Iterator[str]:
    """Public classes whose name another module has for a class of its own, one line for a name."""
    places: dict[str, list[str]] = defaultdict(list)
    for module in modules_of(root).values():
        for node in ast.parse(module.text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{module.path}:{node.lineno}")
    for name, where in sorted(places.items()):
        if len(where) > 1:
            yield f"{name}: {', '.join(where)}"


def vague_locals(root: Path) -> Iterator[str]:
    """Parameters and locals whose name says that something is there, and not what.

    What a Python program of a user has to write, since it is given by its name alone, is a word of
    an interface.
    """
    for module in modules_of(root).values():
        functions = [
            node
            for node in ast.walk(ast.parse(module.text))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        ]
        written = {
            word
            for function in functions
            for word in function.args.kwonlyargs
            if module.path.startswith(INTERFACE)
        }
        bound = {
            place
            for function in functions
            for node in ast.walk(function)
            if node not in written and (place := _bound(node)) is not None
        }
        for line, _, name in sorted(bound):
            if name in VAGUE:
                yield f"{module.path}:{line}: {name}"


def _bound(node: ast.AST) -> tuple[int, int, str] | None:
    """Where a node binds a name, if it does."""
    match node:
        case (
            ast.Name(id=str(name), ctx=ast.Store(), lineno=int(line), col_offset=int(column))
            | ast.arg(arg=str(name), lineno=int(line), col_offset=int(column))
            | ast.MatchAs(name=str(name), lineno=int(line), col_offset=int(column))
        ):
            return line, column, name
    return None


def transactions_of_runs() -> dict[str, int]:
    """How many read transactions a GET of the page of a Run begins, by what the Run is and its id.

    The Runs are those of the store by which the tests of pages hold each of them to its bound.
    """
    with TemporaryDirectory() as home, closing(make_store(Path(home))) as store:
        store.ensure()
        application = create_app(store)
        add_pages(application)
        visitor = Visitor.meet(application, store, "alice")
        World(store, visitor.owner).fill()
        begun = {}
        with pytest.MonkeyPatch.context() as patch:
            watched = Watched.of_store(store, patch)
            for path in every_page(store, visitor.owner):
                if path.startswith("/runs/"):
                    watched.look(visitor.get, path)
                    begun[path] = watched.begun
        return begun


def _is_package(module: Module) -> bool:
    return module.path.endswith("__init__.py")


def _named_in(module: Module) -> Iterator[str]:
    """The modules that a text may name: `module:name`; in a package, also what stands in it."""
    for text in (str(each.value) for each in module.strings):
        place, colon, _ = text.partition(":")
        if colon:
            yield place
        elif _is_package(module):
            yield f"{module.name}.{text}"


def _importers(root: Path) -> dict[str, set[str]]:
    modules = house(root)
    importers: dict[str, set[str]] = defaultdict(set)
    for module in modules.values():
        for each in module.imports:
            imported = target(modules, each.name)
            if imported not in {None, module.name}:
                importers[imported or ""].add(module.name)
    return importers


def _graphs(
    modules: Mapping[str, Module],
) -> Iterator[tuple[Graph, Mapping[tuple[str, str], list[str]]]]:
    """For each parent which of its children imports which, and where that stands."""
    graphs: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    places: dict[tuple[str, str], list[str]] = defaultdict(list)
    for module in modules.values():
        for each in module.imports:
            imported = target(modules, each.name) or ""
            siblings = _siblings(module.name, imported)
            if siblings is not None:
                graphs[siblings[0].rpartition(".")[0]][siblings[0]].add(siblings[1])
                place = f"{module.path}:{each.line} imports {imported}"
                if place not in places[siblings]:
                    places[siblings].append(place)
    for _, graph in sorted(graphs.items()):
        yield graph, places


def _siblings(importer: str, imported: str) -> tuple[str, str] | None:
    """The children of one parent in which two modules stand; None if one stands above the other."""
    above, below = importer.split("."), imported.split(".")
    for depth, (ours, theirs) in enumerate(zip(above, below, strict=False), start=1):
        if ours != theirs:
            return ".".join(above[:depth]), ".".join(below[:depth])
    return None


def _arrow(places: list[str]) -> str:
    """The first imports of one sibling by another, and how many more there are."""
    more = f" and {len(places) - SHOWN} more" if len(places) > SHOWN else ""
    return ", ".join(places[:SHOWN]) + more


def _circles(graph: Graph) -> Iterator[list[str]]:
    """The sets of siblings of which each reaches each."""
    reached = {name: _reached(graph, name) for name in graph}
    told: set[str] = set()
    for name in sorted(graph):
        if name in reached[name] and name not in told:
            circle = sorted(other for other in reached[name] if name in reached.get(other, ()))
            told.update(circle)
            yield circle


def _reached(graph: Graph, start: str) -> set[str]:
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    return reached
