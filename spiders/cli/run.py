"""``livedata run`` and ``execute``: execute Runs in this process, and say how each ended."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options
from livedata.cli.exit_codes import exit_code, explained
from livedata.cli.fast_start import ended_by_ctrl_c
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.warnings import warn_if_low
from livedata.hints import Subject, hint, machine_hints
from livedata.messages.controls import escape_controls
from livedata.messages.findings import odd_sentences
from livedata.messages.research import describe_calls
from livedata.messages.templates import plural
from livedata.model import ids
from livedata.model.errors import (
    Damaged,
    InsufficientCredits,
    LivedataError,
    NotFound,
    RunInProgress,
    StoreUnavailable,
)
from livedata.model.ids import OwnerName, RunId
from livedata.model.problem import Remedy
from livedata.services import queries, runs, scheduler
from livedata.services.commit import AcceptancePolicy
from livedata.services.notices import digests, notifying
from livedata.services.retention import forget_old
from livedata.services.run_report import RunReport
from livedata.services.runs import Queued
from livedata.store.database.store import Store
from livedata.store.queue import RunOptions
from livedata.worker.delivery.courier import Courier
from spiders.cli.progress import show_progress
from spiders.crawl.engine import CrawlEngine, crawl_engine, end_process
from spiders.crawl.settings import FetchConfig, fetch_config
from spiders.worker.executor import WAIT, Executor
from spiders.worker.running import Stage

# The worst first: without the store nothing else is sure, credits stop every further Run, and a Run
# that another process has in hand (7) may well succeed there.
PRECEDENCE = (8, 1, 6, 3, 4, 5, 7)
TIDYING = 1.0
"""The seconds for which a Run lets go of what is old, if there is much of it."""
_BY_STATUS = {"succeeded": 0, "failed": 3, "blocked": 4, "held": 5}


@click.command()
@click.argument("datasets", nargs=-1, metavar="[DATASET]...", shell_complete=complete_dataset)
@click.option("--all", "everything", is_flag=True, help="Every dataset that is not paused.")
@click.option("--fresh", is_flag=True, help="Ask the model about unchanged pages too.")
@common_options
@ended_by_ctrl_c()
def run(ctx: CommandContext, datasets: Sequence[str], everything: bool, fresh: bool) -> None:
    """Run datasets now.

    Reads the sources, and accepts what is complete and passes all Checks. Without names:
    datasets without a schedule, and active ones whose schedule is due. Ctrl-C ends what is in
    progress as cancelled; SIGTERM gives it back, so that the next run takes it up.

    Research asks the model only about what is new on its pages; with --fresh about all of them.
    """
    if everything and datasets:
        raise click.UsageError("--all runs every dataset: name datasets, or give --all.")
    run_datasets(ctx, datasets, everything=everything, fresh=fresh)


def run_datasets(
    ctx: CommandContext,
    datasets: Sequence[str],
    *,
    everything: bool,
    fresh: bool = False,
    is_new: bool = False,
) -> None:
    """Execute Runs of `datasets`, of all that are due, or of `everything`, and print their ends.

    `fresh` Runs ask a model again what it has answered. With ``--json``, a dataset that is new
    stands beside its Run.
    """
    # Before a Run waits: the import of the crawler takes long enough for a Ctrl-C.
    fetching = fetch_config(ctx.settings)
    with ctx.writing() as store:
        codes: list[int] = []
        # Whoever executes them in the end: this process may be gone before they have begun.
        options = RunOptions(fresh, fetching.targets.only)
        queue = _queue(ctx, store, datasets, everything, options, codes)
        _take_up(store, queue, fresh)
        failed, engine = _execute(ctx, store, queue, fetching) if queue else ({}, None)
        reports = [_report(store, ctx.owner, queued.run, failed) for queued in queue]
        errors = [failed.get(queued.run) for queued in queue]
        codes += map(_code, reports, errors)
        if ctx.json:
            answers = [report.run for report in reports if report is not None]
            # Who names one dataset asks for one Run, and gets an object instead of a list.
            answer = answers[0] if len(datasets) == 1 == len(answers) else answers
            print_json(_beside_dataset(ctx, store, datasets[0], answer) if is_new else answer)
        else:
            for queued, report, error in zip(queue, reports, errors, strict=True):
                _tell(queued.name, report, error, ctx.owner)
        if queue:
            _look_after(ctx, store, queue)
    end_process(next((code for code in PRECEDENCE if code in codes), 0), engine)


@click.command()
@click.argument("name", metavar="[RUN]", required=False)
@click.option("--next", "is_next", is_flag=True, help="Execute the Run that is next of all queued.")
@click.option("--site-free", is_flag=True, help="Do not wait while another Run reads its site.")
@common_options
@ended_by_ctrl_c()
def execute(ctx: CommandContext, name: str | None, is_next: bool, site_free: bool) -> None:
    """Execute one queued Run, of any owner, for an engine of your own.

    It is safe to call twice: a Run that is over is told as it ended, and one that another process
    has in hand is left to it, with the exit code 7. Where nothing is queued, --next does nothing.
    Ctrl-C ends the Run as cancelled; SIGTERM gives it back.
    """
    if (name is None) is not is_next:
        raise click.UsageError("Name one Run, or give --next.")
    fetching = fetch_config(ctx.settings)
    with ctx.writing() as store:
        run = None if name is None else _find_run(ctx, store, name)

        def choose() -> Queued | None:
            if run is None:
                return runs.next_queued(store, site_free=site_free)
            return runs.queued(store, run)

        failed: dict[bytes, LivedataError] = {}
        queued, engine, began = choose(), None, run
        if queued is not None:
            with _executor(ctx, store, fetching, [queued]) as executor:
                engine, failed = executor.engine, executor.errors
                executing = _execute_one(
                    executor, queued, choose, waits=run is None or not site_free
                )
                engine.run(_until_done(executor, executing))
                began = run or next(iter(executor.executed), None)
        code = _tell_one(ctx, store, began, failed)
    end_process(code, engine)


def _find_run(ctx: CommandContext, store: Store, name: str) -> RunId:
    """A Run of any owner by its id, or one of the owner of the command as `runs show` takes it."""
    try:
        return RunId(ids.raw_id(name))
    except ValueError:
        return queries.find_run(store, ctx.owner, name)


async def _execute_one(
    executor: Executor,
    queued: Queued | None,
    choose: Callable[[], Queued | None],
    *,
    waits: bool,
) -> None:
    """Execute what is queued, else what can be chosen then; Raises RunInProgress.

    Where another Run reads its site, it `waits`.
    """
    place = asyncio.Semaphore(1)
    async with executor.heartbeats():
        while queued is not None and not executor.stopping:
            if await executor.execute_one(queued, place):
                if queued.run in executor.executed or queued.run in executor.errors:
                    return
            elif not waits:
                raise RunInProgress(f"Another Run reads the site of {queued.name} now.")
            else:
                executor.progress(queued, Stage.WAITING)
                await asyncio.sleep(WAIT)
            queued = await executor.ask(choose)


def _tell_one(
    ctx: CommandContext, store: Store, run: RunId | None, failed: dict[bytes, LivedataError]
) -> int:
    """Say how a Run has ended, if one was executed; its exit code."""
    if run is None:
        print_json(None) if ctx.json else print_message("No Run is queued that may start now.")
        return 0
    owner = runs.owner_of(store, run)
    report, error = _report(store, owner, run, failed), failed.get(run)
    if ctx.json and report is not None:
        print_json(report.run)
    else:
        _tell(ids.format_uuid(run) if report is None else report.name, report, error, owner)
    return _code(report, error)


def _beside_dataset(
    ctx: CommandContext, store: Store, dataset: str, answer: object
) -> dict[str, object]:
    """A new dataset, as its Run has left it, and the Run; null if none could begin."""
    key = queries.find_dataset(store, ctx.owner, dataset)
    return {"dataset": queries.dataset(store, ctx.owner, key), "run": answer or None}


def _look_after(ctx: CommandContext, store: Store, queue: Sequence[Queued]) -> None:
    """Warn of low credits, deliver notices, and let go of what is old."""
    with suppress(Damaged):  # it is told already
        warn_if_low(store, ctx.owner, *(queued.dataset for queued in queue))
    # A machine whose cron starts this command may have no other process that does it. What is wrong
    # with another dataset says nothing of these Runs.
    with suppress(StoreUnavailable, Damaged):
        notifying.tell_silence(store)
        digests.replan(store, ctx.settings.timezone)
        for _ in digests.tell_due(store, ctx.settings.timezone):
            pass
    Courier.of(store, ctx.settings).deliver_soon()
    with suppress(StoreUnavailable, Damaged):
        # A person waits for this command: what takes longer is left for the next one.
        end = time.monotonic() + TIDYING
        forget_old(store, lambda: time.monotonic() > end)


def _execute(
    ctx: CommandContext, store: Store, queue: Sequence[Queued], fetching: FetchConfig
) -> tuple[dict[bytes, LivedataError], CrawlEngine]:
    """Execute the Runs; what went wrong with some of them, by their ids, and what executed them."""
    with _executor(ctx, store, fetching, queue) as executor:
        executor.engine.run(_until_done(executor, executor.execute(queue)))
        return executor.errors, executor.engine


@contextmanager
def _executor(
    ctx: CommandContext, store: Store, fetching: FetchConfig, queue: Sequence[Queued]
) -> Iterator[Executor]:
    """What executes Runs, and shows on a terminal what those of the queue are at."""
    with crawl_engine() as engine, show_progress(queue, quiet=ctx.json) as progress:
        policy = AcceptancePolicy(ctx.settings.mass_loss, ctx.settings.guards)
        at_once, research = ctx.settings.at_once, ctx.settings.research
        yield Executor(store, engine, fetching, policy, progress, at_once, research)


async def _until_done(executor: Executor, executing: Awaitable[None]) -> None:
    """Execute; Ctrl-C ends the Runs as cancelled, the second time at once; SIGTERM gives back."""
    loop = asyncio.get_running_loop()

    def interrupted() -> None:
        # Not sys.exit, which waits for what hangs. The store stays whole: a transaction that was
        # cut is rolled back, and the next run takes up the Run once its lease has lapsed.
        loop.add_signal_handler(signal.SIGINT, lambda: os._exit(130))
        print_message("Cancelling; once more stops at once.")
        executor.cancel()

    # By the loop, so between two steps: KeyboardInterrupt would come in the middle of one.
    loop.add_signal_handler(signal.SIGINT, interrupted)
    loop.add_signal_handler(signal.SIGTERM, executor.give_back)
    try:
        await executing
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        loop.remove_signal_handler(signal.SIGTERM)


def _queue(
    ctx: CommandContext,
    store: Store,
    names: Sequence[str],
    everything: bool,
    options: RunOptions,
    codes: list[int],
) -> list[Queued]:
    """The Runs to execute; what cannot be run is said at once, and its exit code noted."""
    owner = ctx.owner
    if not names and not everything:
        return _due(store, owner, ctx.settings.timezone, options, codes)
    if everything:
        with store.reading() as reader:
            wanted = runs.all_unpaused(reader, owner)
    else:
        # A dataset that is named twice, by name and by id perhaps, runs once.
        keys = dict.fromkeys(queries.find_dataset(store, owner, name) for name in names)
        wanted = [(key, queries.dataset(store, owner, key)["name"]) for key in keys]
    if not wanted:
        print_message("There is nothing to run: no dataset that is not paused.")
    queue = []
    for key, name in wanted:
        try:
            queue.append(runs.take_up(store, owner, key, name, options))
        except (NotFound, RunInProgress, InsufficientCredits, Damaged) as error:
            codes.append(exit_code(error))
            print_message(f"{escape_controls(name)}: {explained(error)}")
    return queue


def _due(
    store: Store, owner: str, zone: str, options: RunOptions, codes: list[int]
) -> list[Queued]:
    queue, left, refused = scheduler.claim_due(store, owner, zone, options)
    for name in left.names:
        print_message(
            f"{escape_controls(name)} is a draft with a schedule, so it is left out. "
            f"{hint(Remedy('start_schedule'), Subject(owner, name))}"
        )
    if left.are_more:
        listing = Subject(owner).command("dataset", "list")
        print_message(f"Left out too: more drafts with a schedule; {listing} names them.")
    for name, error in refused:
        codes.append(exit_code(error))
        print_message(f"{escape_controls(name)}: {explained(error)}")
    if not queue and not refused:
        print_message("Nothing is due.")
    return queue


def _report(
    store: Store, owner: OwnerName, run: RunId, failed: dict[bytes, LivedataError]
) -> RunReport | None:
    """How a Run ended; None, with the error in `failed`, if that cannot be read."""
    try:
        return queries.run_report(store, owner, run)
    except Damaged as error:
        failed.setdefault(run, error)
        return None


def _code(report: RunReport | None, error: LivedataError | None) -> int:
    if error is not None or report is None:
        return 1 if error is None else exit_code(error)
    return _BY_STATUS.get(report.run["status"], 1)


def _take_up(store: Store, queue: Sequence[Queued], fresh: bool) -> None:
    """Say which Runs were open already; they become `fresh` too."""
    for queued in queue:
        if queued.taken_up:
            if fresh:
                runs.make_fresh(store, queued.run)
            print_message(f"{escape_controls(queued.name)}: taking up the Run that was left open.")


def _tell(dataset: str, report: RunReport | None, error: LivedataError | None, owner: str) -> None:
    """One or two lines on how a Run ended."""
    name = escape_controls(dataset)
    if error is not None:
        print_message(f"{name}: {explained(error)}")
    if error is not None or report is None:
        return
    answer, about = report.run, Subject(owner, dataset, report.run["id"])
    taken = "" if report.calls is None else f"; {describe_calls(report.calls)}"
    if answer["status"] == "succeeded":
        deltas = answer["rowDeltas"]
        print_text(
            f"{name}: succeeded, {deltas['new']} new, {deltas['changed']} changed, "
            f"{deltas['gone']} gone "
            f"({plural(report.charged, 'page')}, {plural(report.charged, 'credit')}{taken})"
        )
        for line in odd_sentences(report.facts):
            print_text(f"  odd: {line}")
        # All that the history has is new: whoever sees the first Run may not know what comes next.
        if report.facts.get("head") == deltas["new"] > 0:
            print_message(f"See its rows: {about.command('rows list', dataset)}")
    elif answer["status"] == "queued":
        print_text(f"{name}: given back.")
        print_message(f"It is queued again. {hint(Remedy('take_up'), about)}")
    else:
        print_text(f"{name}: {answer['status']}. {escape_controls(answer['error'] or '')}".rstrip())
        for line in machine_hints(report.problem, about):
            print_message(f"  {line}")
        if answer["status"] in {"failed", "held", "blocked"}:
            print_message(
                f"Nothing was written or charged{taken}. {hint(Remedy('show_run'), about)}"
            )
