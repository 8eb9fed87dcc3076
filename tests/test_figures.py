"""What ``python -m benchmarks.figures`` counts, on a small house that is planted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.figures import Figure, figures, main, read_modules, reading
from benchmarks.house import (
    REASONS,
    lonely,
    shared_names,
    siblings_in_circles,
    small_for_no_reason,
)
from tests.test_architecture import ROOT, build

COUNTED = '''"""A module is neither a function nor a class."""
# A comment counts.
import os  # so does one behind code
import re  # noqa: F401
x: int = ""  # type: ignore[assignment]
HASH = "# no comment"


@decorated
@twice
def long(
    first: int,
) -> str:
    """A docstring is a part of its function."""
    return "SELECT 1"


def short() -> str: return f"UPDATE {x} SET a = 1"


class Bare:
    text = "Select one", "INSERTED", "DELETE FROM rows"
'''
IN_THE_STORE = 'statement = "SELECT 1"\n'
MIGRATION = "# A comment of a migration\n" * 400


CIRCLES = {
    # A folder and a module beside it, one way for types alone and inside a function.
    "livedata/store/jobs/__init__.py": "",
    "livedata/store/jobs/queue.py": "from livedata.store import turns, turns as again",
    "livedata/store/turns.py": (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n"
        "    def f():\n"
        "        from livedata.store.jobs.queue import Job"
    ),
    # What the circle imports stands in none; nor do a folder and what is in it.
    "livedata/store/jobs/leases.py": "from livedata.store import apart, jobs",
    "livedata/store/apart.py": "",
}
QUESTIONS = """
def f(declared, harvest, recipe, view):
    if is_research(declared): ...
    if view.of_research and harvest.research is not None: ...
    assert isinstance(recipe, Recipe | None)
    match recipe:
        case ResearchRecipe(): ...
    if declared["kind"] != "research": ...
    return harvest.findings if harvest.research else ()

def is_research(declared):
    return declared["kind"] == "research"

def g(harvest, declared):
    is_research = {"kind": "research", "isinstance": isinstance(declared, dict)}
    return harvest.research.gone, harvest.pages is None, is_research_day(declared)
"""
"""Six lines that ask for the kind of a Run, and what looks like a question and is none."""
DOORS = {
    # What starts a process, and what a table names: nobody imports them, and they may be small.
    "livedata/__main__.py": "from livedata.cli.commands import TABLE",
    "livedata/wsgi.py": "",
    "livedata/cli/commands.py": "TABLE = {'prune': 'livedata.cli.prune:prune'}" + "\n" * 40,
    "livedata/cli/prune.py": "",
    "livedata/pages/__init__.py": "ROUTES = (('/usage', 'usage', 'show'),)",
    "livedata/pages/usage.py": "from livedata.pages import marks" + "\n" * 40,
    "livedata/pages/marks.py": "",
    "livedata/store/migrations/env.py": "",
    "livedata/store/rows.py": "from livedata.store import damage" + "\n" * 40,
    "livedata/store/runs.py": "from livedata.store import damage" + "\n" * 40,
    "livedata/store/damage.py": "",
    "livedata/store/forgotten.py": "TABLE = 'usage'",
}
LATE = """
import livedata.store.apart
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from livedata.store import turns

class Wish:
    def f(self):
        import json
        from livedata.store import (apart, turns)

async def f():
    def g():
        import livedata.store.turns
"""


VAGUE = """
FOUND = next(one for one in (1, 2))

class Page:
    at: int

    async def f(self, found: int):
        async def g(at=None): ...
        match self.f(at=self.at):
            case [one, {"found": _}]: ...
        return [lambda one: at for at, found_at in ()]
"""
"""Five locals that say nothing, and what is none: a field, a keyword, a key."""


@pytest.fixture
def planted(tmp_path: Path) -> dict[str, Figure]:
    """The figures of a house in which there is one of each that a bound forbids."""
    files = {
        **CIRCLES,
        "livedata/services/commit.py": QUESTIONS,
        "livedata/services/kinds/research.py": QUESTIONS,
        "livedata/services/wishes.py": LATE,
        "livedata/services/wished.py": "class Wish: ...\nclass _Bare: ...\n" + "\n" * 40,
        "livedata/services/said.py": VAGUE + "\n" * 40,
        "livedata/services/wide.py": "class _Bare: ...\nclass Wishes:\n    class Wish: ..."
        + "\n" * 40,
        "livedata/store/migrations/versions/0001.py": "class Wish: ...",
    }
    build(tmp_path, files)
    return {figure.name: figure for figure in figures(list(read_modules(tmp_path)), tmp_path)}


@pytest.mark.parametrize(
    ("name", "places"),
    [
        (
            "siblings in circles",
            [
                "livedata.store.jobs: livedata/store/jobs/queue.py:1 imports livedata.store.turns",
                "livedata.store.turns: livedata/store/turns.py:4 imports livedata.store.jobs.queue",
            ],
        ),
        (
            "questions for the kind",
            [
                "livedata/services/commit.py:3: if is_research(declared): ...",
                (
                    "livedata/services/commit.py:4: "
                    "if view.of_research and harvest.research is not None: ..."
                ),
                "livedata/services/commit.py:5: assert isinstance(recipe, Recipe | None)",
                "livedata/services/commit.py:7: case ResearchRecipe(): ...",
                'livedata/services/commit.py:8: if declared["kind"] != "research": ...',
                (
                    "livedata/services/commit.py:9: "
                    "return harvest.findings if harvest.research else ()"
                ),
            ],
        ),
        (
            "late imports",
            [
                "livedata/services/wishes.py:10: livedata.store.apart, livedata.store.turns",
                "livedata/services/wishes.py:14: livedata.store.turns",
                "livedata/store/turns.py:4: livedata.store.jobs.queue.Job",
            ],
        ),
        (
            "names with several meanings",
            ["Wish: livedata/services/wished.py:1, livedata/services/wishes.py:7"],
        ),
        (
            "locals that say nothing",
            [
                "livedata/services/said.py:7: found",
                "livedata/services/said.py:8: at",
                "livedata/services/said.py:10: one",
                "livedata/services/said.py:11: one",
                "livedata/services/said.py:11: at",
            ],
        ),
        (
            "modules below 40 lines",
            [
                "livedata/services/commit.py: 16 lines, imported by nobody",
                "livedata/services/kinds/research.py: 16 lines, imported by nobody",
                "livedata/services/wishes.py: 14 lines, imported by nobody",
                (
                    "livedata/store/apart.py: 0 lines, "
                    "imported by livedata.services.wishes, livedata.store.jobs.leases"
                ),
                "livedata/store/jobs/leases.py: 1 lines, imported by nobody",
                "livedata/store/jobs/queue.py: 1 lines, imported by livedata.store.turns",
                (
                    "livedata/store/turns.py: 4 lines, "
                    "imported by livedata.services.wishes, livedata.store.jobs.queue"
                ),
            ],
        ),
        (
            "files",
            ["livedata/store/jobs/queue.py: 1 lines, imported by livedata.store.turns alone"],
        ),
    ],
)
def test_a_figure_lists_the_places_that_it_counts(
    planted: dict[str, Figure], name: str, places: list[str]
) -> None:
    assert sorted(planted[name].places) == sorted(places)
    assert planted[name].value == (11 if name == "files" else len(places))


def test_the_page_of_a_run_keeps_its_bound() -> None:
    figure = reading()
    assert figure.kept
    assert len(figure.places) > 5


def test_a_small_module_is_a_door_or_has_two_importers(tmp_path: Path) -> None:
    build(tmp_path, DOORS)
    assert list(small_for_no_reason(tmp_path)) == [
        "livedata/pages/marks.py: 0 lines, imported by livedata.pages.usage",
        "livedata/store/forgotten.py: 1 lines, imported by nobody",
    ]


def test_a_reason_to_be_small_is_given_where_there_is_no_other_and_nowhere_else() -> None:
    assert {module.name for module in lonely(ROOT)} == set(REASONS)


@pytest.mark.parametrize("places", [shared_names, siblings_in_circles])
def test_the_house_keeps_one_meaning_for_a_name_and_arrows_that_run_one_way(
    places: Callable[[Path], Iterator[str]],
) -> None:
    assert list(places(ROOT)) == []


def test_the_places_of_a_figure_are_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build(tmp_path, {"livedata/rules/counted.py": COUNTED})
    main(["--list", "function, max"], tmp_path)
    assert capsys.readouterr().out.startswith("livedata/rules/counted.py:11 long")


def test_a_figure_that_there_is_not_is_refused_with_those_that_have_places(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build(tmp_path, {"livedata/rules/counted.py": COUNTED})
    with pytest.raises(SystemExit) as ended:
        main(["--list", "mood"], tmp_path)
    assert ended.value.code == 2
    assert "there is no figure 'mood'; those with places are: " in capsys.readouterr().err


@pytest.fixture
def measured(tmp_path: Path) -> dict[str, Figure]:
    """The figures of a planted house, by name."""
    files = {
        "livedata/rules/counted.py": COUNTED,
        "livedata/store/rows.py": IN_THE_STORE,
        "livedata/store/migrations/versions/0001.py": MIGRATION,
    }
    build(tmp_path, files)
    return {figure.name: figure for figure in figures(list(read_modules(tmp_path)), tmp_path)}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("files", 2),
        ("lines", 23),
        ("file, max", 22),
        ("functions", 2),
        ("function, median", 3),
        ("function, max", 5),
        ("files in a room, max", 1),
        ("comments in 100 lines", pytest.approx(200 / 23)),
        ("docstrings, percent", pytest.approx(100 / 3)),
        ("SQL outside the store", 3),
    ],
)
def test_a_figure_is_counted(measured: dict[str, Figure], name: str, value: float) -> None:
    assert measured[name].value == value


def test_a_figure_names_the_place(measured: dict[str, Figure]) -> None:
    assert measured["file, max"].note == "livedata/rules/counted.py; 0 above 300"
    assert measured["function, max"].note == "livedata/rules/counted.py:11 long"
    places = [f"livedata/rules/counted.py:{line}" for line in (15, 18, 22)]
    assert sorted(measured["SQL outside the store"].places) == places


@pytest.mark.parametrize(("value", "kept"), [(2.9, False), (3, True), (5, True), (5.1, False)])
def test_a_bound_holds_the_figures_that_it_names(value: float, kept: bool) -> None:
    assert Figure("comments", value, least=3, most=5).kept is kept


def test_a_broken_bound_is_told(measured: dict[str, Figure]) -> None:
    assert "<= 0" in measured["SQL outside the store"].line()
    assert "BROKEN" in measured["SQL outside the store"].line()
    assert "BROKEN" not in measured["file, max"].line()
