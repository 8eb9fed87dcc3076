"""Deliveries of notices in words: why one failed, and its command without what is secret."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from livedata.messages.templates import Words

SENTENCES: Mapping[str, Words] = {
    "notice.status": "The receiver answered {status} (2xx is needed).",
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
    "notice.apprise_failed": "Apprise could not deliver it. Its own command says why, "
    "with the address in a file: apprise -vv -b test -c FILE.",
    "notice.stopped": "The process that delivers was stopped in the middle.",
    "notice.fault": "It failed for a reason that nobody foresaw, which is a fault of livedata: "
    "{reason}.",
}
"""The codes of a delivery that failed -> sentences; no address stands in any."""

MASK: Final = "***"
LEAST: Final = 4
"""A shorter secret is not looked for elsewhere: it would stand in every other word."""
# A value that only names a variable of the shell is no secret.
_VALUE = r"""(?P<quote>\\?["']?)(?![$\s])(?P<secret>(?<=["'])[^"'\\]+|[^\s"'\\&;|<>]+)"""
_NAME = r"[\w.-]*(?:token|key|passw(?:or)?d|passphrase|pass|secret|credentials?)s?"
_BEFORE_SECRETS: Final = (
    # Authorization: Bearer ..., also where only the scheme is named.
    r"\bauthorization[\"']?\s*[:=]\s*(?:(?:bearer|basic|digest|token|apikey)\s+)?+",
    r"\bbearer\s+",
    # --token ..., --api-key=..., API_TOKEN=..., X-Api-Key: ..., "password": "..."
    rf"--{_NAME}(?:\s+|=)",
    rf"\b{_NAME}\\?[\"']?\s*[:=]\s*",
    # The password of a user, as curl and wget take it.
    r"(?<!\S)(?:-u|--user|--proxy-user)(?:\s+|=)[\"']?[^\s:\"']+:",
)
_IN_ADDRESS: Final = r"(?P<before>://[^\s/:@]*:)(?P<quote>)(?P<secret>[^\s/@]+)(?=@)"


def masked(command: str) -> str:
    """A command with ``***`` for passwords, tokens and keys."""
    for pattern in _patterns():
        command = pattern.sub(rf"\g<before>\g<quote>{MASK}", command)
    return command


def masked_saying(said: str, command: str) -> str:
    """What a command said, without the secrets that it was given."""
    for secret in sorted(_secrets(command), key=len, reverse=True):
        said = said.replace(secret, MASK)
    return masked(said)


def _secrets(command: str) -> Iterator[str]:
    for pattern in _patterns():
        for match in pattern.finditer(command):
            if len(match["secret"]) >= LEAST:
                yield match["secret"]


@cache
def _patterns() -> list[re.Pattern[str]]:
    # Compiled when a command is shown: most who import this only want the sentences.
    named = (
        re.compile(f"(?P<before>{before}){_VALUE}", re.IGNORECASE) for before in _BEFORE_SECRETS
    )
    return [*named, re.compile(_IN_ADDRESS)]
