"""A page that was read, with what its windows gave."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Literal

from msgspec import Struct

from livedata.model.research.answers import PageText, Usage
from livedata.research.asking.windows import Window, halves
from livedata.rules.research.fold import fold
from livedata.rules.research.offers import Page, SupportedRow
from livedata.rules.research.quotes import PageWords
from livedata.rules.research.reconciliation import Offer


class JudgedRow(Struct, frozen=True):
    """A supported row, and the ids by which facts speak of it."""

    row: SupportedRow
    candidate: str
    evidence: str


class WindowAnswer(Struct, frozen=True):
    """What became of a window: its supported rows, or None with the code of the reason.

    `halve` says that its halves are to be asked; `capped` that there are more rows in it, which
    nobody can ask for; `over` that it was not asked any more. `names` are those of all rows that
    were offered, supported or not. `usage` is None if no call was made. `detail` are the words that
    came with a failure.
    """

    rows: list[JudgedRow] | None
    code: str | None = None
    halve: bool = False
    capped: bool = False
    names: frozenset[str] = frozenset()
    usage: Usage | None = None
    over: Literal["deadline", "cancelled"] | None = None
    detail: str = ""


class ExtractedPage:
    """A page while it is extracted; `url` is as it was asked for."""

    def __init__(self, number: int, url: str, text: PageText, artifact: str) -> None:
        self.number = number
        self.url = url
        self.text = text
        self.artifact = artifact
        self.lost = self.capped = False
        self.names: frozenset[str] = frozenset()
        self._answers: dict[Window, WindowAnswer] = {}

    @cached_property
    def shown(self) -> Page:
        """The page with its words, in which quotes are looked for."""
        return Page(self.text, PageWords(self.text.text))

    @cached_property
    def _links(self) -> list[tuple[int, str, str, str]]:
        links = enumerate(self.text.links)
        return [(number, text, address, fold(text)) for number, (text, address) in links]

    def links_in(self, window: Window) -> list[tuple[int, str, str]]:
        """The links whose words stand in a window, with their numbers on the page."""
        if not self._links:
            return []
        words = fold(self.text.text[window.start : window.end])
        return [
            (n, text, address)
            for n, text, address, folded in self._links
            if folded and folded in words
        ]

    def halves(self, window: Window) -> list[Window]:
        """The halves of a window of this page."""
        return halves(self.text.text, window)

    def take(self, window: Window, answer: WindowAnswer) -> None:
        """Keep what a window gave."""
        self._answers[window] = answer
        self.names |= answer.names
        self.capped |= answer.capped

    def offers(self) -> list[Offer]:
        """The rows of a page that was extracted whole, each once, in the order of the page."""
        return [
            Offer(self.number, number, each.row, each.candidate, each.evidence)
            for number, each in enumerate(self._rows(), 1)
        ]

    def _rows(self) -> Iterator[JudgedRow]:
        for window in sorted(self._answers):
            yield from self._answers[window].rows or ()
