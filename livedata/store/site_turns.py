"""The turns of a site go round by owner: of an owner with many Runs, others wait for one.

An owner's place is the moment at which the longest of its Runs came, or at which one of them last
began while others waited, whichever is later. The first place is next.
"""

from __future__ import annotations

from livedata.model.ids import Micros, RunId
from livedata.store.database.backend import Reader, Writer

_PLACES = """
SELECT d.owner, min(w.queued_at), max(t.began_at) FROM runs w
JOIN datasets d ON d.id = w.dataset_id
LEFT JOIN site_turns t ON t.site = w.site AND t.owner = d.owner
WHERE w.status = 'queued' AND w.site = :site GROUP BY d.owner
"""
_OLDEST = """
SELECT w.id FROM runs w JOIN datasets d ON d.id = w.dataset_id
WHERE w.status = 'queued' AND w.site = :site AND d.owner = :owner
ORDER BY w.queued_at, w.id LIMIT 1
"""
_OTHERS = """
SELECT d.owner, (
    SELECT max(w.queued_at) FROM runs w JOIN datasets o ON o.id = w.dataset_id
    WHERE w.status = 'queued' AND w.site = :site AND o.owner <> d.owner
), (SELECT max(began_at) FROM site_turns WHERE site = :site)
FROM runs r JOIN datasets d ON d.id = r.dataset_id WHERE r.id = :run
"""


def first(reader: Reader, site: str) -> RunId | None:
    """The Run that is next at a site, if one waits there."""
    places = [
        (max(queued_at, began_at or queued_at), owner)
        for owner, queued_at, began_at in reader.rows(_PLACES, site=site)
    ]
    if not places:
        return None
    run: RunId = reader.value(_OLDEST, site=site, owner=min(places)[1])
    return run


def begin(writer: Writer, run: RunId, site: str, now: Micros) -> None:
    """Let the owner of a Run that begins at a site come last there, if others wait."""
    row = writer.row(_OTHERS, run=run, site=site)
    assert row is not None
    owner, newest, last = row
    if newest is not None:
        writer.execute(
            "INSERT INTO site_turns (site, owner, began_at) VALUES (:site, :owner, :began_at) "
            "ON CONFLICT (site, owner) DO UPDATE SET began_at = excluded.began_at",
            site=site,
            owner=owner,
            # Behind all who wait, whatever the clock does.
            began_at=max(now, newest + 1, (last or 0) + 1),
        )
    elif last is not None:
        # Whoever comes from now on comes later than all of them.
        writer.execute("DELETE FROM site_turns WHERE site = :site", site=site)
