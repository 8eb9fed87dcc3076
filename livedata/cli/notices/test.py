"""``notice test``: whether a notice reaches anybody."""

from __future__ import annotations

from threading import Event

import click

from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.hints import Subject, hints
from livedata.messages.render import sentence
from livedata.rules.network.targets import TargetPolicy
from livedata.services.notices import subscriptions
from livedata.services.notices.cloud_events import trial_event
from livedata.worker.delivery import courier


@click.command("test")
@click.argument("name")
@common_options
def test_notice(ctx: CommandContext, name: str) -> None:
    """Deliver a message now that says it is a test.

    The exit code is 1 if it is not accepted.
    """
    with ctx.reading() as db:
        notice = subscriptions.find(db, ctx.owner, name)
    settings = ctx.settings
    targets, event = (
        TargetPolicy.parse(settings.allow_hosts),
        trial_event(notice, settings.public_url),
    )
    problem = courier.send(notice, event, targets, Event())
    said = None if problem is None else sentence(problem)
    if ctx.json:
        print_json({"delivered": problem is None, "problem": said})
    elif problem is None:
        print_text(f"The test of {notice.name} was delivered.")
    else:
        lines = hints(problem.remedies, Subject(ctx.owner))
        print_message("\n  ".join([f"Not delivered: {said}", *lines]))
    if problem is not None:
        raise click.exceptions.Exit(1)
