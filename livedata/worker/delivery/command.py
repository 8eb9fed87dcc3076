"""A command of a person: it gets the event on stdin, in a process group of its own."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Event
from typing import IO

from livedata.messages.deliveries import masked_saying
from livedata.model.problem import Problem
from livedata.rules.network.targets import TargetPolicy
from livedata.services.notices.cloud_events import CloudEvent
from livedata.store.notices import Notice

SECONDS = 30
"""How long a command may take."""
LOOK = 0.1
"""The seconds between two looks whether it has ended, or is to be ended."""
TAIL = 4096
"""How much of its stderr is kept, in bytes."""
SHELL = "/bin/sh"
SETTINGS = frozenset(("LIVEDATA_HOME", "LIVEDATA_PUBLIC_URL", "LIVEDATA_TIMEZONE"))
"""Of the settings a command gets these: others hold the keys of models, searches and proxies."""


def check(_target: str, _targets: TargetPolicy) -> None:
    """Refuse nothing: what a shell makes of a command is known when it runs."""


def send(
    notice: Notice, event: CloudEvent, _targets: TargetPolicy, stopping: Event
) -> Problem | None:
    """Run the command of a notice for an event; why that failed, or None if it ended with 0."""
    return run(notice.target, event, stopping)


def run(
    command: str, event: CloudEvent, stopping: Event, seconds: float = SECONDS
) -> Problem | None:
    """Run a command for an event; why that failed, or None if it ended with 0."""
    return outcome(lambda: _started(command, event.body + b"\n"), command, stopping, seconds)


def outcome(
    start: Callable[[], subprocess.Popen[bytes]],
    command: str,
    stopping: Event,
    seconds: float = SECONDS,
) -> Problem | None:
    """Why a command failed whose process is started, in a session of its own; None if it ended
    with 0.

    It is killed with its children after so many seconds, or if `stopping` is set.
    """
    try:
        process = start()
    except OSError as error:
        return Problem("notice.command_not_started", {"reason": error.strerror})
    assert process.stderr is not None
    with process.stderr:
        said, ended = _listen(process, process.stderr, time.monotonic() + seconds, stopping)
    if not ended:
        _kill(process)
        code = "notice.stopped" if stopping.is_set() else "notice.command_killed"
        return Problem(code, {"seconds": seconds})
    if process.returncode == 0:
        return None
    return Problem(
        "notice.command_failed", {"code": process.returncode, "said": masked_saying(said, command)}
    )


def _started(command: str, body: bytes) -> subprocess.Popen[bytes]:
    # From a file, so that a command which reads nothing cannot keep us waiting.
    with tempfile.TemporaryFile() as stdin:
        stdin.write(body)
        stdin.seek(0)
        return subprocess.Popen(  # noqa: S603  (the words of who operates livedata)
            [SHELL, "-c", command],
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=_environment(),
        )


def _environment() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("LIVEDATA_") or name in SETTINGS
    }


def _listen(
    process: subprocess.Popen[bytes], stderr: IO[bytes], deadline: float, stopping: Event
) -> tuple[str, bool]:
    """Wait for the end of a process; the last line that it wrote, and whether it has ended."""
    tail, is_open = b"", True
    os.set_blocking(stderr.fileno(), False)
    with selectors.DefaultSelector() as selector:
        selector.register(stderr, selectors.EVENT_READ)
        while True:
            # Its end is asked for before the last read, so that nothing it said is missed. Its
            # children may hold stderr open for longer than it lives.
            ended = process.poll() is not None
            if is_open and selector.select(0 if ended else LOOK):
                part = os.read(stderr.fileno(), 65_536)
                tail, is_open = (tail + part)[-TAIL:], bool(part)
                if not is_open:
                    selector.unregister(stderr)
            if ended or stopping.is_set() or time.monotonic() > deadline:
                return _last_line(tail), ended
            if not is_open:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(LOOK)


def _last_line(tail: bytes) -> str:
    lines = tail.decode(errors="replace").strip().splitlines()
    return lines[-1].strip()[:500] if lines else "it wrote nothing to stderr."


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
