"""The command ``serve``: the HTTP API, and the worker that executes what it enqueues."""

from __future__ import annotations

import logging

import click

from livedata.cli.output import say


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="The port to listen at; 0 takes a free one.",
)
@click.option("--no-worker", is_flag=True, help="Only answer; execute no Runs.")
def serve(host: str, port: int, no_worker: bool) -> None:
    """Serve the HTTP API, and execute the Runs that are enqueued.

    The log is written to stderr. SIGTERM and Ctrl-C finish the requests in flight.
    """
    from livedata import config
    from livedata.api import create_app
    from livedata.api.server import Server, ending_on_signals
    from livedata.rules.network.targets import TargetPolicy
    from livedata.store.database.store import Store
    from livedata.worker import Worker

    settings = config.load()
    store = Store(settings.database_url)
    store.ensure()
    _log()
    app = create_app(store, TargetPolicy.parse(settings.allow_hosts), settings.timezone)
    server = Server(app, host, port)
    worker = None if no_worker else Worker()
    with ending_on_signals(server.stop):
        if worker:
            worker.start()
        say(f"livedata serves {server.address}/v1; its pages are at {server.address}/v1/docs")
        try:
            server.run()
        finally:
            if worker:
                worker.stop()
            store.close()


def _log() -> None:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s %(message)s", level="WARNING")
    logging.getLogger("livedata").setLevel("INFO")
    # Requests may wait for a moment; a line for each would only slow them down.
    logging.getLogger("waitress.queue").setLevel("ERROR")
