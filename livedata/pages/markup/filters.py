"""How pages write what answers have: moments, numbers and cells, exact and for a reader.

What a table has thousands of is plain text here, escaped as HTML; templates get it as markup.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache, partial
from html import escape
from typing import Final, NamedTuple

from jinja2 import Environment
from markupsafe import Markup

from livedata.model import ids
from livedata.model.dataset import WORDED, ColumnType, Dataset, is_numeric, words
from livedata.model.ids import Micros
from livedata.model.row import Scalar
from livedata.model.row_name import RowName
from livedata.rules.declaration.cron import in_words

_LONG: Final = 600
"""A text of more characters is not shown whole at once."""
_BEGINNING: Final = 300
_ENDS: Final = 80
OF_A_PAGE: Final = 400_000
"""The steps of all texts of a page together: a tenth of a second at most."""

_WHY: Final = {
    "not_found": "not found",
    "extraction_failed": "unreadable",
    "not_applicable": "does not apply",
}
"""Why a cell is empty, as a person reads it."""
_WRITTEN_OTHERWISE: Final = re.compile(r"[&<>\"']").search
"""Whether HTML writes one of the characters of a text in another way."""
_UNITS: Final = (("days", 86_400, 129_600), ("h", 3_600, 5_400), ("min", 60, 60))
"""A unit, its seconds, and from how many seconds on it is told."""
_PARTS: Final = re.compile(r"\w+|\s+|[^\w\s]")
_PART: Final = re.compile(r"\w+|\s+")
_OF_A_TEXT: Final = 20_000
"""The steps that one text may take: so much of two that share little is soon known."""
_CHARACTERS_A_STEP: Final = 4
"""To find the words among so many characters takes as long as a step."""


def _is_address(value: str) -> bool:
    """Whether a text is an address that a page may link to."""
    return value.startswith(("https://", "http://")) and value.isprintable() and " " not in value


def cut(text: str) -> str:
    """The beginning of a long text."""
    return f"{text[:_BEGINNING]}…" if len(text) > _BEGINNING else text


def beginning(text: str) -> str:
    """The beginning of a long text, and all of a short one, as HTML."""
    return escape(cut(text))


def _unfolding(text: str) -> str:
    """A text as HTML: of a long one the beginning, which opens to all of it."""
    if len(text) <= _LONG:
        return escape(text)
    return (
        f'<details class="long"><summary><bdi>{beginning(text)}</bdi> '
        f"<small>all {len(text):,} characters</small></summary>"
        f'<div dir="auto">{escape(text)}</div></details>'
    )


def _unchanged(text: str) -> str:
    """What two texts share as HTML: of a long part its ends, next to what changed."""
    if len(text) <= _LONG:
        return escape(text)
    left_out = len(text) - 2 * _ENDS
    return (
        f'{escape(text[:_ENDS])}<small class="none"> … {left_out:,} characters as before … '
        f"</small>{escape(text[-_ENDS:])}"
    )


def add_to(environment: Environment) -> None:
    """Let the templates of an environment know the filters."""
    environment.filters["moment"] = lambda timestamp: Markup(moment(timestamp))  # noqa: S704
    environment.filters["ago"] = lambda timestamp: Markup(ago(timestamp))  # noqa: S704
    environment.filters["state"] = state
    environment.filters["in_words"] = in_words
    environment.filters["count"] = lambda number: Markup(count(number))  # noqa: S704
    environment.filters["cell"] = lambda *given: Markup(cell(*given))  # noqa: S704
    environment.filters["brief"] = brief
    environment.filters["named"] = lambda name: Markup(named(name))  # noqa: S704
    environment.tests["numeric"] = is_numeric
    environment.filters["unfolding"] = lambda text: Markup(_unfolding(text))  # noqa: S704


def for_a_page() -> dict[str, Callable[..., Markup]]:
    """What the templates of one page call, whose texts are compared within one budget."""
    budget = StepBudget()
    return {"between": partial(between, budget), "briefly": partial(briefly, budget)}


@lru_cache(maxsize=256)  # the rows that one Run wrote all have its moment
def moment(timestamp: str | None) -> str:
    """A moment in UTC to the minute, with the exact one at hand; a script makes it the reader's."""
    if timestamp is None:
        return '<span class="none">none</span>'
    exact, then = escape(timestamp), ids.to_datetime(Micros(ids.parse_timestamp(timestamp)))
    return f'<time datetime="{exact}" title="{exact}">{_dated(then)} UTC</time>'


def _dated(then: datetime) -> str:
    return f"{then.day} {then:%b %Y %H:%M}"


def ago(timestamp: str | None) -> str:
    """How long ago a moment was, or how far it is, with the exact one at hand."""
    if timestamp is None:
        return '<span class="none">none</span>'
    exact = escape(timestamp)
    seconds = (ids.now() - ids.parse_timestamp(timestamp)) / 1_000_000
    return f'<time class="exact" datetime="{exact}" title="{exact}">{_distance(seconds)}</time>'


def _distance(seconds: float) -> str:
    size = abs(seconds)
    if size < _UNITS[-1][2]:
        return "just now" if seconds > 0 else "in a moment"
    unit, length = next((unit, length) for unit, length, begin in _UNITS if size >= begin)
    number = f"{size / length:.0f} {unit}"
    return f"{number} ago" if seconds > 0 else f"in {number}"


def named(name: RowName) -> str:
    """What a row is called, with its key beside it where that tells more."""
    called = f"<bdi>{escape(name.name)}</bdi>"
    if beside := name.beside:
        return f"{called} <small><bdi>{escape(beside)}</bdi></small>"
    return called


def state(dataset: Dataset) -> str:
    """How a dataset is doing, in a word: how its last Run ended, if that was not accepted."""
    last = dataset["lastRun"]
    if last is not None and last["status"] != "succeeded":
        return last["status"]
    if dataset["status"] == "paused":
        return "paused"
    return "draft" if last is None else "ok"


def count(number: float) -> str:
    """A number, which a script writes in the reader's form."""
    text = words(number)
    return f'<data value="{text}">{text}</data>'


def cell(
    value: Scalar,
    kind: ColumnType | None = None,
    reason: str | None = None,
    written: Callable[[str], str] = _unfolding,
) -> str:
    """The value of a cell, by the type of its column: in words, as a link, a text, or a number.

    A text has its own direction, and `written` makes the HTML of one of any length. Of an empty
    cell there is a `reason`. What stands in no column yet has no type.
    """
    if value is None:
        return f'<span class="none">{escape(_WHY.get(reason or "", "empty"))}</span>'
    if kind is None and isinstance(value, bool):
        kind = "boolean"
    if kind in WORDED:
        exact = escape(str(value).lower())
        return f'<data class="worded" value="{exact}">{escape(words(value, kind))}</data>'
    if isinstance(value, str):
        # An address is cut where it is shown: its link still leads there.
        return _link(value) if _is_address(value) else f"<bdi>{written(value)}</bdi>"
    return count(value)


def listed(value: Scalar, kind: ColumnType) -> str:
    """The value of a cell of a table that has thousands: of a long text the beginning.

    It says the same in fewer characters: a number is plain text, which the script of the pages
    writes in the reader's form where a column is of numbers.
    """
    if kind in WORDED:
        return cell(value, kind)
    # What is asked of each of thousands of cells is asked in the cheapest way.
    if isinstance(value, str):
        if value[:4] == "http" and _is_address(value):
            return _listed_link(value)
        shown = value if len(value) <= _BEGINNING else cut(value)
        return f"<bdi>{shown if _WRITTEN_OTHERWISE(shown) is None else escape(shown)}</bdi>"
    return cell(value) if value is None else str(value).removesuffix(".0")


def _listed_link(to: str) -> str:
    # No page says where it was left from (`visits.HEADERS`); who reads this one says so too.
    link = to if _WRITTEN_OTHERWISE(to) is None else escape(to)
    return f'<a href="{link}" rel=noreferrer>{link if len(to) <= _BEGINNING else beginning(to)}</a>'


def listed_moment(timestamp: str) -> str:
    """How long ago a moment was, in such a table, with the exact one at hand."""
    exact, past = escape(timestamp), ids.now() - ids.parse_timestamp(timestamp)
    told = _distance(past / 1_000_000)
    return f"<time class=exact datetime={exact} title={exact[:19]}Z>{told}</time>"


def between(
    budget: StepBudget,
    kind: ColumnType | None,
    before: Scalar,
    after: Scalar,
    was_there: bool = True,
) -> Markup:
    """What stood in a cell and what stands there: texts with what changed within them."""
    now = f"<ins>{cell(after, kind)}</ins>"
    if not was_there:
        return Markup(now)  # noqa: S704  (escaped)
    if isinstance(before, str) and isinstance(after, str) and kind not in WORDED:
        return difference(before, after, budget)
    return Markup(f"<del>{cell(before, kind)}</del> → {now}")  # noqa: S704  (escaped)


def briefly(
    budget: StepBudget,
    kind: ColumnType,
    before: Scalar,
    after: Scalar,
    was_there: bool,
    longest: int,
) -> Markup:
    """The same for a list: of long texts so many characters, from shortly before they differ.

    Where nothing was, nothing is marked: it is told of the whole row.
    """
    if was_there and isinstance(before, str) and isinstance(after, str) and kind not in WORDED:
        begin = max(0, _same(before, after) - longest // 4)
        return difference(_part(before, begin, longest), _part(after, begin, longest), budget)
    now, was = brief(after, kind, longest), brief(before, kind, longest)
    return Markup(f"<del>{was}</del> → <ins>{now}</ins>") if was_there else now  # noqa: S704  (escaped)


def brief(value: Scalar, kind: ColumnType, longest: int) -> Markup:
    """A cell that holds no more of a text than it shows, also where it is an address."""
    if isinstance(value, str) and len(value) > longest and kind not in WORDED:
        return Markup(f"<bdi>{escape(_part(value, 0, longest))}</bdi>")  # noqa: S704  (escaped)
    return Markup(cell(value, kind))  # noqa: S704  (escaped)


def _part(text: str, begin: int, longest: int) -> str:
    end = begin + longest
    return f"{'…' * (begin > 0)}{text[begin:end]}{'…' * (len(text) > end)}"


def _link(to: str) -> str:
    link = escape(to)
    shown = link if len(to) <= _BEGINNING else beginning(to)
    return f'<a href="{link}" rel="noreferrer nofollow external" dir="ltr">{shown}</a>'


def difference(before: str, after: str, budget: StepBudget) -> Markup:
    """A text with what left it in ``del`` and what came in ``ins``.

    What a page cannot afford any more is shown whole: all that was there, and all that is.
    """
    head = _alike(before, after)
    tail = _alike(before[head:][::-1], after[head:][::-1])
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    marked = "".join(_marked(old, new, budget))
    ends = _unchanged(after[:head]), _unchanged(after[len(after) - tail :])
    return Markup(f'<span dir="auto">{ends[0]}{marked}{ends[1]}</span>')  # noqa: S704  (escaped)


def _same(before: str, after: str) -> int:
    """With how many characters both begin."""
    same, different = 0, min(len(before), len(after)) + 1
    while different - same > 1:
        middle = (same + different) // 2
        if before[:middle] == after[:middle]:
            same = middle
        else:
            different = middle
    return same


def _alike(before: str, after: str) -> int:
    """With how many characters both begin, up to the end of a word."""
    same = _same(before, after)
    last = _PART.match(before[:same][::-1])
    if last is not None and (_within(before, same) or _within(after, same)):
        same -= last.end()
    return same


def _within(text: str, offset: int) -> bool:
    """Whether a place in a text is within a word, or within the space between two."""
    around = _PART.match(text[offset - 1 : offset + 1])
    return around is not None and around.end() > 1


def _marked(before: str, after: str, budget: StepBudget) -> Iterator[str]:
    common = None
    if budget.spend((len(before) + len(after)) // _CHARACTERS_A_STEP):
        old, new = _PARTS.findall(before), _PARTS.findall(after)
        common = blocks(old, new, budget, _OF_A_TEXT)
    if common is None:
        yield from (_tagged("del", before), _tagged("ins", after))
        return
    yield from _told(old, new, [*common, _Block(len(old), len(new), 0)])


def _told(old: Sequence[str], new: Sequence[str], common: Sequence[_Block]) -> Iterator[str]:
    """What lies before each block that both texts have, and the block."""
    was = now = 0
    for block in common:
        yield _tagged("del", "".join(old[was : block.old]))
        yield _tagged("ins", "".join(new[now : block.new]))
        was, now = block.old + block.size, block.new + block.size
        yield _unchanged("".join(new[block.new : now]))


def _tagged(tag: str, text: str) -> str:
    return f"<{tag}>{_unfolding(text)}</{tag}>" if text else ""


class _Block(NamedTuple):
    """Parts that both sequences have: where they begin in each, and how many they are."""

    old: int
    new: int
    size: int


class StepBudget:
    """The steps that comparing may still take; whoever finds it empty shows texts whole."""

    __slots__ = ("left",)

    def __init__(self, steps: int = OF_A_PAGE) -> None:
        self.left = steps

    def spend(self, steps: int) -> bool:
        """Take steps that were or will be done; whether there were so many."""
        self.left = max(0, self.left - steps)
        return self.left > 0


def blocks(
    old: Sequence[str], new: Sequence[str], budget: StepBudget, most: int
) -> list[_Block] | None:
    """What both have, in order; None if that is less than half of them, or costs too much.

    It takes at most `most` steps, and no more than the budget has.
    """
    # By Myers (1986): all places that some number of edits can reach, for one number after the
    # other. It takes as long as there are differences, and texts without much in common are given
    # up; difflib's time is that of the words times the words, and worse if they repeat.
    allowed = min(most, budget.left)
    left = allowed
    reached = {1: 0}
    rounds: list[dict[int, int]] = []
    for edits in range((len(old) + len(new)) // 2 + 1):
        rounds.append(reached.copy())
        for diagonal in range(-edits, edits + 1, 2):
            begun = _edited(reached, diagonal, edits)
            place = begun
            while (
                place < len(old)
                and place - diagonal < len(new)
                and old[place] == new[place - diagonal]
            ):
                place += 1
            reached[diagonal] = place
            left -= 2 + place - begun
            if left < 0:
                budget.spend(allowed)
                return None
            if place >= len(old) and place - diagonal >= len(new):
                budget.spend(allowed - left)
                return _walked_back(rounds, len(old), len(new))
    budget.spend(allowed - left)
    return None


def _edited(reached: dict[int, int], diagonal: int, edits: int) -> int:
    """How far one more edit leads on a diagonal."""
    if _inserts(reached, diagonal, edits):
        return reached[diagonal + 1]
    return reached[diagonal - 1] + 1


def _inserts(reached: dict[int, int], diagonal: int, edits: int) -> bool:
    """Whether that edit is an insertion, and no deletion."""
    if abs(diagonal) == edits:
        return diagonal < 0 or edits == 0
    return reached[diagonal - 1] < reached[diagonal + 1]


def _walked_back(rounds: Sequence[dict[int, int]], old: int, new: int) -> list[_Block]:
    """The blocks on the way to the ends of both."""
    common = []
    for edits in range(len(rounds) - 1, -1, -1):
        reached, diagonal = rounds[edits], old - new
        begun = _edited(reached, diagonal, edits)
        if old > begun:
            common.append(_Block(begun, begun - diagonal, old - begun))
        inserted = _inserts(reached, diagonal, edits)
        old = begun if inserted else begun - 1
        new = begun - diagonal - inserted
    return common[::-1]
