"""What the units of `examples/deploy` and the page about it tell an administrator to type."""

from __future__ import annotations

import os
import pwd
import re
import shlex
import stat
import subprocess
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path

import pytest

from livedata.config import Settings
from tests.notices.receiver import Receiver, receiving
from tests.site import Site
from tests.test_readme import ROOT, blocks, wrong

DEPLOY = ROOT / "examples" / "deploy"
PAGE = ROOT / "docs" / "how-to" / "deploy.md"
UNITS = sorted(DEPLOY.glob("*.service"))
HOME = "/var/lib/livedata"


def known_settings() -> set[str]:
    """Every variable that livedata reads."""
    return {f"LIVEDATA_{name.upper()}" for name in Settings.__struct_fields__}


def unit(file: Path) -> ConfigParser:
    """A unit file."""
    parser = ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(file)
    return parser


def test_there_is_a_unit_for_a_server_and_one_for_a_worker() -> None:
    commands = [shlex.split(unit(file)["Service"]["ExecStart"])[1] for file in UNITS]
    assert commands == ["worker", "serve"]


@pytest.mark.parametrize("file", UNITS, ids=lambda file: file.stem)
def test_a_unit_starts_what_there_is(file: Path) -> None:
    service = unit(file)["Service"]
    program, *words = shlex.split(service["ExecStart"])
    assert program == "/opt/livedata/bin/livedata"
    assert wrong(words) is None
    name, _, value = service["Environment"].partition("=")
    assert name in known_settings()
    assert value == f"/var/lib/{service['StateDirectory']}" == HOME


@pytest.mark.parametrize("file", UNITS, ids=lambda file: file.stem)
def test_a_unit_passes_the_judge_of_systemd(file: Path, tmp_path: Path) -> None:
    # It also looks whether the program is there.
    written = tmp_path / file.name
    written.write_text(file.read_text().replace("/opt/livedata/bin/livedata", sys.executable))
    judged = subprocess.run(
        ["systemd-analyze", "verify", str(written)], capture_output=True, check=False, text=True
    )
    assert (judged.returncode, judged.stderr) == (0, "")


def test_commands_are_given_as_the_user_of_the_unit_without_sudo(tmp_path: Path) -> None:
    (wrapper,) = (block for block in blocks(PAGE.read_text(), "") if "exec " in block)
    # Of the machine only the user and the program are others.
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\necho "$(id -un)" "$LIVEDATA_HOME" "$@"\n')
    user = pwd.getpwuid(os.getuid())
    program.chmod(0o755)
    script = wrapper.replace("/opt/livedata/bin/livedata", str(program))
    # Only root may say who runs a program.
    runuser = f"runuser -u {user.pw_name} --" if os.getuid() == 0 else ""
    script = script.replace("runuser -u livedata --", runuser)
    done = subprocess.run(
        ["/bin/sh", "-c", script, "livedata", "rows", "a b"],
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stdout == f"{user.pw_name} {HOME} rows a b\n"
    assert "sudo" not in PAGE.read_text()


def section(title: str) -> str:
    """What stands below a title of the page."""
    match = re.search(rf"^## {title}\n(.*?)^## ", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert match
    return match[1]


def commands(title: str) -> list[str]:
    """The blocks of commands below a title of the page."""
    return blocks(section(title), "sh")


class Machine:
    """A machine with a home, on which the blocks of the page are run."""

    def __init__(self, folder: Path, allow: str) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir(mode=0o700)
        self._programs = folder / "programs"
        self._programs.mkdir()
        self._allow = allow
        self._program("livedata", f'exec {sys.executable} -m livedata "$@"')
        self._program("systemctl", f'echo "$@" >> {folder}/systemctl')
        self._program("chown", "exit 0")

    def sh(self, commands: str, code: int = 0) -> str:
        """What commands print that end with a code."""
        done = subprocess.run(
            ["sh", "-e", "-c", commands.replace(HOME, str(self.home))],
            cwd=self.folder,
            env={
                **os.environ,
                "PATH": f"{self._programs}:{os.environ['PATH']}",
                "PYTHONPATH": str(ROOT),
                "LIVEDATA_HOME": str(self.home),
                "LIVEDATA_ALLOW_HOSTS": self._allow,
            },
            capture_output=True,
            check=False,
            text=True,
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    def _program(self, name: str, script: str) -> None:
        file = self._programs / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)


@pytest.fixture
def chat() -> Iterator[Receiver]:
    """Where notices are sent."""
    with receiving() as receiver:
        yield receiver


@pytest.mark.slow
def test_the_commands_of_the_page_do_what_it_says(
    site: Site, tmp_path: Path, chat: Receiver
) -> None:
    site.folder(ROOT / "examples" / "pages" / "books")
    source = (ROOT / "examples" / "books.toml").read_text()
    source = source.replace("127.0.0.1:8000", site.host).replace("second-hand-books", "books")
    (tmp_path / "books.toml").write_text(source)
    machine = Machine(tmp_path, site.host)
    (begin,) = commands("First key, first schedule")
    back_up, restore = commands("Back up, restore")
    (tmp_path / "mail.url").write_text(f"json://{chat.place}/\n")
    assert "All is well." in machine.sh(begin)
    sound = machine.sh(back_up)
    assert sound.startswith("The store is sound: 1 dataset, 7 rows")
    # A list without items is no complete one.
    site.page("/shelf.html", "<p>We move.</p>")
    for _ in range(2):
        machine.sh("livedata run books --owner alice", code=3)
    test, failing = (event for event, _ in chat.arrived)
    assert test["message"] == "This is a test of the notice ops."
    assert failing["message"].startswith("2 Runs of books in a row were not accepted.")
    assert machine.sh(restore) == sound
    assert (tmp_path / "systemctl").read_text() == "stop livedata\nstart livedata\n"
    assert stat.S_IMODE((machine.home / "livedata.db").stat().st_mode) == 0o600
