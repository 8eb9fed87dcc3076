"""The words of a provider about what went wrong, fit to be stored and shown."""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct

MOST_CHARACTERS = 300
_PAGE = re.compile(r"<!doctype html|<html", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")


def complaint(text: str, *secrets: str) -> str:
    """`text` on one line, cut, without any of these `secrets`, and without the tags of a page."""
    for secret in filter(None, secrets):
        text = text.replace(secret, "***")
    if _PAGE.search(text):
        # A space for each tag: the parts of a secret must not become one.
        text = _TAG.sub(" ", text)
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]}…"


def words_of_error(status: int, body: object) -> str:
    """What a model's server answers instead of a completion, and what most often helps."""
    said = _said(body)
    return f"status {status}: {said}{_hint(status, said)}"


class _ErrorWords(Struct):
    message: str = ""


class _ErrorBody(Struct):
    error: _ErrorWords | str = ""
    message: str = ""


def _said(body: object) -> str:
    """What the body of an error says, whichever of the usual shapes it has."""
    try:
        read = msgspec.convert(body, _ErrorBody)
    except msgspec.ValidationError:
        return str(body)
    text = read.error if isinstance(read.error, str) else read.error.message
    return text or read.message or str(body)


def _hint(status: int, said: str) -> str:
    """What most often stands behind such an answer."""
    if status == 404:
        return "; check the model's name, and whether the address of its server needs the path /v1"
    if status in {400, 422} and any(word in said for word in ("schema", "response_format", "tool")):
        return "; a server that knows no schemas needs the output mode prompted"
    return ""
