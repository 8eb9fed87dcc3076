"""livedata with faults that a page can set off: ``python -m tests.planted worker|run [DATASET]``.

What its page holds (`STOP_PYTHON` and the others stand in its text) happens when it is parsed, as
it would if a library had such a fault. The limits that end it are shortened.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from typing import Final

from livedata.cli import main as livedata
from livedata.extraction.page import Page
from spiders.crawl import engine
from spiders.worker import loop, main

STOP_PYTHON: Final = "a pattern that is tried for hours"
STOP_A_THREAD: Final = "a loop without an end"
FILL_MEMORY: Final = "a tree that grows"
"""It takes 300 MB, and does not come back."""
KEEP_MEMORY: Final = "a tree that stays"
"""It keeps 60 MB."""
DIE: Final = "an error in a library of C"


def plant(kept: list[bytes]) -> None:
    """Give the parser its faults."""
    read = Page.__init__

    def faulty(page: Page, body: bytes, content_type: str | None, url: str) -> None:
        text = body.decode()
        if STOP_PYTHON in text:
            re.match("(a+)+b", "a" * 100)
        if DIE in text:
            os.kill(os.getpid(), signal.SIGSEGV)
        if KEEP_MEMORY in text:
            kept.append(b"\1" * 60_000_000)
        if FILL_MEMORY in text:
            kept.append(b"\1" * 300_000_000)
        while STOP_A_THREAD in text or FILL_MEMORY in text:
            time.sleep(0.01)
        read(page, body, content_type, url)

    setattr(Page, "__init__", faulty)  # noqa: B010  (mypy knows a method when it sees one)


if __name__ == "__main__":
    plant([])
    engine.PATIENCE = 0.5
    loop.STANDSTILL, loop.STEP = 0.5, 0.1
    if sys.argv[1:2] == ["worker"]:
        loop.STANDSTILL = 60.0
        main.main()
    else:
        livedata(sys.argv[1:])
