"""Checks a whole store: whether all its records agree with each other."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from livedata.model.ids import DatasetId, ObservationId, RunId, format_uuid
from livedata.rules.changes import invariants
from livedata.rules.changes.evidence import NO_EVIDENCE, Evidence, Reference
from livedata.rules.changes.invariants import Layout, RowVersion
from livedata.services.attempts import MAX_ATTEMPTS
from livedata.services.audit import evidence, records
from livedata.services.audit.held import missing_outputs
from livedata.services.audit.ledgers import ledger_problems
from livedata.store.audit import contradictions, streams
from livedata.store.audit.streams import RevisionRow
from livedata.store.database.backend import SYMPTOMS, Reader, Row
from livedata.store.database.damage import wrong_json, wrong_values
from livedata.store.database.store import Database

DELTAS = {"created": 0, "updated": 1, "returned": 1, "missing": 2}
"""Kind of a revision -> the index of the Run's count (new, changed, gone) that includes it."""


class Report(Struct, frozen=True):
    """The number of records that were checked, and one sentence for each problem."""

    datasets: int
    rows: int
    revisions: int
    problems: list[str]


def check_store(db: Database) -> Report:
    """Check the whole store, in one read transaction.

    Raises StoreUnavailable if it cannot be reached. A store whose file is damaged is not checked
    any further.
    """
    with db.reading() as reader:
        # Behind a damaged file every other problem could be a symptom of the damage.
        damage = reader.damage()
        damage = damage or [str(damaged) for damaged in reader.unreadable()]
        if damage:
            return Report(0, 0, 0, damage)
        misshapen = [str(damaged) for damaged in wrong_json(reader, cells=False)]
        judge = _Judge(reader, reader.dangling())
        try:
            # In this order: later ones use the layouts, Runs and entries of those before.
            judge.look_at_datasets()
            judge.look_at_runs()
            judge.look_at_observations()
            judge.look_at_revisions()
            judge.look_at_feeds()
            judge.look_at_rows()
            judge.look_at_texts()
            judge.problems.extend(ledger_problems(reader))
            judge.look_at_uniqueness()
        except SYMPTOMS:
            # A record of another shape may break the comparison with others.
            if not misshapen:
                raise
        judge.problems.extend(map(str, wrong_values(reader)))
    return Report(judge.datasets, judge.rows, judge.revisions, [*misshapen, *judge.problems])


class _Book(Struct, frozen=True):
    """A dataset while its parts are checked; `schemas` maps a version to its number of columns."""

    dataset: streams.DatasetRow
    name: str
    layout: Layout
    schemas: dict[int, int]


class _Judge(Struct):
    reader: Reader
    problems: list[str]
    books: dict[DatasetId, _Book] = field(default_factory=dict)
    runs: dict[RunId, streams.RunRow] = field(default_factory=dict)
    entries: dict[ObservationId, tuple[DatasetId, dict[int, int]]] = field(default_factory=dict)
    named: set[ObservationId] = field(default_factory=set)
    datasets: int = 0
    rows: int = 0
    revisions: int = 0

    def look_at_datasets(self) -> None:
        schemas = _by_dataset(streams.versions(self.reader, "schemas", "columns"))
        recipes = _by_dataset(streams.versions(self.reader, "recipes", "source"))
        for dataset in streams.datasets(self.reader):
            self.datasets += 1
            name = f"The dataset {dataset.name} of {dataset.owner}"
            own_schemas, sources = schemas[dataset.id], recipes[dataset.id]
            self._say(name, records.dataset_problems(dataset, own_schemas, sources))
            self._say(name, records.state_problems(dataset))
            columns, field_ids = (
                records.loaded(dataset.columns),
                records.loaded(dataset.field_ids),
            )
            try:
                layout = records.layout(columns, field_ids, sources.values())
                widths = {
                    version: len(records.loaded(text)) for version, text in own_schemas.items()
                }
            except (KeyError, TypeError):
                # Without a layout its cells mean nothing, so its revisions are not checked.
                self._say(name, ["has columns, schemas or field ids that do not fit together"])
                continue
            self.books[dataset.id] = _Book(dataset, name, layout, widths)

    def look_at_runs(self) -> None:
        self.runs = {run.id: run for run in streams.runs(self.reader)}
        written: defaultdict[RunId, list[int]] = defaultdict(lambda: [0, 0, 0])
        for run_id, kind, count in streams.run_kinds(self.reader):
            written[run_id][DELTAS.get(kind, 0)] += count
        opened = Counter(run.dataset for run in self.runs.values() if run.status in records.OPEN)
        for dataset, count in opened.items():
            self._say(self._name(dataset), [f"has {count} open Runs" if count > 1 else None])
        running = Counter(
            run.turn for run in self.runs.values() if run.turn and run.status == "running"
        )
        for site, count in running.items():
            self._say(f"The site {site}", [f"has {count} running Runs" if count > 1 else None])
        for run in self.runs.values():
            book = self.books.get(run.dataset)
            recipes = book.dataset.recipe_version if book else run.recipe_version
            new, changed, gone = written[run.id]
            place = f"{self._name(run.dataset)}: the Run {format_uuid(run.id)}"
            self._say(place, records.run_problems(run, (new, changed, gone), recipes))
            self._say(place, records.course_problems(run))
        newest = {key: book.dataset.recipe_version for key, book in self.books.items()}
        for run in missing_outputs(self.runs.values(), newest):
            place = f"{self._name(run.dataset)}: the Run {format_uuid(run.id)}"
            self._say(place, ["is held, and its output is missing"])
        for run_id, number in contradictions.odd_attempts(self.reader, MAX_ATTEMPTS):
            place = f"The Run {format_uuid(run_id)}"
            self._say(place, [f"has an attempt {number} of an impossible number or time"])
        for run_id, steps in streams.steps(self.reader):
            unread = None if isinstance(records.loaded(steps), list) else "has no readable steps"
            self._say(f"The Run {format_uuid(run_id)}", [unread])
        for run_id, *page in streams.failed_pages(self.reader):
            self._say(f"The Run {format_uuid(run_id)}", records.page_problems(*page))

    def look_at_observations(self) -> None:
        for key, dataset, run, text in streams.observations(self.reader):
            place = f"{self._name(dataset)}: the observation {format_uuid(key)}"
            self._say(place, [self._run_problem(run, dataset)])
            entries = records.entries(text)
            self._say(place, ["has entries that cannot be read" if entries is None else None])
            self.entries[key] = (dataset, entries or {})

    def look_at_revisions(self) -> None:
        # Revisions come row by row in order, so one revision of history is enough to compare with.
        row, before = b"", None
        for revision in streams.revisions(self.reader):
            self.revisions += 1
            before = before if revision.row == row else None
            row = revision.row
            row_name = revision.row_key or format_uuid(revision.row)
            place = (
                f"{self._name(revision.dataset)}: revision {revision.sequence} of row {row_name}"
            )
            after = records.version(revision)
            book = self.books.get(revision.dataset)
            if after is None:
                self._say(place, ["has data, reasons or overrides that cannot be read"])
            elif book is not None:
                self._say(place, self._revision_problems(book, revision, before, after))
            before = after

    def _revision_problems(
        self,
        book: _Book,
        revision: RevisionRow,
        before: RowVersion | None,
        after: RowVersion,
    ) -> Iterable[str | None]:
        layout, cells = book.layout, after.cells
        # A revision has as many cells as its schema had columns; later columns came after it.
        width = min(book.schemas.get(revision.schema_version, 0), len(layout.columns))
        yield from records.revision_problems(revision, book.dataset.owner, book.schemas)
        yield from invariants.cells_problems(layout, cells, width)
        yield from invariants.type_problems(layout, cells)
        yield from invariants.history_problems(before, after)
        wanted = invariants.read_mask(layout, cells)
        yield self._evidence_problem(revision, after.evidence, wanted)
        if revision.run is not None:
            yield self._run_problem(revision.run, revision.dataset)
        if revision.row_key is not None and layout.identities:
            yield invariants.key_problem(layout, cells, revision.row_key)

    def _evidence_problem(self, revision: RevisionRow, read: Evidence, wanted: int) -> str | None:
        if read == NO_EVIDENCE:
            return "has cells that were read, but no observation" if wanted else None
        for observation, _ in read.all_references():
            self.named.add(observation)
            if self.entries.get(observation, (None, {}))[0] != revision.dataset:
                return "points at an observation that its dataset does not have"
        absent = [
            position
            for position in _positions(wanted)
            if not self._supported(read.references(position), position)
        ]
        return f"has no evidence for the positions {absent}" if absent else None

    def _supported(self, references: Sequence[Reference], position: int) -> bool:
        """Whether a cell has references, and all of them lead to a text."""
        # An entry of an observation is a mask of the positions that it has texts of.
        return bool(references) and all(
            self.entries[observation][1].get(item, 0) >> position & 1
            for observation, item in references
        )

    def look_at_feeds(self) -> None:
        heads: Counter[DatasetId] = Counter()
        latest: dict[DatasetId, tuple[int, int]] = {}
        for dataset, sequence, version, created_at in streams.feed(self.reader):
            place = f"{self._name(dataset)}: revision {sequence}"
            if sequence != heads[dataset] + 1:
                self._say(place, [f"follows {heads[dataset]}, so the feed has a gap"])
            was_version, was_created_at = latest.get(dataset, (version, created_at))
            if version < was_version or created_at < was_created_at:
                self._say(place, ["is of an earlier schema or time than the one before it"])
            heads[dataset], latest[dataset] = sequence, (version, created_at)
        for book in self.books.values():
            head, last = book.dataset.head, heads[book.dataset.id]
            ends = f"has the head {head}, and its feed ends at {last}" if head != last else None
            self._say(book.name, [ends])
        for dataset, name, position, head in contradictions.lost_cursors(self.reader):
            at = f"is at {position}, and the feed has 1 to {head}"
            self._say(f"{self._name(dataset)}: the cursor {name!r}", [at])
        for dataset, sequence, mask, listed in contradictions.field_index(self.reader):
            listed_as = (
                "there is not" if mask is None else f"changed the positions {_positions(mask)}"
            )
            indexed = f"{listed_as}, and the index of fields has {_positions(listed)} for it"
            self._say(f"{self._name(dataset)}: revision {sequence}", [indexed])

    def look_at_rows(self) -> None:
        for row in streams.rows(self.reader):
            self.rows += 1
            place = f"{self._name(row.dataset)}: row {row.key}"
            self._say(place, records.row_problems(row))
            for run in {row.first_run, row.last_run}:
                self._say(place, [self._run_problem(run, row.dataset)])

    def look_at_texts(self) -> None:
        """Compare cells with the texts that they were read from; every page needs a cell."""
        layouts = {key: book.layout for key, book in self.books.items()}
        for revision, columns in evidence.differences(self.reader, layouts):
            row = revision.row_key or format_uuid(revision.row)
            place = f"{self._name(revision.dataset)}: revision {revision.sequence} of row {row}"
            self._say(place, [f"has other cells than their evidence: {', '.join(columns)}"])
        for observation in self.entries.keys() - self.named:
            place = f"{self._name(self.entries[observation][0])}: the observation"
            self._say(f"{place} {format_uuid(observation)}", ["is evidence of nothing"])

    def look_at_uniqueness(self) -> None:
        """Find the unique indexes that are lost, and what only they can prevent."""
        for table, columns in contradictions.missing_indexes(self.reader):
            self._say("The store", [f"has lost the unique index of {table} over {columns}"])
        for dataset, key, request, count in contradictions.repeated_requests(self.reader):
            place = f"{self._name(dataset)}: row {key}"
            self._say(place, [f"has {count} revisions of the request {request!r}"])

    def _run_problem(self, run: RunId, dataset: DatasetId) -> str | None:
        """The problem of a Run that a record of `dataset` names as its writer, if any."""
        record = self.runs.get(run)
        if record is None or record.dataset != dataset:
            return f"names the Run {run.hex()}, which its dataset does not have"
        return (
            None
            if record.status == "succeeded"
            else f"names the {record.status} Run {format_uuid(run)}"
        )

    def _name(self, dataset: DatasetId) -> str:
        book = self.books.get(dataset)
        return book.name if book else f"The dataset {dataset.hex()}"

    def _say(self, place: str, problems: Iterable[str | None]) -> None:
        self.problems.extend(f"{place} {problem}." for problem in problems if problem)


def _by_dataset(rows: Iterable[Row]) -> defaultdict[DatasetId, dict[int, str]]:
    by_dataset: defaultdict[DatasetId, dict[int, str]] = defaultdict(dict)
    for dataset, version, content in rows:
        by_dataset[dataset][version] = content
    return by_dataset


def _positions(mask: int) -> list[int]:
    return [position for position in range(mask.bit_length()) if mask >> position & 1]
