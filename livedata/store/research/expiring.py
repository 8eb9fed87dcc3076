"""What research keeps for a time only.

Apart from what writes it, for each command that lets go of what is old imports this.
"""

from __future__ import annotations

from livedata.store.database.statements import Expiring

OLD_ARTIFACTS = Expiring("artifacts", "id", "created_at < :moment", "DELETE FROM artifacts")
_ACCEPTED = "(SELECT 1 FROM runs r WHERE r.id = research_steps.run_id AND r.status = 'succeeded')"
_LET_GO = "DELETE FROM research_steps"
OLD_STEPS = Expiring(
    "research_steps", "id", f"started_at < :moment AND NOT EXISTS {_ACCEPTED}", _LET_GO
)
"""The steps and facts of Runs that were not accepted."""
OLD_ACCEPTED_STEPS = Expiring(
    "research_steps", "id", f"started_at < :moment AND EXISTS {_ACCEPTED}", _LET_GO
)
"""The steps and facts of accepted Runs."""
OLD_MEMORIES = Expiring(
    "research_attempts",
    *("id", "started_at < :moment AND memory IS NOT NULL"),
    "UPDATE research_attempts SET memory = NULL",
)
"""What attempts knew that began before a moment."""
# The moment counts too: a body that somebody keeps again just now is young, and stays.
_UNUSED = """used_at < :moment
AND NOT EXISTS (SELECT 1 FROM artifacts a WHERE a.dataset_id = bodies.dataset_id
    AND a.hash = bodies.hash)
AND NOT EXISTS (SELECT 1 FROM research_attempts t JOIN runs r ON r.id = t.run_id
    WHERE r.dataset_id = bodies.dataset_id AND t.memory = bodies.hash)
"""
OLD_BODIES = Expiring("bodies", "dataset_id, hash", _UNUSED, "DELETE FROM bodies")
"""The bodies that nothing refers to any more."""
