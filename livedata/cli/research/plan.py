"""``research plan``: the model plans a table, and a person may edit the plan."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from livedata.cli.context import CommandContext, common_options, urls_option
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.formats.source_toml import write_plan
from livedata.messages.request import format_detail
from livedata.messages.validation import read
from livedata.model.errors import Invalid, LivedataError
from livedata.model.problem import Remedy
from livedata.model.research.answers import Failed
from livedata.model.research.declaration import CreateResearch, ResearchPlan
from livedata.model.research.recipe import SEARCHED, ResearchLimits
from livedata.research.providers import require_packages
from livedata.rules.declaration.research import check_urls, plan_details, require_model

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from livedata.cli.context import CommandContext
    from livedata.model.research.settings import ResearchSettings
    from livedata.model.research.stored import DeclaredPlan

TRIES = 2
"""How often the model may mend its plan."""


@click.command()
@click.argument("prompt")
@urls_option
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

    _write_plan_of(ctx, prompt, urls, output, force=force)


def _write_plan_of(
    ctx: CommandContext, prompt: str, urls: Sequence[str], output: Path | None, *, force: bool
) -> None:
    """Ask for a plan that answers `prompt`, and write it to `output` or to stdout."""
    settings = ctx.settings
    # Judged as at create: the name is only what that shape needs.
    read(CreateResearch, {"name": "plan", "prompt": prompt, "urls": list(urls)})
    check_urls(urls, settings.targets)
    require_model(settings.research)
    require_packages()
    if output is not None and output.exists() and not force:
        raise click.ClickException(
            f"{output} exists; --force overwrites it, -o names another file."
        )
    plan = asyncio.run(_planned(settings.research, prompt, urls))
    if ctx.json and output is None:
        print_json(plan)
        return
    text = write_plan(plan, urls, ResearchLimits())
    if output is None:
        print_text(text)
        return
    output.write_text(text, encoding="utf-8", newline="\n")
    if ctx.json:
        print_json(plan)
    else:
        print_text(f"Wrote {output}.")
        file = shlex.quote(str(output))
        print_message(
            f"Edit it, then make the table: livedata research create --name NAME --plan {file}"
        )


async def _planned(settings: ResearchSettings, prompt: str, urls: Sequence[str]) -> DeclaredPlan:
    # Imported late: the packages of the extra, which only a question to the model needs.
    from livedata.research.asking.prompts import plan_question
    from livedata.research.providers.connection import connected

    problems: list[str] = []
    async with connected(settings) as providers:
        for _ in range(TRIES):
            source = urls[0] if urls else SEARCHED
            answer = await providers.model.ask(plan_question(prompt, source, problems))
            if isinstance(answer.body, Failed):
                words = f"The model gave no plan: {answer.body.detail}."
                raise LivedataError(words, remedies=(Remedy("check_model"),))
            plan = msgspec.json.decode(answer.body, type=dict[str, Any])
            problems = _problems(plan)
            if not problems:
                return plan  # type: ignore[return-value]  # its shape has just been read
    raise LivedataError(f"The model gave no plan that can be used: {' '.join(problems)}")


def _problems(plan: dict[str, Any]) -> list[str]:
    try:
        details = plan_details(read(ResearchPlan, plan))
    except Invalid as error:
        details = list(error.details)
    return [f"{format_detail(detail)}." for detail in details]
