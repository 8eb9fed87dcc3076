"""The tables of procrastinate go, for crawl workers are called without it; those of others stay."""

from __future__ import annotations

import logging

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

log = logging.getLogger("livedata.store")

STAY = (
    "The tables of procrastinate stay in this database: something in them is not of livedata, "
    "which needs them no more. If no other program uses them either, drop them by hand."
)
_ARE_THERE = """
SELECT to_regclass('procrastinate_jobs') IS NOT NULL,
    to_regclass('procrastinate_workers') IS NOT NULL,
    to_regclass('procrastinate_periodic_defers') IS NOT NULL
"""
# A worker with a fresh heartbeat may be of either program; livedata's own took leave as they ended.
_OF_OTHERS = """
SELECT EXISTS (SELECT 1 FROM procrastinate_jobs
    WHERE queue_name <> 'livedata' OR task_name <> 'livedata.run')
OR EXISTS (SELECT 1 FROM procrastinate_periodic_defers)
OR EXISTS (SELECT 1 FROM procrastinate_workers
    WHERE last_heartbeat > clock_timestamp() - interval '2 minutes')
"""
# What a table of another program refers to is missing from neither list: RESTRICT would refuse it.
_REFERRED_TO = """
SELECT EXISTS (
    SELECT 1 FROM pg_depend d
    JOIN pg_class used ON d.refclassid = 'pg_class'::regclass AND used.oid = d.refobjid
    LEFT JOIN pg_constraint c ON d.classid = 'pg_constraint'::regclass AND c.oid = d.objid
    LEFT JOIN pg_rewrite w ON d.classid = 'pg_rewrite'::regclass AND w.oid = d.objid
    JOIN pg_class user_of ON user_of.oid = coalesce(c.conrelid, w.ev_class)
    WHERE used.relnamespace = CAST(current_schema() AS regnamespace)
    AND used.relname LIKE 'procrastinate%'
    AND user_of.relname NOT LIKE 'procrastinate%'
)
"""
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


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name != "postgresql":
        return
    there = tuple(connection.exec_driver_sql(_ARE_THERE).one())
    # A store that was made before them, or since, has none.
    if not any(there):
        return
    if not all(there) or any(
        connection.exec_driver_sql(question.replace("%", "%%")).scalar()
        for question in (_OF_OTHERS, _REFERRED_TO)
    ):
        log.warning("%s", STAY)
        return
    for kind, name in connection.exec_driver_sql(_MADE.replace("%", "%%")).all():
        # With a table goes what is of it, such as a function that answers with its rows.
        connection.execute(sa.text(f"DROP {kind} IF EXISTS {name} CASCADE"))


def downgrade() -> None:
    """Nothing: an older livedata would need the tables, and the version of procrastinate too."""
