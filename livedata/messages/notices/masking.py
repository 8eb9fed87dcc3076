"""Commands of notices, and what they say, without what is secret of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

MASK: Final = "***"
LEAST: Final = 4
"""A shorter secret is not looked for elsewhere: it would stand in every other word."""
# A value that only names a variable of the shell is no secret.
_VALUE = r"""(?P<quote>\\?["']?)(?![$\s])(?P<secret>(?<=["'])[^"'\\]+|[^\s"'\\&;|<>]+)"""
_NAME = r"[\w.-]*(?:token|key|passw(?:or)?d|passphrase|pass|secret|credentials?)s?"
_SECRETS: Final = [
    re.compile(f"(?P<before>{pattern}){_VALUE}", re.IGNORECASE)
    for pattern in (
        # Authorization: Bearer ..., also where only the scheme is named.
        r"\bauthorization[\"']?\s*[:=]\s*(?:(?:bearer|basic|digest|token|apikey)\s+)?+",
        r"\bbearer\s+",
        # --token ..., --api-key=..., API_TOKEN=..., X-Api-Key: ..., "password": "..."
        rf"--{_NAME}(?:\s+|=)",
        rf"\b{_NAME}\\?[\"']?\s*[:=]\s*",
        # The password of a user, as curl and wget take it.
        r"(?<!\S)(?:-u|--user|--proxy-user)(?:\s+|=)[\"']?[^\s:\"']+:",
    )
] + [re.compile(r"(?P<before>://[^\s/:@]*:)(?P<quote>)(?P<secret>[^\s/@]+)(?=@)")]


def masked(command: str) -> str:
    """A command with ``***`` for passwords, tokens and keys."""
    for pattern in _SECRETS:
        command = pattern.sub(rf"\g<before>\g<quote>{MASK}", command)
    return command


def masked_saying(said: str, command: str) -> str:
    """What a command said, without the secrets that it was given."""
    for secret in sorted(_secrets(command), key=len, reverse=True):
        said = said.replace(secret, MASK)
    return masked(said)


def _secrets(command: str) -> Iterator[str]:
    for pattern in _SECRETS:
        for match in pattern.finditer(command):
            if len(match["secret"]) >= LEAST:
                yield match["secret"]
