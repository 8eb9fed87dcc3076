"""A report of a dataset: one file that opens anywhere, without network and scripts."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from livedata.model.dataset import columns_by_id
from livedata.pages.markup import filters
from livedata.pages.markup.plot import plot
from livedata.services.pages.report import DatasetReport

_HERE: Final = Path(__file__).parent


def write(report: DatasetReport, made_at: str) -> str:
    """The report as HTML."""
    style = (_HERE / "assets" / "style.css").read_text("utf-8")
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters.add_to(environment)
    return environment.get_template("report.html").render(
        report=report,
        columns=columns_by_id(report.dataset["columns"]),
        lines=[
            (each.row, each.column["label"], plot(each.points, each.column["type"]))
            for each in report.developments
        ],
        made_at=made_at,
        style=Markup(style),  # noqa: S704  (our own file)
        # Nothing but this very style is ever loaded or run, whatever a text in the file says.
        **filters.for_a_page(),
        style_hash=b64encode(hashlib.sha256(style.encode()).digest()).decode(),
    )
