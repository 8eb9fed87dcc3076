"""Crawls for tests: one reactor for the whole session, recipes from a few words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.harvest import PageRead
from livedata.model.requests import CreateDataset
from livedata.model.research.record import ResearchStep
from livedata.model.research.settings import ResearchSettings
from livedata.model.run import Run
from livedata.rules.network.targets import TargetPolicy
from livedata.services import datasets, queries, runs
from livedata.services.commit import AcceptancePolicy
from livedata.services.run_report import RunReport
from livedata.store.database.store import Store
from livedata.store.queue import RunOptions
from spiders.crawl.engine import CrawlEngine
from spiders.crawl.settings import FetchConfig
from spiders.worker.executor import Executor
from spiders.worker.running import Stage
from tests.patience import LONG

FIELDS: Mapping[str, Mapping[str, object]] = {
    "sku": {"kind": "attribute", "attribute": "data-sku"},
    "name": {"selector": "h2 a"},
    "price": {"selector": ".price"},
    "stock": {"selector": ".stock"},
}
COLUMNS: tuple[Mapping[str, object], ...] = (
    {"name": "sku", "type": "string", "key": True},
    {"name": "name", "type": "string"},
    {"name": "price", "type": "number"},
    {"name": "stock", "type": "boolean"},
)


def shop_source(url: str, **changes: Any) -> dict[str, Any]:
    """The declaration of ``tests.shop``'s listing at `url`; `changes` are the source's."""
    source = {
        "version": 1,
        "url": url,
        "itemSelector": "li.product",
        "fields": [{"name": name, "read": read_} for name, read_ in FIELDS.items()],
        "identity": {"kind": "source-key", "field": "sku"},
        "pagination": {"kind": "next-link", "selector": "a.next"},
        **changes,
    }
    return {"name": "shop", "columns": list(COLUMNS), "source": source}


class Crawling:
    """Creates datasets and runs them in the session's reactor, as ``livedata run`` does."""

    def __init__(self, engine: CrawlEngine, store: Store) -> None:
        self.engine = engine
        self.loop = engine.loop
        self.store = store
        self.pages: list[PageRead] = []
        self.research = ResearchSettings()

    def create(
        self, declared: Mapping[str, Any], *, allow: str, owner: str = "local"
    ) -> ids.DatasetId:
        """A dataset; its id. `allow` names the loopback hosts that it may read."""
        body = read(CreateDataset, dict(declared))
        made = datasets.create(self.store, owner, body, TargetPolicy.parse(allow))
        return ids.DatasetId(ids.raw_id(made["id"]))

    def run(
        self,
        dataset: ids.DatasetId,
        *,
        allow: str,
        only: str = "",
        owner: str = "local",
        policy: AcceptancePolicy = AcceptancePolicy(),  # noqa: B008  (it is frozen)
        timeout: float = LONG,
        how: Mapping[str, Any] = MappingProxyType({}),
        during: Callable[[Executor], None] | None = None,
        options: RunOptions = RunOptions(),  # noqa: B008  (it is frozen)
    ) -> Run:
        """One whole Run, fetched as `how` says; `during` is told the executor at each page."""
        [run] = self.run_together(
            {dataset: owner},
            allow=allow,
            only=only,
            policy=policy,
            timeout=timeout,
            how=how,
            during=during,
            options=options,
        )
        return run

    def run_together(
        self,
        owners: Mapping[ids.DatasetId, str],
        *,
        allow: str,
        only: str = "",
        policy: AcceptancePolicy = AcceptancePolicy(),  # noqa: B008  (it is frozen)
        timeout: float = LONG,
        how: Mapping[str, Any] = MappingProxyType({}),
        during: Callable[[Executor], None] | None = None,
        options: RunOptions = RunOptions(),  # noqa: B008  (it is frozen)
    ) -> list[Run]:
        """A Run of each dataset, all at one time; `owners` says whose each is."""
        queue = [
            runs.take_up(
                *(self.store, owner, dataset, queries.dataset(self.store, owner, dataset)["name"]),
                options=options,
            )
            for dataset, owner in owners.items()
        ]
        given = {"user_agent": "livedata-tests", "timeout": timeout, **how}
        fetching = FetchConfig(TargetPolicy.parse(allow, only), **given)

        def progress(_queued: object, page: PageRead | ResearchStep | Stage) -> None:
            if isinstance(page, PageRead):
                self.pages.append(page)
            if during is not None:
                during(executor)

        executor = Executor(self.store, self.engine, fetching, policy, progress, 4, self.research)
        self.loop.run_until_complete(executor.execute(queue))
        for error in executor.errors.values():
            raise error
        return [
            queries.run(self.store, owner, queued.run)
            for queued, owner in zip(queue, owners.values(), strict=True)
        ]

    def remedies(self, run: Run) -> list[str]:
        """The codes of what may help a Run that was not accepted."""
        problem = self.story(run).problem
        return [remedy.code for remedy in problem.remedies] if problem else []

    def story(self, run: Run, owner: str = "local") -> RunReport:
        """What a Run stored at its end."""
        return queries.run_report(self.store, owner, ids.RunId(ids.raw_id(run["id"])))
