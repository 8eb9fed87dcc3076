"""The words of a provider about what went wrong, fit to be stored and shown."""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct

MOST_CHARACTERS = 300
_PAGE = re.compile(r"<!doctype html|<html", re.IGNORECASE)
_TRACEBACK = "Traceback (most recent call last)"
# Not the point of an abbreviation or a number: a sentence has some words, and another follows.
_SENTENCE = re.compile(r".{20,}?[^\W\d_]{2}[.!?](?= +[A-Z])")
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
    return f"status {status}: {first_sentence(said)}{_hint(status, said)}"


def first_sentence(text: str) -> str:
    """The first sentence of what a server says; of a traceback the line that names the error."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if _PAGE.search(text) or not lines:
        return text
    traceback = next(
        (number for number, line in enumerate(lines) if line.startswith(_TRACEBACK)), None
    )
    line = lines[-1] if traceback == 0 else lines[0]
    sentence = _SENTENCE.match(line)
    return line if sentence is None else sentence[0]


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


_MISUNDERSTOOD = frozenset({400, 422, 500})
_FORMATS = ("schema", "response_format", "tool", "json_object")


def _hint(status: int, said: str) -> str:
    """What most often stands behind such an answer."""
    if status == 404:
        return "; check the model's name, and whether the address of its server needs the path /v1"
    if status in _MISUNDERSTOOD and any(word in said for word in _FORMATS):
        return "; a server that knows no such schemas needs the output mode object or prompted"
    return ""
