"""What ``python -m benchmarks.figures`` counts, on a house of three files."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.figures import Figure, figures, read_modules

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


@pytest.fixture
def measured(tmp_path: Path) -> dict[str, Figure]:
    """The figures of a planted house, by name."""
    for path, text in (
        ("livedata/rules/counted.py", COUNTED),
        ("livedata/store/rows.py", IN_THE_STORE),
        ("livedata/store/migrations/versions/0001.py", MIGRATION),
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return {figure.name: figure for figure in figures(list(read_modules(tmp_path)))}


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
    assert measured["file, max"].note == "livedata/rules/counted.py"
    assert measured["function, max"].note == "livedata/rules/counted.py:11 long"
    assert measured["SQL outside the store"].note == "livedata/rules/counted.py 3"


@pytest.mark.parametrize(("value", "kept"), [(2.9, False), (3, True), (5, True), (5.1, False)])
def test_a_bound_holds_the_figures_that_it_names(value: float, kept: bool) -> None:
    assert Figure("comments", value, least=3, most=5).kept is kept


def test_a_broken_bound_is_told(measured: dict[str, Figure]) -> None:
    assert "<= 0" in measured["SQL outside the store"].line()
    assert "BROKEN" in measured["SQL outside the store"].line()
    assert "BROKEN" not in measured["file, max"].line()
