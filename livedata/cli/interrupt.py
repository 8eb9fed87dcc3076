"""Ctrl-C while a command starts, and has nothing yet that a stop could harm."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ended_by_ctrl_c() -> Iterator[None]:
    """Let Ctrl-C end the process at once, as it ends other programs, until somebody handles it."""
    # It makes enums of all signals, which `--help` has no use for.
    import signal

    # KeyboardInterrupt would be lost in the middle of an import: Python cleans up its locks in
    # callbacks, and ignores what they raise. A shell says 130 for either.
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    # Who ignores it, such as a job in the background of a script, goes on ignoring it.
    if not usual or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
