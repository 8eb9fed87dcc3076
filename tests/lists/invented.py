"""Other words and numbers in the places of those that tell records apart."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

_TOKEN: Final = re.compile(r"[^\W_]+")
_PIECE: Final = re.compile(r"<[^>]*>|[^<]+")
_ATTRIBUTE: Final = re.compile(r'( [\w:-]+)="([^"]*)"')
_KEPT: Final = frozenset((" class", " style", " type", " rel", " colspan", " rowspan"))
_MOST: Final = 9
_MOSTLY: Final = 0.7


class Invention:
    """Writes records that are like those of a list, with other words where these differ."""

    def __init__(self, records: Sequence[str]) -> None:
        counts = Counter(token for record in records for token in set(_TOKEN.findall(record)))
        self._known: Final = frozenset(counts)
        self._shared: Final = {
            token for token, count in counts.items() if count >= _MOSTLY * len(records)
        }

    def like(self, record: str, number: int) -> str:
        """A record like another one: a different one for each number."""
        return _PIECE.sub(lambda piece: self._piece(piece[0], number), record)

    def _piece(self, piece: str, number: int) -> str:
        if not piece.startswith("<"):
            return html.escape(self._text(html.unescape(piece), number), quote=False)
        return _ATTRIBUTE.sub(
            lambda result: (
                result[0]
                if result[1] in _KEPT
                else f'{result[1]}="{html.escape(self._text(html.unescape(result[2]), number))}"'
            ),
            piece,
        )

    def _text(self, text: str, number: int) -> str:
        return _TOKEN.sub(lambda token: self._token(token[0], number), text)

    def _token(self, token: str, number: int) -> str:
        if token in self._shared:
            return token
        turned = [_turned(token, number + by) for by in range(1, _MOST)]
        longer = [f"{token}{number}{by}" for by in range(1, _MOST)]
        return next(each for each in (*turned, *longer) if each not in self._known)


def corrected_text(text: str) -> str:
    """A text, as it stands in markup, with its last word or number changed."""
    plain = html.unescape(text)
    *_, last = _TOKEN.finditer(plain)
    changed = plain[: last.start()] + _turned(last[0], 1) + plain[last.end() :]
    return html.escape(changed, quote=False)


def _turned(token: str, by: int) -> str:
    for _ in range(by):
        token = "".join(map(_next, token))
    return token


def _next(character: str) -> str:
    """The one after it of its kind, so that words stay words and numbers stay as long."""
    if character.isdecimal() and character.isascii():
        return str(int(character) % 9 + 1)
    if character in "zZ":
        return chr(ord(character) - 25)
    after = chr(ord(character) + 1)
    same = after.isupper() == character.isupper() and after.islower() == character.islower()
    return after if after.isalpha() and same else character
