"""A ``source.toml``: what a dataset is declared with, and what stands beside it for ``apply``.

The tables beside ``[source]`` have the long options of the commands that do the same for one
dataset, so their names are those of a shell: ``silent-for``, and lists of what may be repeated.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from livedata.model.base import Entries, Omittable, Shape, Text
from livedata.model.requests import CreateDataset, Schedule
from livedata.model.row import RevisionKind

Line = Annotated[Text, Field(min_length=1, max_length=8000)]
"""A text as a command takes it."""
Lines = Annotated[tuple[Line, ...], Entries(100)]


class FileSchedule(Shape):
    """``[schedule]``: when the dataset is read, and whether that is followed."""

    cron: Omittable[Schedule] = None
    status: Omittable[Literal["draft", "active", "paused"]] = None


class FileNotice(Shape):
    """``[[notice]]``: whom to tell, and of what, with the long options of ``notice add``.

    Without ``dataset`` it tells of the dataset of its file.
    """

    name: Annotated[Text, Field(min_length=1, max_length=120)]
    webhook: Omittable[Line] = None
    command: Omittable[Line] = None
    apprise: Omittable[Line] = None
    on: Omittable[Line] = None
    dataset: Omittable[Lines] = None
    after: Omittable[Annotated[int, Field(ge=1, le=1000)]] = None
    silent_for: Annotated[Omittable[Line], Field(alias="silent-for")] = None
    when: Omittable[Lines] = None
    kind: Omittable[Annotated[tuple[RevisionKind, ...], Entries(10)]] = None
    columns: Omittable[Line] = None
    ignore: Omittable[Lines] = None
    digest: Omittable[Line] = None


class FileShare(Shape):
    """``[[share]]``: an address of the table, with the long options of ``share add``."""

    label: Annotated[Text, Field(min_length=1, max_length=200)]
    columns: Omittable[Line] = None
    where: Omittable[Lines] = None
    base: Omittable[Line] = None


class FileTest(Shape):
    """``[test]``: the folder of saved pages, relative to the file."""

    pages: Line


class SourceFile(CreateDataset):
    """What a ``source.toml`` holds: the body of POST /v1/datasets, and tables for ``apply``."""

    schedule: Omittable[FileSchedule] = None
    notice: Omittable[Annotated[tuple[FileNotice, ...], Entries(100)]] = None
    share: Omittable[Annotated[tuple[FileShare, ...], Entries(100)]] = None
    test: Omittable[FileTest] = None

    @property
    def applied(self) -> tuple[str, ...]:
        """The tables that only ``apply`` follows, as they are written."""
        written = {
            "[schedule]": self.schedule,
            "[[notice]]": self.notice,
            "[[share]]": self.share,
        }
        return tuple(name for name, table in written.items() if table is not None)
