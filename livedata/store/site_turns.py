"""The turns of a site go round by owner: of an owner with many Runs, others wait for one.

An owner's place is the moment at which the longest of its Runs came, or at which one of them last
began while others waited, whichever is later. The first place is next.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from livedata.model.ids import Micros, OwnerName
from livedata.store.database.backend import Writer
from livedata.store.database.statements import insert

# Each is found behind the one before, by the index: of an owner with very many Runs one is read.
_OWNERS = """
WITH RECURSIVE waits(owner) AS (
    SELECT min(o.owner) FROM runs o WHERE o.status = 'queued' AND o.site = {site}
    UNION ALL
    SELECT (SELECT min(o.owner) FROM runs o
        WHERE o.status = 'queued' AND o.site = {site} AND o.owner > waits.owner)
    FROM waits WHERE waits.owner IS NOT NULL
)
"""
# Without turns, at nearly every site, the index has the oldest first. With them the oldest of each
# owner is looked at: it has the owner's place.
FIRST = f"""
CASE WHEN EXISTS (SELECT 1 FROM site_turns t WHERE t.site = {{site}}) THEN (
    {_OWNERS} SELECT w.id FROM waits JOIN runs w ON w.id = (
        SELECT f.id FROM runs f
        WHERE f.status = 'queued' AND f.site = {{site}} AND f.owner = waits.owner
        ORDER BY f.queued_at, f.id LIMIT 1
    ) LEFT JOIN site_turns t ON t.site = {{site}} AND t.owner = waits.owner
    ORDER BY CASE WHEN t.began_at > w.queued_at THEN t.began_at ELSE w.queued_at END,
        waits.owner LIMIT 1
) ELSE (
    SELECT w.id FROM runs w WHERE w.status = 'queued' AND w.site = {{site}}
    ORDER BY w.queued_at, w.id LIMIT 1
) END
"""  # noqa: S608  (our own words)
"""The Run that is next at a site, as an expression."""
OTHERS = f"""
r.site, r.owner, (
    {_OWNERS.format(site="r.site")} SELECT max((
        SELECT max(w.queued_at) FROM runs w
        WHERE w.status = 'queued' AND w.site = r.site AND w.owner = waits.owner
    )) FROM waits WHERE waits.owner <> r.owner
), (SELECT max(t.began_at) FROM site_turns t WHERE t.site = r.site)
"""  # noqa: S608  (our own words)
"""The Others beside a Run `r`, as expressions."""
_BEGIN = f"""
{insert("site_turns", "site", "owner", "began_at")}
ON CONFLICT (site, owner) DO UPDATE SET began_at = excluded.began_at
"""


class Others(NamedTuple):
    """Who waits beside a Run: its site and owner, when the newest Run of another owner came there,
    and when somebody last began."""

    site: str
    owner: OwnerName
    newest: Micros | None
    last: Micros | None


def begin_each(writer: Writer, others: Collection[Others], now: Micros) -> None:
    """Let the owners of Runs that begin at their sites come last there, where others wait."""
    turns = [
        # Behind all who wait, whatever the clock does.
        {
            "site": each.site,
            "owner": each.owner,
            "began_at": max(now, each.newest + 1, (each.last or 0) + 1),
        }
        for each in others
        if each.newest is not None
    ]
    writer.many(_BEGIN, turns)
    # Whoever comes from now on comes later than all of them.
    over = [each for each in others if each.newest is None and each.last is not None]
    writer.many("DELETE FROM site_turns WHERE site = :site", [{"site": each.site} for each in over])
