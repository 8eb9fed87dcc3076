"""What does something with a record, and says nothing of it: buttons, and icons of one kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from livedata.extraction.cells import clean
from livedata.extraction.lists.survey import Survey

_NEAR: Final = 5
"""A button is among so many first elements of what has its text."""
_VARIED: Final = 0.5
"""What buttons say, and icons show, is another thing in fewer of the records."""
_LONGEST: Final = 1_000


def are_buttons(survey: Survey, numbers: Sequence[int]) -> bool:
    """Whether what most elements say is what a button does, such as "Add to cart".

    A button that says another thing of each record says who that is.
    """
    return _say_what_is_done(survey, _said(survey, numbers))


def tell_apart(survey: Survey, links: Sequence[int]) -> bool:
    """Whether links say different things of their records, or show something else of each."""
    said = _said(survey, links)
    if len(set(said.values())) > 1 and not _say_what_is_done(survey, said):
        return True
    return len(set(_shown(survey, links))) > _VARIED * len(links)


def _said(survey: Survey, numbers: Sequence[int]) -> Mapping[int, str]:
    return {number: _text(survey, number) for number in numbers}


def _text(survey: Survey, number: int) -> str:
    return clean(survey.page.text(survey.nodes[number], _LONGEST))


def _say_what_is_done(survey: Survey, said: Mapping[int, str]) -> bool:
    if len(set(said.values())) > _VARIED * len(said):
        return False
    pressed = 0
    for number, text in said.items():
        near = (number, survey.parents[number], *survey.below(number)[:_NEAR])
        buttons = (n for n in near if survey.signatures[n].is_button)
        pressed += any(_text(survey, button) == text for button in buttons)
    return pressed > len(said) / 2


def _shown(survey: Survey, numbers: Sequence[int]) -> Iterator[str]:
    """What is shown in each element that has a picture, in the words of the page."""
    for number in numbers:
        images = (n for n in survey.below(number) if survey.signatures[n].tag == "img")
        if (image := next(images, None)) is not None:
            yield str(sorted(survey.nodes[image].attributes.items()))
