"""Tables of procrastinate on PostgreSQL, until 0029 let them go: whoever comes here needs none."""

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Nothing."""


def downgrade() -> None:
    """Nothing."""
