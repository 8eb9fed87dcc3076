"""Who asks: an API key as a bearer credential (specification 5)."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor

from livedata.api.responses import Unauthenticated
from livedata.model import ids
from livedata.model.errors import LivedataError
from livedata.services import accounts
from livedata.services.accounts import Caller
from livedata.store.database.store import Store

MINUTE = 60 * 1_000_000

log = logging.getLogger("livedata.api")


def authenticate(store: Store, header: str | None) -> Caller:
    """The caller that an Authorization header stands for; raises Unauthenticated."""
    scheme, _, secret = (header or "").partition(" ")
    caller = accounts.authenticate(store, secret.strip()) if scheme.lower() == "bearer" else None
    if caller is None:
        raise Unauthenticated
    return caller


class KeyUsageRecorder:
    """Keeps when a key was last used; beside the requests, so that none waits for a lock."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._writing: set[bytes] = set()
        self._beside = ThreadPoolExecutor(max_workers=1, thread_name_prefix="last-use")

    def note(self, caller: Caller) -> None:
        """The key was used now; written down at most once a minute."""
        at = ids.now()
        fresh = caller.last_used_at is not None and at - caller.last_used_at < MINUTE
        if not fresh and caller.key not in self._writing:
            self._writing.add(caller.key)
            self._beside.submit(self._write, caller.key, at)

    def _write(self, key: bytes, at: int) -> None:
        try:
            accounts.used_key(self._store, key, at)
        except LivedataError as error:
            log.warning("the last use of a key was not kept: %s", type(error).__name__)
        finally:
            self._writing.discard(key)
