"""``livedata preview``: try a source without storing anything."""

from __future__ import annotations

from pathlib import Path

import click

from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json
from livedata.cli.source.source_file import locate_problems, read_source
from livedata.model.errors import Invalid
from livedata.model.problem import Remedy
from spiders.cli.trial import trial_recipe, try_out
from spiders.cli.trial_report import print_trial, trial_json
from spiders.crawl.engine import crawl_engine
from spiders.crawl.settings import fetch_config


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.option(
    "--pages",
    type=click.IntRange(1, 50),
    default=1,
    show_default=True,
    help="How many pages to read at most.",
)
@common_options
def preview(ctx: CommandContext, source: Path, pages: int) -> None:
    """Try a source: what it finds, and what a Run would say.

    Prints what each selector finds, and what the Checks say. It reads the pages as a Run does, but
    stores nothing and charges nothing. The exit code is that of such a Run.
    """
    declaration = read_source(source)
    fetching = fetch_config(ctx.settings)
    try:
        recipe = trial_recipe(declaration, fetching.targets)
    except Invalid as error:
        raise locate_problems(error, source) from error
    with crawl_engine() as engine:
        trial = engine.run(try_out(engine, recipe, fetching, pages))
    if ctx.json:
        print_json(trial_json(trial))
    else:
        print_trial(trial, Remedy("create_dataset", {"owner": ctx.owner, "file": str(source)}))
    raise SystemExit({"failed": 3, "blocked": 4, "held": 5}.get(trial.verdict.outcome, 0))
