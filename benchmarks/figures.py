"""How large the code is, beside the bounds of the house; migrations are left out.

python -m benchmarks.figures
"""

from __future__ import annotations

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

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("livedata", "spiders")
MIGRATIONS = Path("livedata/store/migrations")
STORE = Path("livedata/store")
# What a tool is told is no comment for a person.
DIRECTIVE = re.compile(r"#\s*(noqa|type:\s*ignore|pragma|fmt:)")
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
    statements: int


@dataclass(frozen=True)
class Figure:
    """A figure, what it is about, and the bounds that it must keep."""

    name: str
    value: float
    note: str = ""
    least: float = 0
    most: float = math.inf

    @property
    def kept(self) -> bool:
        """Whether the figure keeps its bounds."""
        return self.least <= self.value <= self.most

    def line(self) -> str:
        """The figure as a line of the report."""
        verdict = "" if self.kept else "BROKEN"
        value = _written(self.value)
        return f"{self.name:24} {value:>8}  {self._bound():8}  {verdict:6}  {self.note}".rstrip()

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
        statements=sum(map(_is_sql, nodes)),
    )


def read_modules(root: Path = ROOT) -> Iterator[Module]:
    """Every module of both packages that is no migration."""
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            if not path.is_relative_to(root / MIGRATIONS):
                yield read_module(path, root)


def figures(modules: Sequence[Module]) -> Iterator[Figure]:
    """Every figure of these modules, with its bounds."""
    lines = sum(module.lines for module in modules)
    yield Figure("files", len(modules))
    yield Figure("lines", lines)
    yield from _sizes(modules)
    rooms = Counter(str(module.path.parent) for module in modules)
    room, files = rooms.most_common(1)[0]
    yield Figure("files in a room, max", files, room, most=14)
    comments = sum(module.comments for module in modules)
    yield Figure("comments in 100 lines", 100 * comments / lines, least=3, most=5)
    documented = sum(module.documented for module in modules)
    share = 100 * documented / sum(module.documentable for module in modules)
    yield Figure("docstrings, percent", share, "of functions and classes")
    outside = [module for module in modules if not module.path.is_relative_to(STORE)]
    places = [f"{module.path} {module.statements}" for module in outside if module.statements]
    statements = sum(module.statements for module in outside)
    yield Figure("SQL outside the store", statements, ", ".join(places), most=0)


def _sizes(modules: Sequence[Module]) -> Iterator[Figure]:
    longest_file = max(modules, key=lambda module: module.lines)
    yield Figure("file, median", statistics.median(module.lines for module in modules))
    yield Figure("file, max", longest_file.lines, str(longest_file.path), most=300)
    functions = sorted(
        (function for module in modules for function in module.functions),
        key=lambda function: function.lines,
    )
    longest = functions[-1]
    median = statistics.median(function.lines for function in functions)
    ninth_tenth = functions[math.ceil(0.9 * len(functions)) - 1]
    yield Figure("functions", len(functions))
    yield Figure("function, median", median, most=8)
    yield Figure("function, p90", ninth_tenth.lines, most=20)
    yield Figure("function, max", longest.lines, longest.place, most=40)


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


def _is_sql(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and SQL.match(node.value) is not None
    )


def _written(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def main() -> None:
    """Print every figure beside its bound; exit with 1 if a bound is broken."""
    measured = list(figures(list(read_modules())))
    for figure in measured:
        print(figure.line())
    sys.exit(not all(figure.kept for figure in measured))


if __name__ == "__main__":
    main()
