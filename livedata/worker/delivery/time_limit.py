"""Does something that may take only so long, however it waits."""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

R = TypeVar("R")


class NotInTime(Exception):
    """It did not end in time."""


def within(seconds: float, act: Callable[[], R], give_up: Callable[[], None] = lambda: None) -> R:
    """What `act` returns or raises. Raises NotInTime if it takes longer, after `give_up`."""
    # A thread, because no time limit of a socket holds for all: each byte begins it anew, and the
    # look-up of a name has none.
    answers: SimpleQueue[tuple[R | None, Exception | None]] = SimpleQueue()

    def work() -> None:
        try:
            answers.put((act(), None))
        except Exception as error:  # noqa: BLE001  (it is raised where it is waited for)
            answers.put((None, error))

    Thread(target=work, name="delivery", daemon=True).start()
    try:
        answer, error = answers.get(timeout=seconds)
    except Empty:
        give_up()
        raise NotInTime from None
    if error is not None:
        raise error
    return answer  # type: ignore[return-value]  # one of the two is there
