"""One web server under many hosts, which notes who asks each of them, and when; and a receiver."""

from __future__ import annotations

import time
from collections import Counter
from threading import Lock
from typing import Self

from tests.chaos.judge import Asked
from tests.chaos.network import Network
from tests.shop import Item, page
from tests.site import Answer, Request, Site

PAGES = 2
ITEMS = 3
ANSWERING = 0.5
"""The seconds that a page takes."""
NOTICED = 0.005
"""The seconds after which it is seen that who has asked is gone."""
HOOK = "/hook"


class Sites:
    """Hosts with listings of which every Run finds other prices."""

    def __init__(self, network: Network, count: int) -> None:
        self._site = Site(("0.0.0.0", 0))
        self.port = self._site.host.rpartition(":")[2]
        self.hosts = [f"{network.own(number)}:{self.port}" for number in range(1, count + 1)]
        self.hook = f"http://{network.own(0)}:{self.port}{HOOK}"
        self.asked: list[Asked] = []
        self.delivered: list[str] = []
        self._read: Counter[str] = Counter()
        self._lock = Lock()
        self._site.route(HOOK, self._receive)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._site.close()

    @property
    def allow(self) -> str:
        """All of its hosts, as a setting names them."""
        return ",".join([*self.hosts, self.hook.split("/")[2]])

    def put(self, name: str, number: int) -> str:
        """Put the listing of a dataset on the host that has its turn; the address of it."""
        for each in range(1, PAGES + 1):
            self._site.route(f"/{name}/{each}", self._answer)
        return f"http://{self.hosts[number % len(self.hosts)]}/{name}/1"

    def _answer(self, request: Request) -> Answer | None:
        """A page after a while, if who asked for it still lives."""
        began, (_, name, number) = time.time(), request.path.split("/")
        try:
            end = began + ANSWERING
            while time.time() < end:
                request.wait(NOTICED)
                if request.raw.is_left():
                    return None
        finally:
            with self._lock:
                self.asked.append(Asked(request.headers["host"], name, began, time.time()))
        at = int(number)
        if at == 1:
            self._read[name] += 1
        price, following = str(self._read[name]), f"/{name}/{at + 1}" if at < PAGES else None
        items = [Item(f"S{at}{each}", f"Thing {at}{each}", price) for each in range(ITEMS)]
        return Answer(200, page(at, items, following, end=not following))

    def _receive(self, request: Request) -> Answer:
        with self._lock:
            self.delivered.append(request.headers["webhook-id"])
        return Answer(204)
