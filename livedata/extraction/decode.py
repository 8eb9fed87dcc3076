"""The bytes of a page as text, decoded as a browser does."""

from __future__ import annotations

from w3lib.encoding import html_to_unicode


def decode(body: bytes, content_type: str | None) -> str:
    """The body as text, without NUL, lone surrogates and a leading byte order mark.

    A byte order mark decides, then the ``Content-Type``, then the page's own ``meta``; without
    any of them UTF-8 if it is that, else windows-1252.
    """
    try:
        text = html_to_unicode(content_type, body, auto_detect_fun=_guess)[1]
    except (LookupError, ValueError):  # Python knows codecs that no browser takes for a charset
        text = body.decode(_guess(body), "replace")
    # NUL and a lone surrogate cannot be stored, or not in every database.
    text = text.replace("\x00", "").removeprefix("\ufeff")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "ignore").decode()
    return text


def _guess(body: bytes) -> str:
    try:
        body.decode()
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"
