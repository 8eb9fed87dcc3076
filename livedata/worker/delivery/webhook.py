"""A webhook: one POST, signed as Standard Webhooks say, to an address that was judged.

The name is resolved once, and the very address that was judged is dialled: a name that changes its
mind in between leads nowhere else.
"""

from __future__ import annotations

import hmac
import socket
import ssl
import time
from base64 import b64decode, b64encode
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from threading import Event
from urllib.parse import quote, urlsplit

from livedata.config import USER_AGENT
from livedata.messages.request import invalid, predicate
from livedata.model.errors import Detail
from livedata.model.problem import Problem, Remedy
from livedata.rules.network.targets import TargetPolicy, split_place, url_problem
from livedata.services.notices.cloud_events import CloudEvent
from livedata.services.notices.subscriptions import PREFIX
from livedata.store.notices import Notice
from livedata.worker.delivery.time_limit import NotInTime, within

SECONDS: float = 5
"""How long a webhook may take, from the look-up of its name to the head of the answer."""
MEDIA_TYPE = "application/cloudevents+json"
GONE = 410
_AS_IS = "%/?:@!$&'()*+,;=~"
"""The characters of a path and a query that are sent as they are written."""


def check(target: str, targets: TargetPolicy) -> None:
    """Raise Invalid for an address that may get no webhook."""
    problem = url_problem(target, targets)
    if problem is not None:
        said = predicate(problem).replace("which is not read", "which gets no webhook")
        raise invalid([Detail("webhook", said, problem.remedies)])


def send(
    notice: Notice, event: CloudEvent, targets: TargetPolicy, _stopping: Event
) -> Problem | None:
    """Deliver an event with the secret of a notice; why that failed, or None if it was taken."""
    assert notice.secret is not None
    return post(notice.target, notice.secret, event, targets)


def post(url: str, secret: str, event: CloudEvent, targets: TargetPolicy) -> Problem | None:
    """Deliver an event; why that failed, or None if the receiver has taken it."""
    try:
        connection = _connection(url)
        status = within(
            SECONDS,
            lambda: _posted(connection, url, secret, event, targets),
            lambda: _hang_up(connection),
        )
    except (NotInTime, TimeoutError):
        # Either clock may end it: ours, or that of the socket, which began a little later.
        return Problem("notice.no_answer", {"seconds": SECONDS})
    except _Refused as error:
        return error.problem
    except ssl.SSLCertVerificationError as error:
        host, _ = split_place(url)
        return Problem("notice.certificate", {"host": host, "reason": error.verify_message})
    except (OSError, HTTPException) as error:
        return Problem("notice.connection", {"reason": _reason(error)})
    return _judge(status)


def signature(secret: str, key: str, timestamp: int, body: bytes) -> str:
    """What ``webhook-signature`` says."""
    signed = b"%b.%d.%b" % (key.encode(), timestamp, body)
    digest = hmac.digest(b64decode(secret.removeprefix(PREFIX)), signed, "sha256")
    return f"v1,{b64encode(digest).decode()}"


class _Refused(Exception):
    """The address may not be dialled, or there is none."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.code)
        self.problem = problem


def _connection(url: str) -> HTTPConnection:
    """A connection to the place of a URL, which is not dialled yet."""
    host, port = split_place(url)
    kind = HTTPSConnection if url.lower().startswith("https:") else HTTPConnection
    return kind(host, port)


def _hang_up(connection: HTTPConnection) -> None:
    """End what waits at a connection: who drips an answer for ever keeps no thread and no file."""
    line = connection.sock
    if line is not None:
        with suppress(OSError):
            # Of the socket below TLS: that of TLS would say good-bye first, and wait.
            socket.socket.shutdown(line, socket.SHUT_RDWR)


def _posted(
    connection: HTTPConnection, url: str, secret: str, event: CloudEvent, targets: TargetPolicy
) -> int:
    """Send the request; the status of the answer, of which nothing else is read."""
    parts = urlsplit(url)
    now = int(time.time())
    headers = {
        "Content-Type": MEDIA_TYPE,
        "User-Agent": USER_AGENT,
        "webhook-id": event.id,
        "webhook-timestamp": str(now),
        "webhook-signature": signature(secret, event.id, now, event.body),
    }
    try:
        # Given a socket, http.client looks up and dials nothing itself.
        line = _dialled(connection.host, connection.port, targets)
        if parts.scheme == "https":
            secure = ssl.create_default_context()
            line = secure.wrap_socket(line, server_hostname=connection.host)
        connection.sock = line
        path = quote(f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}", safe=_AS_IS)
        connection.request("POST", path, event.body, headers)
        return connection.getresponse().status
    finally:
        connection.close()


def _dialled(host: str, port: int, targets: TargetPolicy) -> socket.socket:
    """A socket to the first address of a host that may be dialled, and can be."""
    failure: OSError | None = None
    addresses = _judged(host, port, targets)
    for address in addresses:
        try:
            # A share of the time for each: one that swallows all, as IPv6 does on many a network,
            # must not keep the next from its turn.
            dialled = socket.create_connection((address, port), timeout=SECONDS / len(addresses))
        except OSError as error:
            failure = error
            continue
        dialled.settimeout(SECONDS)
        return dialled
    raise failure or OSError("it has no address")


def _judged(host: str, port: int, targets: TargetPolicy) -> list[str]:
    """The addresses of a host that may be dialled; at least one."""
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise _Refused(Problem("notice.no_host", {"host": host})) from None
    addresses = [str(place[0]) for *_, place in answers]
    permitted = [address for address in addresses if targets.permits(host, port, address)]
    if not permitted:
        allow = Remedy("allow_host", {"host": f"{host}:{port}"})
        params = {"host": host, "address": addresses[0]}
        raise _Refused(Problem("notice.private", params, remedies=(allow,)))
    return permitted


def _judge(status: int) -> Problem | None:
    if 200 <= status < 300:
        return None
    if status == GONE:
        return Problem("notice.gone")
    code = "notice.redirect" if 300 <= status < 400 else "notice.status"
    return Problem(code, {"status": status})


def _reason(error: Exception) -> str:
    """Why a connection failed, in the words of the system; never what was sent."""
    if isinstance(error, HTTPException):
        return "what answers there is no web server, or it broke off"
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).rstrip(".")
