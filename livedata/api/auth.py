"""Who asks: an API key as a bearer credential (interface 5)."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any, Literal

from livedata.api.responses import Unauthenticated
from livedata.model import ids
from livedata.model.errors import LivedataError, TooManyRequests
from livedata.model.ids import OwnerName
from livedata.services import accounts
from livedata.services.accounts import PREFIX, Caller
from livedata.store.database.store import Store

MINUTE = 60 * 1_000_000
MEET = "livedata.meet"
"""The name in a WSGI environment of what is told whose turn a request takes, if the server asks."""
COOKIE = "livedata"
"""The name of the cookie with the session of a browser that is signed in."""

Who = Literal["programs", "browsers", "readers"]
"""Those who ask for an owner, each with turns of their own."""
_KEY = re.compile(rf"{PREFIX}[0-9A-Za-z]+")
_SHARE = re.compile(r"(/share/)[^/]+", re.IGNORECASE)
# As long as a token is: it may stand where no address has one.
_TOKEN = re.compile(r"[\w-]{43,}")

log = logging.getLogger("livedata.api")


def authenticate(store: Store, header: str | None) -> Caller:
    """The caller that an Authorization header names; raises Unauthenticated."""
    secret = bearer(header)
    caller = accounts.authenticate(store, secret) if secret else None
    if caller is None:
        raise Unauthenticated
    return caller


def bearer(header: str | None) -> str:
    """The secret in an Authorization header; empty if it has none."""
    scheme, _, secret = (header or "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


def without_secrets(text: str) -> str:
    """A text for a log in which no key stands, and of an address of a table not what opens it."""
    return _TOKEN.sub("...", _SHARE.sub(r"\1...", _KEY.sub(f"{PREFIX}...", text)))


def meet(environ: Mapping[str, Any], owner: OwnerName, who: Who = "programs") -> None:
    """Tell the server, if it asks, whose turn a request takes.

    Who reads at an address has none of the turns of its owner: strangers may know the address. Nor
    have browsers: sixteen that load a page keep no program of their owner waiting.
    """
    told: Callable[[str], None] | None = environ.get(MEET)
    if told is not None:
        told(f"{who} of {owner}")


def balance_of(store: Store, header: str | None) -> int:
    """The balance for an answer that needs no key: 0 if none comes, or none that is valid."""
    if header is None:
        return 0
    try:
        return authenticate(store, header).balance
    except LivedataError:
        return 0


class RequestRates:
    """How many requests came for each owner of late: a bucket that a second fills.

    In this process alone: a question to the store for each request would cost more than most.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._left: dict[OwnerName, tuple[float, float]] = {}

    def take(self, owner: OwnerName, most: int | None, now: float) -> None:
        """Count a request at a moment, in seconds. Raises TooManyRequests."""
        if most is None:
            return
        with self._lock:
            left, since = self._left.get(owner, (float(most), now))
            left = min(float(most), left + (now - since) * most)
            self._left[owner] = (left - 1 if left >= 1 else left), now
        if left < 1:
            raise TooManyRequests


class KeyUsageRecorder:
    """A recorder of when each key was last used, in a thread of its own."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._noted: dict[bytes, ids.Micros] = {}
        # In a thread of its own: a request must not wait for the store's write lock.
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="last-use")

    def note(self, caller: Caller) -> None:
        """Record that the key is used now, at most once a minute."""
        now = ids.now()
        # A request may have read its caller before a write of another one was done.
        last = max(caller.last_used_at or 0, self._noted.get(caller.key, 0))
        if now - last >= MINUTE:
            self._noted[caller.key] = now
            self._executor.submit(self._write, caller.key, now)

    def close(self) -> None:
        """Wait until what is noted is written: afterwards the store may be closed."""
        self._executor.shutdown()

    def _write(self, key: ids.KeyId, used_at: ids.Micros) -> None:
        try:
            accounts.used_key(self._store, key, used_at)
        except LivedataError as error:
            # The request is answered by now; a lost moment of use harms nobody.
            log.warning("the last use of a key was not kept: %s", type(error).__name__)
            self._noted.pop(key, None)
