"""A server that takes mail as SMTP has it, and keeps it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread

from typing_extensions import override

ANSWERS = {b"DATA": b"354 go on\r\n", b"QUIT": b"221 bye\r\n"}
"""What is answered to a command; to all others that it is well."""


class Mailbox(ThreadingTCPServer):
    """The mails that arrived, in order."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.arrived: list[EmailMessage] = []

    @property
    def url(self) -> str:
        """Its address, as Apprise has it."""
        return mail_url(f"127.0.0.1:{self.server_address[1]}")

    def take(self, mail: EmailMessage) -> None:
        """Keep a mail."""
        self.arrived.append(mail)


def mail_url(place: str) -> str:
    """The address of a mailbox at a host and port, as Apprise has it."""
    return f"mailto://{place}?from=livedata@example.org&to=ada@example.org"


class _Handler(StreamRequestHandler):
    server: Mailbox

    @override
    def handle(self) -> None:
        self.wfile.write(b"220 here\r\n")
        while line := self.rfile.readline():
            command = line.strip().upper()[:4]
            self.wfile.write(ANSWERS.get(command, b"250 well\r\n"))
            if command == b"DATA":
                self._take()
                self.wfile.write(b"250 taken\r\n")
            elif command == b"QUIT":
                return

    def _take(self) -> None:
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        mail = message_from_bytes(b"".join(lines), policy=policy.default)
        assert isinstance(mail, EmailMessage)
        self.server.take(mail)


@contextmanager
def mailbox() -> Iterator[Mailbox]:
    """A mailbox while the block is open."""
    with Mailbox() as box:
        thread = Thread(target=box.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield box
        finally:
            box.shutdown()
            thread.join()
