"""What agents may attach of a dataset: its schema, its source, and a report to read."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Final
from urllib.parse import quote, unquote

from msgspec import Struct

from livedata.formats.source_toml import write_declaration
from livedata.mcp.access import LONGEST_NAME, DatasetAccess
from livedata.mcp.answers import LONGEST_ANSWER, compact
from livedata.mcp.cursors import read_name, write_cursor
from livedata.mcp.report import REPORTED, report
from livedata.mcp.tables import describe_dataset
from livedata.messages.controls import escape_controls
from livedata.messages.request import format_choices, shortened
from livedata.model.errors import Invalid, NotFound
from livedata.services import queries

SCHEME: Final = "livedata://"
_ON_A_PAGE: Final = 20
"""So many datasets are listed at once, each with all of its resources."""


class DatasetResource(Struct, frozen=True):
    """A kind of resource that each dataset has; `path` stands behind its name in the address."""

    path: str
    title: str
    about: str
    mime_type: str
    text: Callable[[DatasetAccess, str], str]

    def uri(self, dataset: str) -> str:
        """The address of it, of a dataset of this name."""
        return f"{SCHEME}{quote(dataset, safe='')}/{self.path}"


def list_resources(
    access: DatasetAccess, cursor: str | None
) -> tuple[list[tuple[str, str]], str | None]:
    """The names and states of datasets by name, and the cursor of those that come behind them.

    Raises Invalid for a wrong cursor.
    """
    with access.every(read_name(cursor)) as datasets:
        page = [(each.name, str(each.about()["state"])) for each in islice(datasets, _ON_A_PAGE)]
        more = next(datasets, None) is not None
    return page, write_cursor(page[-1][0]) if more else None


def read_resource(access: DatasetAccess, uri: str) -> tuple[str, str]:
    """The MIME type and the text of an address. Raises NotFound, and Invalid if it is too long."""
    named, _, path = uri.removeprefix(SCHEME).rpartition("/")
    dataset = unquote(named)
    is_one = uri.startswith(SCHEME) and len(dataset) <= LONGEST_NAME
    for resource in RESOURCES:
        if is_one and resource.path == path:
            return resource.mime_type, resource.text(access, dataset)
    paths = format_choices([f"{SCHEME}DATASET/{resource.path}" for resource in RESOURCES])
    raise NotFound(f"There is no resource {shortened(uri)!r}: ask for {paths}.")


def _schema(access: DatasetAccess, dataset: str) -> str:
    return compact(describe_dataset(access, dataset=dataset)).decode()


def _source(access: DatasetAccess, dataset: str) -> str:
    with access.opened(dataset) as opened:
        declared = queries.source(opened.db, opened.owner, opened.id)
        text = escape_controls(write_declaration(opened.name, declared), keep="\n")
    if len(text.encode()) > LONGEST_ANSWER:
        raise Invalid(
            f"The source of {dataset!r} has more than {LONGEST_ANSWER} bytes: its owner reads it "
            "at a shell."
        )
    return text


RESOURCES: Final = (
    DatasetResource(
        "schema",
        "Schema",
        "Columns, size, state and schedule of the table, as describe_dataset has them.",
        "application/json",
        _schema,
    ),
    DatasetResource(
        "source.toml",
        "Source",
        "What the table was declared with: its site, selectors and key.",
        "application/toml",
        _source,
    ),
    DatasetResource(
        "report.md",
        "Report",
        f"State, the first {REPORTED} rows and the last {REPORTED} changes of the table.",
        "text/markdown",
        report,
    ),
)
"""What each dataset has, in the order in which it is listed."""
