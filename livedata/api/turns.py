"""Whose request a thread takes next: owners go round, and none has all threads.

Requests of one owner may be many and heavy; each waits for others of its owner, and no other owner
waits for it. Those who read the feeds and shared tables of an owner have turns of their own, and so
has each address of requests without a secret that is known.
"""

from __future__ import annotations

import hashlib
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct
from waitress.task import ThreadedTaskDispatcher

THREADS: Final = 8
OF_ONE: Final = 2
"""So many threads answer requests of one owner at once."""
_KNOWN: Final = 10_000


class Acquaintances:
    """Whose turn a request with a credential takes: what the application has once found out.

    It decides only whose turn it is. A key that was revoked since opens nothing.
    """

    def __init__(self, most: int = _KNOWN) -> None:
        self._most = most
        self._known: OrderedDict[bytes, str] = OrderedDict()

    def meet(self, credential: str, who: str) -> None:
        """Remember whose turn a credential takes."""
        digest = _digest(credential)
        self._known[digest] = who
        # Whoever was idle the longest is forgotten first.
        self._known.move_to_end(digest)
        while len(self._known) > self._most:
            self._known.popitem(last=False)

    def who(self, credential: str) -> str | None:
        """Whose turn it takes, if that is known."""
        return self._known.get(_digest(credential))


class Turns:
    """The requests that wait for a thread, as waitress asks for the next one.

    It is true if one may be answered now. Whoever asks holds the lock of the threads.
    """

    def __init__(self, who: Callable[[Any], str], release: Callable[[str], None]) -> None:
        self._who = who
        self._release = release
        self._waiting: OrderedDict[str, deque[Any]] = OrderedDict()
        self._answered: Counter[str] = Counter()

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def __bool__(self) -> bool:
        return self._next() is not None

    def append(self, channel: Any) -> None:
        """Let the request of a connection wait."""
        self._waiting.setdefault(self._who(channel), deque()).append(channel)

    def popleft(self) -> RequestTask:
        """The next request; its owner is the last one to come again."""
        who = self._next()
        if who is None:  # the server ends, and nobody waits for a turn any more
            who = next(iter(self._waiting))
        channel = self._waiting[who].popleft()
        self._waiting.move_to_end(who)
        if not self._waiting[who]:
            del self._waiting[who]
        self._answered[who] += 1
        return RequestTask(channel, who, self._release)

    def ended(self, who: str) -> None:
        """A request is answered."""
        self._answered[who] -= 1
        if not self._answered[who]:
            del self._answered[who]

    def _next(self) -> str | None:
        return next((who for who in self._waiting if self._answered[who] < OF_ONE), None)


class RequestTask(Struct, frozen=True):
    """A request in its turn."""

    channel: Any
    who: str
    release: Callable[[str], None]

    def service(self) -> None:
        """Answer it, and give its turn to the next one."""
        try:
            self.channel.service()
        finally:
            self.release(self.who)

    def cancel(self) -> None:
        """End the connection: the server ends."""
        self.channel.cancel()


class Threads(ThreadedTaskDispatcher):  # type: ignore[misc]  # waitress says no types
    """The threads of the server, which take requests in turn."""

    def __init__(self, acquaintances: Acquaintances) -> None:
        super().__init__()
        self._acquaintances = acquaintances
        self.queue = Turns(self._who, self._ended)
        self.set_thread_count(THREADS)

    def _who(self, channel: Any) -> str:
        credential = channel.credential()
        known = self._acquaintances.who(credential) if credential else None
        return known or f"address {channel.peer}"

    def _ended(self, who: str) -> None:
        # The thread that calls this looks for the next request itself.
        with self.lock:
            self.queue.ended(who)


def _digest(credential: str) -> bytes:
    return hashlib.sha256(credential.encode()).digest()
