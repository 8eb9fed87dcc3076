"""A page that was read, with what its windows gave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal

from msgspec import Struct

from livedata.model.research.answers import CallUsage, PageText
from livedata.research.asking.windows import Window, halves, parts
from livedata.rules.research.fold import fold
from livedata.rules.research.offered_rows import SearchablePage, SupportedRow
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
    usage: CallUsage | None = None
    over: Literal["deadline", "cancelled"] | None = None
    detail: str = ""


class PagePart:
    """A part of a page: it counts as a whole or not at all."""

    def __init__(self, page: ExtractedPage, windows: Sequence[Window]) -> None:
        self.page = page
        self.windows = windows
        self.lost = False
        self.answers: dict[Window, WindowAnswer] = {}

    def take(self, window: Window, answer: WindowAnswer) -> None:
        """Keep what a window gave."""
        self.answers[window] = answer
        self.page.names |= answer.names
        self.page.capped |= answer.capped


class ExtractedPage:
    """A page while it is extracted; `url` is as it was asked for.

    Without its first part it counts for nothing; without another one it counts as cut.
    """

    def __init__(self, number: int, url: str, text: PageText, artifact: str) -> None:
        self.number = number
        self.url = url
        self.text = text
        self.artifact = artifact
        self.capped = False
        self.names: frozenset[str] = frozenset()
        self.parts = [PagePart(self, windows) for windows in parts(text.text)]

    @property
    def lost(self) -> bool:
        """Whether the page counts for nothing."""
        return self.parts[0].lost

    @property
    def is_short(self) -> bool:
        """Whether a part of the page counts for nothing."""
        return any(part.lost for part in self.parts)

    @property
    def cut(self) -> bool:
        """Whether there may be more on the page than what was read of it."""
        return self.text.cut or self.capped or self.is_short

    @cached_property
    def shown(self) -> SearchablePage:
        """The page with its words, in which quotes are looked for."""
        return SearchablePage(self.text, PageWords(self.text.text))

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

    def offers(self) -> list[Offer]:
        """The rows of a page that was extracted whole, each once, in the order of the page."""
        return [
            Offer(self.number, number, each.row, each.candidate, each.evidence)
            for number, each in enumerate(self._rows(), 1)
        ]

    def _rows(self) -> Iterator[JudgedRow]:
        for part in self.parts:
            for window in () if part.lost else sorted(part.answers):
                yield from part.answers[window].rows or ()
