"""``serve`` and ``worker``: the HTTP API, and what executes Runs on a server."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from queue import SimpleQueue
from typing import NamedTuple

import click

from livedata import config
from livedata.api import close_app, create_app
from livedata.api.server import Server, ending_on_signals
from livedata.cli.context import address_option
from livedata.cli.exit_codes import exit_code
from livedata.cli.fast_start import ended_by_ctrl_c
from livedata.cli.output.streams import print_message
from livedata.config import Settings
from livedata.messages.templates import plural
from livedata.model.errors import LivedataError
from livedata.pages import add_pages
from livedata.rules.network.installation import hosts
from livedata.store.database.store import Store
from livedata.worker.engines import Engine, engine_of
from livedata.worker.log import configure
from livedata.worker.metrics import Address, serving_metrics
from livedata.worker.supervisor import KILLED_ABOVE, Supervisor, default_crawlers

MOST_CRAWLERS = 64
LOG = "livedata.server"


def _check_crawlers(
    _context: click.Context, _option: click.Parameter, value: int | None
) -> int | None:
    if value is not None and value < 1:
        raise click.BadParameter(
            f"{value} crawl workers execute nothing; give 1 to {MOST_CRAWLERS}, such as 4"
        )
    if value is not None and value > MOST_CRAWLERS:
        raise click.BadParameter(
            f"{value} crawl workers are too many, since each is a process of some 100 MB; give 1 "
            f"to {MOST_CRAWLERS}, such as 4"
        )
    return value


def _named_engine(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> Engine | None:
    try:
        return None if value is None else engine_of(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def worker_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of what executes Runs."""
    crawlers = click.option(
        "--crawlers",
        metavar="N",
        type=int,
        callback=_check_crawlers,
        help="How many crawl workers; else one per core, at most 4.",
    )
    no_schedules = click.option(
        "--no-schedules", is_flag=True, help="Leave schedules and housekeeping to another process."
    )
    return crawlers(no_schedules(command))


def metrics_option(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command ``--metrics``."""
    return address_option("--metrics", "Serve metrics for Prometheus at this address, too.")(
        command
    )


def log_option(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command ``--log``."""
    return click.option(
        "--log",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="How the log on stderr is written: for people, or a JSON object a line.",
    )(command)


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
@click.option(
    "--enqueue",
    "engine",
    metavar="ENGINE",
    callback=_named_engine,
    help="With --no-worker: hand each Run that may start to an engine of yours, which calls "
    "livedata execute RUN: by a command, such as 'nomad job dispatch -meta run={run} livedata', or "
    "by a task of Celery, such as celery://livedata.execute?broker=redis://127.0.0.1:6379/0.",
)
@click.option("--no-pages", is_flag=True, help="Only the API; no pages for a browser.")
@worker_options
@metrics_option
@log_option
@ended_by_ctrl_c()
def serve(
    host: str,
    port: int,
    no_worker: bool,
    engine: Engine | None,
    no_pages: bool,
    crawlers: int | None,
    no_schedules: bool,
    metrics: tuple[str, int] | None,
    log: str,
) -> None:
    """Serve pages and the HTTP API, follow the schedules, and execute Runs.

    With --no-worker only answer; with --enqueue do all but execute Runs, which your engine does.
    The log is written to stderr. SIGTERM and Ctrl-C finish the requests in flight, and give the
    Runs in progress back to the queue.
    """
    if no_worker and crawlers:
        raise click.UsageError("--no-worker starts no crawl worker: leave it out, or --crawlers.")
    if engine and not no_worker:
        raise click.UsageError(
            "--enqueue leaves Runs to your engine: give --no-worker too. A livedata worker may "
            "stand beside it."
        )
    as_json = log == "json"
    only_answers = no_worker and engine is None
    working = WorkerOptions(crawlers, not no_schedules, as_json, engine)
    options = None if only_answers else working
    serve_api((host, port), options, pages=not no_pages, metrics=metrics, json_log=as_json)


@click.command()
@worker_options
@metrics_option
@log_option
@ended_by_ctrl_c()
def worker(
    crawlers: int | None, no_schedules: bool, metrics: tuple[str, int] | None, log: str
) -> None:
    """Execute Runs and follow the schedules, without the API.

    Several may work on one store. The log is written to stderr. SIGTERM and Ctrl-C give the Runs in
    progress back to the queue.
    """
    execute_runs(WorkerOptions(crawlers, not no_schedules, log == "json"), metrics=metrics)


class WorkerOptions(NamedTuple):
    """How many crawl workers there are, by default as many as suit the machine; and schedules.

    An engine that executes Runs stands in place of all crawl workers.
    """

    crawlers: int | None
    schedules: bool
    json_log: bool
    engine: Engine | None = None

    def supervisor(self, store: Store, settings: Settings) -> Supervisor:
        """What executes Runs with these options."""
        crawlers = 0 if self.engine else self.crawlers or default_crawlers()
        memory = KILLED_ABOVE * settings.crawler_memory
        return Supervisor(
            store,
            settings.timezone,
            crawlers,
            memory,
            settings.targets,
            schedules=self.schedules,
            spread=settings.spread,
            json_log=self.json_log,
            public_url=settings.public_url,
            engine=self.engine,
        )

    def described(self) -> str:
        """What is done, for a person."""
        crawlers = plural(self.crawlers or default_crawlers(), "crawl worker")
        return f"{crawlers}, {'with' if self.schedules else 'without'} schedules"


def serve_api(
    address: Address,
    options: WorkerOptions | None,
    *,
    pages: bool,
    metrics: Address | None,
    json_log: bool,
) -> None:
    """Answer requests at an address until a signal ends it; without options, no more."""
    host, port = address
    with (
        _logged_settings(as_json=json_log) as settings,
        # Before the port is open: a store that cannot be reached ends the command.
        _opened(settings, metrics, json_log=json_log) as store,
    ):
        targets = settings.targets
        public, names = settings.public_url, hosts(host, settings.public_url, settings.hosts)
        app = create_app(store, targets, settings.timezone, public, settings.research, names)
        if pages:
            add_pages(app)
        try:
            server = Server(app, host, port)
            supervisor = options.supervisor(store, settings) if options else None
            documents = f"its pages are at {server.address}/v1/docs"
            more = f"to look at it: livedata open --url {server.address}" if pages else documents
            _serve(server, supervisor, more, json_log=json_log)
        finally:
            close_app(app)


def _serve(server: Server, supervisor: Supervisor | None, more: str, *, json_log: bool) -> None:
    def stop() -> None:
        server.stop()
        # At once, and not after the last request: what that enqueues waits for the next start.
        if supervisor:
            supervisor.begin_stop()

    with ending_on_signals(stop), supervisor or nullcontext():
        _tell("started", f"livedata serves {server.address}/v1; {more}", as_json=json_log)
        server.run()
        _tell_ending(as_json=json_log, gives_back=supervisor is not None and supervisor.executes)


def execute_runs(options: WorkerOptions, *, metrics: Address | None) -> None:
    """Execute what is queued until a signal ends it."""
    json_log = options.json_log
    # A signal handler may put something into this queue while this thread waits at it; the lock of
    # an Event could be held by this very thread.
    signals: SimpleQueue[None] = SimpleQueue()
    with (
        _logged_settings(as_json=json_log) as settings,
        _opened(settings, metrics, json_log=json_log) as store,
        ending_on_signals(lambda: signals.put(None)),
        options.supervisor(store, settings),
    ):
        works = f"livedata works on {store.place}: {options.described()}."
        _tell("started", works, as_json=json_log)
        signals.get()
        _tell_ending(as_json=json_log, gives_back=True)


def _tell_ending(*, as_json: bool, gives_back: bool) -> None:
    runs = ": the Runs in progress go back into the queue" if gives_back else ""
    _tell("ending", f"Ending{runs}.", as_json=as_json)


@contextmanager
def _opened(settings: Settings, metrics: Address | None, *, json_log: bool) -> Iterator[Store]:
    """The store, brought up to date, and its metrics at an address, if one is given."""
    store = Store(settings.database_url, read_url=settings.read_url, limits=settings.limits)
    with closing(store):
        store.ensure()
        with serving_metrics(store, metrics) if metrics else nullcontext() as served:
            if served is not None:
                host, port = served
                named = f"[{host}]" if ":" in host else host
                told = f"livedata serves metrics at http://{named}:{port}/metrics"
                _tell("metrics", told, as_json=json_log)
            yield store


@contextmanager
def _logged_settings(*, as_json: bool) -> Iterator[Settings]:
    """The settings; with `as_json` an error that ends the command is a line of the log too."""
    settings = None
    try:
        settings = config.load()
        configure(settings, as_json=as_json)
        yield settings
    except LivedataError as error:
        if not as_json:
            raise
        if settings is None:
            configure(None, as_json=True)  # what is wrong is a setting
        logging.getLogger(LOG).critical("%s", error.message, extra={"event": "failure"})
        raise click.exceptions.Exit(exit_code(error)) from error


def _tell(event: str, message: str, *, as_json: bool) -> None:
    """Tell a person what the command is at; or, with `as_json`, the log."""
    if as_json:
        logging.getLogger(LOG).info("%s", message, extra={"event": event})
    else:
        print_message(message)
