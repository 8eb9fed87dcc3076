"""``serve`` and ``worker``: the HTTP API, and what executes Runs on a server."""

from __future__ import annotations

import logging
from contextlib import nullcontext
from queue import SimpleQueue

from msgspec import Struct

from livedata import config
from livedata.api import close_app, create_app
from livedata.api.server import Server, ending_on_signals
from livedata.cli.output.streams import print_message
from livedata.config import Settings
from livedata.messages.templates import plural
from livedata.rules.network.targets import TargetPolicy
from livedata.store.database.store import Store
from livedata.worker.supervisor import KILLED_ABOVE, Supervisor, default_crawlers


class WorkerOptions(Struct, frozen=True):
    """How many crawl workers there are, by default as many as suit the machine; and schedules."""

    crawlers: int | None
    schedules: bool

    def supervisor(self, store: Store, settings: Settings) -> Supervisor:
        """What executes Runs with these options."""
        crawlers = self.crawlers or default_crawlers()
        memory = KILLED_ABOVE * settings.crawler_memory
        return Supervisor(store, settings.timezone, crawlers, memory, schedules=self.schedules)

    def described(self) -> str:
        """What is done, for a person."""
        crawlers = plural(self.crawlers or default_crawlers(), "crawl worker")
        return f"{crawlers}, {'with' if self.schedules else 'without'} schedules"


def serve_api(host: str, port: int, options: WorkerOptions | None) -> None:
    """Answer requests at `host` and `port` until a signal ends it; without options, no more."""
    settings = config.load()
    store = Store(settings.database_url)
    # Before the port is open: a store that cannot be reached ends the command.
    store.ensure()
    _configure_log()
    app = create_app(store, TargetPolicy.parse(settings.allow_hosts), settings.timezone)
    server = Server(app, host, port)
    supervisor = options.supervisor(store, settings) if options else None

    def stop() -> None:
        server.stop()
        # At once, and not after the last request: what that enqueues waits for the next start.
        if supervisor:
            supervisor.begin_stop()

    with ending_on_signals(stop):
        try:
            with supervisor or nullcontext():
                print_message(
                    f"livedata serves {server.address}/v1; its pages are at "
                    f"{server.address}/v1/docs"
                )
                server.run()
        finally:
            close_app(app)
            store.close()


def execute_runs(options: WorkerOptions) -> None:
    """Execute what is queued until a signal ends it."""
    settings = config.load()
    store = Store(settings.database_url)
    store.ensure()
    _configure_log()
    # A signal handler may put something into this queue while this thread waits at it; the lock of
    # an Event could be held by this very thread.
    signals: SimpleQueue[None] = SimpleQueue()
    with ending_on_signals(lambda: signals.put(None)):
        try:
            with options.supervisor(store, settings):
                print_message(f"livedata works on {store.place}: {options.described()}.")
                signals.get()
                print_message("Ending: the Runs in progress go back into the queue.")
        finally:
            store.close()


def _configure_log() -> None:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s %(message)s", level="WARNING")
    logging.getLogger("livedata").setLevel("INFO")
    # Requests may wait for a moment; a line for each would only slow them down.
    logging.getLogger("waitress.queue").setLevel("ERROR")
