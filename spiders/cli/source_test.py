"""``dataset test``: reads saved pages again, and compares the rows with those saved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import click

from livedata.cli.completion import complete_source
from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.change_lines import format_cell, format_changed_cell
from livedata.cli.output.streams import paint, print_json, print_message, print_painted, print_text
from livedata.cli.output.values import format_inline
from livedata.cli.output.whole_file import whole_file
from livedata.hints import Subject
from livedata.messages.templates import plural
from livedata.model.errors import Invalid
from livedata.model.recipe import Recipe
from spiders.cli.trial import Trial, try_out
from spiders.cli.trial_report import MOST_LINES
from spiders.cli.tried_source import file_recipe, tried_source
from spiders.crawl.engine import crawl_engine, end_process
from spiders.crawl.job import CrawlJob
from spiders.crawl.settings import FetchConfig, fetch_config
from spiders.saved.pages import open_pages
from spiders.saved.rows import (
    AGAIN,
    KINDS,
    ROWS,
    Differences,
    RowDifference,
    SavedRows,
    differences,
    read_rows,
    write_rows,
)

_ENDS: Final = {
    "accept": "accept this",
    "held": "hold this",
    "failed": "not accept this",
    "blocked": "be blocked",
}
"""How a Run ends -> what it would do."""


@click.command("test")
@click.argument("tested", metavar="SOURCE|D", shell_complete=complete_source)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--update", is_flag=True, help="Keep the rows that are read now, for the next test.")
@common_options
def run_test(ctx: CommandContext, tested: str, folder: Path, update: bool) -> None:
    """Test a source on the pages that livedata preview SOURCE --save DIR has kept.

    Reads them again as a Run does, without any network, and compares the rows with those that were
    saved. The exit code is 0 if all are equal, and 1 if not. Nothing is stored.
    """
    fetching = fetch_config(ctx.settings)
    pages, before = open_pages(folder), read_rows(folder)
    if not before.rows:
        raise Invalid(f"{folder / ROWS} has no rows to compare with; {AGAIN}.")
    recipe = _recipe(ctx, tested, fetching)
    job = pages.job(CrawlJob(recipe, fetching))
    with crawl_engine() as engine:
        trial = engine.run(try_out(engine, job, pages.limit(recipe)))
    pages.check()
    after = trial.saved_rows
    diff = differences(before, after)
    if ctx.json:
        print_json(_json(trial, diff))
    else:
        _report(trial, diff, folder)
    kept = update and _kept(folder, after)
    if diff.any and after.rows and not update:
        again = Subject(owner=ctx.owner).command(
            "dataset test", tested, str(folder), options=["--update"]
        )
        print_message(f"If the source is right, keep the rows as they are now: {again}")
    end_process(1 if diff.any and not kept else 0, engine)


def _recipe(ctx: CommandContext, source: str, fetching: FetchConfig) -> Recipe:
    """The recipe of a file or a dataset."""
    # A machine that only tests sources has no store, and needs none.
    if Path(source).is_file():
        return file_recipe(Path(source), fetching)
    with ctx.reading() as db:
        return tried_source(db, ctx.owner, source, fetching).recipe


def _kept(path: Path, rows: SavedRows) -> bool:
    """Whether there are rows now, which are kept for the next test."""
    if not rows.rows:
        print_message(f"{path / ROWS} stays as it is: without rows nothing could be compared.")
        return False
    with whole_file(path / ROWS) as part:
        write_rows(part, rows)
    print_message(f"{path / ROWS} has the rows as they are now.")
    return True


def _report(trial: Trial, diff: Differences, path: Path) -> None:
    pages = f"{plural(len(trial.harvest.pages), 'page')} in {path}"
    if not diff.any:
        print_text(f"{pages}: {plural(diff.unchanged, 'row')} as saved.")
        return
    counts = ", ".join(f"{diff.count(kind)} {kind}" for kind in KINDS)
    print_text(f"{pages}: {counts}; {plural(diff.unchanged, 'row')} as saved.")
    for line in _of_the_whole(trial, diff):
        print_text(f"  {line}")
    for change in diff.rows[:MOST_LINES]:
        cells = ", ".join(_cells(change))
        line = f"  {paint(f'{change.kind:<7}', change.kind)}  {format_inline(change.row)}  {cells}"
        print_painted(line.rstrip())
    if len(diff.rows) > MOST_LINES:
        more = plural(len(diff.rows) - MOST_LINES, "row")
        print_message(f"  … and {more} more; --json has all.")


def _of_the_whole(trial: Trial, diff: Differences) -> Iterator[str]:
    """What is not as it was, a line each, but for the rows."""
    if diff.outcome is not None:
        before, after = (_ENDS[outcome] for outcome in diff.outcome)
        why = f" {trial.error}" if trial.error else ""
        yield f"A Run would {after}; when the pages were saved it would {before}.{why}"
    if diff.key is not None:
        before_, after_ = (" and ".join(names) for names in diff.key)
        yield f"The key was {before_}, and is {after_}."
    for name, (was, is_) in diff.columns.items():
        had, has = diff.filled[name]
        if was is None:
            yield f"The column {name} is new, with a value in {plural(has, 'row')}."
        elif is_ is None:
            yield f"The column {name} is gone, which had a value in {plural(had, 'row')}."
        else:
            yield f"The column {name} was of type {was}, is of type {is_}, and is not compared."


def _cells(change: RowDifference) -> Iterator[str]:
    for name, (before, after) in change.cells.items():
        if change.kind == "new":
            yield format_cell(name, after)
        else:
            yield format_changed_cell(name, before, after)


def _json(trial: Trial, diff: Differences) -> dict[str, Any]:
    return {
        "equal": not diff.any,
        "pages": len(trial.harvest.pages),
        **{kind: diff.count(kind) for kind in KINDS},
        "unchanged": diff.unchanged,
        "rows": [
            {"kind": change.kind, "row": change.row, "cells": _pairs(change.cells)}
            for change in diff.rows
        ],
        "columns": {
            name: {**_pair(types), "filled": _pair(diff.filled[name])}
            for name, types in diff.columns.items()
        },
        "key": None if diff.key is None else _pair(diff.key),
        "outcome": None if diff.outcome is None else _pair(diff.outcome),
        "error": trial.error,
    }


def _pairs(values: Mapping[str, tuple[object, object]]) -> dict[str, Any]:
    return {name: _pair(pair) for name, pair in values.items()}


def _pair(pair: tuple[object, object]) -> dict[str, Any]:
    before, after = pair
    return {"before": before, "after": after}
