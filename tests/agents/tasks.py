"""Ten tasks, each as a person asks it, how a careful agent goes about it, and what is right.

A script knows no more than the tools tell it: it begins with the list of datasets, finds a table by
its columns or its state, follows `try` and `next`, and answers from what it read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from livedata.services import queries
from tests.agents.facts import Facts
from tests.agents.world import Known, World

Ask = Callable[..., Awaitable[dict[str, Any]]]


class Task(NamedTuple):
    """What a person asks, and how it is answered; `pages` says how many pages an agent reads else.

    0 pages: no page of the website says it. `right` is what the script answers, `facts` what an
    answer in words says. `holds` says whether what was to be done is done.
    """

    question: str
    script: Callable[[Ask, Known], Awaitable[object]]
    right: object
    facts: Facts
    pages: int
    holds: Callable[[World], bool] = lambda _world: True

    def asked(self, known: Known) -> str:
        """The question, with what an agent knows before it asks."""
        return (
            f"{self.question}\n\nWhen I last asked about lamps, `through` was {known.asked}. "
            f"The list that may be watched is at {known.page}."
        )


async def _named(ask: Ask, word: str) -> dict[str, Any]:
    """The dataset whose name has a word of the question."""
    listed = (await ask("list_datasets"))["datasets"]
    return next(each for each in listed if word in each["dataset"])


async def fallen(ask: Ask, known: Known) -> object:
    """Which fell, and the quote of each."""
    name = (await _named(ask, "lamp"))["dataset"]
    changes = await ask(
        "list_changes", dataset=name, after=known.asked, when=["price falls by 10%"]
    )
    rows = [await ask("get_row", dataset=name, row=change["row"]) for change in changes["changes"]]
    return [(row["row"], row["cells"]["price"]["quote"]) for row in rows]


async def is_complete(ask: Ask, _known: Known) -> object:
    """The state says it: a Run that is not complete is never accepted."""
    lamps = await _named(ask, "lamp")
    return lamps["state"], lamps["observedAt"] is not None


async def why_nothing_new(ask: Ask, _known: Known) -> object:
    """By the call that the state of the table proposes."""
    call = (await _named(ask, "chair"))["try"][0]
    explained = await ask(call["tool"], **call["arguments"])
    return explained["status"], bool(explained["causes"])


async def cheapest(ask: Ask, _known: Known) -> object:
    """By order, one row."""
    name = (await _named(ask, "lamp"))["dataset"]
    rows = await ask("query_rows", dataset=name, columns=["title", "price"], order="price", limit=1)
    return rows["rows"]


async def how_many(ask: Ask, _known: Known) -> object:
    """The total, without the rows."""
    name = (await _named(ask, "lamp"))["dataset"]
    rows = await ask("query_rows", dataset=name, columns=["sku"], where=["price < 20"], limit=1)
    return rows["total"]


async def at_first(ask: Ask, _known: Known) -> object:
    """The first of its changes."""
    name = (await _named(ask, "lamp"))["dataset"]
    row = await ask("get_row", dataset=name, row="L-07")
    return row["changes"][0]["cells"]["price"][1]


async def since_then(ask: Ask, known: Known) -> object:
    """By the sequence that was kept."""
    name = (await _named(ask, "lamp"))["dataset"]
    changes = await ask("list_changes", dataset=name, after=known.asked)
    return sorted((change["kind"], change["row"]) for change in changes["changes"])


async def by_hand(ask: Ask, _known: Known) -> object:
    """What was edited, and what the source says."""
    name = (await _named(ask, "lamp"))["dataset"]
    title = (await ask("get_row", dataset=name, row="L-03"))["cells"]["title"]
    return title["value"], title["edited"], title["source"]


async def every_name(ask: Ask, _known: Known) -> object:
    """By the cursor, to the end."""
    name = (await _named(ask, "lamp"))["dataset"]
    asked: dict[str, Any] = {"dataset": name, "columns": ["title"]}
    answer = await ask("query_rows", **asked)
    titles = answer["rows"]
    while answer["next"] is not None:
        answer = await ask("query_rows", **asked, cursor=answer["next"])
        titles += answer["rows"]
    return len({title for (title,) in titles})


async def watch(ask: Ask, known: Known) -> object:
    """Look, try, make, run."""
    looked = await ask("look_at_page", url=known.page)
    tried = await ask("preview_source", declaration=looked["declaration"])
    assert tried["outcome"] == "accept", tried
    made = await ask("create_dataset", declaration=looked["declaration"])
    call = made["try"][0]
    run = await ask(call["tool"], **call["arguments"])
    return run["status"], run["rowDeltas"]["new"]


def is_watched(world: World) -> bool:
    """Whether a table was made that has each row of the list."""
    made = [
        dataset["rowCount"]
        for dataset in queries.datasets(world.store, "local", 9)
        if dataset["name"] not in ("lamps", "chairs")
    ]
    return made == [60]


LAMPS = (*(f"Lamp No. {number}" for number in range(1, 62) if number not in (3, 50)),)
"""The names of all lamps but the one that was edited."""

TASKS = (
    Task(
        "Which lamps fell in price by 10 % since I last asked, and what did the page say?",
        fallen,
        [("L-07", "12.0"), ("L-33", "20.0")],
        Facts(("L-07", "12", "L-33", "20"), ("L-20",)),
        0,
    ),
    Task(
        "Is the table of lamps complete?",
        is_complete,
        ("ok", True),
        Facts((("yes", "complete"),), ("no", "not", "incomplete")),
        6,
    ),
    Task(
        "Why is there nothing new about chairs?",
        why_nothing_new,
        ("failed", True),
        Facts((("no items", "selector", "itemSelector", "matched nothing", "matches nothing"),)),
        0,
    ),
    Task(
        "Which lamp is the cheapest?",
        cheapest,
        [["Lamp No. 61", 5]],
        Facts((("L-61", "Lamp No. 61"),), ("L-07", "Lamp No. 7")),
        6,
    ),
    Task(
        "How many lamps cost less than 20?",
        how_many,
        10,
        Facts(("10",), ("L-10", "Lamp No. 10")),
        6,
    ),
    Task("What did lamp L-07 cost at first?", at_first, 17, Facts(("17",), ("12",)), 0),
    Task(
        "What is new about lamps since I last asked?",
        since_then,
        sorted(
            [
                *(("updated", row) for row in ("L-03", "L-07", "L-20", "L-33")),
                *(("missing", "L-50"), ("created", "L-61")),
            ]
        ),
        Facts(("L-03", "L-07", "L-20", "L-33", "L-50", "L-61"), ("L-01", "L-02", "L-60")),
        0,
    ),
    Task(
        "Who says that L-03 is a reading lamp, and what does the page call it?",
        by_hand,
        ("Reading lamp", True, "Lamp No. 3"),
        Facts((("edited", "edit", "hand", "manually", "person", "owner"), "Lamp No. 3")),
        0,
    ),
    Task(
        "List the names of all lamps.",
        every_name,
        60,
        Facts((*LAMPS, "Reading lamp"), ("Lamp No. 50",)),
        6,
    ),
    Task(
        "Watch this list, and say how many rows its table has.",
        watch,
        ("succeeded", 60),
        Facts(("60",), ("Lamp No. 60",)),
        6,
        is_watched,
    ),
)
