"""A command gets the event on stdin, and is killed with its children if it hangs."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Event

import pytest

from livedata.messages.render import sentence
from livedata.model.problem import Problem
from livedata.services.notices.cloud_events import CloudEvent
from livedata.worker.delivery import command

EVENT = CloudEvent("id", b'{"a": "%b"}' % (b"x" * 200_000), "title", "text")


def run(line: str, seconds: float = 10) -> Problem | None:
    return command.run(line, EVENT, Event(), seconds)


def gone(pid: int) -> bool:
    """Whether a process has ended, or is only a name still."""
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return True


def test_a_command_gets_the_event_on_stdin(tmp_path: Path) -> None:
    file = tmp_path / "event"
    assert run(f"cat > {file}; echo much on stdout") is None
    # A line: a command that appends each event to a file keeps them apart.
    assert file.read_bytes() == EVENT.body + b"\n"


def test_a_command_gets_no_setting_that_may_hold_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "PUBLIC_URL", "TIMEZONE", "MODEL_API_KEY", "SEARCH_KEY", "PROXY"):
        monkeypatch.setenv(f"LIVEDATA_{name}", f"the {name}")
    monkeypatch.setenv("LIVEDATA_DATABASE_URL", "postgresql://me:s3cret@db.example/livedata")
    monkeypatch.setenv("NOT_OURS", "kept")
    file = tmp_path / "environment"
    assert run(f"env > {file}") is None
    names = {line.partition("=")[0] for line in file.read_text().splitlines()}
    assert {name for name in names if name.startswith("LIVEDATA_")} == command.SETTINGS
    assert "NOT_OURS" in names
    assert "s3cret" not in file.read_text()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("echo no room >&2; exit 3", "The command ended with 3: no room"),
        ("echo one >&2; echo two >&2; echo >&2; exit 1", "The command ended with 1: two"),
        ("false", "The command ended with 1: it wrote nothing to stderr."),
        ("kill -9 $$", "The command ended with -9: it wrote nothing to stderr."),
        ("seq 200000 >&2; exit 1", "The command ended with 1: 200000"),
        ("exec 2>&-; exit 4", "The command ended with 4: it wrote nothing to stderr."),
    ],
)
def test_a_command_that_fails_is_told_with_its_last_line(line: str, said: str) -> None:
    problem = run(line)
    assert problem is not None
    assert sentence(problem) == said


def test_a_command_that_reads_nothing_is_taken_at_its_word() -> None:
    assert run("true") is None


def test_a_child_that_goes_on_holds_nobody_up() -> None:
    began = time.monotonic()
    assert run("sleep 20 & true", seconds=60) is None
    assert time.monotonic() - began < 15


@pytest.mark.parametrize(
    "line", ["sleep 60 & echo $! > {}; wait", "trap '' TERM; echo $$ > {}; sleep 60"]
)
def test_a_command_that_hangs_is_killed_with_its_children(line: str, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    problem = run(line.format(file), seconds=0.5)
    assert problem is not None
    assert sentence(problem) == "The command did not end within 0.5 s, so it was killed."
    deadline = time.monotonic() + 5
    pid = int(file.read_text())
    while not gone(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert gone(pid)


def test_a_command_is_stopped_with_its_process() -> None:
    stopping = Event()
    stopping.set()
    problem = command.run("sleep 60", EVENT, stopping)
    assert problem is not None
    assert problem.code == "notice.stopped"


def test_without_a_folder_for_temporary_files_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    problem = run("true")
    assert problem is not None
    assert sentence(problem) == "The command could not be started: No such file or directory."


def test_without_a_shell_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "SHELL", "/nowhere/sh")
    problem = run("true")
    assert problem is not None
    assert sentence(problem) == "The command could not be started: No such file or directory."
