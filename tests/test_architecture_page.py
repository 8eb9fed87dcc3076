"""What docs/architecture.md draws is what the files import, and what it names is there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.test_architecture import FLOORS, house, target

ROOT = Path(__file__).resolve().parents[1]
ARCHITECTURE = ROOT / "docs" / "architecture.md"
ADDING = ROOT / "docs" / "how-to" / "add.md"
PLACE = re.compile(r"\b((?:livedata|spiders|tests|docs)/[\w./-]*\w)(?::(\w+))?")
FLOOR = re.compile(r"\blivedata/[\w.]+|\bspiders\b")
ROW = re.compile(r"^\| `((?:livedata/|spiders)[\w.]*)` \| (.*?) ?\| (.*) \|$", re.MULTILINE)
DRAWN = {name.replace(".", "/"): floor for name, floor in FLOORS.items() if floor != "version"}
"""How the page names a floor -> what its arrows call it; the version is no floor of its own."""


def short(name: str) -> str:
    """The word by which a row names a floor that it imports."""
    return name.rpartition("/")[2].removesuffix(".py")


@cache
def imported() -> Mapping[str, frozenset[str]]:
    """Each floor, as rows name it -> those that it really imports."""
    modules = house(ROOT)
    words = {floor: short(name) for name, floor in DRAWN.items()}
    arrows: dict[str, set[str]] = {word: set() for word in words.values()}
    for module in modules.values():
        for each in module.imports:
            origin = modules.get(target(modules, each.name) or "")
            if origin is not None and {module.floor, origin.floor} <= words.keys():
                arrows[words[module.floor or ""]].add(words[origin.floor or ""])
    return {word: frozenset(others - {word}) for word, others in arrows.items()}


def picture(text: str) -> list[list[str]]:
    """The floors in each line of the picture, from above."""
    drawing = text.partition("```\n")[2].partition("```")[0]
    lines = [FLOOR.findall(line) for line in drawing.splitlines()]
    return [line for line in lines if line]


def untrue(text: str) -> Iterator[str]:
    """What the picture and the table of floors say that is not so, or leave out."""
    lines = picture(text)
    levels = {
        short(name): number for number, line in reversed([*enumerate(lines)]) for name in line
    }
    rows = {short(name): set(re.findall(r"\w+", words)) for name, words, _ in ROW.findall(text)}
    for place, named in (
        ("picture", [name for line in lines for name in line]),
        ("table", [name for name, _, _ in ROW.findall(text)]),
    ):
        named = [name.removesuffix(".py") for name in named]
        yield from (f"the {place} lacks {name}" for name in DRAWN if name not in named)
        yield from (f"the {place} has {name} twice" for name in DRAWN if named.count(name) > 1)
        yield from (f"the {place} has {name}, which is none" for name in named if name not in DRAWN)
    for floor, others in imported().items():
        drawn = rows.get(floor, set())
        yield from (f"{floor} imports {other}, which is not drawn" for other in others - drawn)
        yield from (f"{floor} does not import {other}, which is drawn" for other in drawn - others)
        yield from (
            f"{floor} imports {other}, which does not stand below it"
            for other in others
            if levels.get(floor, 0) >= levels.get(other, len(levels))
        )


def test_the_picture_is_what_the_files_import() -> None:
    assert list(untrue(ARCHITECTURE.read_text())) == []


PLANTED = {
    "an arrow that is not there": (
        "| `livedata/extraction` | model |",
        "| `livedata/extraction` | messages, model |",
        "extraction does not import messages, which is drawn",
    ),
    "an import that is not drawn": (
        "| `livedata/rules` | extraction, messages, model |",
        "| `livedata/rules` | messages, model |",
        "rules imports extraction, which is not drawn",
    ),
    "a floor that no row is about": (
        "| `livedata/model` | |",
        "| `model` | |",
        "the table lacks livedata/model",
    ),
    "a floor that is not in the picture": (
        "\n livedata/extraction  ",
        "\n its neighbour        ",
        "the picture lacks livedata/extraction",
    ),
    "a floor twice": (
        "\n livedata/extraction  ",
        "\n livedata/extraction  livedata/research  ",
        "the picture has livedata/research twice",
    ),
    "a floor above another that imports it": (
        "\n livedata/extraction  ",
        "\n livedata/model  livedata/extraction  ",
        "extraction imports model, which does not stand below it",
    ),
    "a floor that there is not": (
        "| `livedata/model` | |",
        "| `livedata/utils` | |",
        "the table has livedata/utils, which is none",
    ),
}


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED.keys())
def test_what_is_drawn_otherwise_is_found(planted: tuple[str, str, str]) -> None:
    text, (true, false, said) = ARCHITECTURE.read_text(), planted
    assert text.count(true) == 1
    assert said in list(untrue(text.replace(true, false)))


@pytest.mark.parametrize("floor", [name for name in DRAWN if (ROOT / name).is_dir()])
def test_each_room_is_named_once_in_the_row_of_its_floor(floor: str) -> None:
    (about,) = [words for name, _, words in ROW.findall(ARCHITECTURE.read_text()) if name == floor]
    rooms = [file.parent.name for file in (ROOT / floor).glob("*/__init__.py")]
    assert {room: about.count(f"`{room}`") for room in rooms} == dict.fromkeys(rooms, 1)


@pytest.mark.parametrize("page", [ARCHITECTURE, ADDING], ids=lambda page: page.stem)
def test_every_path_that_is_named_for_those_who_change_it_is_there(page: Path) -> None:
    places = PLACE.findall(page.read_text())
    assert len(places) > 20
    assert [path for path, _ in places if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", [ARCHITECTURE, ADDING], ids=lambda page: page.stem)
def test_every_function_and_class_that_is_named_for_those_who_change_it_is_there(
    page: Path,
) -> None:
    named = {(path, name) for path, name in PLACE.findall(page.read_text()) if name}
    missing = [
        f"{path}:{name}"
        for path, name in named
        if not re.search(rf"^(def |class |){name}\b", (ROOT / path).read_text(), re.MULTILINE)
    ]
    assert named
    assert missing == []
