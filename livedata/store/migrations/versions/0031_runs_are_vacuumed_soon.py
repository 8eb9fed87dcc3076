"""PostgreSQL vacuums Runs and attempts once a hundredth of them is dead, with their indexes."""

from __future__ import annotations

from collections.abc import Iterable

from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

OPTIONS = {"autovacuum_vacuum_scale_factor": "0.01", "vacuum_index_cleanup": "on"}


def upgrade() -> None:
    _alter("SET", [f"{name} = {value}" for name, value in OPTIONS.items()])


def downgrade() -> None:
    _alter("RESET", OPTIONS)


def _alter(how: str, options: Iterable[str]) -> None:
    if op.get_bind().dialect.name == "postgresql":
        for table in ("runs", "attempts"):
            op.execute(f"ALTER TABLE {table} {how} ({', '.join(options)})")
