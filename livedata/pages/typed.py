"""What comes back from a form that several browsers may have open: what a person has changed.

Beside each field a form sends what it showed there. What nobody touched is not saved, so whoever
changes a name undoes no schedule that another browser has set meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from msgspec import Struct
from werkzeug.datastructures import MultiDict
from werkzeug.wrappers import Response

from livedata.model.errors import ChangedMeanwhile
from livedata.services.pages.row_edits import as_sent
from livedata.services.pages.sessions import make_token

SHOWN: Final = "was-"
"""How the name of what a form showed in a field begins."""
CHANGED: Final = (
    "This has changed since you opened the page, and nothing was saved. What you typed is still in "
    "the form: look at what stands now, then save."
)
WRONG: Final = "Nothing was saved. What you typed is still in the form."
_LOOKS: Final = 5


class TypedField(Struct, frozen=True):
    """A field of a form: what was typed, what the form showed, and what stands now."""

    typed: str
    shown: str
    now: str

    @property
    def is_changed(self) -> bool:
        """Whether it is to be saved: a person typed it, and nobody has saved the same yet."""
        return self.typed not in {self.shown, self.now}

    @property
    def is_moved(self) -> bool:
        """Whether something else stands there now than what a person has changed."""
        return self.is_changed and self.now != self.shown


class RefusedForm(Struct, frozen=True):
    """A form that was not saved: which, what was typed, why, and what is wrong in which field.

    `lines` say what is wrong in no field alone.
    """

    form: str
    typed: Mapping[str, str]
    why: str
    wrong: Mapping[str, str] = {}
    lines: Sequence[str] = ()


def typed_fields(
    form: MultiDict[str, str], now: Mapping[str, str], long: Collection[str] = ()
) -> dict[str, TypedField]:
    """The fields of a form among those that there are now; `long` are those of several lines."""
    return {
        name: TypedField(*(_sent(each, name in long) for each in (form[name], shown, text)))
        for name, text in now.items()
        if name in form and (shown := form.get(f"{SHOWN}{name}")) is not None
    }


def _sent(text: str, is_long: bool) -> str:
    """A text as a browser sends it back: of a field of one line without line ends."""
    return as_sent(text) if is_long else as_sent(text).replace("\n", "")


def request_id_of(form: Mapping[str, str]) -> str:
    """The id of a form that saves once; a new one if it is none that a store can keep."""
    # A form of ours always has one; who sends another may send what no store can keep.
    given = form.get("request", "")
    return (given if given.isprintable() else "")[:128] or make_token()


def now_says(text: str) -> str:
    """What stands in a field now."""
    return f"It is now “{text}”." if text else "It is empty now."


def settled(act: Callable[[], Response]) -> Response:
    """What an act answers; it looks again if another update came while it looked.

    Raises ChangedMeanwhile if one came each time.
    """
    # Each try reads anew, so what a person has changed is judged beside the other's update.
    for _ in range(_LOOKS - 1):
        try:
            return act()
        except ChangedMeanwhile:
            continue
    return act()
