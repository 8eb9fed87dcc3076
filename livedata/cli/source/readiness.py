"""The mark of a source that was written although no Run would accept it."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path

from livedata.hints import Subject
from livedata.model.errors import Invalid

_MARK = "NOT READY. "


def not_ready(why: str) -> str:
    """The comment that says why no Run would accept a source."""
    return f"{_MARK}{why}"


def refuse_not_ready(path: Path) -> None:
    """Refuse a file that still has the mark among the comments at its top; raises Invalid."""
    with path.open(encoding="utf-8-sig") as lines:
        top = takewhile(lambda line: line.startswith("#"), lines)
        for number, line in enumerate(top, 1):
            comment = line.removeprefix("#").strip()
            if comment.startswith(_MARK):
                why = comment.removeprefix(_MARK).rstrip(".")
                preview = Subject().command("preview", str(path))
                raise Invalid(
                    f"{path}:{number}: this source is marked as not ready: {why}. Edit it until "
                    f"{preview} is right, then delete line {number} of the file."
                )
