"""``notice add``."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from livedata.cli.context import CommandContext
from livedata.cli.notices.list import as_json
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.output.tables import print_record
from livedata.messages.addresses import predicate
from livedata.model.errors import Invalid
from livedata.model.ids import Micros
from livedata.rules.network.targets import TargetPolicy, url_problem
from livedata.services import queries
from livedata.services.notices import wishes
from livedata.services.notices.wishes import Wish
from livedata.worker.delivery import apprise_message


class NewNotice(Struct, frozen=True):
    """A notice in a person's words: datasets by their names."""

    name: str
    channel: str
    target: str
    kinds: Sequence[str]
    datasets: Sequence[str]
    threshold: int
    silent_for: Micros | None


def add_notice(ctx: CommandContext, new: NewNotice) -> None:
    """Add a notice, and print the secret of a webhook."""
    _check_target(ctx, new)
    with ctx.writing() as store:
        datasets = [queries.find_dataset(store, ctx.owner, name) for name in new.datasets]
        wish = Wish(
            new.name,
            new.channel,
            new.target,
            new.kinds,
            list(dict.fromkeys(datasets)),
            new.threshold,
            new.silent_for,
        )
        notice = wishes.add(store, ctx.owner, wish, first_credits=ctx.first_credits)
    if ctx.json:
        print_json({**as_json(notice, {}), "secret": notice.secret})
    elif notice.secret is None:
        print_text(f"The notice {notice.name} is on.")
    else:
        print_record({"notice": notice.name, "secret": notice.secret})
        # On stderr: a file to which the secret is redirected has no prose in it.
        print_message("Keep the secret for the receiver now: it is not shown again.")


def _check_target(ctx: CommandContext, new: NewNotice) -> None:
    """Raise Invalid for an address or a command that cannot be."""
    if not new.target.strip():
        raise Invalid(f"--{new.channel} is empty.")
    if new.channel == "apprise":
        apprise_message.check(new.target)
    if new.channel == "webhook":
        targets = TargetPolicy.parse(ctx.settings.allow_hosts)
        problem = url_problem(new.target, targets)
        if problem is not None:
            said = predicate(problem).replace("which is not read", "which gets no webhook")
            raise Invalid(f"--webhook {said}.", remedies=problem.remedies)
