"""Two machines and two servers that all fail, while every dataset is due each minute.

python -m tests.chaos                                    # 15 minutes, 200 datasets on 20 hosts
python -m tests.chaos --minutes 13 --datasets 60 --hosts 12
python -m tests.chaos --without-failover                 # with one server

The machines are namespaces of Linux (network, process numbers and name), so this needs root. Each
has a supervisor with a crawl worker of eight Runs at once. One machine is parted from the servers
for 90 s, and still reaches the site; a crawl worker and a supervisor are killed; the other machine
stands still for 120 s; the server is stopped as if it crashed, and started again; at last its
machine dies, and the server that follows it takes over. Then the store, the log of the site and
that of who receives the notices are judged: a table says what of each promise was seen. A run of
less than 12 minutes has only the faults that take no time, and does not judge how many Runs began.

The exit code is 0 if all promises were kept, 1 if not, and 77 where no such machines can be made.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from tests.chaos.judge import Verdict, judge, resumed
from tests.chaos.network import NotAllowed
from tests.chaos.plan import chosen, play
from tests.chaos.world import world

NOT_ALLOWED = 77
"""As of tests that are skipped."""
MOST_TOLD = 10
"""So many faults of a promise are told at most."""


def lines(verdicts: Iterable[Verdict]) -> list[str]:
    """A table of the promises, and what is wrong below it."""
    told = list(verdicts)
    widths = [max(len(each.promise) for each in told), max(len(each.seen) for each in told)]
    table = [
        f"{'WRONG' if each.wrong else 'holds':7}{each.promise:{widths[0]}}  {each.seen}".rstrip()
        for each in told
    ]
    for each in told:
        table += [f"  {each.promise}: {wrong}" for wrong in each.wrong[:MOST_TOLD]]
        if len(each.wrong) > MOST_TOLD:
            table.append(f"  {each.promise}: {len(each.wrong) - MOST_TOLD} more")
    return table


def run(
    minutes: float, datasets: int, hosts: int, *, failover: bool, logs: Path | None = None
) -> Sequence[Verdict]:
    """Let everything fail for so many minutes; the verdicts. Raises NotAllowed."""
    with world(hosts, failover=failover, logs=logs) as made:
        made.fill(datasets)
        for machine in made.machines:
            made.start_worker(machine)
        made.activate()
        play(made, *chosen(minutes, failover=failover))
        made.end()
        for line in resumed(made.story):
            click.echo(line)
        return judge(made.story)


@click.command(help=(__doc__ or "").partition("\n")[0])
@click.option("--minutes", default=15.0, show_default=True, help="From the first fire to the last.")
@click.option("--datasets", default=200, show_default=True)
@click.option(
    "--hosts", type=click.IntRange(1, 150), default=20, show_default=True, help="Of the site."
)
@click.option("--without-failover", is_flag=True, help="With one server, which comes back.")
@click.option("--logs", type=click.Path(path_type=Path), help="A folder to keep the logs in.")
def main(
    minutes: float, datasets: int, hosts: int, without_failover: bool, logs: Path | None
) -> None:
    """Print what was seen of each promise."""
    # So that the machines and their network go away too if somebody ends this.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        verdicts = run(minutes, datasets, hosts, failover=not without_failover, logs=logs)
    except NotAllowed as error:
        click.echo(f"No machines can be made here: {error}.", err=True)
        sys.exit(NOT_ALLOWED)
    for line in lines(verdicts):
        click.echo(line)
    sys.exit(any(verdict.wrong for verdict in verdicts))


if __name__ == "__main__":
    main()
