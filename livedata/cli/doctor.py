"""``doctor``: how the whole is doing, on one page, and what of it needs a person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import click
from msgspec.structs import asdict

from livedata import __version__
from livedata.cli import machine
from livedata.cli.context import CommandContext, store_options
from livedata.cli.machine import ask_model
from livedata.cli.output.streams import print_json, print_text
from livedata.cli.output.tables import print_record, print_table
from livedata.cli.output.values import day_as_json, day_in_words, format_size, format_timestamp
from livedata.cli.warnings import say_skipped
from livedata.config import OwnerLimit, Settings
from livedata.hints import Subject, hint
from livedata.messages.render import sentence
from livedata.messages.templates import plural
from livedata.model import ids
from livedata.model.ids import Micros, OwnerName
from livedata.model.problem import Remedy
from livedata.model.research.settings import DayBudget, ResearchSettings
from livedata.services import accounts
from livedata.services.accounts import Nearest, NearOwner
from livedata.services.audit.vitals import LOOKED_AT, Vitals, WorkerProcess, examine
from livedata.services.research import days
from livedata.store.audit.vitals import Unaccepted
from livedata.store.database.table import VERSION
from livedata.store.schedules import Skipping

NEEDS_A_PERSON = 9
"""The exit code."""
MINUTE = 60_000_000
WAITS_LONG = 60 * MINUTE
"""A message that could not be delivered for so long needs a person."""
MONTH = 30 * 24 * 60 * MINUTE
MOST_SHOWN = 20
"""How many datasets stand on the page; --json has more."""


@click.command("doctor")
@click.option(
    "--late",
    metavar="MINUTES",
    type=click.IntRange(1, 10_000),
    default=5,
    show_default=True,
    help="After so long a schedule is late, and a Run waits too long.",
)
@click.option(
    "--ask-model",
    "asks_model",
    is_flag=True,
    help="Ask the model of research about a small page, which costs some 2,000 tokens.",
)
@store_options
def report_state(ctx: CommandContext, late: int, asks_model: bool) -> None:
    """Say how the whole is doing, and what needs you.

    One page about the store, what it gained, the processes that execute Runs, the queue and the
    schedules of all owners. With --ask-model it says too which output mode the server of the model
    understands. The exit code is 9 if something needs a person.
    """
    settings = ctx.settings
    with ctx.keeping() as db:
        place, vitals = db.place, examine(db, late * MINUTE)
        research = days.of_all(db, settings.research)
        replica = db.replica_problem()
        near = accounts.nearest(db, settings.limits)
    model, silent = _model(settings.research, asks_model=asks_model)
    problems = [
        *silent,
        *filter(None, [replica]),
        *machine.dangers(settings),
        *_problems(vitals, late * MINUTE),
        *_spent_days(research),
    ]
    about = {
        "version": __version__,
        "home": str(settings.home),
        "store": {"place": place, "bytes": vitals.size, "version": VERSION},
        "browser": machine.browser(settings),
        "model": model,
        "search": machine.search(settings.research),
    }
    if ctx.json:
        today = [{"owner": o, "stopped": n, **day_as_json(day)} for o, day, n in research]
        told = {"research": today, "limits": _limits_as_json(settings, near)}
        well = {"well": not problems, "problems": problems}
        print_json({**well, **about, **_as_json(vitals), **told})
    else:
        about["research today"] = [f"{owner} {day_in_words(day)}" for owner, day, _ in research]
        about["limits"] = _limits_in_words(settings, near)
        _print_page(about, vitals, problems)
    if problems:
        raise click.exceptions.Exit(NEEDS_A_PERSON)


def _model(settings: ResearchSettings, *, asks_model: bool) -> tuple[str, list[str]]:
    """The model that research asks, and what is wrong with it as far as it was asked."""
    words = machine.model(settings)
    if not asks_model or words.startswith("none"):
        return words, []
    answer, problems = ask_model(settings)
    return f"{words}; {answer}", problems


def _problems(vitals: Vitals, late: int) -> Iterator[str]:
    """What needs a person, as sentences."""
    for what, late_fires in (("schedule", vitals.late), ("digest", vitals.late_digests)):
        if late_fires is not None:
            told = f"{plural(late_fires.count, what)} {_are(late_fires.count)} late"
            first = f"{late_fires.name} was due at {_moment(late_fires.due_at)}"
            yield f"{told}: {first}, and no process took it. Does any follow the schedules?"
    # While somebody executes Runs, one may wait long for the turn of its site, and needs nobody.
    alive = [worker for worker in vitals.workers if worker.live]
    if vitals.oldest is not None and vitals.oldest < vitals.now - late and not alive:
        runs = "1 Run waits" if vitals.queued == 1 else f"{vitals.queued} Runs wait"
        yield f"{runs}, the first since {_moment(vitals.oldest)}, and no process executes any."
    for worker in vitals.workers:
        if not worker.live:
            lost = f"{_name(worker)} has lost {plural(worker.runs, 'Run')}"
            them = "it" if worker.runs == 1 else "them"
            yield f"{lost} at {_moment(worker.heartbeat)}, and no process has taken {them} back."
    for dataset in vitals.skipping:
        yield say_skipped(dataset, f"{dataset.name} of {dataset.owner}")
    yield from map(_not_accepted, vitals.unaccepted)
    yield from _undelivered(vitals)


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _spent_days(research: Iterable[tuple[OwnerName, DayBudget, int]]) -> Iterator[str]:
    """Whose research has come to the end of its budget of the day."""
    for owner, day, stopped in research:
        if stopped:
            runs = "1 Run" if stopped == 1 else f"{stopped} Runs"
            yield (
                f"The budget of the day has stopped {runs} of research of {owner}, which has used "
                f"{day_in_words(day)}: LIVEDATA_RESEARCH_TOKENS_A_DAY and "
                "LIVEDATA_RESEARCH_USD_A_DAY say how much each owner has."
            )


def _not_accepted(dataset: Unaccepted) -> str:
    """Say that the last Run of a dataset is held, or that none, or none of late, was accepted."""
    about = Subject(dataset.owner, dataset.name, ids.format_uuid(dataset.run))
    whose, moment = f"of {dataset.name} of {dataset.owner}", _moment(dataset.ended)
    held = dataset.status == "held"
    end = f"is held since {moment}" if held else f"ended {dataset.status} at {moment}"
    if dataset.accepted and not held:
        said = f"None of the last {dataset.in_a_row} Runs {whose} was accepted; the last one {end}"
    elif dataset.accepted:
        said = f"The last Run {whose} {end}"
    elif dataset.runs == 1:
        said = f"The first Run {whose} {end}"
    else:
        said = f"None of the {dataset.runs} Runs {whose} was accepted; the last one {end}"
    rows = "so its rows are older" if dataset.rows else "and the dataset has no rows"
    return f"{said}, {rows}. {hint(Remedy('show_run' if held else 'explain'), about)}"


def _undelivered(vitals: Vitals) -> Iterator[str]:
    """What notices could not tell anybody."""
    outbox = vitals.outbox
    if outbox.given_up:
        messages = "1 message was" if outbox.given_up == 1 else f"{outbox.given_up} messages were"
        why = "" if outbox.problem is None else f": {sentence(outbox.problem)}"
        yield f"{messages} given up, the last of the notice {outbox.notice}{why or '.'}"
    if outbox.oldest is not None and outbox.oldest < vitals.now - WAITS_LONG:
        first = f"the first since {_moment(outbox.oldest)}"
        why = "" if outbox.trouble is None else f": {sentence(outbox.trouble)}"
        yield f"{plural(outbox.waiting, 'message')} of notices not delivered, {first}{why or '.'}"


def _print_page(about: dict[str, Any], vitals: Vitals, problems: list[str]) -> None:
    store, wait = about["store"], ""
    if vitals.oldest is not None:
        wait = f", the first since {_moment(vitals.oldest)}"
    print_record(
        {
            "livedata": about["version"],
            "home": about["home"],
            "store": f"{store['place']}, {format_size(store['bytes'])}, version {store['version']}",
            "browser": about["browser"],
            "model": about["model"],
            "search": about["search"],
            **({"research today": "; ".join(today)} if (today := about["research today"]) else {}),
            **about["limits"],
            "in progress": plural(sum(worker.runs for worker in vitals.workers), "Run"),
            "waiting": plural(vitals.queued, "Run") + wait,
            "outbox": _outbox(vitals),
        }
    )
    if vitals.workers:
        print_text("")
        print_table(("process", "Runs", "since", "last heartbeat"), [*map(_line, vitals.workers)])
    if vitals.growth:
        print_text("")
        _print_growth(vitals)
    print_text("\nNeeds a person:" if problems else "\nAll is well.")
    for problem in problems:
        print_text(f"- {problem}")


def _limits_in_words(settings: Settings, near: Nearest) -> dict[str, str]:
    """What owners may have, and who is nearest to it, by what is limited."""
    words = {}
    for what, limit, owners in (
        ("datasets", settings.owner_datasets, near.datasets),
        ("open Runs", settings.owner_runs, near.runs),
        ("requests", settings.owner_requests, ()),
    ):
        parts = [] if limit.most is None else [f"at most {limit.most} of an owner"]
        parts += [f"{_most(most)} of {owner}" for owner, most in sorted(limit.others.items())]
        if parts:
            nearest = "".join(f"; {near.owner} has {near.has}" for near in owners)
            words[what] = f"{', '.join(parts)}{nearest}"
    if "requests" in words:
        words["requests"] += ", in a second and for each process"
    return words


def _most(most: int | None) -> str:
    return "any number" if most is None else f"at most {most}"


def _limits_as_json(settings: Settings, near: Nearest) -> dict[str, Any]:
    return {
        "datasets": {**_limit(settings.owner_datasets), "nearest": _owners(near.datasets)},
        "openRuns": {**_limit(settings.owner_runs), "nearest": _owners(near.runs)},
        "requestsASecond": _limit(settings.owner_requests),
    }


def _limit(limit: OwnerLimit) -> dict[str, Any]:
    return {"most": limit.most, "others": {**limit.others}}


def _owners(nearest: Iterable[NearOwner]) -> list[dict[str, Any]]:
    return [asdict(near) for near in nearest]


def _outbox(vitals: Vitals) -> str:
    outbox = vitals.outbox
    since = "" if outbox.oldest is None else f", the first since {_moment(outbox.oldest)}"
    given_up = f"; {outbox.given_up} given up" if outbox.given_up else ""
    return plural(outbox.waiting, "message") + since + given_up


def _print_growth(vitals: Vitals) -> None:
    print_table(
        ("dataset", "owner", "accepted in 7 days", "changes", "accepted in 30 days", "changes"),
        [
            (
                *(each.name, each.owner, each.week.runs, each.week.changes),
                *(each.month.runs, each.month.changes),
            )
            for each in vitals.growth[:MOST_SHOWN]
        ],
    )
    more = vitals.datasets - MOST_SHOWN
    if more > 0:
        print_text(f"and {plural(more, 'dataset')} with fewer changes")
    if vitals.grown_since > vitals.now - MONTH:
        print_text(f"counted since {_moment(vitals.grown_since)}, of the last {LOOKED_AT:,} Runs")


def _line(worker: WorkerProcess) -> tuple[str, int, str, str]:
    return _name(worker), worker.runs, _moment(worker.since), _moment(worker.heartbeat)


def _name(worker: WorkerProcess) -> str:
    """The machine and the pid of a process, out of the name that its lease has."""
    node, _, process = worker.holder.partition("/")
    # Behind the + stand a boot and a namespace of pids, which tell a person nothing.
    return f"{node.partition('+')[0]} {process.partition('/')[0]}"


def _moment(moment: Micros) -> str:
    return format_timestamp(ids.format_timestamp(moment))


def _as_json(vitals: Vitals) -> dict[str, Any]:
    late, digests, oldest = vitals.late, vitals.late_digests, vitals.oldest
    return {
        "queue": {"runs": vitals.queued, "oldest": oldest and ids.format_timestamp(oldest)},
        "workers": [*map(_worker, vitals.workers)],
        "late": late
        and {
            "schedules": late.count,
            "dataset": late.name,
            "dueAt": ids.format_timestamp(late.due_at),
        },
        "lateDigests": digests
        and {
            "digests": digests.count,
            "notice": digests.name,
            "dueAt": ids.format_timestamp(digests.due_at),
        },
        "skipped": [*map(_skipping, vitals.skipping)],
        "notAccepted": [*map(_unaccepted, vitals.unaccepted)],
        "outbox": {
            "waiting": vitals.outbox.waiting,
            "oldest": ids.format_optional_timestamp(vitals.outbox.oldest),
            "givenUp": vitals.outbox.given_up,
        },
        "datasets": vitals.datasets,
        "growthSince": ids.format_timestamp(vitals.grown_since),
        "growth": [
            {
                "owner": each.owner,
                "dataset": each.name,
                "last7Days": {"runs": each.week.runs, "changes": each.week.changes},
                "last30Days": {"runs": each.month.runs, "changes": each.month.changes},
            }
            for each in vitals.growth
        ],
    }


def _worker(worker: WorkerProcess) -> dict[str, Any]:
    return {
        "holder": worker.holder,
        "runs": worker.runs,
        "since": ids.format_timestamp(worker.since),
        "heartbeat": ids.format_timestamp(worker.heartbeat),
        "live": worker.live,
    }


def _skipping(skipping: Skipping) -> dict[str, Any]:
    return {
        "owner": skipping.owner,
        "dataset": skipping.name,
        "fires": skipping.count,
        "last": ids.format_timestamp(skipping.last),
        "reason": skipping.reason,
    }


def _unaccepted(dataset: Unaccepted) -> dict[str, Any]:
    return {
        "owner": dataset.owner,
        "dataset": dataset.name,
        "run": ids.format_uuid(dataset.run),
        "status": dataset.status,
        "endedAt": ids.format_timestamp(dataset.ended),
        "runs": dataset.runs,
        "accepted": dataset.accepted,
        "inARow": dataset.in_a_row,
    }
