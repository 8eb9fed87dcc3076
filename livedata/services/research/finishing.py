"""The end of a research Run: what it found is judged, and accepted or not, as that of any Run."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from livedata.model import ids
from livedata.model.diagnosis.recorded_run import FieldFact, PageFact, RunFacts
from livedata.model.harvest import Harvest, PageRead, Quote, Record, StopReason
from livedata.model.ids import Micros
from livedata.model.research.outcome import (
    ResearchedCell,
    ResearchedPage,
    ResearchedRow,
    ResearchFindings,
    ResearchHarvest,
    ResearchOutcome,
)
from livedata.model.research.recipe import ResearchRecipe
from livedata.model.research.record import ResearchFact, ResearchStep
from livedata.rules.changes.checks import checked_pages, seen_records
from livedata.rules.changes.compare import CurrentRow, fill_standing
from livedata.rules.changes.research_checks import judge_research
from livedata.services import attempts
from livedata.services.attempts import Attempt, ClosedRun
from livedata.services.commit import AcceptancePolicy, JudgedHarvest
from livedata.store import rows
from livedata.store.database.backend import Writer
from livedata.store.database.codec import dump_compressed
from livedata.store.database.store import Store
from livedata.store.research import attempts as research_attempts
from livedata.store.research import usage


def finish_research(
    store: Store, attempt: Attempt, outcome: ResearchOutcome, policy: AcceptancePolicy
) -> str:
    """End a research Run in one transaction, and return the status that it ends with.

    Raises LostLease if another attempt has taken over; then nothing is written.
    """
    recipe = ResearchRecipe.of(attempt.recipe)
    started = ids.now()
    step = ResearchStep(id=ids.format_uuid(ids.new_id()), phase="accept", started=started)
    harvest, verdict = harvest_of(outcome, recipe), judge_research(outcome, recipe)
    with store.reading() as reader:
        facts = research_facts(harvest, recipe, rows.current(reader, attempt.dataset))
    reading = JudgedHarvest(recipe, harvest, facts, verdict)

    def end(writer: Writer, owner_first: bool) -> ClosedRun:
        closed = attempts.close(writer, attempt, reading, policy, owner_first=owner_first)
        end = closed.outcome
        step.ended = Micros(max(ids.now(), started))
        step.status = "succeeded" if end.deltas else "cancelled"
        step.facts = output_facts(outcome, step.id, accepted=end.deltas is not None)
        # A Run that ended before it was told what is known has no step.
        if research_attempts.has(writer, attempt.id):
            research_attempts.add_step(writer, attempt.dataset, attempt.run, attempt.id, step)
        if "day" in outcome.inputs:
            usage.note_stop(writer, attempt.owner, outcome.inputs["day"])
        # The steps of research are kept as they end, and not with the attempt.
        closed.end(writer, attempt, dump_compressed([]))
        return closed

    return attempts.end_and_settle(store, attempt.run, end)


def harvest_of(outcome: ResearchOutcome, recipe: ResearchRecipe) -> ResearchHarvest:
    """The checked pages with the rows that were found on them, and who these rows are."""
    rows: dict[int, list[ResearchedRow]] = {}
    for row in outcome.rows:
        rows.setdefault(row.page, []).append(row)
    checked = [page for page in outcome.pages if page.outcome == "checked"]
    findings = ResearchFindings(
        outcome.stop,
        {row.key: row.identity for row in outcome.rows},
        sorted(outcome.gone),
        outcome.inputs,
    )
    return ResearchHarvest(
        [_page(page, rows.get(page.number, []), recipe) for page in checked],
        StopReason(outcome.stop, outcome.problem),
        attempts=sum(page.outcome != "unattempted" for page in outcome.pages),
        refusals=sum(page.refused for page in outcome.pages),
        research=findings,
    )


def _page(page: ResearchedPage, rows: Iterable[ResearchedRow], recipe: ResearchRecipe) -> PageRead:
    records = [_record(row, recipe) for row in rows]
    return PageRead(
        page.number,
        page.url,
        page.final_url,
        page.final_url,
        page.status or 0,
        page.title,
        page.digest or "",
        page.at,
        records,
        [
            sum(record.values[position] is not None for record in records)
            for position in _indexes(recipe)
        ],
    )


def _record(row: ResearchedRow, recipe: ResearchRecipe) -> Record:
    cells = row.cells
    quotes = [_quotes(cell) for cell in cells]
    # The address of the page is nowhere on it: what leads there are the words that name the row.
    name, source = (recipe.fields.index(field) for field in (recipe.name, recipe.source))
    quotes[source] = None if cells[source].stands else quotes[name]
    return Record(
        row.number,
        row.key,
        [cell.value for cell in cells],
        [None if cell.value is not None else cell.reason or "unknown" for cell in cells],
        [None if cell.quote is None else cell.quote.text for cell in cells],
        quotes,
    )


def _quotes(cell: ResearchedCell) -> list[Quote] | None:
    """What supports a cell; None for one that stands."""
    if cell.stands:
        return None
    quote = cell.quote
    return [] if quote is None else [Quote(quote.page, quote.row, quote.text)]


def _indexes(recipe: ResearchRecipe) -> range:
    return range(len(recipe.fields))


def research_facts(
    harvest: Harvest, recipe: ResearchRecipe, current: Iterable[CurrentRow]
) -> RunFacts:
    """The facts that a Run stores at its end; what it found page by page stands in its steps."""
    seen = seen_records(harvest)
    positions = [field.position for field in recipe.fields]
    records = [each.record for each in fill_standing(current, seen, positions).values()]
    return {
        "checked": checked_pages(harvest),
        "pages": [_page_fact(page) for page in harvest.pages],
        "attempts": harvest.attempts,
        "refusals": harvest.refusals,
        "complete": harvest.ending.rule == "all_selected_pages_checked",
        "rows": len(records),
        "fields": [
            _field(recipe.fields[position].id, position, records) for position in _indexes(recipe)
        ],
    }


def _page_fact(page: PageRead) -> PageFact:
    return {
        "url": page.url,
        "finalUrl": page.final_url,
        "status": page.status,
        "title": page.title,
        "items": len(page.records),
        "matches": page.matches,
    }


def _field(field_id: str, position: int, records: Collection[Record]) -> FieldFact:
    reasons = [record.reasons[position] for record in records]
    return {
        "id": field_id,
        "populated": sum(record.values[position] is not None for record in records),
        "notFound": reasons.count("not_found"),
        "extractionFailed": reasons.count("extraction_failed"),
    }


def output_facts(outcome: ResearchOutcome, step: str, *, accepted: bool) -> list[ResearchFact]:
    """What became of the rows in the table (rules 14.9): known only once a Run has ended."""
    urls = {page.number: page.final_url for page in outcome.pages}
    code = "row_written" if accepted else "output_withheld"
    facts = [
        ResearchFact(
            "output",
            code,
            step,
            failure=not accepted,
            url=urls.get(row.page),
            entity=row.cells[0].value or row.identity.aliases[0],
            key=row.key,
        )
        for row in outcome.rows
    ]
    if accepted:
        facts += [
            ResearchFact("output", "row_missing", step, failure=True, key=key)
            for key in outcome.gone
        ]
    return facts
