"""The command line of ``research``: click alone; what a command does is imported when it runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options


@click.group()
def research() -> None:
    """Make a table from a question, with a model."""


def _url_option(help_line: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option("--url", "urls", metavar="URL", multiple=True, help=help_line)


@research.command()
@click.argument("prompt")
@_url_option("A page to read instead of what a search finds; may be repeated.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write; else stdout.",
)
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
@common_options
def plan(
    ctx: CommandContext, prompt: str, urls: tuple[str, ...], output: Path | None, force: bool
) -> None:
    """Let the model plan a table that answers PROMPT.

    The plan is a commented TOML file: edit it, then livedata research create --plan FILE. The model
    is asked once or twice; nothing is searched, read or stored.
    """
    from livedata.cli.research.plan import write_plan_of

    write_plan_of(ctx, prompt, urls, output, force=force)


@research.command()
@click.option("--name", required=True, metavar="NAME", help="The name of the dataset.")
@click.option("--prompt", metavar="TEXT", help="The question; its first Run plans the table.")
@click.option(
    "--plan",
    "plan_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A plan, as livedata research plan writes it.",
)
@_url_option("A page to read instead of what a search finds; may be repeated.")
@click.option("--schedule", metavar="CRON", help="Five fields, in quotes: the dataset is active.")
@click.option("--max-pages", type=click.IntRange(1, 50), help="Pages of a Run.  [default: 25]")
@click.option(
    "--max-tokens",
    type=click.IntRange(1_000, 100_000_000),
    help="Tokens of a Run, read and written.  [default: 2000000]",
)
@click.option(
    "--max-usd",
    type=click.FloatRange(min=0, min_open=True, max=1_000_000),
    help="US dollars of a Run, if the model's price is set.",
)
@click.option("--run", "runs_now", is_flag=True, help="Run it at once.")
@common_options
def create(
    ctx: CommandContext,
    name: str,
    prompt: str | None,
    plan_file: Path | None,
    urls: tuple[str, ...],
    schedule: str | None,
    max_pages: int | None,
    max_tokens: int | None,
    max_usd: float | None,
    runs_now: bool,
) -> None:
    """Create a research dataset from a question or from a plan.

    Its Runs search, read the pages, let the model extract rows, and keep only what is quoted word
    for word from a page. Each page that is read whole costs a credit; what the model costs is told
    with every Run. --url, --max-pages, --max-tokens and --max-usd go before what a plan says.
    """
    question = plan_file if prompt is None else prompt
    if question is None or None not in (prompt, plan_file):
        raise click.UsageError("Give --prompt or --plan, one of the two.")
    from livedata.cli.research.create import create_dataset

    options = {
        "urls": list(urls) or None,
        "maxPages": max_pages,
        "maxTokens": max_tokens,
        "maxUsd": max_usd,
    }
    given = {key: value for key, value in options.items() if value is not None}
    create_dataset(ctx, name, question, given, schedule, runs_now=runs_now)


@research.command("try")
@click.argument(
    "page", type=click.Path(path_type=Path, exists=True, dir_okay=False), required=False
)
@click.option(
    "--plan",
    "plan_file",
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="What to look for on PAGE, as livedata research plan writes it.",
)
@common_options
def try_(ctx: CommandContext, page: Path | None, plan_file: Path | None) -> None:
    """Ask the model about one page, and print what it understood.

    Each output mode is tried, so that you see which of them the server of the model understands.
    PAGE is a page that is saved as HTML, and needs --plan; without it a page of three makers of
    lamps is asked about. Only the model is asked, and nothing is stored.
    """
    if (page is None) is not (plan_file is None):
        raise click.UsageError("Give a PAGE and --plan FILE, or neither of them.")
    from livedata.cli.research.try_model import try_model

    try_model(ctx, page, plan_file)


@research.command("eval")
@click.argument("task", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--runs", type=click.IntRange(1, 100), default=5, show_default=True, help="Runs of the task."
)
@common_options
def eval_(ctx: CommandContext, task: Path, runs: int) -> None:
    """Measure how well the model fills a table that is known.

    TASK is a folder: plan.toml as livedata research plan writes it, the pages in pages/, and
    gold.json with what is right: {"Acme": {"City": ["Lyon"]}}. The pages are served and searched on
    this machine, in a store of their own; only the model is asked, anew in each Run.
    """
    from livedata.cli.research.evaluate import evaluate

    evaluate(ctx, task, runs)


@research.command()
@click.argument("run", metavar="R|TAPE", shell_complete=complete_dataset)
@click.option(
    "--mode",
    type=click.Choice(["strict", "loose"]),
    default="strict",
    show_default=True,
    help="Take an answer only if just this was asked, or whatever was asked.",
)
@click.option("--diff", is_flag=True, help="List the rows and the codes of facts that changed.")
@common_options
def replay(ctx: CommandContext, run: str, mode: Literal["strict", "loose"], diff: bool) -> None:
    """Make a Run again from what it recorded, or from a TAPE.

    R is a Run, or a dataset, which stands for its last Run. No model, no search and no site is
    asked, and nothing is written. The exit code is 1 if something is asked that was not recorded,
    or if rows or facts differ in a strict replay.
    """
    from livedata.cli.research.replay import replay_run

    replay_run(ctx, run, mode, diff=diff)


@research.command()
@click.argument("run", metavar="R", shell_complete=complete_dataset)
@click.option(
    "-o",
    "--output",
    metavar="TAPE",
    required=True,
    type=click.Path(path_type=Path),
    help="The file to write.",
)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@common_options
def export(ctx: CommandContext, run: str, output: Path, force: bool) -> None:
    """Write Run R, or the last Run of dataset R, as a tape.

    A tape is a file of JSON lines: the plan, what was known before, every page and answer. It can
    be replayed on any machine, and is kept for as long as you keep it.
    """
    from livedata.cli.research.export import export_tape

    export_tape(ctx, run, output, force=force)
