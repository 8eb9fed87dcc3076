"""The text below an element as a person sees it.

Left out: script, style and template, and what stands in iframe, noembed and noframes, which a
browser never shows; ``noscript`` is shown, as in a browser without scripts. Left out too is what is
`Hidden` below the element; whether it is hidden itself does not count. A space stands at the edges
of block-level elements (table cells and options too) and at ``br``. White space is what
``str.split`` takes for it: all of Unicode's, NBSP too; zero-width characters are not. Any run of
it is one space, and there is none at the ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct
from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Set

    from selectolax.lexbor import LexborNode


def names(text: str) -> frozenset[str]:
    """The set of the words in ``text``."""
    return frozenset(text.split())


SET_OFF: Final = "\x00"
"""Stands in a marked text where superscript or subscript begins or ends; no page holds it."""
_SHIFTED: Final = frozenset(("sup", "sub"))
_UNSEEN: Final = frozenset(("script", "style", "template", "iframe", "noembed", "noframes"))
APART: Final = names(
    "address article aside blockquote body br caption center dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup hr "
    "html legend li listing main menu nav ol optgroup option p plaintext pre search section "
    "select summary table tbody td tfoot th thead title tr ul xmp"
)


class Hidden(Struct, frozen=True):
    """Elements that are not seen, by their `mem_id`.

    Nothing below one that is `gone` is seen. `turned` are those that say whether their own texts
    are seen, and all texts below them up to the next that says so.
    """

    gone: Set[int] = frozenset()
    turned: Mapping[int, bool] = {}

    def hides(self, element: int) -> bool:
        """Whether it is one of those that hide what is below them."""
        return element in self.gone or not self.turned.get(element, True)


NOTHING_HIDDEN: Final = Hidden()


_SHORT: Final = 2_000  # characters of a text for which no work is counted
_SLICE: Final = 1 << 16  # characters that are split into words at once
_WORTH_A_NODE: Final = 256  # characters that take as long as a node
_AT_ONCE: Final = 5_000  # nodes that are looked at before they are counted as work


def text(node: LexborNode, hidden: Hidden, limit: int | None = None) -> str:
    """The text below ``node``, without what is ``hidden`` there.

    With ``limit`` it stops early once over that many characters: then the answer is longer than
    ``limit`` whenever the whole is, and may be cut.
    """
    short = short_text(node)
    return plain(walked_text(node, hidden, limit)[0]) if short is None else short


def plain(marked: str) -> str:
    """A marked text without its marks."""
    return marked.replace(SET_OFF, "").strip()


def short_text(node: LexborNode) -> str | None:
    """The text of an element that holds only a text; None of any other, or if it is long."""
    child = node.first_child
    if child is None or node.tag in _UNSEEN:
        return ""
    if child.tag == "-text" and child.next is None:
        content = child.text_content or ""
        if len(content) <= _SHORT:
            return " ".join(content.split())
    return None


def walked_text(node: LexborNode, hidden: Hidden, limit: int | None = None) -> tuple[str, int]:
    """The text below ``node`` with its marks, and how many nodes were looked at for it."""
    walk = _TextWalk(node, hidden)
    walk.run(limit)
    return walk.text, walk.visited


class TextSpans:
    """The text of a whole page, of which the text of each element is a part.

    Elements that lie within each other share one walk, however many they are; ``spend`` is told of
    the nodes that it looks at meanwhile, and may end it.
    """

    def __init__(self, root: LexborNode, hidden: Hidden, spend: Callable[[int], None]) -> None:
        self._spans: dict[int, tuple[int, int]] = {}
        walk = _NotedWalk(root, hidden, self._spans, spend)
        walk.run(None)
        walk.count()
        self._text = walk.text

    def marked(self, node: LexborNode, limit: int) -> str | None:
        """As `walked_text`; None of an element that is not seen, whose text is no part of it."""
        span = self._spans.get(node.mem_id)
        if span is None:
            return None
        start, end = span
        # There is at most one mark before each character, and a space at each end.
        return self._text[start : min(end, start + 2 * limit + 4)].strip()


class _TextWalk:
    """A walk through all that is below an element, which gathers the text and its marks."""

    def __init__(self, top: LexborNode, hidden: Hidden) -> None:
        self.visited = 0
        self._top = top
        self._gone = hidden.gone
        self._turned = hidden.turned
        self._unseen: list[bool] = []  # whether texts are, by the elements that say so
        self._pieces: list[str] = []
        self._length = self._marks = 0
        self._space = False

    @property
    def text(self) -> str:
        """What was gathered."""
        return "".join(self._pieces)

    def run(self, limit: int | None) -> None:
        """Walk to the end, or until more than ``limit`` characters are gathered."""
        stop = self._top.mem_id
        gone = self._gone
        node = self._top.first_child
        while node is not None and (limit is None or self._length - self._marks <= limit):
            self.visited += 1
            tag = node.tag
            below = None
            if tag == "-text":
                if not (self._unseen and self._unseen[-1]):
                    self._add(node.text_content or "", limit)
                else:
                    self._skip(node.text_content or "")
            elif tag not in _UNSEEN and not (gone and node.mem_id in gone):
                if self._turned and node.mem_id in self._turned:
                    self._unseen.append(not self._turned[node.mem_id])
                self._enter(tag)
                below = node.first_child
            node = below or self._after(node, stop)

    def _after(self, node: LexborNode, stop: int) -> LexborNode | None:
        """What follows in document order, once all is left that ends on the way up to it."""
        here: LexborNode | None = node
        while here is not None and here.mem_id != stop:
            tag = here.tag
            if (
                tag != "-text"
                and tag not in _UNSEEN
                and not (self._gone and here.mem_id in self._gone)
            ):
                self._leave(here, tag)
                if self._turned and here.mem_id in self._turned:
                    self._unseen.pop()
            following = here.next
            if following is not None:
                return following
            here = here.parent
        return None

    def _enter(self, tag: str | None) -> None:
        if tag in APART:
            self._space = True
        elif tag in _SHIFTED:
            self._mark()

    def _leave(self, node: LexborNode, tag: str | None) -> None:  # noqa: ARG002  (for a noted walk)
        if tag in APART:
            self._space = True
        elif tag in _SHIFTED:
            self._mark()

    def _mark(self) -> None:
        if not self._pieces or self._pieces[-1] != SET_OFF:
            self._pieces.append(SET_OFF)
            self._length += 1
            self._marks += 1

    def _skip(self, content: str) -> None:
        """Pass over a text that is not seen, but takes its place."""
        self.visited += len(content) // _WORTH_A_NODE
        self._space |= bool(content.strip())

    def _add(self, content: str, limit: int | None) -> None:
        for start in range(0, len(content), _SLICE):
            part = content if len(content) <= _SLICE else content[start : start + _SLICE]
            self.visited += len(part) // _WORTH_A_NODE
            words = part.split()
            if words:
                if self._length and (self._space or part[0].isspace()):
                    self._pieces.append(" ")
                    self._length += 1
                piece = " ".join(words)
                self._pieces.append(piece)
                self._length += len(piece)
                if limit is not None and self._length - self._marks > limit:
                    return
            self._space = part[-1].isspace()


class _NotedWalk(_TextWalk):
    """A walk that notes for each element where in the text its own begins and ends."""

    def __init__(
        self,
        top: LexborNode,
        hidden: Hidden,
        spans: dict[int, tuple[int, int]],
        spend: Callable[[int], None],
    ) -> None:
        super().__init__(top, hidden)
        self._spans = spans
        self._spend = spend
        self._spent = 0
        self._starts: list[int] = []

    @override
    def run(self, limit: int | None) -> None:
        super().run(limit)
        self._spans[self._top.mem_id] = (0, self._length)

    def count(self) -> None:
        """Tell of the nodes that were looked at since the last time."""
        self._spend(self.visited - self._spent)
        self._spent = self.visited

    @override
    def _enter(self, tag: str | None) -> None:
        self._starts.append(self._length)
        super()._enter(tag)

    @override
    def _leave(self, node: LexborNode, tag: str | None) -> None:
        start = self._starts.pop()
        # What is read by itself is seen, whatever it is to those above it.
        if not (self._unseen and self._unseen[-1]):
            self._spans[node.mem_id] = (start, self._length)
        if self.visited > self._spent + _AT_ONCE:
            self.count()
        super()._leave(node, tag)
