"""``livedata preview``: the same crawl as a Run's, of a few pages that nobody takes over."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from livedata.cli.context import CommandContext, common_options
from livedata.cli.hints import Subject, hint
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.output.tables import print_record, print_table
from livedata.cli.output.values import Value, format_value, pluralize
from livedata.cli.source.source_file import locate_problems, read_source
from livedata.extraction.outline import outline
from livedata.messages.render import check_result, sentence
from livedata.model.errors import Invalid
from livedata.model.harvest import Harvest, PageRead, PageSnapshot, Record
from livedata.model.problem import Remedy
from livedata.model.recipe import Recipe, RecipeField
from livedata.model.requests import CreateDataset
from livedata.rules.changes.checks import Verdict, distinct, judge
from livedata.rules.declaration import consistency
from livedata.rules.network.targets import TargetPolicy
from spiders.crawl.engine import CrawlEngine, crawl_engine
from spiders.crawl.job import CrawlJob
from spiders.crawl.settings import FetchConfig, fetch_config

FIRST_ROWS = 5
BEGINNING = 200
"""How much of a page's text is shown where nothing was found on it, in characters."""
_OF_THE_WHOLE = {"coverage", "minimum-items"}
"""What cannot be judged on the first pages of a list."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What a trial found; `cut` says that it stopped before the end because it was told to."""

    recipe: Recipe
    harvest: Harvest
    verdict: Verdict
    cut: bool

    @property
    def records(self) -> list[Record]:
        """The records of all pages."""
        return [record for page in self.harvest.pages for record in page.records]

    @property
    def error(self) -> str | None:
        """What a Run would say of its end."""
        return None if self.verdict.problem is None else sentence(self.verdict.problem)

    def filled(self, at: int) -> tuple[int, int, int]:
        """Of a field: in how many records its read matched, is filled, could not be read."""
        records = self.records
        return (
            sum(page.matches[at] for page in self.harvest.pages),
            sum(found.values[at] is not None for found in records),
            sum(found.reasons[at] == "extraction_failed" for found in records),
        )

    def as_json(self) -> dict[str, Any]:
        """The trial as one object."""
        names = [field.name for field in self.recipe.fields]
        return {
            "pages": [
                {
                    "url": page.url,
                    "finalUrl": page.final_url,
                    "status": page.status,
                    "title": page.title,
                    "items": len(page.records),
                }
                for page in self.harvest.pages
            ],
            "fields": [
                dict(
                    zip(
                        ("name", "matched", "filled", "extractionFailed"),
                        (name, *self.filled(at)),
                        strict=True,
                    )
                )
                for at, name in enumerate(names)
            ],
            "rows": [
                dict(zip(names, found.values, strict=True)) for found in self.records[:FIRST_ROWS]
            ],
            "complete": self.harvest.ending.rule == "natural_end",
            "checks": [check_result(check) for check in self.verdict.checks],
            "outcome": self.verdict.outcome,
            "error": self.error,
        }


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
    declared = read_source(source)
    how = fetch_config(ctx.settings)
    try:
        recipe = trial_recipe(declared, how.targets)
    except Invalid as error:
        raise locate_problems(error, source) from error
    with crawl_engine() as engine:
        trial = engine.run(try_out(engine, recipe, how, pages))
    if ctx.json:
        print_json(trial.as_json())
    else:
        show(trial, Remedy("create_dataset", {"owner": ctx.owner, "file": str(source)}))
    raise SystemExit({"failed": 3, "blocked": 4, "held": 5}.get(trial.verdict.outcome, 0))


def trial_recipe(declared: CreateDataset, targets: TargetPolicy) -> Recipe:
    """The recipe that creating a dataset would pin, with names for ids.

    Raises Invalid as creating it would.
    """
    consistency.check(declared, targets)
    columns = {column.name: column for column in declared.columns}
    fields = tuple(
        RecipeField(
            id=field.name,
            name=field.name,
            label=columns[field.name].label or field.name,
            type=columns[field.name].type,  # type: ignore[arg-type]  # checked just now
            position=at,
            required=field.required,
        )
        for at, field in enumerate(declared.source.fields)
    )
    return Recipe(1, declared.source, fields)


async def try_out(engine: CrawlEngine, recipe: Recipe, fetching: FetchConfig, pages: int) -> Trial:
    """Read at most `pages` pages of a recipe, and judge them as a Run's would be judged."""
    allowed = min(pages, recipe.source.max_pages)
    short = replace(recipe, source=recipe.source.model_copy(update={"max_pages": allowed}))
    harvest = await engine.crawl(CrawlJob(short, fetching))
    verdict = judge(harvest, short)
    cut = allowed < recipe.source.max_pages and harvest.ending.rule == "max_pages"
    if cut:
        checks = [check for check in verdict.checks if check.id not in _OF_THE_WHOLE]
        outcome = "accept" if all(check.passed for check in checks) else "failed"
        verdict = replace(verdict, checks=checks, outcome=outcome)  # type: ignore[arg-type]
    return Trial(recipe, harvest, verdict, cut)


def show(trial: Trial, next_: Remedy) -> None:
    """Tell a person what a trial found; where nothing could be read, only why."""
    if not trial.harvest.pages:
        print_message(trial.error or "No page could be read.")
        return
    for page in trial.harvest.pages:
        print_text(
            f"Page {page.number}: {page.final_url} (status {page.status}"
            f"{', ' + repr(page.title) if page.title else ''}), "
            f"{pluralize(len(page.records), 'item')}{_links(trial, page)}"
        )
    for answer in _unfound(trial):
        if answer.number > len(trial.harvest.pages):
            print_text(
                f"Page {answer.number}: {answer.final_url} (status {answer.status}), not read"
            )
        text = beginning(answer)
        print_text(f"  The page begins: {text!r}" if text else "  The page has no text.")
    _show_fields(trial)
    _show_rows(trial)
    _show_verdict(trial, next_)


def beginning(page: PageSnapshot) -> str:
    """The first characters of a page's text; of its markup where that has none."""
    markup = page.markup.decode()
    text = outline(markup).text or " ".join(markup.split())
    return text[:BEGINNING] + ("…" if len(text) > BEGINNING else "")


def _unfound(trial: Trial) -> list[PageSnapshot]:
    """The first answer in which nothing was found, whether it was a page or a refusal."""
    filled = {page.number for page in trial.harvest.pages if page.records}
    return [page for page in trial.harvest.seen if page.number not in filled][-1:]


def _links(trial: Trial, page: PageRead) -> str:
    """What leads on from a page, or says that it is the last."""
    if page.links is None:
        return ""
    kind = trial.recipe.source.pagination.kind
    what = "next link" if kind == "next-link" else "end marker"
    return f", {page.links} {what}{'' if page.links == 1 else 's'}"


def _show_fields(trial: Trial) -> None:
    total = len(trial.records)
    lines: list[list[Value]] = []
    for at, (known, declared) in enumerate(
        zip(trial.recipe.fields, trial.recipe.source.fields, strict=True)
    ):
        matched, filled, unreadable = trial.filled(at)
        read = declared.read
        place = read.selector or "(the item itself)"
        what = place if read.kind == "text" else f"{place} @{read.attribute}"
        lines.append(
            [known.name, what, f"{matched} of {total}", filled, unreadable, _example(trial, at)]
        )
    print_text("")
    print_table(["field", "read", "matched", "filled", "unreadable", "for example"], lines)


def _example(trial: Trial, at: int) -> str:
    """A value; where none could be read, a text that was found instead."""
    for found in trial.records:
        if found.values[at] is not None:
            return format_value(found.values[at])
    texts = [found.texts[at] for found in trial.records if found.texts[at]]
    return f"unreadable: {texts[0]}" if texts else ""


def _show_rows(trial: Trial) -> None:
    names = [field.name for field in trial.recipe.fields]
    rows = list(distinct(trial.harvest).values())[:FIRST_ROWS]
    heading = "row" if len(rows) == 1 else f"{len(rows)} rows"
    print_text(f"\nThe first {heading}:" if rows else "\nThere are no rows.")
    if rows:
        print_table(["key", *names], [[found.key, *found.values] for _, found in rows])


def _show_verdict(trial: Trial, next_: Remedy) -> None:
    verdict, outcome = trial.verdict, trial.verdict.outcome
    if verdict.checks:
        print_text("")
        print_record(
            {
                ("passed  " if check.passed else "FAILED  ") + check.id: check_result(check).get(
                    "message"
                )
                for check in verdict.checks
            }
        )
    unread = f"what comes after {pluralize(len(trial.harvest.pages), 'page')} was not looked at"
    if trial.cut and outcome == "accept":
        print_message(f"So far a Run would take this over; {unread}, and --pages reads more.")
    elif trial.cut:
        print_message(f"A Run would not take this over; {unread}. Nothing was stored or charged.")
    elif outcome == "accept":
        print_message(f"A Run would take this over. {hint(next_, Subject())}")
    elif not verdict.checks:
        print_message(trial.error or "")
    elif outcome == "held":
        print_message("A Run would hold this for you to look at; nothing was stored or charged.")
    else:
        print_message("A Run would not take this over; nothing was stored or charged.")
