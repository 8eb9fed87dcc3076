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

    cron: Omittable[Schedule] = Field(
        None,
        description="When Runs begin: minute, hour, day of the month, month, day of the week.",
        examples=["0 6 * * *", "30 8 * * mon-fri"],
    )
    status: Omittable[Literal["draft", "active", "paused"]] = Field(
        None, description="Whether the schedule is followed: only while it is active."
    )


class FileNotice(Shape):
    """``[[notice]]``: whom to tell, and of what, with the long options of ``notice add``.

    Without ``dataset`` it tells of the dataset of its file.
    """

    name: Annotated[Text, Field(min_length=1, max_length=120)] = Field(
        description="The name of the notice, which tells it from all others of its owner.",
        examples=["price-falls"],
    )
    webhook: Omittable[Line] = Field(
        None,
        description="An address that is told by POST; env:NAME or file:PATH says where it stands.",
        examples=["env:SHOP_WEBHOOK", "https://example.org/hook"],
    )
    command: Omittable[Line] = Field(
        None,
        description="A command that is given what there is to tell.",
        examples=["./tell-me.sh"],
    )
    apprise: Omittable[Line] = Field(
        None,
        description="An address of Apprise, such as that of a mailbox or a chat; env:NAME or "
        "file:PATH says where it stands, for it may hold a password.",
        examples=["env:MAIL", "file:~/.config/mail.url"],
    )
    on: Omittable[Line] = Field(
        None,
        description="Of what is told: some of changes, failing, recovered, silent and odd, with "
        "commas between; all, if left out.",
        examples=["changes", "failing,recovered"],
    )
    dataset: Omittable[Lines] = Field(
        None,
        description="The datasets of which is told; that of this file, if left out.",
        examples=[["products"]],
    )
    after: Omittable[Annotated[int, Field(ge=1, le=1000)]] = Field(
        None,
        description="failing: after so many Runs in a row that were not accepted.",
        examples=[2],
    )
    silent_for: Annotated[Omittable[Line], Field(alias="silent-for")] = Field(
        None,
        description="silent: if no Run was accepted for so long.",
        examples=["12h", "2d"],
    )
    when: Omittable[Lines] = Field(
        None,
        description="changes: only where all of these hold.",
        examples=[["price falls by 10%"]],
    )
    kind: Omittable[Annotated[tuple[RevisionKind, ...], Entries(10)]] = Field(
        None, description="changes: only of these kinds.", examples=[["created", "updated"]]
    )
    columns: Omittable[Line] = Field(
        None,
        description="changes: only if one of these columns changed, and of these alone; with "
        "commas between.",
        examples=["price,stock"],
    )
    ignore: Omittable[Lines] = Field(
        None, description="changes: not if only such columns changed.", examples=[["views"]]
    )
    digest: Omittable[Line] = Field(
        None,
        description="changes: gathered, and told once when this cron fires.",
        examples=["0 8 * * mon"],
    )


class FileShare(Shape):
    """``[[share]]``: an address of the table, with the long options of ``share add``."""

    label: Annotated[Text, Field(min_length=1, max_length=200)] = Field(
        description="Whom or what the address is for; it tells the share from the others of its "
        "dataset.",
        examples=["price sheet"],
    )
    columns: Omittable[Line] = Field(
        None,
        description="Only these columns, with commas between; all, if left out.",
        examples=["title,price"],
    )
    where: Omittable[Lines] = Field(
        None, description="Only rows of which all of these hold.", examples=[["price < 20"]]
    )
    base: Omittable[Line] = Field(
        None,
        description="Where readers reach livedata serve, for the address that is printed.",
        examples=["https://data.example.org"],
    )


class FileTest(Shape):
    """``[test]``: the folder of saved pages, relative to the file."""

    pages: Line = Field(
        description="The folder of saved pages, relative to this file: livedata preview --save "
        "makes one.",
        examples=["shop.pages"],
    )


class SourceFile(CreateDataset):
    """What a ``source.toml`` holds: the body of POST /v1/datasets, and tables for ``apply``."""

    schedule: Omittable[FileSchedule] = Field(
        None, description="When the dataset is read.", examples=[{"cron": "0 6 * * *"}]
    )
    notice: Omittable[Annotated[tuple[FileNotice, ...], Entries(100)]] = Field(
        None,
        description="Whom to tell, and of what.",
        examples=[[{"name": "prices", "webhook": "env:HOOK", "when": ["price falls by 10%"]}]],
    )
    share: Omittable[Annotated[tuple[FileShare, ...], Entries(100)]] = Field(
        None,
        description="Addresses at which the table is read.",
        examples=[[{"label": "price sheet", "columns": "title,price"}]],
    )
    test: Omittable[FileTest] = Field(
        None,
        description="Saved pages, on which the source is tried without the site.",
        examples=[{"pages": "shop.pages"}],
    )

    @property
    def applied(self) -> tuple[str, ...]:
        """The tables that only ``apply`` follows, as they are written."""
        written = {
            "[schedule]": self.schedule,
            "[[notice]]": self.notice,
            "[[share]]": self.share,
        }
        return tuple(name for name, table in written.items() if table is not None)
