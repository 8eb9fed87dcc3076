"""What an entry of a feed says: a title, and a small table of the rows that changed."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from livedata.messages.notices import events
from livedata.services.notices.changes_by_name import described
from livedata.services.notices.feeds import Entry


def title(entry: Entry) -> str:
    """How many rows an accepted Run changed."""
    return events.deltas(entry.new, entry.changed, entry.gone)


def table(entry: Entry) -> str:
    """HTML of the changes; every value is escaped, since sites write them."""
    lines = "".join(_lines(entry))
    more = f"<p>and {entry.more} more</p>" if entry.more else ""
    return f"<table><tr><th>row</th><th>change</th><th>values</th></tr>{lines}</table>{more}"


def _lines(entry: Entry) -> Iterator[str]:
    for change in entry.lines:
        values = "<br>".join(map(escape, described(change)))
        yield f"<tr><td>{escape(change['row'])}</td><td>{change['kind']}</td><td>{values}</td></tr>"
