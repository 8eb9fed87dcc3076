"""`python -m tests.agents.evaluate --model`, as a user runs it, with a model that is played.

It is a process of its own: the client of the model changes what Python can parse afterwards.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.agents.facts import faults
from tests.agents.played import WORDS, number_of, play
from tests.agents.tasks import TASKS, Task
from tests.cli.warm import execute
from tests.servers.model import (
    Asked,
    Hang,
    ModelServer,
    NoUsage,
    Refusal,
    Script,
    Scripted,
    Status,
    Text,
    ToolCall,
)

KEY = "sk-secret-123"
TURNS = 20


class Printed(NamedTuple):
    """How the command ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def run(home: Path, **settings: str) -> Printed:
    """The command with these settings alone."""
    others = {name: value for name, value in os.environ.items() if "LIVEDATA_" not in name}
    environ = {**others, "LIVEDATA_HOME": str(home), **settings}
    code, out, err = execute(["--model"], environ, "tests.agents.evaluate")
    return Printed(code, out.decode(), err.decode())


def of_server(server: ModelServer, **more: str) -> Mapping[str, str]:
    """The settings of a model that is played."""
    return {
        "LIVEDATA_MODEL": "played",
        "LIVEDATA_MODEL_BASE_URL": server.base_url,
        "LIVEDATA_MODEL_API_KEY": KEY,
        **more,
    }


def outcomes(printed: str) -> list[str]:
    """The last line of each task."""
    parts = re.split(r"^(?! ).*\n?", printed, flags=re.MULTILINE)
    return [part.strip().splitlines()[-1].strip() for part in parts if part.strip()]


def test_a_model_that_follows_the_tools_has_all_tasks_right(tmp_path: Path) -> None:
    with ModelServer(play) as server:
        ended = run(tmp_path, **of_server(server))
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout
    lines = ended.stdout.splitlines()
    questions = [line for line in lines if not line.startswith("    ")]
    assert questions[:-1] == [task.question for task in TASKS]
    assert re.fullmatch(
        r"10 of 10 are right: played took 24 calls, 34 turns and [\d,]+ tokens "
        r"\([\d,]+ read, [\d,]+ written\)\.",
        questions[-1],
    )


def first(scripted: Scripted, then: Script = play) -> Script:
    """Something else at the first turn of a task."""

    def answer(asked: Asked) -> Scripted:
        return then(asked) if asked.is_again else scripted

    return answer


def always(scripted: Scripted) -> Script:
    return lambda _asked: scripted


def mistaken(asked: Asked) -> Scripted:
    """Calls wrongly in each way at first, and goes on as if nothing had happened."""
    wrong = (
        ToolCall("query_rows", "{"),
        ToolCall("query_rows", '{"colums": []}'),
        ToolCall("send_mail"),
    )
    turn = sum(message["role"] == "assistant" for message in asked.messages)
    return wrong[turn] if turn < len(wrong) else Text(WORDS[number_of(asked)])


WAYS: list[tuple[Script, str]] = [
    (
        always(ToolCall("list_datasets")),
        f"WRONG: it went on to call tools, and had not answered after {TURNS} turns; in {TURNS} ",
    ),
    (always(Text("The moon \x1b[2J is full.")), "WRONG: it does not say 'yes' or 'complete'; in 0"),
    (always(ToolCall()), "WRONG: it gave no answer: "),
    (always(Refusal()), "WRONG: it refused: "),
    (first(NoUsage({})), "right, in 2 calls, 3 turns and tokens that its server does not count"),
    (mistaken, "right, in 1 calls, 4 turns and "),
    (always(Text("")), "WRONG: it gave no answer: "),
    (
        always(ToolCall("list_datasets", '{"cursor": "%s"}' % ("x" * 900_000))),
        "WRONG: it had not answered after 200,000 tokens; in ",
    ),
    (play, "right, in 3 calls, 4 turns and "),
    (always(Text("Answer: 60")), "WRONG: it did not do what was asked; in 0 calls, 1 turns and "),
]
"""How a model goes about each task, in order, and how the line begins that says how it went."""


@pytest.mark.slow
def test_a_model_that_does_not_answer_has_the_task_wrong_and_goes_on_to_the_next(
    tmp_path: Path,
) -> None:
    with ModelServer(lambda asked: WAYS[number_of(asked)][0](asked)) as server:
        ended = run(tmp_path, **of_server(server))
    assert (ended.returncode, ended.stderr) == (1, ""), ended.stdout
    told = outcomes(ended.stdout)
    assert len(told) == len(WAYS)
    for line, (_, beginning) in zip(told, WAYS, strict=True):
        assert line.startswith(beginning), line
    assert ended.stdout.splitlines()[-1].startswith("3 of 10 are right: played took ")
    assert "\n    answered: The moon \\x1b[2J is full.\n" in ended.stdout
    assert len(ended.stdout) < 20_000


TROUBLES: dict[str, tuple[Script, str]] = {
    "a wrong key": (
        always(Status(401, f"no such key {KEY}")),
        "1 of 10: status 401: no such key ***",
    ),
    "a server that breaks": (always(Status(500, "out of memory")), "1 of 10: status 500: out of "),
    "a server that does not answer": (always(Hang()), "1 of 10: http://127.0.0.1:"),
    "a task later": (
        lambda asked: play(asked) if number_of(asked) < 2 else Status(402, "no money left"),
        "3 of 10: status 402: no money left",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_model_that_cannot_be_asked_ends_it_with_a_sentence(tmp_path: Path, trouble: str) -> None:
    script, words = TROUBLES[trouble]
    with ModelServer(script) as server:
        ended = run(tmp_path, **of_server(server, LIVEDATA_MODEL_SECONDS="1"))
        assert len(server.asked) < 12
    assert ended.returncode == 2, ended.stdout
    assert ended.stderr.count("\n") == 1, ended.stderr
    assert ended.stderr.startswith(f"The model could not be asked at task {words}")
    assert KEY not in ended.stderr


NOT_SET: list[tuple[dict[str, str], str]] = [
    ({}, "No model is set: LIVEDATA_MODEL names one, and LIVEDATA_MODEL_BASE_URL its server."),
    ({"LIVEDATA_MODEL": "m", "LIVEDATA_MODEL_SECONDS": "soon"}, "LIVEDATA_MODEL_SECONDS"),
    (
        {"LIVEDATA_MODEL": "m", "LIVEDATA_MODEL_BASE_URL": "http://127.0.0.1:9/v1"},
        "at task 1 of 10: nothing answers at http://127.0.0.1:9/v1",
    ),
]


@pytest.mark.parametrize(("settings", "sentence"), NOT_SET)
def test_without_a_model_or_its_server_nothing_is_evaluated(
    tmp_path: Path, settings: dict[str, str], sentence: str
) -> None:
    ended = run(tmp_path, **settings)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1, ended.stderr
    assert sentence in ended.stderr


@pytest.mark.parametrize(("task", "words"), [*zip(TASKS, WORDS, strict=True)])
def test_the_facts_of_a_task_are_those_of_its_right_answer_alone(task: Task, words: str) -> None:
    assert [*faults(words, task.facts)] == []
    others = [other for other in WORDS if other != words]
    assert all([*faults(other, task.facts)] for other in (*others, "", "Answer:"))
