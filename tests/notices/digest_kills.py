"""Kills who tells a digest at every statement, from its fire to the note that it was delivered.

``python -m tests.notices.digest_kills URL`` expects an empty store at URL. In the Nth round a row
changes, the digest is due, and the child that tells it dies (SIGKILL) at its Nth statement; then
another comes, as a worker that is started again. At the end one line of JSON on stdout: how many
children died, and [id, digest of the body, after, through] of each delivery that was answered.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import signal
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from typing_extensions import override

from livedata.rules.network.targets import TargetPolicy
from livedata.services.audit.check import check_store
from livedata.services.audit.vitals import examine
from livedata.services.notices import digests
from livedata.store.database.store import Store
from livedata.worker.delivery.courier import Courier
from tests.databases import free_port
from tests.dying import die_at, in_child
from tests.made import meet_owner
from tests.notices.conftest import add_notice
from tests.notices.receiver import Behaviour, Receiver
from tests.services.table import A, Table

MOST = 300
"""A digest that never gets through ends the test too."""


class Noting(Receiver):
    """A receiver of which another process sees what it took."""

    def __init__(self, port: int, secret: str, arrived: IO[str]) -> None:
        super().__init__(secret, port=port)
        self._file = arrived

    @override
    def take(self, event: dict[str, Any], headers: dict[str, str]) -> Behaviour:
        """Note a delivery, and then answer."""
        (part,) = event["data"]["datasets"]
        body = hashlib.sha256(json.dumps(event).encode()).hexdigest()
        line = [event["id"], body, part["after"], part["through"]]
        self._file.write(json.dumps(line) + "\n")
        return super().take(event, headers)


def receive(port: int, secret: str, arrived: Path) -> int:
    """Start a process that receives; its pid."""
    pid = os.fork()
    if pid == 0:
        with arrived.open("a", buffering=1) as file, Noting(port, secret, file) as hook:
            hook.serve_forever()
    return pid


def tell(url: str, place: str, point: int | None) -> None:
    """Tell what is due and deliver it; with a point, die at that statement."""
    store = Store(url)  # never closed, and not the one of the parent
    if point is not None:
        die_at(point)
    list(digests.tell_due(store, "UTC"))
    Courier(store, TargetPolicy(frozenset({place}))).deliver_soon()


def rounds(store: Store, folder: Path) -> dict[str, object]:
    """Let a digest be told and killed at each of its statements, until one gets through."""
    arrived, port, killed = folder / "arrived", free_port(), 0
    place = f"127.0.0.1:{port}"
    target = f"http://{place}/hook"
    wish: Any = {"kinds": ["changes"], "channel": "webhook", "target": target}
    notice = add_notice(store, digest="0 7 * * *", **wish)
    table = Table(store)
    hook = receive(port, notice.secret or "", arrived)
    try:
        for point in range(1, MOST):
            table.take({**A, "price": point})
            with store.writing() as writer:
                writer.execute("UPDATE notices SET digest_at = 1")
            code = in_child(partial(tell, store.url, place, point))
            in_child(partial(tell, store.url, place, None))
            if code == 0:
                break
            assert code == -signal.SIGKILL
            killed += 1
    finally:
        os.kill(hook, signal.SIGKILL)
        os.waitpid(hook, 0)
    waiting, problems = examine(store, 0).outbox.waiting, check_store(store).problems
    lines = [json.loads(line) for line in arrived.read_text().splitlines()]
    return {"killed": killed, "waiting": waiting, "problems": problems, "arrived": lines}


def main(url: str) -> None:
    """Print what came of it."""
    # Every delivery that fails is a line of the log.
    logging.disable()
    with closing(Store(url)) as store, TemporaryDirectory() as folder:
        meet_owner(store, "local", 100_000)
        print(json.dumps(rounds(store, Path(folder))))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
