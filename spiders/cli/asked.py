"""``python -P -m spiders.cli.asked``: looks at websites for a door that is no shell.

A line of JSON on stdin asks: ``{"look": {"url", "like", "number"}}``, or ``{"preview": ...}`` with
a declaration. One on stdout answers: ``{"answer": ...}``, or ``{"error": ..., "remedies": []}``.
The process ends with who asked, whose end is that of stdin.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from livedata.config import load
from livedata.messages.list_doubts import AGENTS
from livedata.messages.validation import read
from livedata.model.errors import LivedataError
from livedata.model.problem import Remedy
from livedata.model.requests import CreateDataset
from spiders.cli.fetched_page import fetch_lists
from spiders.cli.init_report import found_json, nothing_json
from spiders.cli.looking import end_with_stdin, is_read, name_of, proposal_of
from spiders.cli.no_list import no_list, no_such_list, unread
from spiders.cli.proving import Prover
from spiders.cli.trial import trial_recipe, try_out
from spiders.cli.trial_report import trial_json
from spiders.crawl.engine import CrawlEngine, crawl_engine, end_process
from spiders.crawl.job import CrawlJob
from spiders.crawl.settings import FetchConfig, fetch_config

Answer = dict[str, Any]


class Look(msgspec.Struct, frozen=True):
    """A page to look at, and which of its lists is meant: by texts of its records, or by number."""

    url: str
    like: Sequence[str] = ()
    number: int | None = None


def main() -> None:
    """Answer the one question of this process."""
    asked = msgspec.json.decode(sys.stdin.buffer.readline(), type=dict[str, msgspec.Raw])
    # Only now: this reads stdin to its end, and would take the question as well.
    end_with_stdin()
    with crawl_engine() as engine:
        answer = _answered(engine, asked)
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    sys.stdout.buffer.flush()
    end_process(0, engine)


def _answered(engine: CrawlEngine, asked: Mapping[str, msgspec.Raw]) -> Answer:
    try:
        fetching = fetch_config(load())
        if "look" in asked:
            wish = msgspec.json.decode(asked["look"], type=Look)
            return _found(engine, fetching, wish)
        return {"answer": _tried(engine, fetching, msgspec.json.decode(asked["preview"]))}
    except LivedataError as error:
        return _error(error.message, error.remedies)


def _found(engine: CrawlEngine, fetching: FetchConfig, wish: Look) -> Answer:
    """What ``livedata init`` finds on a page, in the words of who asks by arguments."""
    url, like, number = wish.url, wish.like, wish.number
    look = engine.run(fetch_lists(engine, url, "static", fetching, like))
    lists = look.lists
    if lists is None:
        problem = look.harvest.ending.problem
        return _error(unread(problem), () if problem is None else problem.remedies)
    if number is not None and number > len(lists.seen) > 0:
        return _error(no_such_list(number, lists, AGENTS))
    if not is_read(lists, is_named=number is not None or bool(like)):
        why = no_list(url, lists, like, rendered=False, ways=AGENTS)
        return {"answer": nothing_json(lists, why)} if lists.seen else _error(why)
    number = number or 1
    proposal = proposal_of(lists, number, url, AGENTS)
    if isinstance(proposal, str):
        return {"answer": nothing_json(lists, proposal)}
    prover = Prover(engine, fetching, url, "static", name_of(lists, url))
    proposed = engine.run(prover.prove(proposal))
    return {"answer": found_json(lists, number, proposed, AGENTS)}


def _tried(engine: CrawlEngine, fetching: FetchConfig, declaration: Any) -> Answer:
    """What ``livedata preview`` says of a declaration. Raises Invalid."""
    recipe = trial_recipe(read(CreateDataset, declaration), fetching.targets)
    return trial_json(engine.run(try_out(engine, CrawlJob(recipe, fetching), 1)))


def _error(message: str, remedies: Sequence[Remedy] = ()) -> Answer:
    return {"error": message, "remedies": remedies}


if __name__ == "__main__":
    main()
