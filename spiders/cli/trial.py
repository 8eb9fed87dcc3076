"""A trial of a source: a crawl of its first pages that nobody saves."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from livedata.messages.render import sentence
from livedata.model.harvest import Harvest, Record
from livedata.model.problem import Problem
from livedata.model.recipe import Recipe, compile_recipe
from livedata.model.requests import CreateDataset
from livedata.model.source import pinned_column
from livedata.rules.changes.checks import Verdict, distinct, judge
from livedata.rules.changes.compare import Changes
from livedata.rules.changes.guards import Comparison
from livedata.rules.declaration import consistency
from livedata.rules.diagnosis.oddities import find_oddities
from livedata.rules.diagnosis.run_facts import summarize_harvest
from livedata.rules.network.targets import TargetPolicy
from spiders.crawl.engine import CrawlEngine
from spiders.crawl.job import CrawlJob
from spiders.saved.rows import SavedRows


class Trial(Struct, frozen=True):
    """What a trial found; `cut` says that more pages follow than it was to read.

    `oddities` is what looks odd by itself, or beside the last accepted Run of a dataset.
    """

    recipe: Recipe
    harvest: Harvest
    verdict: Verdict
    cut: bool
    oddities: Sequence[Problem] = ()

    @property
    def records(self) -> list[Record]:
        """The records of all pages."""
        return [record for page in self.harvest.pages for record in page.records]

    @property
    def error(self) -> str | None:
        """What a Run would say of its end."""
        return None if self.verdict.problem is None else sentence(self.verdict.problem)

    @property
    def saved_rows(self) -> SavedRows:
        """The rows by key, and how a Run would have ended, as they are saved with the pages."""
        fields = self.recipe.fields
        names = [field.name for field in fields]
        return SavedRows(
            outcome=self.verdict.outcome,
            key=list(self.recipe.identity),
            columns={field.name: field.type for field in fields},
            rows={
                key: dict(zip(names, record.values, strict=True))
                for key, (_, record) in distinct(self.harvest).items()
            },
        )

    def unreadable(self, position: int) -> tuple[int, int, str] | None:
        """The page, the item and the text of the first cell of a field that cannot be read."""
        for page in self.harvest.pages:
            for record in page.records:
                if record.reasons[position] == "extraction_failed":
                    return page.number, record.number, record.texts[position] or ""
        return None

    def beside(self, held: Problem | None, oddities: Sequence[Problem]) -> Trial:
        """The trial as a drift guard judges it, which may hold such a Run."""
        verdict = self.verdict
        if held is not None:
            verdict = replace(verdict, outcome="held", rule="mass_loss", problem=held)
        return replace(self, verdict=verdict, oddities=oddities)

    def filled(self, position: int) -> tuple[int, int, int]:
        """Of a field: in how many records its read matched, is filled, could not be read."""
        records = self.records
        return (
            sum(page.matches[position] for page in self.harvest.pages),
            sum(record.values[position] is not None for record in records),
            sum(record.reasons[position] == "extraction_failed" for record in records),
        )


def trial_recipe(declaration: CreateDataset, targets: TargetPolicy) -> Recipe:
    """The recipe that creating a dataset would pin, with names for ids.

    Raises Invalid as creating it would.
    """
    consistency.check(declaration, targets)
    columns = [pinned_column(column, column.name) for column in declaration.columns]
    return compile_recipe(1, declaration.source.pinned(), columns)


async def try_out(engine: CrawlEngine, job: CrawlJob, pages: int) -> Trial:
    """Read at most `pages` pages of a recipe, and judge them as a Run's would be judged."""
    recipe = job.recipe
    allowed = min(pages, recipe.max_pages)
    short = replace(recipe, max_pages=allowed)
    harvest = await engine.crawl(replace(job, recipe=short))
    verdict = judge(harvest, short)
    cut = allowed < recipe.max_pages and harvest.ending.rule == "max_pages"
    # A Run that stops at its limit is held; a trial stops at its own, which says nothing of the
    # source. What counts is how the Checks of the pages that were read ended.
    if cut:
        checks = [check for check in verdict.checks if not check.of_whole]
        outcome = "accept" if all(check.passed for check in checks) else "failed"
        verdict = replace(verdict, checks=checks, outcome=outcome)
    alone = Comparison(recipe, summarize_harvest(harvest, recipe), {}, 0, Changes([], []))
    return Trial(recipe, harvest, verdict, cut, find_oddities(alone, ()))
