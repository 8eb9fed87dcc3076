"""The jobs of procrastinate as transactions write them: they call crawl workers of all machines.

A job only says that a Run may start: it may be lost or come twice, because the row of the Run
decides. What imports procrastinate waits until there is a job to write.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from psycopg import Connection
from psycopg.sql import SQL

from livedata.model import ids
from livedata.model.ids import RunId
from livedata.store.database.backend import Row

if TYPE_CHECKING:
    from procrastinate import App

QUEUE = "livedata"
TASK = "livedata.run"
"""What jobs are called in procrastinate; another program may use it in the same database."""

NEXT = f"""
SELECT id FROM runs WHERE status = 'queued' AND site = :site AND NOT EXISTS (
    SELECT 1 FROM procrastinate_jobs
    WHERE lock = :site AND status = 'todo' AND queue_name = '{QUEUE}')
ORDER BY queued_at, id LIMIT 1
"""  # noqa: S608  (our own word)
"""The Run that waits longest for a site, if there is no job for the site."""
FORGOTTEN = f"""
SELECT DISTINCT ON (site) id FROM runs r
WHERE status = 'queued' AND queued_at < :since
AND NOT EXISTS (SELECT 1 FROM runs b WHERE b.status = 'running' AND b.turn = r.site)
AND NOT EXISTS (SELECT 1 FROM procrastinate_jobs j
    WHERE j.lock = r.site AND j.status IN ('todo', 'doing') AND j.queue_name = '{QUEUE}')
ORDER BY site, queued_at, id
"""  # noqa: S608  (the same)
"""The Runs that may start and of whose sites there is no job, one for each site."""

_MADE = """
WITH here AS (SELECT CAST(current_schema() AS regnamespace) AS id)
SELECT 'TABLE', CAST(CAST(oid AS regclass) AS text) FROM pg_class
WHERE relnamespace = (SELECT id FROM here) AND relname LIKE 'procrastinate%' AND relkind = 'r'
UNION ALL SELECT 'FUNCTION', CAST(CAST(oid AS regprocedure) AS text) FROM pg_proc
WHERE pronamespace = (SELECT id FROM here) AND proname LIKE 'procrastinate%'
UNION ALL SELECT 'TYPE', CAST(CAST(oid AS regtype) AS text) FROM pg_type
WHERE typnamespace = (SELECT id FROM here) AND typname LIKE 'procrastinate%' AND typtype = 'e'
UNION ALL SELECT 'TYPE', CAST(CAST(reltype AS regtype) AS text) FROM pg_class
WHERE relnamespace = (SELECT id FROM here) AND relname LIKE 'procrastinate%' AND relkind = 'c'
"""
"""(kind, name) of all that procrastinate has made."""


class Publisher:
    """Writes jobs on the connection of an open transaction."""

    def publish(self, driver: Connection[Row], runs: Mapping[str, RunId]) -> None:
        """Write the jobs of Runs by site: of two of a site, the second waits for the first."""
        from procrastinate.exceptions import ConnectorException

        task = self._app.configure_task(TASK, queue=QUEUE)
        jobs = [
            task.make_new_job(run=ids.format_uuid(run)).evolve(lock=site)
            for site, run in runs.items()
        ]
        try:
            self._app.job_manager.batch_defer_jobs(jobs, connection=driver)
        except ConnectorException as error:
            # Who holds the transaction knows the errors of psycopg.
            raise (error.__cause__ or error) from None

    @cached_property
    def _app(self) -> App:
        from procrastinate import App, SyncPsycopgConnector

        # It is never opened, for it has no connection of its own.
        return App(connector=SyncPsycopgConnector())


def make_tables(driver: Any) -> None:
    """Make the tables of procrastinate, if no other program has made them here."""
    from procrastinate.schema import SchemaManager

    if driver.execute("SELECT to_regclass('procrastinate_jobs')").fetchone() == (None,):
        driver.execute(SchemaManager.get_schema())


def drop_tables(driver: Any) -> None:
    """Drop all that :func:`make_tables` makes."""
    for kind, name in driver.execute(_MADE).fetchall():
        # With a table goes what refers to it, such as a function that answers with its rows.
        driver.execute(SQL("DROP {} IF EXISTS {} CASCADE").format(SQL(kind), SQL(name)))
