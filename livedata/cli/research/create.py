"""``research create``: a question or a plan becomes a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from livedata.cli.context import CommandContext, common_options, urls_option
from livedata.cli.fast_start import load
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.output.tables import print_record
from livedata.cli.source.source_file import locate_problems, read_declaration
from livedata.hints import Subject
from livedata.messages.request import invalid
from livedata.messages.templates import plural
from livedata.messages.validation import read
from livedata.model.errors import Detail, Invalid
from livedata.model.ids import DatasetId, raw_id
from livedata.model.requests import UpdateDataset
from livedata.model.research.declaration import CreateResearch, PlanFile
from livedata.research.providers import require_packages
from livedata.rules.declaration.consistency import check_name
from livedata.rules.declaration.cron import schedule_problem
from livedata.rules.declaration.research import check, check_plan_file
from livedata.services import datasets
from livedata.services.research import declaring

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from livedata.cli.context import CommandContext
    from livedata.config import Settings
    from livedata.model.dataset import Dataset
    from livedata.store.database.store import Store


@click.command()
@click.option("--name", required=True, metavar="NAME", help="The name of the dataset.")
@click.option("--prompt", metavar="TEXT", help="The question; its first Run plans the table.")
@click.option(
    "--plan",
    "plan_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A plan, as livedata research plan writes it.",
)
@urls_option
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
    options = {
        "urls": list(urls) or None,
        "maxPages": max_pages,
        "maxTokens": max_tokens,
        "maxUsd": max_usd,
    }
    given = {key: value for key, value in options.items() if value is not None}
    _create(ctx, name, question, given, schedule, runs_now=runs_now)


def _create(
    ctx: CommandContext,
    name: str,
    question: str | Path,
    given: Mapping[str, Any],
    schedule: str | None,
    *,
    runs_now: bool,
) -> None:
    """Create a dataset from a prompt or from the plan in a file; `given` goes before the file."""
    settings = ctx.settings
    declared = _declared(settings, name, question, given)
    check_name(name)
    _check_schedule(schedule)
    try:
        check(declared, settings.research, settings.targets)
    except Invalid as error:
        raise _by_option(error, declared.urls) from None
    require_packages()
    with ctx.writing() as store:
        dataset = declaring.create(store, ctx.owner, declared, first_credits=ctx.first_credits)
        if schedule is not None:
            dataset = _scheduled(store, ctx, dataset, schedule)
    if not (ctx.json and runs_now):
        _tell(ctx, dataset, declared, settings, runs_now=runs_now)
    if runs_now:
        run = load("spiders.cli.run:run_datasets")
        run(ctx, [dataset["id"]], everything=False, is_new=True)


def _declared(
    settings: Settings, name: str, question: str | Path, given: Mapping[str, Any]
) -> CreateResearch:
    if isinstance(question, str):
        return read(CreateResearch, {"name": name, "prompt": question, **given})
    file = read_declaration(PlanFile, question)
    try:
        check_plan_file(file, settings.research, settings.targets)
    except Invalid as error:
        raise locate_problems(error, question) from None
    body: dict[str, Any] = {"name": name, **file.model_dump(by_alias=True, exclude_none=True)}
    plan = {key: body.pop(key) for key in file.plan.declared}
    return read(CreateResearch, {**body, "plan": plan, **given})


def _by_option(error: Invalid, urls: Sequence[str]) -> Invalid:
    """The same error, with the options that a person typed instead of the places of a body."""
    places = {f"urls[{index}]": f"--url {url}" for index, url in enumerate(urls)}
    places["maxUsd"] = "--max-usd"
    return invalid(
        [replace(detail, path=places.get(detail.path, detail.path)) for detail in error.details]
    )


def _check_schedule(schedule: str | None) -> None:
    problem = schedule_problem(schedule) if schedule is not None else None
    if problem:
        raise Invalid(f"schedule {problem}.", (Detail("schedule", problem),))


def _scheduled(store: Store, ctx: CommandContext, dataset: Dataset, schedule: str) -> Dataset:
    wanted = read(UpdateDataset, {"schedule": schedule, "status": "active"})
    dataset_id = DatasetId(raw_id(dataset["id"]))
    return datasets.update(store, ctx.owner, dataset_id, wanted, ctx.settings.timezone)


def _tell(
    ctx: CommandContext,
    dataset: Dataset,
    declared: CreateResearch,
    settings: Settings,
    *,
    runs_now: bool,
) -> None:
    if ctx.json:
        print_json(dataset)
        return
    columns = ", ".join(column["name"] for column in dataset["columns"])
    print_record(
        {
            "name": dataset["name"],
            "id": dataset["id"],
            "columns": columns if declared.plan else f"{columns}; the first Run plans the others",
            "a Run costs": most_cost(declared, settings),
        }
    )
    if not runs_now:
        print_message(
            "Made a draft." if dataset["status"] == "draft" else "It follows its schedule."
        )
        print_message("Its first Run:")
        print_text(Subject(ctx.owner).command("run", dataset["name"]))


def most_cost(declared: CreateResearch, settings: Settings) -> str:
    """What a Run may cost at most, in words."""
    limits, research = declared.limits, settings.research
    price = plural(limits.pages, "credit")
    words = f"at most {price} (one for each page) and {limits.tokens:,} tokens of {research.model}"
    if research.research_tokens_a_day is not None:
        words += f" ({research.research_tokens_a_day:,} a day for all that you research)"
    if limits.usd is not None:
        return f"{words}, for no more than ${limits.usd:g}"
    if research.model_price_in is None or research.model_price_out is None:
        return f"{words}, whose price is not set"
    # Nobody knows how many tokens will be read and how many written: all at the dearer price.
    dearest = max(research.model_price_in, research.model_price_out) * limits.tokens / 1_000_000
    return f"{words}, for no more than ${dearest:,.2f}"
