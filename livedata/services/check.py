"""The judge of a store: whether everything in it still agrees with everything else."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from livedata.model.dataset import Column
from livedata.rules import soundness
from livedata.rules.changes import Cells
from livedata.rules.soundness import Layout, Version
from livedata.store.codec import load_positions
from livedata.store.database import Database, Reader
from livedata.store.ids import ident
from livedata.store.reads import audit

ENDED = frozenset({"succeeded", "failed", "blocked", "held"})
KINDS = {"created": 0, "updated": 1, "returned": 1, "missing": 2}


@dataclass(frozen=True, slots=True)
class Report:
    """What was judged, and one sentence for each thing that is wrong."""

    datasets: int
    rows: int
    revisions: int
    problems: list[str]


def check(db: Database) -> Report:
    """Judge the whole store, in one read transaction.

    Raises StoreUnavailable where it cannot be reached.
    """
    with db.reading() as reader:
        damage = audit.damage(reader)
        if damage:
            return Report(0, 0, 0, damage)
        judge = _Judge(reader, audit.references(reader))
        judge.look_at_datasets()
        judge.look_at_runs()
        judge.look_at_observations()
        judge.look_at_revisions()
        judge.look_at_feeds()
        judge.look_at_rows()
        judge.look_at_ledgers()
    return Report(len(judge.books), judge.rows, judge.revisions, judge.problems)


@dataclass(slots=True)
class _Book:
    """What is known of a dataset while its parts are judged."""

    dataset: audit.DatasetRow
    name: str
    layout: Layout
    widths: dict[int, int]


@dataclass(slots=True)
class _Judge:
    reader: Reader
    problems: list[str]
    books: dict[bytes, _Book] = field(default_factory=dict)
    runs: dict[bytes, audit.RunRow] = field(default_factory=dict)
    entries: dict[bytes, tuple[bytes, dict[int, int]]] = field(default_factory=dict)
    rows: int = 0
    revisions: int = 0

    def say(self, place: str, problems: Iterable[str | None]) -> None:
        self.problems.extend(f"{place} {problem}." for problem in problems if problem)

    def name(self, dataset: bytes | None) -> str:
        book = self.books.get(dataset or b"")
        return book.name if book else f"The dataset {_id(dataset)}"

    def look_at_datasets(self) -> None:
        schemas = _versions(audit.versions(self.reader, "schemas", "columns"))
        recipes = _versions(audit.versions(self.reader, "recipes", "source"))
        for found in audit.datasets(self.reader):
            name = f"The dataset {found.name} of {found.owner}"
            self.say(name, _dataset_problems(found, schemas[found.id], recipes[found.id]))
            columns, listed = _json(found.columns), _json(found.field_ids)
            if not isinstance(columns, list) or not isinstance(listed, list):
                self.say(name, ["has columns or field ids that are not JSON lists"])
                continue
            layout = _layout(columns, listed, recipes[found.id].values())
            if layout is None:
                self.say(name, ["has columns whose ids are not its field ids"])
                continue
            widths = {at: len(_json(text) or ()) for at, text in schemas[found.id].items()}
            self.books[found.id] = _Book(found, name, layout, widths)

    def look_at_runs(self) -> None:
        self.runs = {run.id: run for run in audit.runs(self.reader)}
        written: defaultdict[bytes, list[int]] = defaultdict(lambda: [0, 0, 0])
        for run_id, kind, count in audit.run_kinds(self.reader):
            if kind in KINDS:
                written[run_id][KINDS[kind]] += count
        open_runs = Counter(r.dataset for r in self.runs.values() if r.status not in ENDED)
        running = Counter(r.site for r in self.runs.values() if r.status == "running")
        for dataset, count in open_runs.items():
            self.say(self.name(dataset), [f"has {count} open Runs" if count > 1 else None])
        for site, count in running.items():
            self.say(f"The site {site}", [f"has {count} running Runs" if count > 1 else None])
        for run in self.runs.values():
            book = self.books.get(run.dataset)
            recipes = book.dataset.recipe_version if book else run.recipe_version
            problems = _run_problems(run, tuple(written[run.id]), recipes)
            self.say(f"{self.name(run.dataset)}: the Run {ident(run.id)}", problems)
        for run_id, steps in audit.steps(self.reader):
            broken = "has steps that are not a JSON list" if _not(list, steps) else None
            self.say(f"The Run {ident(run_id)}", [broken])

    def look_at_observations(self) -> None:
        for key, dataset, run, text in audit.observations(self.reader):
            place = f"{self.name(dataset)}: the observation {ident(key)}"
            self.say(place, [self._run_problem(run, dataset)])
            found = _json(text)
            try:
                self.entries[key] = (dataset, {int(item): _mask(found[item]) for item in found})
            except (TypeError, ValueError):
                self.say(place, ["has entries that cannot be read"])

    def look_at_revisions(self) -> None:
        row, before = b"", None
        for found in audit.revisions(self.reader):
            self.revisions += 1
            before = before if found.row == row else None
            row = found.row
            place = f"{self.name(found.dataset)}: revision {found.sequence} of row "
            place += found.row_key or _id(found.row)
            book = self.books.get(found.dataset)
            if book is None:
                continue
            cells = _cells(found)
            if cells is None:
                self.say(place, ["has data, reasons or overrides that cannot be read"])
                continue
            after = _version(found, cells)
            width = book.widths.get(found.schema_version, 0)
            self.say(place, _revision_problems(found, book))
            self.say(place, soundness.cells_problems(book.layout, cells, width))
            self.say(place, soundness.history_problems(before, after))
            self.say(place, self._evidence_problems(found, cells, book.layout))
            run = found.run
            self.say(place, [self._run_problem(run, found.dataset) if run else None])
            if found.row_key is not None and book.layout.identities:
                self.say(place, [soundness.key_problem(book.layout, cells, found.row_key)])
            before = after

    def look_at_feeds(self) -> None:
        heads: Counter[bytes] = Counter()
        was: dict[bytes, tuple[int, int]] = {}
        for dataset, sequence, version, at in audit.feed(self.reader):
            place = f"{self.name(dataset)}: revision {sequence}"
            if sequence != heads[dataset] + 1:
                self.say(place, [f"follows revision {heads[dataset]}, so the feed has a gap"])
            if (version, at) < was.get(dataset, (0, 0)) or at < was.get(dataset, (0, 0))[1]:
                self.say(place, ["is of an earlier time or schema than the one before it"])
            heads[dataset], was[dataset] = sequence, (version, at)
        for book in self.books.values():
            head, last = book.dataset.head, heads[book.dataset.id]
            told = f"ends its feed at {last}, but its head is {head}" if head != last else None
            self.say(book.name, [told])
        for dataset, sequence, mask, listed in audit.field_index(self.reader):
            self.say(
                f"{self.name(dataset)}: revision {sequence}",
                [f"changed the fields {_told(mask)}, but the index of fields has {_told(listed)}"],
            )

    def look_at_rows(self) -> None:
        for row in audit.rows(self.reader):
            self.rows += 1
            place = f"{self.name(row.dataset)}: row {row.key}"
            self.say(place, _row_problems(row))
            for run in {row.first_run, row.last_run}:
                self.say(place, [self._run_problem(run, row.dataset)])

    def look_at_ledgers(self) -> None:
        balances = dict(audit.owners(self.reader))
        starts = Counter((owner, 0) for owner in balances)
        ends = Counter(balances.items())
        for entry in audit.ledger(self.reader):
            starts[entry.owner, entry.balance_after] += 1
            ends[entry.owner, entry.balance_after - entry.credits] += 1
            place = f"The ledger of {entry.owner}: the entry {ident(entry.id)}"
            self.say(place, _ledger_problems(entry))
        for owner, balance in balances.items():
            told = f"has the balance {balance}, below 0" if balance < 0 else None
            self.say(f"The owner {owner}", [told])
        for (owner, amount), count in (ends - starts).items():
            told = f"is not a running sum: nothing leaves the {amount} that {count} later need"
            self.say(f"The ledger of {owner}", [told])

    def _run_problem(self, run: bytes, dataset: bytes) -> str | None:
        """What is wrong with a Run that something of `dataset` says it was written by."""
        found = self.runs.get(run)
        if found is None or found.dataset != dataset:
            return f"names the Run {_id(run)}, which is not one of this dataset"
        return None if found.status == "succeeded" else f"names the {found.status} Run {_id(run)}"

    def _evidence_problems(
        self, found: audit.RevisionRow, cells: Cells, layout: Layout
    ) -> list[str]:
        wanted = soundness.read_cells(layout, cells)
        if found.observation is None:
            return ["has cells that were read, but no observation"] if wanted else []
        dataset, items = self.entries.get(found.observation, (b"", {}))
        if dataset != found.dataset:
            return ["points at an observation that is not one of its dataset"]
        absent = wanted & ~items.get(-1 if found.item is None else found.item, 0)
        return [f"has no evidence for the fields {_told(absent)}"] if absent else []


def _versions(found: Iterable[audit.Row]) -> defaultdict[bytes, dict[int, str]]:
    kept: defaultdict[bytes, dict[int, str]] = defaultdict(dict)
    for dataset, version, content in found:
        kept[dataset][version] = content
    return kept
