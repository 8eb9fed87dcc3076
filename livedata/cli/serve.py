"""``serve``: the HTTP API, and the worker that executes what it enqueues."""

from __future__ import annotations

import logging

from livedata import config
from livedata.api import close_app, create_app
from livedata.api.server import Server, ending_on_signals
from livedata.cli.output.streams import print_message
from livedata.rules.network.targets import TargetPolicy
from livedata.store.database.store import Store
from livedata.worker import Worker


def serve_api(host: str, port: int, *, with_worker: bool) -> None:
    """Answer requests at `host` and `port` until a signal ends it."""
    settings = config.load()
    store = Store(settings.database_url)
    # Before the port is open: a store that cannot be reached ends the command.
    store.ensure()
    _configure_log()
    app = create_app(store, TargetPolicy.parse(settings.allow_hosts), settings.timezone)
    server = Server(app, host, port)
    worker = Worker() if with_worker else None
    with ending_on_signals(server.stop):
        if worker:
            worker.start()
        print_message(
            f"livedata serves {server.address}/v1; its pages are at {server.address}/v1/docs"
        )
        # The worker stops after the server, since the last requests may still enqueue Runs.
        try:
            server.run()
        finally:
            if worker:
                worker.stop()
            close_app(app)
            store.close()


def _configure_log() -> None:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s %(message)s", level="WARNING")
    logging.getLogger("livedata").setLevel("INFO")
    # Requests may wait for a moment; a line for each would only slow them down.
    logging.getLogger("waitress.queue").setLevel("ERROR")
