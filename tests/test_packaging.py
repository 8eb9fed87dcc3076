"""What a user installs, the wheel, and what it is built from, the sdist."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

import livedata
from livedata.config import HOMEPAGE

ROOT = Path(__file__).resolve().parents[1]
INFO = f"livedata-{livedata.__version__}.dist-info"
PACKAGES = ("livedata", "spiders")
FOLDERS = (*PACKAGES, "tests", "docs", "examples", "benchmarks")
FILES = (
    *("pyproject.toml", "constraints.txt", "LICENSE"),
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"),
)
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*_cache", ".hypothesis")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the sdist should hold, and nothing else."""
    copy = tmp_path_factory.mktemp("project")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, copy / folder, ignore=LEFT_OUT)
    for file in FILES:
        shutil.copy(ROOT / file, copy)
    return copy


@pytest.fixture(scope="module")
def sdist(project: Path) -> Path:
    """The sdist of the project, unpacked."""
    with tarfile.open(build(project, "sdist")) as archive:
        unpacked = project.with_name(f"{project.name}-unpacked")
        archive.extractall(unpacked, filter="data")
    return unpacked / f"livedata-{livedata.__version__}"


@pytest.fixture(scope="module")
def wheel(sdist: Path) -> Path:
    """The wheel, built from the sdist alone."""
    return build(sdist, "wheel")


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        return Parser().parsestr(archive.read(f"{INFO}/METADATA").decode())


def build(project: Path, target: str) -> Path:
    """The file that hatchling makes of a project, in a folder beside it."""
    out = project.with_name(f"{project.name}-{target}")
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    built = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    (file,) = out.iterdir()
    return file


def test_the_sdist_holds_what_the_project_is_worked_on_with(project: Path, sdist: Path) -> None:
    expected = {
        str(file.relative_to(project))
        for name in (*FOLDERS, *FILES)
        for file in (project / name, *(project / name).rglob("*"))
        if file.is_file()
    }
    unpacked = {str(file.relative_to(sdist)) for file in sdist.rglob("*") if file.is_file()}
    assert unpacked - {"PKG-INFO", ".gitignore"} == expected
    assert {"tests/run", "tests/conftest.py", "tests/test_packaging.py"} <= unpacked


def test_the_tests_of_the_sdist_can_be_run(sdist: Path) -> None:
    assert (sdist / "tests" / "run").stat().st_mode & 0o111


def test_the_wheel_holds_both_packages_and_nothing_else_on_top(names: set[str]) -> None:
    assert {name.partition("/")[0] for name in names} == {"livedata", "spiders", INFO}


def test_the_wheel_holds_every_module_of_the_project(project: Path, names: set[str]) -> None:
    modules = {
        str(file.relative_to(project))
        for package in PACKAGES
        for file in (project / package).rglob("*.py")
    }
    assert {name for name in names if name.endswith(".py")} == modules


@pytest.mark.parametrize("package", PACKAGES)
def test_the_wheel_says_that_a_package_is_typed(names: set[str], package: str) -> None:
    assert f"{package}/py.typed" in names


def test_the_wheel_holds_what_the_migrations_need(names: set[str]) -> None:
    folder = "livedata/store/migrations"
    assert f"{folder}/script.py.mako" in names
    assert f"{folder}/env.py" in names
    assert any(name.startswith(f"{folder}/versions/0001_") for name in names)


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_the_wheel_holds_the_sql_of_a_fresh_store(names: set[str], database: str) -> None:
    assert f"livedata/store/database/{database}/schema.sql" in names


def test_the_wheel_holds_the_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = archive.read(f"{INFO}/licenses/LICENSE").decode()
    assert packed == (ROOT / "LICENSE").read_text()


def test_the_wheel_says_the_version_that_the_program_says(metadata: Message) -> None:
    assert metadata["Name"] == "livedata"
    assert metadata["Version"] == livedata.__version__


def test_the_wheel_has_the_addresses_of_the_homepage_that_the_program_names(
    metadata: Message,
) -> None:
    urls = dict(line.split(", ") for line in metadata.get_all("Project-URL", []))
    assert urls["Homepage"] == HOMEPAGE
    assert [url for url in urls.values() if not f"{url}/".startswith(f"{HOMEPAGE}/")] == []


def test_the_wheel_is_under_the_licence_that_the_file_states(metadata: Message) -> None:
    assert metadata["License-Expression"] == "MIT"
    assert (ROOT / "LICENSE").read_text().startswith("MIT License")


def test_the_wheel_installs_the_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        entries = archive.read(f"{INFO}/entry_points.txt").decode().split("\n")
    assert entries[:2] == ["[console_scripts]", "livedata = livedata.cli:main"]
