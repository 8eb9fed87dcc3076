"""The tutorial, typed as it stands: each command ends well, and prints what the page shows."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_readme import BLOCK

ROOT = Path(__file__).resolve().parents[1]
TUTORIAL = ROOT / "docs" / "tutorial.md"
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
NEXT = "--- the next block ---"


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


def alike(line: str) -> str:
    """A line whenever it is printed, and however wide its columns are."""
    return " ".join(MOMENT.sub("MOMENT", line).split())


def typed(blocks: list[str], folder: Path) -> list[list[str]]:
    """The lines that the commands of each block print, typed one after the other in one shell."""
    script = "".join(f"echo '{NEXT}'\n{block}" for block in blocks)
    environ = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(folder)}
    done = subprocess.run(
        ["bash", "-c", f"trap 'kill %1' EXIT; {script}"],
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return [part.splitlines() for part in done.stdout.split(f"{NEXT}\n")[1:]]


@pytest.mark.slow
def test_the_tutorial_prints_what_it_shows(tmp_path: Path) -> None:
    port, text = str(free_port()), TUTORIAL.read_text(encoding="utf-8")
    blocks = [(kind, body.replace("8000", port)) for kind, body in BLOCK.findall(text)]
    printed = typed([body for kind, body in blocks if kind == "sh"], tmp_path)
    place, missing = -1, []
    for kind, body in blocks:
        place += kind == "sh"
        if kind:
            continue
        real = [*map(alike, printed[place])]
        missing += [line for line in map(alike, body.splitlines()) if line not in {"...", *real}]
    assert missing == []
    assert not [line for lines in printed for line in lines if line.startswith(("Error", "bash"))]
    table = (tmp_path / "lamps" / "lamps.csv").read_text()
    assert ",A small lamp for a wall.,40\n" in table
