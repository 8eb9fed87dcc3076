"""A page that tries every way to make the browser talk to a server, and a listener for UDP."""

from __future__ import annotations

import socket
from contextlib import suppress
from types import TracebackType
from typing import Self

from tests.runs.test_pagination_none import listing
from tests.site import Answer, Request, Site

WAYS = (
    "img", "iframe", "fetch", "websocket", "redirected fetch", "beacon", "worker",
    "service worker", "popup", "eventsource", "prefetch", "script", "style", "form",
)  # fmt: skip


class Stun:
    """Counts the UDP packets that reach it."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.settimeout(0)
        self.host = f"127.0.0.1:{self._socket.getsockname()[1]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        self._socket.close()

    @property
    def packets(self) -> int:
        """How many have come since it was last asked."""
        count = 0
        with suppress(BlockingIOError):
            while self._socket.recv(2048):
                count += 1
        return count


def put(site: Site, target: str, udp: str, *, ways: tuple[str, ...] = WAYS) -> None:
    """Put a listing at /1 that attacks `target` (host:port) in these ways, and `udp` by WebRTC."""
    url = f"http://{target}"
    site.route("/away", lambda _: Answer(302, b"", {"Location": f"{url}/redirected"}))
    fetching = {"Content-Type": "text/javascript"}
    worker = f"fetch('{url}/w', {{mode: 'no-cors'}}).catch(() => 0)"
    site.route("/worker.js", lambda _: Answer(200, worker, fetching))
    installed = f"oninstall = event => event.waitUntil({worker})"
    site.route("/service.js", lambda _: Answer(200, installed, fetching))
    attempts = {
        "img": f"new Image().src = '{url}/img'",
        "iframe": f"add('<iframe src={url}/frame></iframe>')",
        "fetch": f"fetch('{url}/fetch', {{mode: 'no-cors'}}).catch(() => 0)",
        "websocket": f"new WebSocket('ws://{target}/ws')",
        "redirected fetch": "fetch('/away', {mode: 'no-cors'}).catch(() => 0)",
        "beacon": f"navigator.sendBeacon('{url}/beacon', 'x')",
        "worker": "new Worker('/worker.js')",
        "service worker": "navigator.serviceWorker.register('/service.js').catch(() => 0)",
        "popup": f"open('{url}/popup')",
        "eventsource": f"new EventSource('{url}/events')",
        "prefetch": f"add('<link rel=prefetch href={url}/prefetch>')",
        "script": f"document.body.append(Object.assign(script, {{src: '{url}/script'}}))",
        "style": f"add('<link rel=stylesheet href={url}/style>')",
        "form": f"add('<iframe name=t></iframe><form target=t action={url}/form></form>');"
        "document.forms[0].submit()",
    }
    stun = (
        f"const peer = new RTCPeerConnection({{iceServers: [{{urls: 'stun:{udp}'}}]}});"
        " peer.createDataChannel('x'); peer.createOffer().then(o => peer.setLocalDescription(o))"
    )
    tries = "".join(f"try {{ {attempts[way]} }} catch {{}}\n" for way in ways)
    helpers = (
        "const add = html => document.body.insertAdjacentHTML('beforeend', html);"
        "const script = document.createElement('script');"
    )
    script = f"<script>{helpers}{tries} try {{ {stun} }} catch {{}}</script>"
    site.page("/1", listing("ab", f"{script}<script>fetch('/last')</script>"))
    site.route("/last", _late)


def _late(request: Request) -> Answer:
    """Keeps the page from being still before its attempts were made."""
    request.wait(1.2)
    return Answer()
