"""What a user installs, the wheel, and what it is built from, the sdist."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Any

import orjson
import pytest

import livedata
from livedata.config import HOMEPAGE
from tests.shop import shop, some_items
from tests.site import Site

ROOT = Path(__file__).resolve().parents[1]
INFO = f"livedata-{livedata.__version__}.dist-info"
PACKAGES = ("livedata", "spiders")
FOLDERS = (*PACKAGES, "tests", "docs", "examples", "benchmarks")
FILES = (
    *("pyproject.toml", "hatch_build.py", "constraints.txt", "LICENSE"),
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
def packed(project: Path) -> Path:
    """The sdist of the project, as it is uploaded."""
    return build(project, "sdist")


@pytest.fixture(scope="module")
def sdist(project: Path, packed: Path) -> Path:
    """The sdist of the project, unpacked."""
    with tarfile.open(packed) as archive:
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


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a new environment with the wheel, and nothing of this folder in reach."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True)
    # What it depends on is here. A path of such a file is searched last, and no file in it read
    # that leads on to this folder.
    (site_packages,) = folder.glob("lib/python*/site-packages")
    (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return folder / "bin"


class Installed:
    """The command that was installed, typed in a folder of its own."""

    def __init__(self, programs: Path, home: Path, allow: str) -> None:
        self._programs = programs
        self._home = home
        self._environ = {
            "HOME": str(home),
            "PATH": f"{programs}:{os.environ['PATH']}",
            "LIVEDATA_HOME": str(home / "data"),
            "LIVEDATA_ALLOW_HOSTS": allow,
        }

    def __call__(self, *words: str) -> str:
        """What a command prints that ends well."""
        done = subprocess.run(
            words, cwd=self._home, env=self._environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def typed(installed: Path, site: Site, tmp_path: Path) -> Installed:
    """The installed command, which may read the site of the test."""
    return Installed(installed, tmp_path, site.host)


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


def test_an_index_accepts_both_files_and_can_show_their_description(
    packed: Path, wheel: Path
) -> None:
    command = [sys.executable, "-m", "twine", "check", "--strict", str(packed), str(wheel)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout
    assert checked.stdout.count("PASSED") == 2


def test_every_link_of_the_description_leads_somewhere_without_the_files_beside_it(
    metadata: Message,
) -> None:
    description = str(metadata.get_payload())
    links = re.findall(r"\]\(([^)\s]+)\)", description)
    assert f"{HOMEPAGE}/blob/main/docs/runs.md" in links
    assert "![A table in a browser" in description
    assert f"({HOMEPAGE}/raw/main/docs/table.png)" in description
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


@pytest.mark.slow
def test_what_is_installed_says_its_version_and_its_help(typed: Installed) -> None:
    assert typed("livedata", "--version") == f"livedata, version {livedata.__version__}\n"
    assert typed("python", "-m", "livedata", "--version") == typed("livedata", "--version")
    assert "source.toml" in typed("livedata", "init", "--help")


@pytest.mark.slow
def test_what_is_installed_makes_a_table_without_the_checkout(
    typed: Installed, installed: Path, site: Site
) -> None:
    place = typed(
        "python", "-c", "import livedata, spiders; print(livedata.__file__, spiders.__file__)"
    )
    assert all(path.startswith(str(installed.parent)) for path in place.split())
    items = some_items(7)
    site.pages(shop(items))
    typed("livedata", "init", site.at("/page/1.html"))
    typed("livedata", "dataset", "create", "source.toml")
    (dataset,) = orjson.loads(typed("livedata", "dataset", "list", "--json"))
    name = dataset["name"]
    assert f"{name}: succeeded, 7 new" in typed("livedata", "run", name)
    rows: list[dict[str, Any]] = orjson.loads(typed("livedata", "rows", "list", name, "--json"))
    assert {row["rowKey"] for row in rows} == {site.at(item.link) for item in items}
    typed("livedata", "dataset", "report", name)
    assert typed("livedata", "check").startswith("The store is sound: 1 dataset, 7 rows")


def test_the_newest_section_of_the_changelog_is_of_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    titles = re.findall(r"^## \[([^\]]+)\](?: - \d{4}-\d\d-\d\d)?$", text, re.MULTILINE)
    assert titles[0] == "Unreleased"
    assert titles[1] == livedata.__version__
    assert set(titles) == set(re.findall(r"^\[([^\]]+)\]: https://", text, re.MULTILINE))
