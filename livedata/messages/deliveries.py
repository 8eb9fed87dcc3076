"""Why a message of a notice could not be delivered, in words. No address stands in any."""

from __future__ import annotations

from collections.abc import Mapping

from livedata.messages.templates import Words

SENTENCES: Mapping[str, Words] = {
    "notice.status": "The receiver answered {status}, and only 2xx means that it has the message.",
    "notice.redirect": "The receiver answered {status}: a webhook follows no redirect, so give it "
    "the address where that leads.",
    "notice.gone": "The receiver answered 410: it wants no more, so the notice is off.",
    "notice.no_answer": "There was no answer within {seconds} s.",
    "notice.no_host": "The name {host} could not be looked up.",
    "notice.private": "{host} is at the private address {address}, which gets no webhook.",
    "notice.connection": "The connection failed: {reason}.",
    "notice.certificate": "The certificate of {host} is not trusted: {reason}.",
    "notice.command_failed": "The command ended with {code}: {said}",
    "notice.command_killed": "The command did not end within {seconds} s, so it was killed.",
    "notice.command_not_started": "The command could not be started: {reason}.",
    "notice.no_apprise": "Mail and chat need the part of livedata for it, which is not installed.",
    "notice.apprise_failed": "Apprise could not deliver it; try the address with its own command.",
    "notice.stopped": "The process that delivers was stopped in the middle.",
    "notice.fault": "It failed for a reason that nobody foresaw, which is a fault of livedata: "
    "{reason}.",
}
"""The codes of a delivery that failed -> sentences."""
