"""Kills who delivers, at random, and looks what arrives at a receiver that is no better.

``python -m tests.notices.killing [MESSAGES [URL [SEED]]]`` writes so many messages (1,000) about
five datasets into an empty store at URL (by default a file), and delivers them with two processes
at a time that are killed (SIGKILL) after 0.1 to 1 s. The receiver verifies each with the library
`standardwebhooks` and answers 500, a redirect, nothing at all, or hangs up after it has read; it is
killed too. At the end one line of JSON on stdout.
"""

from __future__ import annotations

import json
import logging
import os
import random
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import IO, Any

from typing_extensions import override

from livedata.rules.network.targets import TargetPolicy
from livedata.services.audit.check import check_store
from livedata.services.audit.vitals import examine
from livedata.store.database.store import Store
from livedata.worker import supervisor
from livedata.worker.delivery import webhook
from livedata.worker.delivery.courier import Courier
from tests import made
from tests.databases import free_port
from tests.made import meet_owner, store_in
from tests.notices.conftest import add_notice
from tests.notices.receiver import Behaviour, Receiver
from tests.services.table import A, Table

DATASETS = 5
PAUSE = 10_000
HANGS = 0.4
"""What is enough for a receiver on this machine, in seconds; else each that hangs takes five."""
BEHAVIOURS: Mapping[Behaviour, int] = {200: 80, 500: 8, 302: 3, "close": 6, "hang": 3}
"""How a delivery is answered -> how often of a hundred."""
MOST_SECONDS = 200


class Noting(Receiver):
    """A receiver of which others see what it took, also after it was killed."""

    def __init__(self, port: int, secret: str, arrived: IO[str], seed: int) -> None:
        chance = random.Random(seed)
        names, weights = [*BEHAVIOURS], [*BEHAVIOURS.values()]
        super().__init__(secret, lambda _: chance.choices(names, weights)[0], port)
        self._file = arrived

    @override
    def take(self, event: dict[str, Any], headers: dict[str, str]) -> Behaviour:
        """Note a delivery, and then answer."""
        behaviour = super().take(event, headers)
        change = event["data"]["changes"][0]["sequence"]
        self._file.write(json.dumps([event["source"], change, event["id"], behaviour]) + "\n")
        return behaviour


def write(store: Store, messages: int) -> None:
    """Let notices tell of so many accepted Runs."""
    tables = [Table(store, made.declared(f"t{number}")) for number in range(DATASETS)]
    for number in range(messages):
        tables[number % DATASETS].take({**A, "price": number})


def receive(port: int, secret: str, arrived: Path, seed: int) -> int:
    """Start a process that receives; its pid."""
    pid = os.fork()
    if pid == 0:
        with arrived.open("a", buffering=1) as file, Noting(port, secret, file, seed) as hook:
            hook.serve_forever()
    return pid


def deliver(url: str, port: int) -> int:
    """Start a process that delivers; its pid."""
    pid = os.fork()
    if pid == 0:
        webhook.SECONDS, supervisor.ROUND = HANGS, 0.02
        targets = TargetPolicy(frozenset({f"127.0.0.1:{port}"}))
        supervisor.Dispatcher(Courier(Store(url), targets, PAUSE).dispatch).start()
        Event().wait()
    return pid


def rounds(url: str, messages: int, seed: int) -> dict[str, object]:
    """Write, deliver and kill until nothing waits; what came of it."""
    chance, kills = random.Random(seed), 0
    with TemporaryDirectory() as folder, closing(Store(url)) as store:
        arrived, port = Path(folder, "arrived"), free_port()
        target = f"http://127.0.0.1:{port}/hook"
        notice = add_notice(store, channel="webhook", target=target, kinds=["changes"])
        write(store, messages)
        began = time.monotonic()
        while examine(store, 0).outbox.waiting and time.monotonic() - began < MOST_SECONDS:
            hook = receive(port, notice.secret or "", arrived, seed + kills)
            for pid in (deliver(url, port), deliver(url, port), hook):
                time.sleep(chance.uniform(0.1, 0.5))
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                kills += 1
        left, problems = examine(store, 0).outbox, check_store(store).problems
        seconds = round(time.monotonic() - began, 1)
        lines = [json.loads(line) for line in arrived.read_text().splitlines()]
    ended = {"messages": messages, "kills": kills, "seconds": seconds, "problems": problems}
    return {**ended, "waiting": left.waiting, "givenUp": left.given_up, **judged(lines)}


def judged(lines: list[list[Any]]) -> dict[str, object]:
    """How the deliveries were answered, how many messages were taken, and which out of order."""
    firsts: defaultdict[str, list[int]] = defaultdict(list)
    answers = Counter(str(behaviour) for *_, behaviour in lines)
    taken: Counter[str] = Counter()
    for source, sequence, key, behaviour in lines:
        if behaviour == 200:
            if not taken[key]:
                firsts[source].append(sequence)
            taken[key] += 1
    wrong = [source for source, order in firsts.items() if order != sorted(order)]
    twice = sum(count > 1 for count in taken.values())
    return {"answers": answers, "taken": len(taken), "twice": twice, "outOfOrder": wrong}


def main(messages: str = "1000", url: str = "", seed: str = "1") -> None:
    """Print what came of it."""
    # Every delivery that fails is a line of the log.
    logging.disable()
    with TemporaryDirectory() as home:
        place = url or store_in(Path(home))
        with closing(Store(place)) as store:
            meet_owner(store, "local", int(messages) + 1000)
        print(json.dumps(rounds(place, int(messages), int(seed))))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
