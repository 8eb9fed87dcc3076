"""The commands ``credits`` and ``usage``, and the warning that credits run out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from livedata.cli.context import Asked, shared
from livedata.cli.hints import Subject, hint
from livedata.cli.output import counted, record, say, table, when, write, write_json
from livedata.model.problem import Remedy

if TYPE_CHECKING:
    from livedata.store.database.store import Database

MOST = 2**53
RUNS_LEFT = 10
"""Below so many Runs' worth of credits a command says so."""


def _credits(_context: click.Context, _argument: click.Parameter, value: str) -> int:
    """N as a number, or what is wrong with it in a sentence."""
    if not re.fullmatch(r"[+-]?[0-9]{1,16}", value) or abs(int(value)) > MOST:
        raise click.UsageError(
            f"N must be a whole number such as 1000 or -50, at most {MOST}, not {value!r}."
        )
    return int(value)


@click.group("credits")
def credits_() -> None:
    """Grant credits."""


# A negative number looks like an option; here it takes credits away.
@credits_.command("grant", context_settings={"ignore_unknown_options": True})
@click.argument("credits_", metavar="N", callback=_credits)
@click.option("--note", help="Why, for the ledger.")
@shared
def grant(asked: Asked, credits_: int, note: str | None) -> None:
    """Add N credits; a negative N takes some away."""
    from livedata.services import accounts

    with asked.writing() as store:
        asked.meet(store)
        entry = accounts.grant(store, asked.owner, credits_, note)
    if asked.json:
        write_json(entry)
    else:
        write(f"{asked.owner} has {counted(entry['balanceAfter'], 'credit')}.")


@click.command("usage")
@shared
def usage(asked: Asked) -> None:
    """Show the balance and the ledger of the last 30 days."""
    from livedata.services import queries

    with asked.reading() as db:
        found = queries.usage(db, asked.owner)
    if not found["ledger"] and not found["balance"]:
        with asked.writing() as store:
            asked.meet(store)
            found = queries.usage(store, asked.owner)
    if asked.json:
        write_json(found)
        return
    record({"owner": asked.owner, "balance": found["balance"]})
    if found["ledger"]:
        write("")
        table(
            ("when", "kind", "credits", "balance", "run", "note"),
            [
                (
                    when(entry["createdAt"]),
                    entry["kind"],
                    f"{entry['credits']:+}",
                    entry["balanceAfter"],
                    entry["runId"],
                    entry["note"],
                )
                for entry in found["ledger"]
            ],
            ids="run",
        )


def warn_if_low(db: Database, owner: str, *datasets: bytes) -> None:
    """Say so where the credits are below ten Runs' worth of a dataset, or of several together."""
    from livedata.services import queries

    balance = queries.usage(db, owner)["balance"]
    price = sum(run_price(db, owner, dataset) for dataset in datasets)
    if balance < RUNS_LEFT * price:
        left = f"{counted(balance, 'credit')} {'is' if balance == 1 else 'are'} left"
        what = "this dataset" if len(datasets) == 1 else f"these {len(datasets)} datasets"
        add = hint(Remedy("grant_credits", {"credits": RUNS_LEFT * price}), Subject(owner))
        say(f"Only {left}, and a Run of {what} costs up to {price}. {add}")


def run_price(db: Database, owner: str, dataset: bytes) -> int:
    """What a Run of a dataset costs: as the last accepted one did, else the most that it could."""
    from livedata.model.ids import raw_id
    from livedata.services import queries

    for run in queries.runs(db, owner, dataset, 20):
        if run["status"] == "succeeded":
            return queries.run_report(db, owner, raw_id(run["id"])).charged
    source: Any = queries.source(db, owner, dataset)["source"]
    if not isinstance(source, dict) or source["pagination"]["kind"] == "none":
        return 1
    return int(source.get("maxPages", 10))
