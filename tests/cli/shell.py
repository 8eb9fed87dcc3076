"""The command line as a test types it: in this process, or as a process of its own."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from click.testing import CliRunner

from livedata.cli import cli
from tests.cli.warm import execute

if TYPE_CHECKING:
    from collections.abc import Sequence

    from click.testing import Result

ROOT = Path(__file__).parents[2]
START = "from livedata.cli import main; main()"


@dataclass(frozen=True)
class Shell:
    """A home with a store, and commands typed in it."""

    home: Path

    def __call__(self, *args: str, stdin: str | None = None, code: int = 0) -> Result:
        """Run a command that ends with `code`."""
        result = self.raw(*args, stdin=stdin)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    def raw(self, *args: str, stdin: str | None = None) -> Result:
        """Run a command, however it ends."""
        before = _reactor()
        result = CliRunner().invoke(
            cli, args, input=stdin, env=self.environ, prog_name="livedata", color=False
        )
        # A reactor can be started once: all crawls of later tests would wait for ever.
        assert _reactor() == before, f"{args} crawls: type it as a process of its own"
        return result

    def out(self, *args: str) -> str:
        """What a command prints to stdout."""
        return self(*args).stdout

    def json(self, *args: str) -> Any:
        """What a command prints with ``--json``."""
        return orjson.loads(self(*args, "--json").stdout)

    def error(self, *args: str, code: int = 1) -> str:
        """What a command that fails says."""
        return self(*args, code=code).stderr

    @property
    def environ(self) -> dict[str, str]:
        """The environment of a command."""
        return {**os.environ, "LIVEDATA_HOME": str(self.home), "PYTHONPATH": str(ROOT)}

    def typed(self, *args: str, code: int = 0) -> tuple[str, str]:
        """What a command as a process prints to stdout and to stderr; it ends with `code`."""
        ended = execute(args, self.environ)
        assert ended.code == code, ended
        return ended.out.decode(), ended.err.decode()

    def answered(self, *args: str, answers: Sequence[str]) -> tuple[str, int]:
        """What a command shows on a terminal on which a person types these answers, and its end."""
        ours, theirs = pty.openpty()
        env = {**self.environ, "TERM": "dumb", "COLUMNS": "80", "NO_COLOR": "1"}
        words = [sys.executable, "-c", START, *args]
        shown = b""
        with subprocess.Popen(
            words, env=env, stdin=theirs, stdout=theirs, stderr=theirs
        ) as process:
            os.close(theirs)
            waiting = [answer.encode() for answer in answers]
            # Linux says by an error that the other end is closed.
            with suppress(OSError):
                while part := os.read(ours, 65_536):
                    shown += part
                    if shown.endswith(b"]: ") and waiting:
                        os.write(ours, waiting.pop(0))
        os.close(ours)
        return shown.decode().replace("\r\n", "\n"), process.returncode

    def start(self, *args: str) -> subprocess.Popen[bytes]:
        """A command as a process with its stdout in a pipe."""
        return subprocess.Popen(
            [sys.executable, "-c", START, *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environ,
        )

    def modules_after(self, *args: str) -> set[str]:
        """The packages that a process has imported when a command has ended."""
        return {name.partition(".")[0] for name in self.imported_after(*args)}

    def imported_after(self, *args: str) -> set[str]:
        """The same with each module of a package, by its whole name."""
        script = (
            "import sys, atexit\n"
            "atexit.register(lambda: print('modules', *sys.modules, file=sys.stderr))\n" + START
        )
        # Measuring coverage would import modules of its own into the process.
        untraced = {
            name: value for name, value in self.environ.items() if not name.startswith("COVERAGE")
        }
        done = subprocess.run(
            [sys.executable, "-c", script, *args],
            capture_output=True,
            check=False,
            env=untraced,
        )
        last = done.stderr.decode().splitlines()[-1]
        assert last.startswith("modules "), done.stderr
        return set(last.split()[1:])


def _reactor() -> bool | None:
    """Whether the reactor of this process runs; None if it has none yet."""
    running: bool | None = getattr(sys.modules.get("twisted.internet.reactor"), "running", None)
    return running


def lines(text: str) -> Sequence[list[str]]:
    """The words of each line."""
    return [line.split() for line in text.splitlines()]
