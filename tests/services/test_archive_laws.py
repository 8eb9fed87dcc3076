"""Any history that goes through an archive is the same on the other side."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from typing_extensions import override

from livedata.services.audit.check import check_store
from tests import made
from tests.services.test_archive import exported, imported, seen
from tests.services.test_history_model import History


class ArchivedHistory(History):
    """A history that is exported and imported at its end."""

    @override
    def teardown(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = exported(self.table, Path(folder))
            with closing(made.make_store(Path(folder))) as other:
                imported(other, file, "carla")
                mine, theirs = (
                    seen(store, owner, self.table.id)
                    for store, owner in ((self.store, "local"), (other, "carla"))
                )
                assert theirs == mine
                assert check_store(other).problems == []
        super().teardown()


@pytest.mark.slow
def test_any_history_is_the_same_on_the_other_side_of_an_archive() -> None:
    run_state_machine_as_test(
        ArchivedHistory,
        settings=settings(
            max_examples=3,
            stateful_step_count=12,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
