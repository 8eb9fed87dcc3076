"""The command lines of all commands that are in no group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from livedata.cli import load_from
from livedata.cli.completion import complete_dataset, complete_source
from livedata.cli.context import CommandContext, common_options
from livedata.cli.interrupt import ended_by_ctrl_c

# `livedata serve --help` and a mistyped option import this module, and it imports click alone. So
# the declarations of commands stand apart from what the commands do, and each command imports its
# own part when it runs: otherwise the help of one command would cost the imports of all of them.

MOST_CRAWLERS = 64


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


def _address(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> tuple[str, int] | None:
    if value is None:
        return None
    host, _, port = value.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise click.BadParameter(f"{value!r} is no address; give one such as 127.0.0.1:9090")
    return host.strip("[]"), int(port)


def metrics_option(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command ``--metrics``."""
    return click.option(
        "--metrics",
        metavar="HOST:PORT",
        callback=_address,
        help="Serve metrics for Prometheus at this address, too.",
    )(command)


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
@click.option("--keep", is_flag=True, help="Keep the folder with the store and the source.")
def demo(keep: bool) -> None:
    """Show what livedata does, without any set-up or network.

    Serves a small shop on loopback, makes a table of it, changes the shop, and shows what the
    table and its history become, with the commands that you would type. Nothing is left behind.
    """
    from livedata.cli.demo import run_demo

    run_demo(keep=keep)


@click.command()
@click.argument("url", required=False)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("source.toml"),
    show_default=True,
    help="The file to write.",
)
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
@click.option("--browser", is_flag=True, help="Read the page after its scripts have run.")
@click.option(
    "--like", multiple=True, metavar="TEXT", help="Read the list that has a record with this text."
)
@click.option(
    "--list", "number", type=click.IntRange(1), metavar="N", help="Read the N-th list of the page."
)
@click.option("--columns", metavar="A,B,...", default="", help="Keep these columns only.")
@click.option("--yes", is_flag=True, help="Ask nothing on a terminal.")
@click.option("--template", is_flag=True, help="Write a blank form, and look at no page.")
@common_options
def init(
    ctx: CommandContext,
    url: str | None,
    output: Path,
    force: bool,
    browser: bool,
    like: Sequence[str],
    number: int | None,
    columns: str,
    yes: bool,
    template: bool,
) -> None:
    """Look at a page, and write a source.toml for its list.

    URL is the first page of the list. It says which lists, columns, key and next page it found, and
    writes what was proved by reading two pages. Nothing is stored.
    """
    if template:
        from livedata.cli.init import write_template

        write_template(ctx, url, output, force=force)
        return
    if url is None:
        raise click.UsageError(
            "Give the address of a page with a list, or --template for a blank form: livedata init "
            "https://shop.example/products"
        )
    load_from("spiders.cli.init:init_source")(
        ctx,
        url,
        output,
        force=force,
        browser=browser,
        like=like,
        number=number,
        columns=columns,
        yes=yes,
    )


@click.command()
@click.argument("source", metavar="SOURCE|D", shell_complete=complete_source)
@click.option(
    "--against",
    metavar="D",
    shell_complete=complete_dataset,
    help="Compare what SOURCE finds with the rows of D.",
)
@click.option(
    "--pages",
    type=click.IntRange(1, 50),
    help="How many pages to read at most.  [default: 1; all, if rows are compared]",
)
@click.option(
    "--save",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Keep the pages, and the rows that they gave, in a new folder.",
)
@click.option(
    "--pages-from",
    "saved",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Read the pages in such a folder, and ask no site.",
)
@common_options
def preview(
    ctx: CommandContext,
    source: str,
    against: str | None,
    pages: int | None,
    save: Path | None,
    saved: Path | None,
) -> None:
    """Try a source: what it finds, and what a Run would say.

    Prints what each selector finds, and what the Checks say. It reads the pages as a Run does, but
    stores nothing and charges nothing. The exit code is that of such a Run. With the name of a
    dataset in place of a file, or with --against, it also says what such a Run would change, by
    row and cell.
    """
    if save is not None and saved is not None:
        raise click.UsageError(
            "--save keeps what the site answers, and --pages-from asks no site: give one of them."
        )
    # The crawler is named as text: it imports livedata, and livedata never imports it.
    load_from("spiders.cli.preview:preview_source")(
        ctx, source, against=against, pages=pages, save=save, saved=saved
    )


@click.command()
@click.argument("datasets", nargs=-1, metavar="[DATASET]...", shell_complete=complete_dataset)
@click.option("--all", "everything", is_flag=True, help="Every dataset that is not paused.")
@click.option("--fresh", is_flag=True, help="Ask the model about unchanged pages too.")
@common_options
@ended_by_ctrl_c()
def run(ctx: CommandContext, datasets: Sequence[str], everything: bool, fresh: bool) -> None:
    """Run datasets now.

    Reads the sources, and accepts what is complete and passes all Checks. Without names:
    datasets without a schedule, and active ones whose schedule is due. Ctrl-C ends what is in
    progress as cancelled; SIGTERM gives it back, so that the next run takes it up.

    Research asks the model only about what is new on its pages; with --fresh about all of them.
    """
    if everything and datasets:
        raise click.UsageError("--all runs every dataset: name datasets, or give --all.")
    load_from("spiders.cli.run:run_datasets")(ctx, datasets, everything=everything, fresh=fresh)


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
@click.option("--no-pages", is_flag=True, help="Only the API; no pages for a browser.")
@worker_options
@metrics_option
@log_option
@ended_by_ctrl_c()
def serve(
    host: str,
    port: int,
    no_worker: bool,
    no_pages: bool,
    crawlers: int | None,
    no_schedules: bool,
    metrics: tuple[str, int] | None,
    log: str,
) -> None:
    """Serve pages and the HTTP API, follow the schedules, and execute Runs.

    The log is written to stderr. SIGTERM and Ctrl-C finish the requests in flight, and give the
    Runs in progress back to the queue.
    """
    if no_worker and crawlers:
        raise click.UsageError("--no-worker starts no crawl worker: leave it out, or --crawlers.")
    from livedata.cli.serve import WorkerOptions, serve_api

    as_json = log == "json"
    options = None if no_worker else WorkerOptions(crawlers, not no_schedules, as_json)
    serve_api((host, port), options, pages=not no_pages, metrics=metrics, json_log=as_json)


@click.command("open")
@click.argument("name", required=False, metavar="[D]", shell_complete=complete_dataset)
@click.option("--url", metavar="URL", help="Where `livedata serve` is reached.")
@click.option("--print", "print_link", is_flag=True, help="Print the link, and open no browser.")
@common_options
def open_pages(ctx: CommandContext, name: str | None, url: str | None, print_link: bool) -> None:
    """Look at the datasets in a browser.

    The browser is signed in by a link that works once, within ten minutes; D is shown at once.
    """
    from livedata.cli.open_pages import open_in_browser

    open_in_browser(ctx, name, url, print_link=print_link)


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
    from livedata.cli.serve import WorkerOptions, execute_runs

    execute_runs(WorkerOptions(crawlers, not no_schedules, log == "json"), metrics=metrics)
