"""The text below an element as a person sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from livedata.extraction.open_elements import names

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_UNSEEN: Final = frozenset(("script", "style", "template", "iframe", "noembed", "noframes"))
APART: Final = names(
    "address article aside blockquote body br caption center dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup hr "
    "html legend li listing main menu nav ol optgroup option p plaintext pre search section "
    "select summary table tbody td tfoot th thead title tr ul xmp"
)


def text(node: LexborNode, limit: int | None = None) -> str:
    """The text below ``node``: one space for any run of white space, none at the ends.

    Left out: script, style and template, and what stands in iframe, noembed and noframes, which
    a browser never shows; ``noscript`` is shown, as in a browser without scripts. A space stands
    at the edges of block-level elements (table cells and options too) and at ``br``. White space
    is what ``str.split`` takes for it: all of Unicode's, NBSP too; zero-width characters are not.
    With ``limit`` it stops early once over that many characters: then the answer is longer than
    ``limit`` whenever the whole is, and may be cut.
    """
    child = node.first_child
    if child is None or node.tag in _UNSEEN:
        return ""
    if child.tag == "-text" and child.next is None:
        return " ".join((child.text_content or "").split())
    return " ".join("".join(_pieces(node, limit)).split())


def _pieces(top: LexborNode, limit: int | None) -> list[str]:
    pieces: list[str] = []
    left = limit
    stop = top.mem_id
    node = top.first_child
    while node is not None:
        tag = node.tag
        below = None
        if tag == "-text":
            piece = node.text_content or ""
            pieces.append(piece)
            if left is not None:
                left -= sum(map(len, piece.split()))
                if left < 0:
                    break
        elif tag not in _UNSEEN:
            if tag in APART:
                pieces.append(" ")
            below = node.first_child
        node = below or _after(node, stop, pieces)
    return pieces


def _after(node: LexborNode, stop: int, pieces: list[str]) -> LexborNode | None:
    """What follows in document order, with a space for each block that ends on the way up."""
    here: LexborNode | None = node
    leaf = True
    while here is not None and here.mem_id != stop:
        if not leaf and here.tag in APART:
            pieces.append(" ")
        following = here.next
        if following is not None:
            if leaf and here.tag in APART:
                pieces.append(" ")
            return following
        here = here.parent
        leaf = False
    return None
