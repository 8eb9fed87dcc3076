"""What may help with a problem, by its code, as the code itself attaches it.

It reads the calls that make problems and causes, and the tables beside them, and finds in each what
stands for a remedy: so the page of errors cannot say what the product does not.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType

from livedata.messages.remedies import REMEDIES
from livedata.model.problem import Remedy

ROOT = Path(__file__).resolve().parents[1]
ROOMS = (
    *("livedata/rules", "livedata/services", "spiders/browser", "spiders/crawl", "spiders/fetch"),
    *("spiders/outcome", "spiders/research", "spiders/worker"),
)
MAKERS = frozenset({"Problem", "cause"})
CODE = re.compile(r"(?:address|cause|checks|fetch|pagination|run)(?:\.[a-z0-9_]+)+")


class _Module:
    """A module, with what its names stand for."""

    def __init__(self, file: Path) -> None:
        self.tree = ast.parse(file.read_text())
        name = ".".join(file.relative_to(ROOT).with_suffix("").parts)
        self.live: ModuleType = importlib.import_module(name.removesuffix(".__init__"))

    def attached(self) -> Iterator[tuple[str, list[str]]]:
        """Each code that is made here, and the remedies that stand beside it."""
        for scope, name in self._scopes():
            local = _assigned(scope)
            for node in ast.walk(scope):
                beside = _beside(node)
                if beside is None:
                    continue
                first, others = beside
                result = [remedy for other in others for remedy in self._remedies(other, local)]
                for code in _codes(first, local, name):
                    yield code, result

    def calls(self, name: str) -> Iterator[list[str]]:
        """The texts that a function or class of a name is called with, if the first is one."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name:
                texts = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
                if texts and isinstance(node.args[0], ast.Constant):
                    yield list(map(str, texts))

    def _scopes(self) -> Iterator[tuple[ast.AST, str]]:
        """The module and its functions, and what each is called by: the class for its start."""
        yield self.tree, ""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef):
                yield node, node.name
            elif isinstance(node, ast.ClassDef):
                yield from ((each, node.name) for each in node.body if _is_start(each))

    def _remedies(self, node: ast.AST, local: Mapping[str, list[ast.AST]]) -> Iterator[str]:
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Remedy":
            if isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value)
        elif isinstance(node, ast.Name) and node.id in local:
            without = {name: nodes for name, nodes in local.items() if name != node.id}
            for value in local[node.id]:
                yield from self._remedies(value, without)
        elif isinstance(node, ast.Name):
            yield from _codes_of(getattr(self.live, node.id, None))
        else:
            for child in ast.iter_child_nodes(node):
                yield from self._remedies(child, local)


def _is_start(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == "__init__"


def _codes_of(value: object) -> Iterator[str]:
    if isinstance(value, Remedy):
        yield value.code
    elif isinstance(value, tuple | list):
        yield from (each.code for each in value if isinstance(each, Remedy))


def _beside(node: ast.AST) -> tuple[ast.AST, list[ast.AST]] | None:
    """What names a code, and what stands beside it, in a call or in an entry of a table."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in MAKERS and node.args:
        return node.args[0], [*node.args[1:], *(word.value for word in node.keywords)]
    if isinstance(node, ast.Tuple) and node.elts and isinstance(node.elts[0], ast.Constant):
        return node.elts[0], list(node.elts[1:])
    return None


def _assigned(scope: ast.AST) -> Mapping[str, list[ast.AST]]:
    """What the names of a function are set to."""
    assigned: defaultdict[str, list[ast.AST]] = defaultdict(list)
    if isinstance(scope, ast.FunctionDef):
        for node in ast.walk(scope):
            if isinstance(node, ast.Assign):
                _assign(assigned, node.targets[0], node.value)
    return assigned


def _assign(assigned: defaultdict[str, list[ast.AST]], target: ast.AST, value: ast.AST) -> None:
    if isinstance(target, ast.Name):
        assigned[target.id].append(value)
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for each, its in zip(target.elts, value.elts, strict=True):
            _assign(assigned, each, its)


def _codes(node: ast.AST, local: Mapping[str, list[ast.AST]], name: str) -> Iterator[str]:
    """The codes that an expression may be; "fetch.*NAME" of one that a call of NAME ends."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str) and CODE.fullmatch(node.value):
            yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _codes(node.body, local, name)
        yield from _codes(node.orelse, local, name)
    elif isinstance(node, ast.Name):
        for value in local.get(node.id, ()):
            yield from _codes(value, {}, name)
    elif isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
        prefix, inner = str(node.values[0].value), node.values[1]
        ends = local.get(getattr(getattr(inner, "value", None), "id", ""), ())
        yield from (f"{prefix}{end}" for value in ends for end in _texts(value))
        yield f"{prefix}*{name}"


def _texts(node: ast.AST) -> Iterator[str]:
    """The texts that an expression may be."""
    if isinstance(node, ast.Constant):
        yield str(node.value)
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)


@cache
def remedies_of() -> Mapping[str, list[str]]:
    """Code -> the codes of what may help, the best first."""
    modules = [_Module(file) for room in ROOMS for file in sorted((ROOT / room).rglob("*.py"))]
    result: defaultdict[str, list[str]] = defaultdict(list)
    for code, remedies in [each for module in modules for each in module.attached()]:
        prefix, _, name = code.partition("*")
        if not name:
            _add(result[code], remedies)
            continue
        for words in (words for module in modules for words in module.calls(name)):
            _add(result[f"{prefix}{words[0]}"], [*remedies, *(set(words[1:]) & REMEDIES.keys())])
    return result


def _add(known: list[str], remedies: list[str]) -> None:
    known += [each for each in dict.fromkeys(remedies) if each not in known]
