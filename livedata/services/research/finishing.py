"""The end of a research Run: judged, and accepted or not, as that of any Run."""

from __future__ import annotations

from livedata.model import ids
from livedata.model.ids import Micros
from livedata.model.research.outcome import ResearchOutcome
from livedata.model.research.recipe import ResearchRecipe
from livedata.model.research.record import ResearchStep
from livedata.rules.changes.research_checks import judge_research
from livedata.services import attempts
from livedata.services.attempts import Attempt
from livedata.services.commit import AcceptancePolicy, JudgedHarvest
from livedata.services.notices import telling
from livedata.services.research.harvest import harvest_of, output_facts, research_facts
from livedata.store import rows, runs
from livedata.store.database.codec import dump_compressed
from livedata.store.database.store import Store
from livedata.store.research import attempts as research_attempts
from livedata.store.research import days


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
    with store.writing() as writer:
        end, completed_at = attempts.close(
            writer, attempt, JudgedHarvest(recipe, harvest, facts, verdict), policy
        )
        step.ended = Micros(max(ids.now(), started))
        step.status = "succeeded" if end.deltas else "cancelled"
        step.facts = output_facts(outcome, step.id, accepted=end.deltas is not None)
        # A Run that ended before it was told what is known has no step.
        if research_attempts.has(writer, attempt.id):
            research_attempts.add_step(writer, attempt.dataset, attempt.run, attempt.id, step)
        if "day" in outcome.inputs:
            days.note_stop(writer, attempt.owner, outcome.inputs["day"])
        # The steps of research are kept as they end, and not with the attempt.
        runs.end_attempt(writer, attempt.id, completed_at, dump_compressed([]))
        telling.tell(writer, {attempt.run: end})
    return end.status
