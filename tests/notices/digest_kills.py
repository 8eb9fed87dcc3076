"""Kills who tells a digest at every statement, from its fire to the note that it was delivered.

``python -m tests.notices.digest_kills URL CHANNEL`` expects an empty store at URL. In the Nth round
a row changes, the digest is due, and the child that tells it dies (SIGKILL) at its Nth statement;
then another comes, as a worker that is started again. At the end one line of JSON on stdout: how
many children died, and [id, digest of the body, after, through] of each delivery that arrived.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import signal
import sys
from collections.abc import Mapping
from contextlib import closing
from email.message import EmailMessage
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Protocol

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
from tests.notices.mailbox import Mailbox, mail_url
from tests.notices.receiver import Behaviour, Receiver
from tests.services.table import A, Table

MOST = 300
"""A digest that never gets through ends the test too."""


Line = tuple[str, str, int, int]
"""Of a delivery the id, the digest of the body, and the sequences between which it tells."""


class NotingReceiver(Receiver):
    """A receiver of which another process sees what it took."""

    def __init__(self, port: int, secret: str, arrived: IO[str]) -> None:
        super().__init__(secret, port=port)
        self._file = arrived

    @override
    def take(self, event: dict[str, Any], headers: dict[str, str]) -> Behaviour:
        """Note a delivery, and then answer."""
        self._file.write(json.dumps(event) + "\n")
        return super().take(event, headers)


class NotingMailbox(Mailbox):
    """A mailbox of which another process sees what it took."""

    def __init__(self, port: int, arrived: IO[str]) -> None:
        super().__init__(port)
        self._file = arrived

    @override
    def take(self, mail: EmailMessage) -> None:
        """Note a mail, and then say that it is well."""
        text = mail.get_body(("plain",))
        assert text is not None
        self._file.write(json.dumps(text.get_content()) + "\n")


class Channel(Protocol):
    """What takes digests, and notes them in a file."""

    def target(self, place: str, arrived: Path, /) -> str:
        """Where a notice delivers."""

    def serve(self, port: int, secret: str, arrived: IO[str], /) -> None:
        """Take what comes until the process ends."""

    def line(self, noted: Any) -> Line:
        """What was noted of a delivery."""


class Webhooks:
    """POSTs to a receiver."""

    def target(self, place: str, _arrived: Path, /) -> str:
        """The address of the receiver."""
        return f"http://{place}/hook"

    def serve(self, port: int, secret: str, arrived: IO[str], /) -> None:
        """Take POSTs."""
        with NotingReceiver(port, secret, arrived) as hook:
            hook.serve_forever()

    def line(self, noted: Any) -> Line:
        """What a CloudEvent says of itself."""
        (part,) = noted["data"]["datasets"]
        return noted["id"], _hashed(json.dumps(noted)), part["after"], part["through"]


class Commands(Webhooks):
    """A command that gets the same on its stdin."""

    @override
    def target(self, _place: str, arrived: Path, /) -> str:
        """It writes each event on a line."""
        return f"cat >> {arrived}"

    @override
    def serve(self, _port: int, _secret: str, _arrived: IO[str], /) -> None:
        """Nothing is asked."""
        signal.pause()


class Mails:
    """Mails over SMTP."""

    def target(self, place: str, _arrived: Path, /) -> str:
        """The address of the mailbox."""
        return mail_url(place)

    def serve(self, port: int, _secret: str, arrived: IO[str], /) -> None:
        """Take mails."""
        with NotingMailbox(port, arrived) as box:
            box.serve_forever()

    def line(self, noted: Any) -> Line:
        """A mail has no id; the price that it tells, which each round changes, is its sequence."""
        (through,) = re.findall(r"price: (?:\d+ → )?(\d+)", noted)
        return through, _hashed(noted), int(through) - 1, int(through)


CHANNELS: Mapping[str, Channel] = {"webhook": Webhooks(), "command": Commands(), "apprise": Mails()}


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def receive(channel: Channel, port: int, secret: str, arrived: Path) -> int:
    """Start a process that receives; its pid."""
    pid = os.fork()
    if pid == 0:
        with arrived.open("a", buffering=1) as file:
            channel.serve(port, secret, file)
    return pid


def tell(url: str, place: str, point: int | None) -> None:
    """Tell what is due and deliver it; with a point, die at that statement."""
    store = Store(url)  # never closed, and not the one of the parent
    if point is not None:
        die_at(point)
    list(digests.tell_due(store, "UTC"))
    Courier(store, TargetPolicy(frozenset({place}))).deliver_soon()


def rounds(store: Store, folder: Path, name: str) -> dict[str, object]:
    """Let a digest be told and killed at each of its statements, until one gets through."""
    channel, arrived, port, killed = CHANNELS[name], folder / "arrived", free_port(), 0
    place = f"127.0.0.1:{port}"
    target = channel.target(place, arrived)
    wish: Any = {"kinds": ["changes"], "channel": name, "target": target}
    notice = add_notice(store, digest="0 7 * * *", **wish)
    table = Table(store)
    receiver = receive(channel, port, notice.secret or "", arrived)
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
        os.kill(receiver, signal.SIGKILL)
        os.waitpid(receiver, 0)
    waiting, problems = examine(store, 0).outbox.waiting, check_store(store).problems
    lines = [channel.line(json.loads(line)) for line in arrived.read_text().splitlines()]
    return {"killed": killed, "waiting": waiting, "problems": problems, "arrived": lines}


def main(url: str, channel: str) -> None:
    """Print what came of it."""
    # Every delivery that fails is a line of the log.
    logging.disable()
    # Imported here for all children, with its hundred channels: it takes a second.
    if channel == "apprise":
        import_module(channel).Apprise().add(mail_url("127.0.0.1:25"))
    with closing(Store(url)) as store, TemporaryDirectory() as folder:
        meet_owner(store, "local", 100_000)
        print(json.dumps(rounds(store, Path(folder), channel)))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
