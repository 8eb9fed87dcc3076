"""Ctrl-C ends a command that still starts, whatever Python is busy with."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.shell import Shell

# What an import does when its locks go away: Python ignores whatever such a callback raises.
INTERRUPTED = """
import os, signal, sys, weakref

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["TESTS_IMPORT"]:
            lock = type("Lock", (), {})()
            reference = weakref.ref(lock, lambda _: os.kill(os.getpid(), signal.SIGINT))
            del lock

sys.meta_path.insert(0, Interrupting())
"""


@pytest.mark.parametrize(
    ("words", "imported"),
    [
        (("run",), "spiders.crawl"),
        (("serve", "--port", "0", "--crawlers", "1"), "livedata.api"),
        (("worker", "--crawlers", "1"), "livedata.store.database.sqlite.file"),
        (("changes", "shop"), "livedata.cli.completion"),
    ],
)
def test_ctrl_c_during_an_import_ends_a_command(
    livedata: Shell, tmp_path: Path, words: tuple[str, ...], imported: str
) -> None:
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTED)
    environ = {
        **livedata.environ,
        "PYTHONPATH": f"{tmp_path}:{livedata.environ['PYTHONPATH']}",
        "TESTS_IMPORT": imported,
    }
    command = [sys.executable, "-m", "livedata", *words]
    ended = subprocess.run(command, env=environ, capture_output=True, timeout=20, check=False)
    # A shell says 130 for it.
    assert (ended.returncode, ended.stderr) == (-signal.SIGINT, b"")
