"""Checks a whole store: whether all its records agree with each other.

A store may be far larger than the memory: every table is read as a stream. What stays in memory
grows with the datasets, never with their Runs, revisions or pages.
"""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import orjson
from msgspec import Struct, field

from livedata.model.ids import DatasetId, format_uuid
from livedata.model.run import HELD_BY_GUARDS
from livedata.rules.changes import invariants
from livedata.rules.changes.invariants import Layout, RowVersion
from livedata.services.audit import records
from livedata.services.audit.evidence import EvidenceJudge, Named, PlaceJudge, address_problem
from livedata.services.interruptions import MAX_ATTEMPTS
from livedata.store import digests, outbox
from livedata.store.audit import contradictions, observations, streams
from livedata.store.audit.streams import RevisionRow, RunRow
from livedata.store.database.backend import SYMPTOMS, Reader, Row
from livedata.store.database.codec import unpack_text
from livedata.store.database.damage import wrong_json, wrong_values
from livedata.store.database.store import Database
from livedata.store.research.artifacts import body_digest

_KEEPS_AN_OUTPUT = HELD_BY_GUARDS | {"run.credits"}
"""The problems of Runs whose outputs a person may accept."""


class AuditReport(Struct, frozen=True):
    """The number of records that were checked, and one sentence for each problem."""

    datasets: int
    rows: int
    revisions: int
    problems: list[str]


def check_store(db: Database) -> AuditReport:
    """Check the whole store, in one read transaction.

    Raises StoreUnavailable if it cannot be reached. A store whose file is damaged is not checked
    any further.
    """
    with db.reading() as reader:
        # Behind a damaged file every other problem could be a symptom of the damage.
        damage = reader.damage()
        damage = damage or [str(damaged) for damaged in reader.unreadable()]
        if damage:
            return AuditReport(0, 0, 0, damage)
        misshapen = [str(damaged) for damaged in wrong_json(reader, cells=False)]
        judge = _Judge(reader, reader.dangling())
        try:
            # In this order: later ones use the layouts and the sum of the observations.
            judge.look_at_datasets()
            judge.look_at_runs()
            judge.look_at_observations()
            judge.look_at_revisions()
            judge.look_at_feeds()
            judge.look_at_rows()
            judge.look_at_evidence()
            judge.problems.extend(_ledger_problems(reader))
            judge.look_at_uniqueness()
            judge.look_at_outbox()
            judge.look_at_research()
        except SYMPTOMS:
            # A record of another shape may break the comparison with others.
            if not misshapen:
                raise
        judge.problems.extend(map(str, wrong_values(reader)))
    return AuditReport(judge.datasets, judge.rows, judge.revisions, [*misshapen, *judge.problems])


class _Book(Struct, frozen=True):
    """A dataset while its parts are checked.

    `schemas` maps a version to how many columns the dataset has had by then.
    """

    dataset: streams.DatasetRow
    name: str
    layout: Layout
    schemas: dict[int, int]


class _Judge(Struct):
    reader: Reader
    problems: list[str]
    books: dict[DatasetId, _Book] = field(default_factory=dict)
    named: Named = field(default_factory=Named)
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
                dropped = records.loaded(dataset.dropped_columns or "[]")
                layout = records.layout(columns, field_ids, sources.values(), own_schemas, dropped)
                widths = records.widths(own_schemas)
            except (KeyError, TypeError):
                # Without a layout its cells mean nothing, so its revisions are not checked.
                self._say(name, ["has columns, schemas or field ids that do not fit together"])
                continue
            self.books[dataset.id] = _Book(dataset, name, layout, widths)

    def look_at_runs(self) -> None:
        opened: Counter[DatasetId] = Counter()
        running: Counter[str] = Counter()
        for run in streams.runs(self.reader):
            opened[run.dataset_id] += run.status in records.OPEN
            running[run.turn or ""] += run.status == "running"
            book = self.books.get(run.dataset_id)
            newest = book.dataset.recipe_version if book else None
            place = f"{self._name(run.dataset_id)}: the Run {format_uuid(run.id)}"
            recipes = run.recipe_version if newest is None else newest
            self._say(place, records.run_problems(run, recipes))
            self._say(place, records.course_problems(run))
            if lacks_output(run, newest):
                self._say(place, ["is held, and its output is missing"])
        for dataset, count in opened.items():
            self._say(self._name(dataset), [f"has {count} open Runs" if count > 1 else None])
        for site, count in running.items():
            problem = f"has {count} running Runs" if site and count > 1 else None
            self._say(f"The site {site}", [problem])
        for run_id, number in contradictions.odd_attempts(self.reader, MAX_ATTEMPTS):
            place = f"The Run {format_uuid(run_id)}"
            self._say(place, [f"has an attempt {number} of an impossible number or time"])
        for run_id, steps in streams.steps(self.reader):
            unread = None if isinstance(records.loaded(steps), list) else "has no readable steps"
            self._say(f"The Run {format_uuid(run_id)}", [unread])
        for run_id, *page in streams.failed_pages(self.reader):
            self._say(f"The Run {format_uuid(run_id)}", records.page_problems(*page))

    def look_at_observations(self) -> None:
        for key, dataset, run, url, text, writer in observations.observations(self.reader):
            place = f"{self._name(dataset)}: the observation {format_uuid(key)}"
            self._say(place, [records.writer_problem(run, writer, dataset), address_problem(url)])
            unread = "has entries that cannot be read" if records.entries(text) is None else None
            self._say(place, [unread])
            self.named.meet(dataset, key)

    def look_at_revisions(self) -> None:
        # Revisions come row by row in order, so one revision of history is enough to compare with.
        row, before = b"", None
        for revision in streams.revisions(self.reader):
            self.revisions += 1
            before = before if revision.row_id == row else None
            row = revision.row_id
            place = self._place(revision)
            after = records.version(revision)
            book = self.books.get(revision.dataset_id)
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
        # A revision has as many cells as there had been columns; later ones came after it.
        width = min(book.schemas.get(revision.schema_version, 0), len(layout.columns))
        yield from records.revision_problems(revision, book.dataset, book.schemas)
        yield from invariants.cells_problems(layout, cells, width)
        yield from invariants.type_problems(layout, cells)
        yield from invariants.history_problems(before, after)
        if revision.run_id is not None:
            yield records.writer_problem(revision.run_id, revision.writer, revision.dataset_id)
        if revision.row_key is not None and layout.identities:
            yield invariants.key_problem(layout, cells, revision.row_key)

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
            problem = f"is at {position}, and the feed has 1 to {head}"
            self._say(f"{self._name(dataset)}: the cursor {name!r}", [problem])
        for dataset, old in contradictions.odd_heirs(self.reader):
            problem = f"is to take over {format_uuid(old)}, and has rows, or that is not there"
            self._say(self._name(dataset), [problem])
        for dataset, sequence, mask, listed in contradictions.field_index(self.reader):
            listed_as = (
                "there is not"
                if mask is None
                else f"changed the positions {records.positions(mask)}"
            )
            indexed = f"{listed_as}, and the index of fields has {records.positions(listed)} for it"
            self._say(f"{self._name(dataset)}: revision {sequence}", [indexed])

    def look_at_rows(self) -> None:
        judge = PlaceJudge(self.reader)
        for row in streams.rows(self.reader):
            self.rows += 1
            place = f"{self._name(row.dataset_id)}: row {row.row_key}"
            self._say(place, [*records.row_problems(row), judge.problem(row)])
            for run, writer in row.writers:
                self._say(place, [records.writer_problem(run, writer, row.dataset_id)])

    def look_at_evidence(self) -> None:
        """Compare cells with the texts that they were read from; every page needs a cell."""
        layouts = {key: book.layout for key, book in self.books.items()}
        judge = EvidenceJudge(self.reader, layouts, self.named)
        for revision, problem in judge.problems():
            self._say(self._place(revision), [problem])
        for dataset, observation in judge.unnamed():
            place = f"{self._name(dataset)}: the observation {format_uuid(observation)}"
            self._say(place, ["is evidence of nothing"])

    def look_at_research(self) -> None:
        for dataset, problem in research_problems(self.reader):
            self._say(self._name(dataset), [f"has a problem: {problem}"])

    def look_at_uniqueness(self) -> None:
        """Find the unique indexes that are lost, and what only they can prevent."""
        for table, columns in contradictions.missing_indexes(self.reader):
            self._say("The store", [f"has lost the unique index of {table} over {columns}"])
        for dataset, key, request, count in contradictions.repeated_requests(self.reader):
            place = f"{self._name(dataset)}: row {key}"
            self._say(place, [f"has {count} revisions of the request {request!r}"])

    def look_at_outbox(self) -> None:
        """Find what waits to be delivered and that nobody would take."""
        for dataset, message in outbox.stranded(self.reader):
            place = f"{self._name(dataset)}: the message {format_uuid(message)}"
            self._say(place, ["waits in the outbox, and nothing delivers it"])
        for notice, dataset in outbox.astray(self.reader):
            place = f"The notice {format_uuid(notice)}"
            self._say(place, [f"tells of the dataset {format_uuid(dataset)}, which is not there"])
        for name, owner, cron, stands in digests.every(self.reader):
            self._say(f"The notice {name} of {owner}", records.digest_problems(cron, stands=stands))

    def _place(self, revision: RevisionRow) -> str:
        row = revision.row_key or format_uuid(revision.row_id)
        return f"{self._name(revision.dataset_id)}: revision {revision.sequence} of row {row}"

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


def lacks_output(run: RunRow, newest_recipe: int | None) -> bool:
    """Whether a held Run has no output, although nothing has let go of it.

    An output is let go of by any Run that is accepted after its time, by a recipe with another
    identity, and by age, as the steps of its Run then are too. No clock is asked here: one that was
    ahead may have been set back since.
    """
    if run.status != "held" or run.holds or run.accepted_since or run.without_steps:
        return False
    return newest_recipe == run.recipe_version and _keeps_an_output(run.problem)


def _keeps_an_output(problem: str | None) -> bool:
    try:
        return orjson.loads(problem or "{}").get("code") in _KEEPS_AN_OUTPUT
    except (ValueError, AttributeError):
        return False


def research_problems(reader: Reader) -> Iterator[tuple[DatasetId, str]]:
    """The dataset, and the sentence of a problem without it."""
    for dataset, key, body in contradictions.bodies(reader):
        if not _is_body_of(key, body):
            yield dataset, f"the body {key.hex()[:12]} is not what its hash says"
    for dataset, artifact in contradictions.artifacts_without_body(reader):
        yield dataset, f"the artifact {format_uuid(artifact)} has lost its body"
    for dataset, attempt in contradictions.attempts_without_memory(reader):
        yield dataset, f"the attempt {format_uuid(attempt)} has lost what it knew"
    for dataset, row_key in contradictions.rows_without_entity(reader):
        yield dataset, f"row {row_key} stands for nobody"
    for dataset, entity in contradictions.entities_without_row(reader):
        yield dataset, f"the entity {entity} has no row"


def _is_body_of(key: bytes, body: bytes) -> bool:
    try:
        return body_digest(unpack_text(body)) == key
    except (zlib.error, ValueError):
        return False


def _ledger_problems(reader: Reader) -> Iterator[str]:
    """The problems of all ledgers and balances, as sentences."""
    # Entries of one moment have no order. So the balances before all entries, with the last
    # one, must be the balances after them, with the 0 of the beginning. What one entry leaves the
    # next one takes: only what is still to match is remembered, however long the ledger is.
    balances: dict[str, int] = dict(streams.owners(reader))
    left: Counter[tuple[str, int]] = Counter()
    for owner, balance in balances.items():
        _count(left, (owner, 0), 1)
        _count(left, (owner, balance), -1)
    for entry in streams.ledger(reader):
        _count(left, (entry.owner, entry.balance_after), 1)
        _count(left, (entry.owner, entry.balance_after - entry.credits), -1)
        for problem in records.ledger_problems(entry):
            yield f"The ledger of {entry.owner}: the entry {format_uuid(entry.id)} {problem}."
    for owner, balance in balances.items():
        if balance < 0:
            yield f"The owner {owner} has the balance {balance}, below 0."
    for (owner, amount), count in left.items():
        if count < 0:
            yield f"The ledger of {owner} is no running sum: {amount} is not what any entry left."


def _count(left: Counter[tuple[str, int]], balance: tuple[str, int], count: int) -> None:
    left[balance] += count
    if not left[balance]:
        del left[balance]
