"""The tasks of an agent, each answered right for fewer tokens than its pages are."""

from __future__ import annotations

import anyio
import pytest

from tests.agents.scripted import attempt
from tests.agents.tasks import TASKS, Task
from tests.agents.world import world


@pytest.mark.one_database
@pytest.mark.parametrize("task", TASKS, ids=[task.question for task in TASKS])
def test_a_script_that_follows_the_tools_answers_right(task: Task) -> None:
    with world() as made:
        outcome = anyio.run(attempt, task, made)
    assert outcome.is_right, outcome.answer
    assert outcome.pages is None or outcome.tokens < outcome.pages
