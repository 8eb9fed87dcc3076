"""``research try``: one page, asked about in each way, and what the model understood of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.output.tables import print_table
from livedata.cli.output.tried import outcome_in_words
from livedata.cli.source.source_file import read_declaration
from livedata.messages.diagnosis.research import fact_meaning
from livedata.model.errors import Invalid
from livedata.model.research.declaration import PlanFile
from livedata.research.asking.windows import windows
from livedata.research.providers.readiness import require_packages
from livedata.research.providers.sample import MARKUP, PLAN, URL, compiled, page_text
from livedata.rules.declaration.research import require_model

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from livedata.cli.context import CommandContext
    from livedata.model.research.recipe import Plan
    from livedata.research.providers.trial import Tried


def try_model(ctx: CommandContext, page_file: Path | None, plan_file: Path | None) -> None:
    """Ask about a page in each output mode, and print what was understood; 1 if nothing was."""
    settings = ctx.settings.research
    require_model(settings)
    require_packages()
    # Imported late: the packages of the extra.
    from livedata.research.providers.trial import try_modes

    declared = PLAN if plan_file is None else read_declaration(PlanFile, plan_file).plan.declared
    plan = compiled(declared)
    markup = MARKUP.encode() if page_file is None else page_file.read_bytes()
    page = page_text(markup, URL)
    if not page.text:
        raise Invalid(f"{page_file} has no text; name a page that is saved as HTML.")
    if len(windows(page.text)) > 1 and not ctx.json:
        print_message("Of this page only the beginning is asked about, as a Run asks of each part.")
    tried = []
    for each in try_modes(settings, plan, page):
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


def _print_best(plan: Plan, best: Tried, is_set: str) -> None:
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


def _as_json(plan: Plan, tried: Tried) -> dict[str, Any]:
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
