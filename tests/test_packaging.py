"""What a user installs: the wheel, as it is built."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import livedata

ROOT = Path(__file__).resolve().parents[1]
INFO = f"livedata-{livedata.__version__}.dist-info"
COPIED = ("livedata", "spiders", "pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE")
LEFT_OUT = shutil.ignore_patterns("__pycache__")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the project and nothing else."""
    project = tmp_path_factory.mktemp("project")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, project / name, ignore=LEFT_OUT)
        else:
            shutil.copy(ROOT / name, project / name)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "out"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = (project / "out").iterdir()
    return built


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_holds_both_packages_and_nothing_else_on_top(names: set[str]) -> None:
    assert {name.partition("/")[0] for name in names} == {"livedata", "spiders", INFO}


def test_the_wheel_holds_every_module_of_the_project(wheel: Path, names: set[str]) -> None:
    project = wheel.parents[1]
    modules = {str(file.relative_to(project)) for file in project.rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == modules


def test_the_wheel_holds_what_the_migrations_need(names: set[str]) -> None:
    folder = "livedata/store/migrations"
    assert f"{folder}/script.py.mako" in names
    assert f"{folder}/env.py" in names
    assert any(name.startswith(f"{folder}/versions/0001_") for name in names)


def test_the_wheel_holds_the_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = archive.read(f"{INFO}/licenses/LICENSE").decode()
    assert packed == (ROOT / "LICENSE").read_text()


def test_the_wheel_says_the_version_that_the_program_says(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        metadata = Parser().parsestr(archive.read(f"{INFO}/METADATA").decode())
    assert metadata["Name"] == "livedata"
    assert metadata["Version"] == livedata.__version__


def test_the_wheel_installs_the_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        entries = archive.read(f"{INFO}/entry_points.txt").decode().split("\n")
    assert entries[:2] == ["[console_scripts]", "livedata = livedata.cli:main"]
