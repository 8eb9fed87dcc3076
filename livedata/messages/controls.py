"""Text that steers no terminal and no page: control and direction characters are written out."""

from __future__ import annotations

import re

# C0, DEL and C1 move the cursor, rename the window or paste into the shell. Marks of direction show
# text in another order than it has (U+202E), separators of lines break tables, and a lone surrogate
# cannot be encoded.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
# The same in UTF-8, without what is below U+0020, which orjson escapes itself; U+009B alone opens
# an escape sequence as ESC [ does. Outside of strings JSON has none of them.
_UNSAFE_IN_JSON = re.compile(
    rb"\x7f|\xc2[\x80-\x9f]|\xd8\x9c|\xe2(?:\x80[\x8e\x8f\xa8-\xae]|\x81[\xa6-\xa9])"
)


def escape_controls(text: str, *, keep: str = "") -> str:
    r"""Return `text` with every control and direction character written out, as in ``\x1b``.

    The characters in `keep` stay as they are.
    """
    # True for nearly every cell, and much faster than the pattern.
    if text.isprintable():
        return text
    return _UNSAFE.sub(lambda m: m[0] if m[0] in keep else _escape(m[0]), text)


def escape_json(json: bytes) -> bytes:
    """Return the same JSON with every control and direction character in its escaped form."""
    return _UNSAFE_IN_JSON.sub(lambda m: b"\\u%04x" % ord(m[0].decode()), json)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
