"""``livedata run``: execute Runs in this process, and say how each ended."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence

import click
import orjson

from livedata import config
from livedata.cli.context import json_option, open_store, owner_option
from livedata.cli.output import clean, note
from livedata.model.errors import (
    InsufficientCredits,
    LivedataError,
    RunInProgress,
    StoreUnavailable,
)
from livedata.rules.targets import Targets
from livedata.services import lookup, runs
from livedata.services.acceptance import Policy
from livedata.services.lookup import RunStory
from livedata.services.runs import Queued
from livedata.store.engine import Store
from spiders.crawl import reactor
from spiders.execute import Executor
from spiders.progress import progress_for
from spiders.settings import Fetching

PRECEDENCE = (8, 1, 6, 3, 4, 5, 7)
_BY_STATUS = {"succeeded": 0, "failed": 3, "blocked": 4, "held": 5}


@click.command()
@click.argument("datasets", nargs=-1, metavar="[DATASET]...")
@click.option("--all", "everything", is_flag=True, help="Every dataset that is not paused.")
@owner_option
@json_option
@click.pass_context
def run(
    context: click.Context, datasets: Sequence[str], everything: bool, owner: str, as_json: bool
) -> None:
    """Read the sources now, and take over what is complete and passes all Checks.

    Without names: datasets without a schedule, and active ones whose schedule is due.
    """
    settings = config.load()
    store = open_store(settings, owner)
    codes: list[int] = []
    queue = _queue(store, owner, datasets, everything, codes)
    executor = Executor(
        store, fetching(settings), Policy(settings.mass_loss), progress_for(queue, quiet=as_json)
    )
    if queue:
        with reactor() as loop:
            loop.run_until_complete(_execute(executor, queue))
    stories = []
    for queued in queue:
        story = lookup.run_story(store, owner, queued.run)
        stories.append(story)
        codes.append(_code(story, executor.errors.get(queued.run)))
        if not as_json:
            _tell(story, executor.errors.get(queued.run))
    if as_json:
        shown = [story.run for story in stories]
        one = len(datasets) == 1 and len(shown) == 1
        click.echo(orjson.dumps(shown[0] if one else shown).decode())
    _warn_of_credits(store, owner, stories)
    context.exit(next((code for code in PRECEDENCE if code in codes), 0))


def fetching(settings: config.Settings) -> Fetching:
    """How the settings say that pages are fetched."""
    return Fetching(Targets.parse(settings.allow_hosts), settings.user_agent, settings.delay)


async def _execute(executor: Executor, queue: Sequence[Queued]) -> None:
    """Execute; Ctrl-C ends the Runs as cancelled, the second time at once; SIGTERM gives back."""
    loop = asyncio.get_running_loop()

    def interrupted() -> None:
        loop.add_signal_handler(signal.SIGINT, lambda: os._exit(130))
        note("Cancelling; once more stops at once.")
        executor.cancel()

    loop.add_signal_handler(signal.SIGINT, interrupted)
    loop.add_signal_handler(signal.SIGTERM, executor.give_back)
    try:
        await executor.execute(queue)
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        loop.remove_signal_handler(signal.SIGTERM)


def _queue(
    store: Store, owner: str, names: Sequence[str], everything: bool, codes: list[int]
) -> list[Queued]:
    """The Runs to execute; what cannot be run is said at once, and its exit code noted."""
    if not names and not everything:
        return _due(store, owner, codes)
    if everything:
        with store.reading() as reader:
            wanted = runs.all_unpaused(reader, owner)
    else:
        found = [lookup.find_dataset(store, owner, name) for name in names]
        wanted = [(key, lookup.dataset(store, owner, key)["name"]) for key in dict.fromkeys(found)]
    if not wanted:
        note("There is nothing to run: no dataset that is not paused.")
    queue = []
    for key, name in wanted:
        try:
            queue.append(runs.take_up(store, owner, key, name))
        except (RunInProgress, InsufficientCredits) as error:
            codes.append(_error_code(error))
            note(f"{clean(name)}: {error.message}")
    return queue


def _due(store: Store, owner: str, codes: list[int]) -> list[Queued]:
    queue, left, refused = runs.claim_due(store, owner)
    for name in left:
        note(
            f"{clean(name)} is a draft with a schedule, so it is left out; start it with "
            f"livedata dataset update {name} --status active, or run it by its name."
        )
    for name, error in refused:
        codes.append(_error_code(error))
        note(f"{clean(name)}: {error.message}")
    if not queue and not refused:
        note("Nothing is due.")
    return queue


def _error_code(error: LivedataError) -> int:
    kinds = {StoreUnavailable: 8, InsufficientCredits: 6, RunInProgress: 7}
    return next((code for kind, code in kinds.items() if isinstance(error, kind)), 1)


def _code(story: RunStory, error: LivedataError | None) -> int:
    if error is not None:
        return _error_code(error)
    return _BY_STATUS.get(story.run["status"], 1)


def _tell(story: RunStory, error: LivedataError | None) -> None:
    """One or two lines on how a Run ended."""
    answer, name = story.run, clean(story.name)
    if error is not None:
        note(f"{name}: {error.message}")
        return
    if answer["status"] == "succeeded":
        deltas = answer["rowDeltas"]
        pages = "1 page" if story.charged == 1 else f"{story.charged} pages"
        click.echo(
            f"{name}: succeeded, {deltas['new']} new, {deltas['changed']} changed, "
            f"{deltas['gone']} gone ({pages}, {story.charged} credits)"
        )
        return
    click.echo(f"{name}: {answer['status']}. {clean(answer['error'] or '')}")
    if answer["status"] in {"failed", "held", "blocked"}:
        note(f"Nothing was written or charged. More: livedata runs show {answer['id']}")
    elif answer["status"] == "queued":
        note(f"The Run was given back; livedata run {name} takes it up again.")


def _warn_of_credits(store: Store, owner: str, stories: Sequence[RunStory]) -> None:
    cost = sum(story.charged for story in stories)
    if not cost:
        return
    balance = lookup.usage(store, owner)["balance"]
    if balance < 10 * cost:
        note(
            f"{balance} credits are left, for fewer than ten Runs like this one; add some with "
            f"livedata credits grant {100 * cost} --owner {owner}"
        )
