"""The datasets that an agent may ask about, and in which state each of them is."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import Event
from typing import Any, Final, Self

from msgspec import Struct, field

from livedata.config import load
from livedata.mcp.answers import Answer, cut_sentence
from livedata.messages import request
from livedata.messages.controls import escape_controls
from livedata.model.dataset import Dataset
from livedata.model.errors import Invalid, NotFound
from livedata.model.ids import DatasetId, OwnerName, format_optional_timestamp
from livedata.model.problem import Remedy
from livedata.rules.network.targets import TargetPolicy, url_problem
from livedata.services import queries
from livedata.services.served_tables import StateOfTable, state_of_table
from livedata.store import dataset_names, runs
from livedata.store.database.backend import Reader
from livedata.store.database.store import Database

LONGEST_NAME: Final = 120 * len(r"\u202e")
"""In characters: that of a dataset, with each of them written out."""
_RECENT: Final = 20
"""Among so many Runs is the last one that has ended: a dataset has one open Run at most."""


class OpenDataset(Struct, frozen=True):
    """A dataset as one read transaction sees it: all that an answer says of it agrees.

    `name` is what answers call it: what steers a terminal is written out in it.
    """

    db: Database
    reader: Reader
    owner: OwnerName
    id: DatasetId
    name: str
    zone: str
    writes: bool

    def dataset(self) -> Dataset:
        """The dataset itself."""
        return queries.dataset(self.db, self.owner, self.id)

    def about(self) -> Answer:
        """Which dataset an answer is about, in which state it is, and since when.

        If it is not well also why, and the tool that tells more: its rows are those of the last
        accepted Run, at `observedAt`.
        """
        dataset, table = self.dataset(), state_of_table(self.reader, self.id)
        answer: Answer = {
            "dataset": self.name,
            "state": table.state,
            "since": self._since(dataset, table),
            "observedAt": table.observed_at,
        }
        if table.state == "ok":
            return answer
        answer["why"] = cut_sentence(self._why(table))
        is_begun = dataset["lastRun"] is not None or table.state != "draft" or not self.writes
        answer["try"] = [explain_call(self.name) if is_begun else run_call(self.name)]
        return answer

    def _since(self, dataset: Dataset, table: StateOfTable) -> str | None:
        if table.state in {"held", "failed", "blocked"}:
            return format_optional_timestamp(runs.wrong_since(self.reader, self.id))
        return table.observed_at if table.state == "ok" else dataset["updatedAt"]

    def _why(self, table: StateOfTable) -> str:
        rows = "It has no rows yet: no Run has been accepted."
        if table.observed_at is not None:
            rows = f"Its rows are those that were read at {table.observed_at}."
        if table.state == "paused":
            return f"Its owner has paused it, so it is not read by its schedule. {rows}"
        if table.state == "draft":
            return rows
        newest = queries.runs(self.db, self.owner, self.id, _RECENT)
        error = next((run["error"] for run in newest if run["completedAt"] is not None), None)
        return f"{error or 'Its last Run was not accepted.'} {rows}"


class DatasetAccess(Struct, frozen=True):
    """The datasets of an owner, or some of them, in a store.

    `sites` are the only hosts that its tools may read, with commas between; "" is all that the
    settings let be read. `writes` says whether it may make tables and run them. `withdrawn` is set
    once nobody waits for the answer any more.
    """

    database: Database
    owner: OwnerName
    zone: str
    only: frozenset[DatasetId] | None = None
    sites: str = ""
    writes: bool = False
    withdrawn: Event = field(default_factory=Event)

    @classmethod
    def of(cls, database: Database, owner: OwnerName, zone: str, names: Sequence[str]) -> Self:
        """All datasets of an owner, or those of these names. Raises NotFound."""
        # To read makes no store: a home that is mistyped must not look like an empty one.
        database.require()
        chosen = {queries.find_dataset(database, owner, name) for name in names}
        return cls(database, owner, zone, frozenset(chosen) if names else None)

    @classmethod
    def of_those_there(
        cls, database: Database, owner: OwnerName, zone: str, names: Sequence[str]
    ) -> Self:
        """All datasets of an owner, or those of these names that this owner has."""
        chosen: set[DatasetId] = set()
        for name in names:
            # The names are for all owners, and must not tell one of them what another has.
            with suppress(NotFound):
                chosen.add(queries.find_dataset(database, owner, name))
        return cls(database, owner, zone, frozenset(chosen) if names else None)

    @contextmanager
    def opened(self, given: str) -> Iterator[OpenDataset]:
        """The dataset of a name. Raises NotFound, which lists what there is."""
        wanted = escape_controls(given)
        with self.database.at_one_moment() as moment, moment.reading() as reader:
            chosen, name = dataset_names.named(reader, self.owner, given), wanted
            if chosen is None or given != wanted or not self._may_see(chosen):
                names = [(key, escape_controls(name)) for key, name in self._after(reader, "")]
                chosen = queries.choose_dataset(wanted, names)
                name = dict(names)[chosen]
            yield self._open(moment, reader, chosen, name)

    @contextmanager
    def every(self, after: str) -> Iterator[Iterator[OpenDataset]]:
        """The datasets whose names come after one, by name."""
        with self.database.at_one_moment() as moment, moment.reading() as reader:
            if "\\" in after:
                # Written out, it may be less or more than others that it was not.
                names = (name for _, name in self._after(reader, ""))
                after = next((name for name in names if escape_controls(name) == after), after)
            yield (
                self._open(moment, reader, key, escape_controls(name))
                for key, name in self._after(reader, after)
            )

    def _open(self, db: Database, reader: Reader, key: DatasetId, name: str) -> OpenDataset:
        return OpenDataset(db, reader, self.owner, key, name, self.zone, self.writes)

    def _may_see(self, dataset: DatasetId) -> bool:
        return self.only is None or dataset in self.only

    def _after(self, reader: Reader, name: str) -> Iterator[tuple[DatasetId, str]]:
        """The (id, name) of those whose names come after one, by name."""
        names = dataset_names.after(reader, self.owner, name)
        return ((key, name) for key, name in names if self._may_see(key))


def explain_call(dataset: str) -> dict[str, Any]:
    """The call of a tool that says why a dataset is not as it should be."""
    return {"tool": "explain_run", "arguments": {"dataset": dataset}}


def run_call(dataset: str) -> dict[str, Any]:
    """The call of a tool that reads the website of a dataset."""
    return {"tool": "run_dataset", "arguments": {"dataset": dataset}}


ONLY: Final = "LIVEDATA_ONLY_HOSTS"
_NAMED: Final = 10


def environ(access: DatasetAccess) -> dict[str, str]:
    """The environment of this process, where `sites` narrows what may be read."""
    narrowed = {ONLY: access.sites} if access.sites else {}
    return {**os.environ, **narrowed}


def targets(access: DatasetAccess) -> TargetPolicy:
    """What an agent may have read."""
    return load(environ(access)).targets


def check_url(access: DatasetAccess, what: str, url: str) -> None:
    """Raise Invalid if a URL may not be read; `what` is the subject of the sentence."""
    problem = url_problem(url, targets(access))
    if problem is not None:
        why = f"{what} {request.predicate(problem)}."
        raise Invalid(why, remedies=problem.remedies)


def who_names_hosts(access: DatasetAccess, remedies: Sequence[Remedy]) -> str:
    """Behind what is wrong with a host: which may be read, and who says so; "" if nothing is."""
    if all(remedy.code != "name_host" for remedy in remedies):
        return ""
    hosts = sorted(targets(access).only or ())
    more = f" and {len(hosts) - _NAMED} more" if len(hosts) > _NAMED else ""
    where = "--sites of livedata mcp" if access.sites else ONLY
    named = f"{', '.join(hosts[:_NAMED])}{more}"
    return f" Those are {named}: ask for a page there, or your person, who names them in {where}."


def of_agents(access: DatasetAccess, remedies: Sequence[Remedy]) -> Iterator[Remedy]:
    """The remedies of a Run, of which the one for a host names what a person wrote for agents."""
    sites = TargetPolicy.parse("", access.sites)
    for remedy in remedies:
        if remedy.code != "name_host":
            yield remedy
            continue
        is_of_sites = not _covers(sites, remedy.params)
        if is_of_sites:
            yield Remedy("name_site", remedy.params)
        # The settings of this command, or of another one that executed the Run.
        if not is_of_sites or not _covers(load().targets, remedy.params):
            yield remedy


def _covers(policy: TargetPolicy, params: Mapping[str, object]) -> bool:
    host, _, port = str(params["host"]).rpartition(":")
    return policy.covers(host, int(port))
