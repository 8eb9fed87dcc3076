"""Sends one event by the channel of its notice."""

from __future__ import annotations

import logging
from threading import Event

from livedata.model.problem import Problem
from livedata.rules.network.targets import TargetPolicy
from livedata.services.notices.cloud_events import CloudEvent
from livedata.store.notices.notices import Notice
from livedata.worker.delivery import apprise_message, command, webhook

log = logging.getLogger("livedata.notices")


def send(
    notice: Notice, event: CloudEvent, targets: TargetPolicy, stopping: Event
) -> Problem | None:
    """Deliver an event; why that failed, or None if it was taken."""
    try:
        if notice.channel == "webhook":
            assert notice.secret is not None
            return webhook.post(notice.target, notice.secret, event, targets)
        if notice.channel == "command":
            return command.run(notice.target, event, stopping)
        return apprise_message.send(notice.target, event)
    except Exception as error:  # noqa: BLE001  (a message that fails is tried again)
        # Only its kind is told: its words may hold the address, and that a password.
        log.error("notice %s: %s", notice.name, type(error).__name__)  # noqa: TRY400
        return Problem("notice.fault", {"reason": type(error).__name__})
