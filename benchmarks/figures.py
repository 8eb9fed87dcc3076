"""How large the code is, beside the bounds of the house; migrations are left out.

python -m benchmarks.figures              every figure; ends 1 if a bound is broken
python -m benchmarks.figures --list NAME  the places that a figure counts, such as "late imports"
"""

from __future__ import annotations

import argparse
import ast
import math
import re
import statistics
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import house

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("livedata", "spiders")
MIGRATIONS = Path("livedata/store/migrations")
STORE = Path("livedata/store")
# What a tool is told is no comment for a person.
DIRECTIVE = re.compile(r"#\s*(noqa|type:\s*ignore|pragma|fmt:)")
LONG_FILE = 300
"""From here on a file may be two; the bound is above."""
SQL = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE)\s")


@dataclass(frozen=True)
class Function:
    """A function from its `def` to its end; decorators do not count, its docstring does."""

    place: str
    lines: int


@dataclass(frozen=True)
class Module:
    """What is counted in one file."""

    path: Path
    lines: int
    comments: int
    functions: list[Function]
    documentable: int
    documented: int
    statements: list[str]


@dataclass(frozen=True)
class Figure:
    """A figure, what it is about, the bounds that it must keep, and the places that it counts."""

    name: str
    value: float
    note: str = ""
    least: float = 0
    most: float = math.inf
    places: Sequence[str] = ()

    @property
    def kept(self) -> bool:
        """Whether the figure keeps its bounds."""
        return self.least <= self.value <= self.most

    def line(self) -> str:
        """The figure as a line of the report."""
        verdict = "" if self.kept else "BROKEN"
        value = _written(self.value)
        return f"{self.name:28} {value:>8}  {self._bound():8}  {verdict:6}  {self.note}".rstrip()

    def _bound(self) -> str:
        if self.least:
            return f"{self.least:g} to {self.most:g}"
        return "" if math.isinf(self.most) else f"<= {self.most:g}"


def read_module(path: Path, root: Path = ROOT) -> Module:
    """Count what is in a file."""
    source = path.read_text(encoding="utf-8")
    nodes = list(ast.walk(ast.parse(source)))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    documentable = [*functions, *classes]
    place = path.relative_to(root)
    return Module(
        path=place,
        lines=len(source.splitlines()),
        comments=_comments(path),
        functions=[
            Function(f"{place}:{node.lineno} {node.name}", _length(node)) for node in functions
        ],
        documentable=len(documentable),
        documented=sum(ast.get_docstring(node) is not None for node in documentable),
        statements=[f"{place}:{line}" for line in _sql_lines(nodes)],
    )


def read_modules(root: Path = ROOT) -> Iterator[Module]:
    """Every module of both packages that is no migration."""
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            if not path.is_relative_to(root / MIGRATIONS):
                yield read_module(path, root)


def figures(modules: Sequence[Module], root: Path = ROOT) -> Iterator[Figure]:
    """Every figure of these modules, with its bounds."""
    lines = sum(module.lines for module in modules)
    satellites = list(house.satellites(root))
    note = f"{len(satellites)} have one importer"
    yield Figure("files", len(modules), note, most=523, places=satellites)
    yield Figure("lines", lines)
    yield from _sizes(modules)
    comments = sum(module.comments for module in modules)
    bare = sorted(modules, key=lambda module: module.comments / (module.lines or 1))
    places = [f"{module.path}: {module.comments} in {module.lines} lines" for module in bare]
    yield Figure("comments in 100 lines", 100 * comments / lines, least=2.5, most=5, places=places)
    documented = sum(module.documented for module in modules)
    share = 100 * documented / sum(module.documentable for module in modules)
    yield Figure("docstrings, percent", share, "of functions and classes")
    yield _counted("SQL outside the store", _spoken(modules), most=0)
    yield _counted("modules below 40 lines", house.short_modules(root), most=25)
    yield _counted("small for no reason", house.small_for_no_reason(root), most=0)
    yield _counted("late imports", house.late_imports(root), most=75)
    yield _counted("siblings in circles", house.siblings_in_circles(root), most=0)
    yield _counted("questions for the kind", house.questions_of_kind(root), most=0)
    yield _counted("names with several meanings", house.shared_names(root), most=0)
    yield _counted("locals that say nothing", house.vague_locals(root), most=0)


def reading() -> Figure:
    """In how many read transactions the page of a Run is made, at most."""
    begun = house.transactions_of_runs()
    places = [f"{page}: {number}" for page, number in begun.items()]
    return Figure("transactions of a Run's page", max(begun.values()), most=2, places=places)


def _counted(name: str, places: Iterator[str], most: float) -> Figure:
    counted = list(places)
    return Figure(name, len(counted), most=most, places=counted)


def _spoken(modules: Sequence[Module]) -> Iterator[str]:
    for module in modules:
        if not module.path.is_relative_to(STORE):
            yield from module.statements


def _sizes(modules: Sequence[Module]) -> Iterator[Figure]:
    files = sorted(modules, key=lambda module: -module.lines)
    places = [f"{module.path}: {module.lines}" for module in files]
    yield Figure("file, median", statistics.median(module.lines for module in modules))
    long = sum(module.lines > LONG_FILE for module in modules)
    note = f"{files[0].path}; {long} above {LONG_FILE}"
    yield Figure("file, max", files[0].lines, note, most=420, places=places)
    functions = sorted(
        (function for module in modules for function in module.functions),
        key=lambda function: -function.lines,
    )
    named = [f"{function.place}: {function.lines}" for function in functions]
    median = statistics.median(function.lines for function in functions)
    ninth_tenth = functions[len(functions) - math.ceil(0.9 * len(functions))]
    yield Figure("functions", len(functions))
    yield Figure("function, median", median, most=8, places=named)
    yield Figure("function, p90", ninth_tenth.lines, most=20, places=named)
    yield Figure("function, max", functions[0].lines, functions[0].place, most=40, places=named)
    rooms = Counter(str(module.path.parent) for module in modules)
    crowded = [f"{room}: {count}" for room, count in rooms.most_common()]
    room, count = rooms.most_common(1)[0]
    yield Figure("files in a room, max", count, room, places=crowded)


def _comments(path: Path) -> int:
    with path.open("rb") as file:
        comments = [
            token.string
            for token in tokenize.tokenize(file.readline)
            if token.type == tokenize.COMMENT
        ]
    return sum(DIRECTIVE.match(comment) is None for comment in comments)


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


def _sql_lines(nodes: Sequence[ast.AST]) -> Iterator[int]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.match(node.value):
            yield node.lineno


def _written(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def main(words: Sequence[str] | None = None, root: Path = ROOT) -> None:
    """Print every figure beside its bound, or the places of one; exit with 1 if one is broken."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures")
    parser.add_argument("--list", metavar="NAME", default="", help="The places of this figure.")
    listed = parser.parse_args(words).list
    measured = [*figures(list(read_modules(root)), root), reading()]
    named = [figure.name for figure in measured if figure.places]
    if listed:
        chosen = [figure for figure in measured if figure.name.startswith(listed)]
        if not chosen:
            parser.error(
                f"there is no figure {listed!r}; those with places are: {', '.join(named)}"
            )
        print("\n".join(place for figure in chosen for place in figure.places))
        return
    for figure in measured:
        print(figure.line())
    print("--list NAME prints the places of: " + ", ".join(named))
    sys.exit(not all(figure.kept for figure in measured))


if __name__ == "__main__":
    main()
