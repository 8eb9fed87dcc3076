"""``runs explain``: why a Run ended as it did, and what to try next."""

from __future__ import annotations

from pathlib import Path

from livedata.cli.context import CommandContext
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.output.tables import print_table
from livedata.model.diagnosis.explanation import Explanation, FailedPage
from livedata.model.errors import LivedataError, NotFound
from livedata.services import explanation, queries


def explain_run(ctx: CommandContext, name: str) -> None:
    """Print the causes that the Run that `name` names leaves open, likeliest first."""
    with ctx.reading() as db:
        run_id = queries.find_run(db, ctx.owner, name)
        explained = explanation.explanation(db, ctx.owner, run_id)
    if ctx.json:
        print_json(explained)
    else:
        _print_explanation(explained)


def show_page(
    ctx: CommandContext, name: str, *, print_markup: bool, screenshot: str | None
) -> None:
    """Print the kept page of the Run that `name` names, or write its picture, or both."""
    with ctx.reading() as db:
        run_id = queries.find_run(db, ctx.owner, name)
        page = explanation.failed_page(db, ctx.owner, run_id)
    if screenshot is not None:
        _write_screenshot(page, screenshot)
    if print_markup:
        print_text(page.markup)
        if page.cut:
            print_message("This is the beginning of the page: the rest was cut off, after 64 KiB.")


def _write_screenshot(page: FailedPage, file: str) -> None:
    if page.screenshot is None:
        raise NotFound(
            'No screenshot is kept: only Runs with render = "browser" make them, of pages that '
            "let themselves be painted."
        )
    try:
        Path(file).write_bytes(page.screenshot)
    except OSError as error:
        raise LivedataError(f"{file} cannot be written: {error.strerror}.") from error
    print_message(f"Wrote the picture of page {page.number} to {file}.")


def _print_explanation(explained: Explanation) -> None:
    print_text(f"Run {explained['runId']}: {explained['status']}")
    if explained["error"]:
        print_text(f"It said: {explained['error']}")
    if not explained["causes"]:
        open_ = explained["status"] in {"queued", "running"}
        print_text("It is not over yet." if open_ else "Nothing looks odd.")
    for number, one in enumerate(explained["causes"], 1):
        print_text(f"\n{number}. {one['message']}")
        for line in one["evidence"]:
            # The error stands in the second line already.
            if line != explained["error"]:
                print_text(f"   found: {line}")
        for line in one["next"]:
            print_text(f"   try:   {line}")
    _print_kept_page(explained)
    if explained["suggestions"]:
        print_text("\nWhere rows of the table stand on the kept page (suggestions, not applied):")
    for clue in explained["suggestions"]:
        attribute = f" @{clue['attribute']}" if "attribute" in clue else ""
        where = f"{clue['selector']}{attribute}"
        print_text(
            f"   {clue['target']}: {where!r} finds {clue['found']} of {clue['known']} known rows"
        )


def _print_kept_page(explained: Explanation) -> None:
    page = explained["page"]
    if page is None:
        return
    print_text(f"\nKept page {page['number']}: {page['finalUrl']}, status {page['status']}")
    if explained["matches"]:
        print_table(
            ("selector", "matches now", "in the last accepted Run"),
            [(one["target"], one["now"], one["before"]) for one in explained["matches"]],
        )
