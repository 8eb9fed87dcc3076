"""``research try``: one page, asked about in each way, and what the model understood of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from livedata.cli.context import CommandContext, common_options
from livedata.cli.machine import outcome_in_words
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.output.tables import print_table
from livedata.cli.source.source_file import read_declaration
from livedata.messages.research_findings import fact_meaning
from livedata.model.errors import Invalid
from livedata.model.research.declaration import PlanFile
from livedata.research.asking.windows import windows
from livedata.research.providers import require_packages
from livedata.research.providers.trial import MARKUP, PLAN, URL, compiled, page_text
from livedata.rules.declaration.research import require_model

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from livedata.cli.context import CommandContext
    from livedata.model.research.recipe import TablePlan
    from livedata.research.providers.trial import Tried


@click.command("try")
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
def try_model(ctx: CommandContext, page: Path | None, plan_file: Path | None) -> None:
    """Ask the model about one page, and print what it understood.

    Each output mode is tried, so that you see which of them the server of the model understands.
    PAGE is a page that is saved as HTML, and needs --plan; without it a page of three makers of
    lamps is asked about. Only the model is asked, and nothing is stored.
    """
    if (page is None) is not (plan_file is None):
        raise click.UsageError("Give a PAGE and --plan FILE, or neither of them.")
    settings = ctx.settings.research
    require_model(settings)
    require_packages()
    # Imported late: the packages of the extra.
    from livedata.research.providers.trial import try_modes

    declared = PLAN if plan_file is None else read_declaration(PlanFile, plan_file).plan.declared
    plan = compiled(declared)
    markup = MARKUP.encode() if page is None else page.read_bytes()
    read = page_text(markup, URL)
    if not read.text:
        raise Invalid(f"{page} has no text; name a page that is saved as HTML.")
    if len(windows(read.text)) > 1 and not ctx.json:
        print_message("Of this page only the beginning is asked about, as a Run asks of each part.")
    tried = []
    for each in try_modes(settings, plan, read):
        tried.append(each)
        if not ctx.json:
            print_message(f"{each.mode}: {outcome_in_words(each)}")
    best = next((each for each in tried if each.works), None)
    if ctx.json:
        print_json({"modes": [_as_json(plan, each) for each in tried], "best": best and best.mode})
    elif best is not None:
        _print_best(plan, best, settings.model_output)
    if best is None:
        if not ctx.json:
            print_text(
                "The model understood nothing of the page in any output mode: look at "
                "LIVEDATA_MODEL and LIVEDATA_MODEL_BASE_URL, or try another model."
            )
        raise click.exceptions.Exit(1)


def _print_best(plan: TablePlan, best: Tried, is_set: str) -> None:
    print_text("")
    labels = [attribute.label for attribute in plan.attributes]
    print_table(
        (plan.name_label, *labels),
        [(row.name, *(cell.value for cell in row.cells)) for row in best.understood.rows],
    )
    for line in _dropped(best, labels):
        print_text(line)
    print_text("")
    if best.mode == is_set:
        print_text(f"The server understands the output mode that is set, {best.mode}.")
    else:
        print_text(f"The server understands another output mode than {is_set}; set it:")
        print_text(f"export LIVEDATA_MODEL_OUTPUT={best.mode}")


def _dropped(best: Tried, labels: Sequence[str]) -> list[str]:
    rows = [f"Refused {name}: {fact_meaning(code)}" for name, code in best.understood.refused]
    cells = [
        f"Dropped {label} of {row.name}: {fact_meaning(cell.fault)}"
        for row in best.understood.rows
        for label, cell in zip(labels, row.cells, strict=True)
        if cell.fault is not None
    ]
    return [*rows, *cells]


def _as_json(plan: TablePlan, tried: Tried) -> dict[str, Any]:
    understood = tried.understood
    labels = [attribute.label for attribute in plan.attributes]
    return {
        "output": tried.mode,
        "error": understood.failure and (understood.failure.detail or understood.failure.code),
        "rows": [
            {
                "name": row.name,
                "cells": {
                    label: {"value": cell.value, "quote": cell.quote}
                    for label, cell in zip(labels, row.cells, strict=True)
                },
            }
            for row in understood.rows
        ],
        "refused": [{"name": name, "code": code} for name, code in understood.refused],
        "inputTokens": understood.usage.input_tokens,
        "outputTokens": understood.usage.output_tokens,
        "seconds": round(tried.seconds, 3),
    }
