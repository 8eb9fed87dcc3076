"""Mail and chat by Apprise, which is an extra: ``livedata[notify]``."""

from __future__ import annotations

import logging
from importlib import import_module
from threading import Event
from typing import Any

from livedata.messages.request import invalid
from livedata.model.errors import Detail, LivedataError
from livedata.model.problem import Problem, Remedy
from livedata.rules.network.targets import TargetPolicy
from livedata.services.notices.cloud_events import CloudEvent
from livedata.store.notices import Notice
from livedata.worker.delivery.time_limit import NotInTime, within

_MAIL = frozenset(
    (
        *("mailto", "mailtos", "azure", "o365", "brevo", "mailersend", "mailgun", "postmark"),
        *("resend", "sendgrid", "sendpulse", "ses", "smtp2go", "sparkpost"),
    )
)
"""How the addresses begin by which Apprise sends mail: of HTML it makes the text beside it."""
_UNKNOWN = (
    "is no address that Apprise takes: its kind is unknown, or a part is missing. Write one such "
    "as mailto://user:password@example.org, or for a server without a login "
    "mailto://example.org:25?from=me@example.org&to=you@example.org; https://appriseit.com lists "
    "them"
)
_NOBODY = (
    "names nobody to whom mail can be sent: behind to= stands an address such as you@example.org"
)
SECONDS = 30
"""How long a message may take."""


def check(url: str, _targets: TargetPolicy) -> None:
    """Raise LivedataError if Apprise is missing, Invalid if it does not know such an address."""
    if not url.isprintable():
        raise invalid([Detail("apprise", "must not contain line ends or control characters")])
    servers = _apprise().Apprise()
    # The address is not repeated: it may hold a password.
    if not servers.add(url):
        raise invalid([Detail("apprise", _UNKNOWN)])
    # Who is no address of mail is left out without a word, and then nobody is left.
    if _is_mail(url) and any(getattr(server, "targets", None) == [] for server in servers):
        raise invalid([Detail("apprise", _NOBODY)])


def send(
    notice: Notice, event: CloudEvent, _targets: TargetPolicy, _stopping: Event
) -> Problem | None:
    """Deliver an event; why that failed, or None."""
    try:
        taken = within(SECONDS, lambda: _sent(notice.target, event))
    except NotInTime:
        return Problem("notice.no_answer", {"seconds": SECONDS})
    except LivedataError:
        return Problem("notice.no_apprise", remedies=(Remedy("install_notify"),))
    return None if taken else Problem("notice.apprise_failed")


def _sent(url: str, event: CloudEvent) -> bool:
    apprise = _apprise().Apprise()
    body, form = _body(url, event)
    return bool(apprise.add(url) and apprise.notify(title=event.title, body=body, body_format=form))


def _body(url: str, event: CloudEvent) -> tuple[str, str]:
    """What is sent to an address, and its form: a mail has room for all, a chat has not."""
    if _is_mail(url):
        return (event.html, "html") if event.html else (event.text, "text")
    return event.brief or event.text, "text"


def _is_mail(url: str) -> bool:
    return url.partition(":")[0].lower() in _MAIL


def _apprise() -> Any:
    # As text: it is an extra, and neither a type checker nor a start needs it.
    try:
        apprise = import_module("apprise")
    except ModuleNotFoundError as error:
        raise LivedataError(
            "Mail and chat need the module apprise, which is not installed.",
            remedies=(Remedy("install_notify"),),
        ) from error
    # It logs addresses, and what a server answered to a password.
    logging.getLogger("apprise").setLevel(logging.CRITICAL + 1)
    return apprise
