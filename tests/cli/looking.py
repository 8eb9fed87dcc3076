"""The command ``init`` on a site of a test."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tests.cli.shell import START

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.shell import Shell
    from tests.site import Site


class Looking:
    """The command ``init`` on a site of the test."""

    def __init__(self, livedata: Shell, site: Site, file: Path) -> None:
        self.livedata, self.site, self.file = livedata, site, file

    def __call__(self, *options: str, code: int = 0) -> tuple[str, str]:
        """What it prints to stdout and to stderr for the first page of the site."""
        return self.typed("init", self.site.at("/1"), "-o", str(self.file), *options, code=code)

    def typed(self, *args: str, code: int = 0) -> tuple[str, str]:
        return self.livedata.typed(*args, code=code)

    def told(self, *answers: str) -> tuple[str, int]:
        """What it shows on a terminal on which a person types these answers, and how it ends."""
        ours, theirs = pty.openpty()
        env = {**self.livedata.environ, "TERM": "dumb", "COLUMNS": "80", "NO_COLOR": "1"}
        words = [sys.executable, "-c", START, "init", self.site.at("/1"), "-o", str(self.file)]
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

    def json(self, *options: str, code: int = 0) -> Any:
        return json.loads(self("--json", *options, code=code)[0])
