"""Commands as processes of their own that need not import again what each of them imports.

``python -m tests.cli.warm MODULE`` imports once what `IMPORTED` says of the module whose function
`main` is the command, and reads lines of JSON from stdin: the words of a command, its environment,
its folder, and the files for its output. For each it forks a process that is the command, and
prints how that ended. A test of imports, signals or a terminal starts a process that begins with
nothing: `Shell.start`.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).parents[2]
IMPORTED = {
    # Not twisted.internet.reactor: processes that share one would hear of each other's sockets.
    "livedata.cli": (
        "scrapy.core.downloader.contextfactory",
        "scrapy.core.engine",
        *("spiders.cli.init", "spiders.cli.preview", "spiders.cli.run", "spiders.cli.suggest"),
    ),
    "tests.agents.evaluate": ("tests.agents.model_agent",),
}
"""What the commands of a module import late, by the module."""


class Ended(NamedTuple):
    """How a command ended, and what it wrote."""

    code: int
    out: bytes
    err: bytes


def execute(
    words: Sequence[str], environ: Mapping[str, str], module: str = "livedata.cli"
) -> Ended:
    """Execute a command, and wait for its end."""
    server = _server(module)
    with TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        asked = [words, dict(environ), str(Path.cwd()), str(out), str(err)]
        try:
            server.stdin.write(json.dumps(asked) + "\n")  # type: ignore[union-attr]
            server.stdin.flush()  # type: ignore[union-attr]
            code = int(server.stdout.readline())  # type: ignore[union-attr]
        except BaseException:
            # The command still runs: the next one gets a server of its own.
            _server.cache_clear()
            _end(server)
            raise
        return Ended(code, out.read_bytes(), err.read_bytes())


@cache
def _server(module: str) -> subprocess.Popen[str]:
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.cli.warm", module],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(_end, server)
    return server


def _end(server: subprocess.Popen[str]) -> None:
    for stream in (server.stdin, server.stdout):
        if stream is not None:
            stream.close()
    server.wait()


def serve(module: str) -> None:
    """Be the server; in a forked process, be the command."""
    for name in IMPORTED[module]:
        import_module(name)
    main = import_module(module).main
    for line in sys.stdin:
        words, environ, folder, out, err = json.loads(line)
        child = os.fork()
        if child == 0:
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environ)
            for number, file in ((0, os.devnull), (1, out), (2, err)):
                os.dup2(os.open(file, os.O_RDWR | os.O_CREAT), number)
            main(words)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)  # noqa: T201


if __name__ == "__main__":
    serve(sys.argv[1])
