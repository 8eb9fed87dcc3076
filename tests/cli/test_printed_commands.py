"""Every command that is printed for a person, pasted into bash as it stands."""

from __future__ import annotations

import re
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from livedata.formats.source_toml import write_source
from tests.crawling import shop_source
from tests.shop import shop, some_items

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.cli.shell import Shell
    from tests.site import Site

NAMES = ["my shop; ls", "-lead it's $(ls)"]
DOCUMENTED = {0, 3, 4, 5, 6, 7}
"""All went well, or how a Run ended; anything else means that the line itself was wrong."""
COMMAND = re.compile(r"(?:: |^)(livedata .+)$", re.MULTILINE)
START = "import sys; from livedata.cli import main; main()"


class Desk:
    """A folder in which a person works, and a shell that knows nothing but livedata."""

    def __init__(self, folder: Path, livedata: Shell) -> None:
        self.folder, self.livedata = folder, livedata
        self.folder.mkdir()
        self.log = folder.parent / "calls.log"
        bin_ = folder.parent / "bin"
        bin_.mkdir()
        program = bin_ / "livedata"
        program.write_text(
            f"#!/bin/bash\nprintf '%s\\n' \"$*\" >> '{self.log}'\n"
            f"exec '{sys.executable}' -c '{START}' \"$@\"\n"
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        self.environ = {**livedata.environ, "PATH": str(bin_)}

    def types(self, *args: str) -> str:
        """Run a command, and give back all that it printed."""
        done = self._run([str(self.folder.parent / "bin" / "livedata"), *args])
        return done.stdout + done.stderr

    def pastes(self, line: str) -> None:
        """Paste a line into bash: only livedata runs, as often as the line says so."""
        before = self._calls()
        done = self._run(["/bin/bash", "-c", line])
        assert done.returncode in DOCUMENTED, (line, done.stderr)
        assert "not found" not in done.stderr, (line, done.stderr)
        assert self._calls() - before == len(re.findall(r"(?:^|&& )livedata ", line)), line
        assert {file.name for file in self.folder.iterdir()} <= {"source.toml"}, line

    def _run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def _calls(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0


# Dozens of commands, each a process: while coverage is measured they take three times as long.
pytestmark = pytest.mark.slow


@pytest.fixture
def desk(tmp_path: Path, livedata: Shell, site: Site, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", site.host)
    site.pages(shop(some_items(12)))
    return Desk(tmp_path / "desk", livedata)


def commands(printed: str) -> list[str]:
    """The command lines of what was printed, each once."""
    return list(dict.fromkeys(COMMAND.findall(printed)))


@pytest.mark.parametrize("name", NAMES)
def test_every_printed_command_can_be_pasted(desk: Desk, site: Site, name: str) -> None:
    declared = {**shop_source(site.at("/page/1.html")), "name": name}
    (desk.folder / "source.toml").write_text(write_source(declared))
    owner = ("--owner", "alice; ls")
    printed = desk.types("preview", "source.toml", "--pages", "5", *owner)
    assert commands(printed), printed
    desk.pastes(commands(printed)[0])
    printed += desk.types("runs", "list", *owner, "--", name)
    for line in commands(printed)[1:]:
        desk.pastes(line)
    # The items look different now: the next Run is not accepted, and says what to do.
    site.pages({path: body.replace("product", "tile") for path, body in shop([]).items()})
    printed = desk.types("run", *owner, "--", name)
    printed += desk.types("runs", "show", *owner, "--", name)
    printed += desk.types("runs", "explain", *owner, "--", name)
    assert len(commands(printed)) >= 4, printed
    for line in commands(printed):
        desk.pastes(line)


def test_the_commands_of_errors_can_be_pasted(desk: Desk, site: Site) -> None:
    declared = {**shop_source(site.at("/page/1.html")), "name": NAMES[0]}
    (desk.folder / "source.toml").write_text(write_source(declared))
    owner = ("--owner", "alice; ls")
    printed = desk.types("dataset", "create", "source.toml", *owner)
    desk.types("credits", "grant", "-1000", *owner)
    printed += desk.types("run", NAMES[0], *owner)
    printed += desk.types("runs", "show", NAMES[0], *owner)
    printed += desk.types("runs", "show", "nowhere", *owner)
    printed += desk.types("key", "revoke", "nothing", *owner)
    lines = commands(printed)
    assert any("credits grant" in line for line in lines), printed
    assert len(lines) >= 4, lines
    for line in lines:
        desk.pastes(line)
