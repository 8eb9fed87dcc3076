"""Holds the diagnosis of many random research Runs against what must be true of any.

``python -m tests.rules.research_worlds 3000`` tries so many, and ``--summary`` times a large one.
"""

from __future__ import annotations

import sys
import time

from livedata.rules.diagnosis.research import entities
from tests.rules.research import large_run
from tests.rules.test_research_diagnosis import world_is_told_consistently


def main(arguments: list[str]) -> None:
    """Try as many worlds as the arguments say, or time a summary of 500 entities."""
    if arguments == ["--summary"]:
        made = large_run(500)
        took = []
        for _ in range(5):
            before = time.process_time()
            entities.summarize(made)
            took.append(time.process_time() - before)
        print(f"summary of 500 entities: CPU {1000 * min(took):.1f} ms")  # noqa: T201  # a command
        return
    for seed in range(int(arguments[0])):
        world_is_told_consistently(seed)
    print(f"{arguments[0]} worlds are told consistently")  # noqa: T201  # a command


if __name__ == "__main__":
    main(sys.argv[1:])
