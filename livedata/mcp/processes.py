"""The processes of livedata in which tools read websites; what these print reaches no wire."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from tempfile import TemporaryFile
from threading import Event, Thread
from typing import IO, Any, Final

import orjson
from msgspec import Struct

from livedata.mcp.access import DatasetAccess
from livedata.mcp.sites import environ
from livedata.model.errors import LivedataError
from livedata.model.problem import Remedy

_LONGEST_LOOK: Final = 120
"""So many seconds has a look at a site: two pages, and the pauses that the site wishes."""
_OFTEN: Final = 0.2
"""So many seconds are between two looks whether somebody still waits."""


class EndedProcess(Struct, frozen=True):
    """How a process ended, and what it said."""

    code: int
    printed: bytes
    said: str

    def answer(self) -> Any:
        """What it printed as JSON. Raises RuntimeError with what it said if that is none."""
        try:
            return orjson.loads(self.printed)
        except orjson.JSONDecodeError:
            why = f"A process of livedata ended with {self.code}: {self.said}"
            raise RuntimeError(why) from None


def ask_crawler(access: DatasetAccess, question: Mapping[str, object]) -> Any:
    """What a process that reads websites answers. Raises LivedataError with what it refuses."""
    with TemporaryFile() as printed, TemporaryFile() as said:
        words = ["spiders.cli.asked"]
        process = _started(access, words, printed, said, stdin=subprocess.PIPE)
        # Closed before the answer is there it would end the process: nobody waits for that then.
        with suppress(BrokenPipeError), _stdin(process) as stdin:
            with suppress(BrokenPipeError):
                stdin.write(orjson.dumps(question) + b"\n")
                stdin.flush()
            if not _has_ended(process, access.withdrawn, _LONGEST_LOOK):
                _kill(process)
                raise LivedataError(
                    f"The site did not answer within {_LONGEST_LOOK} seconds; try it later."
                )
        told = _ended(process, printed, said).answer()
    if "error" in told:
        remedies = (Remedy(each["code"], each["params"]) for each in told["remedies"])
        raise LivedataError(told["error"], remedies=tuple(remedies))
    return told["answer"]


def run_for(access: DatasetAccess, dataset: str, seconds: float) -> EndedProcess | None:
    """How a Run of a dataset, which goes by its id, has ended; None if it goes on after so long."""
    words = ["livedata", "run", "--json", f"--owner={access.owner}", "--", dataset]
    # Into files: it goes on when this process ends, and a pipe that nobody reads would end it.
    with TemporaryFile() as printed, TemporaryFile() as said:
        process = _started(access, words, printed, said, stdin=subprocess.DEVNULL)
        if _has_ended(process, access.withdrawn, seconds):
            return _ended(process, printed, said)
        # Only its end is waited for, by nobody who is asked.
        Thread(target=process.wait, daemon=True).start()
        return None


def _started(
    access: DatasetAccess,
    words: Sequence[str],
    printed: IO[bytes],
    said: IO[bytes],
    stdin: int,
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  (our own program, and no shell)
        [sys.executable, "-P", "-m", *words],
        env={**environ(access), "NO_COLOR": "1"},
        stdin=stdin,
        stdout=printed,
        stderr=said,
        # What ends this process from a terminal ends no Run: it would be read again.
        start_new_session=True,
    )


def _stdin(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdin is not None
    return process.stdin


def _has_ended(process: subprocess.Popen[bytes], withdrawn: Event, seconds: float) -> bool:
    """Whether a process ends within so many seconds, and while somebody waits for its answer."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not withdrawn.is_set():
        with suppress(subprocess.TimeoutExpired):
            process.wait(_OFTEN)
            return True
    return False


def _kill(process: subprocess.Popen[bytes]) -> None:
    # With the browser that it may have started.
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _ended(process: subprocess.Popen[bytes], printed: IO[bytes], said: IO[bytes]) -> EndedProcess:
    printed.seek(0)
    said.seek(0)
    return EndedProcess(process.returncode, printed.read(), said.read().decode(errors="replace"))
