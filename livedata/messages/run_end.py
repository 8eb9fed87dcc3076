"""How a Run came to an end that no page and no Check explains, in words."""

from __future__ import annotations

from collections.abc import Mapping

from livedata.messages.templates import Words

STATEMENTS: Mapping[str, str] = {
    "run.mass_loss": "{gone} of {present} rows would be gone, so the output is held for you to "
    "look at",
    "run.credits": "{pages} checked pages cost {pages} credits and the balance is {balance}",
}
"""What went wrong, for doors that say by themselves what may help; without the last point."""

SENTENCES: Mapping[str, Words] = {
    "run.cancelled": "The Run was cancelled.",
    "run.broke_off": "The crawl broke off, and nobody knows why; if it happens again, it is a "
    "fault of livedata: report it.",
    "run.worker_lost": "The process that executed this Run was lost on each of {attempts} "
    "attempts, so nothing was written; start it again, and if it is lost again look for what ends "
    "it (a kill, too little memory).",
    "run.damaged": "The store is damaged, so nothing was written: in the table {table}, row {row}, "
    "the column {column} cannot be read.",
    "run.not_declarative": "This dataset's recipe is not a version-1 declaration, so it was held "
    "without any request and its data is kept; create a new dataset with itemSelector, fields, "
    "identity and pagination.",
    "run.mass_loss": f"{STATEMENTS['run.mass_loss']}: if the site really dropped them, take it, or "
    "run again, since a second complete Run that finds them gone is accepted.",
    "run.credits": f"{STATEMENTS['run.credits']}: add some, then take this output.",
    "run.no_proxy": "The source says proxy = always, but no proxy is set, so nothing was asked "
    "for: set one, or change the source.",
    "run.no_browser": 'The source says render = "browser", and no browser is installed here.',
    "run.no_browser_support": 'The source says render = "browser", and that part of livedata is '
    "not installed.",
    "run.wrong_browser": "The browser that is set, {path}, is not a program: give the path of "
    "Chromium there, or leave it out.",
    "run.browser_not_started": "The browser {browser} does not start: {said}",
}
"""The codes of such an end -> sentences."""
