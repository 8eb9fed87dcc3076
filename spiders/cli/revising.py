"""The next source of a dataset: proposed from its rows and its page as it is, tried beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from livedata.config import Settings
from livedata.extraction.lists.mending import Unmended
from livedata.extraction.lists.survey import survey
from livedata.extraction.work import TooMuchWork
from livedata.messages.list_doubts import unmended_for_work, unmended_sentence
from livedata.messages.validation import read
from livedata.model.errors import Invalid
from livedata.model.harvest import PageRead
from livedata.model.ids import DatasetId, OwnerName
from livedata.model.problem import Problem, Remedy
from livedata.model.requests import CreateDataset
from livedata.rules.explanation.mended_source import Known, Mending, mended_source
from livedata.services.attempts import pages_before
from livedata.services.commit import AcceptancePolicy
from livedata.services.forecast import (
    Forecast,
    current_recipe,
    forecast,
    known_rows,
    revised,
)
from livedata.store.database.codec import Fields
from livedata.store.database.store import Database
from spiders.cli.fetched_page import fetch_page
from spiders.cli.no_list import unread
from spiders.cli.trial import Trial, try_out
from spiders.crawl.engine import CrawlEngine
from spiders.crawl.job import CrawlJob
from spiders.crawl.settings import fetch_config


class NotMended(Struct, frozen=True):
    """Why nothing is proposed; `problem` if the page could not be read, or `blocked` it."""

    why: str
    problem: Problem | None = None
    blocked: bool = False


class Revising:
    """A dataset of which another source is proposed and tried; all it asks of a store is read."""

    def __init__(
        self, db: Database, owner: OwnerName, dataset: DatasetId, settings: Settings
    ) -> None:
        self._db, self._owner, self._dataset, self._settings = db, owner, dataset, settings
        self._fetching = fetch_config(settings)
        self._pages = pages_before(db, dataset)

    def mend(self, engine: CrawlEngine, known: Known) -> Mending | NotMended:
        """A source that reads the known rows on the page as it is now, or why there is none."""
        url, render = known.recipe.url, known.recipe.render
        harvest, page = engine.run(fetch_page(engine, url, render, self._fetching))
        if page is None:
            problem = harvest.ending.problem
            return NotMended(unread(problem), problem, harvest.blocked)
        try:
            mending = mended_source(survey(page), known)
        except TooMuchWork as exceeded:
            return NotMended(unmended_for_work(exceeded.selector, url))
        if isinstance(mending, Unmended):
            reason = unmended_sentence(mending.reason, mending.rows, mending.expected, url)
            return NotMended(reason)
        return mending

    def known(self, declared: Mapping[str, Any]) -> Known:
        """What is to be looked for: the rows that the declared source of the dataset has read.

        Raises Invalid for a dataset that has no rows, or whose source is no list of selectors.
        """
        recipe = current_recipe(self._db, self._owner, self._dataset)
        rows = known_rows(self._db, self._dataset, recipe)
        if not rows:
            name = declared["name"]
            raise Invalid(
                f"{name} has no rows that could be looked for: no Run of it was accepted yet.",
                remedies=(Remedy("run_first", {"owner": self._owner, "dataset": name}),),
            )
        return Known.of_pages(recipe, declared["source"], rows, self._pages)

    def try_out(
        self,
        engine: CrawlEngine,
        declaration: Mapping[str, Any],
        on_page: Callable[[PageRead], None],
    ) -> tuple[Trial, Forecast | None]:
        """Read the whole list by a declaration; what a Run would say, and what it would change.

        Raises Invalid as revising the dataset would.
        """
        declared = read(CreateDataset, dict(declaration))
        after = revised(self._db, self._owner, self._dataset, declared, self._fetching.targets)
        job = CrawlJob(after.recipe, self._fetching, self._pages, on_page=on_page)
        trial = engine.run(try_out(engine, job, after.recipe.max_pages))
        return beside_rows(
            self._db, self._owner, self._dataset, self._settings, trial, after.fields
        )


def beside_rows(
    db: Database,
    owner: OwnerName,
    dataset: DatasetId,
    settings: Settings,
    trial: Trial,
    fields: Fields | None = None,
) -> tuple[Trial, Forecast | None]:
    """A trial as a Run of a dataset, and what that would change: None if a Check refuses it.

    `fields` are those that the dataset has by then, if it is revised before. Raises NotFound.
    """
    if trial.verdict.outcome != "accept":
        return trial, None
    policy = AcceptancePolicy(settings.mass_loss, settings.guards)
    changes = forecast(db, owner, dataset, trial.recipe, trial.harvest, policy, fields)
    # Of a part of the list the guards would say that the rest is gone.
    return trial if trial.cut else trial.beside(changes.held, changes.oddities), changes
