"""``livedata init URL``: looks at a page, and writes a source that reads the list on it."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import click
from msgspec import Struct

from livedata.cli.context import CommandContext
from livedata.cli.hints import Subject, machine_hints
from livedata.cli.init import refuse_existing, template, url_refused, write_new
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.extraction.lists.proposal import ProposedList, propose
from livedata.extraction.lists.seen import Lists
from livedata.extraction.outline import outline
from livedata.messages.render import sentence
from livedata.messages.templates import plural
from livedata.model.recipe import Render
from livedata.rules.network.targets import TargetPolicy
from spiders.cli.first_look import Look, Proposed, Prover, look_at
from spiders.cli.init_report import (
    commented_source,
    found_json,
    print_found,
    print_lists,
    why_not_ready,
)
from spiders.crawl.engine import CrawlEngine, crawl_engine, end_process
from spiders.crawl.settings import FetchConfig, fetch_config

_SHELL: Final = 200
"""A page with scripts and fewer characters than this is filled by them."""
_LONGEST_NAME: Final = 40
_WORDS: Final = re.compile(r"\w+")
_ASIDE: Final = re.compile(r"\s[-–—|:·•»/]+\s|\s*[|•»]\s*|:\s")
"""What stands between the title of a page and the name of its site."""


class Wish(Struct, frozen=True):
    """What a person asks for: the page, the list on it, its columns, and where to write it."""

    url: str
    output: Path
    force: bool
    render: Render
    like: Sequence[str]
    number: int | None
    columns: Sequence[str]
    asking: bool


def init_source(
    ctx: CommandContext,
    url: str,
    output: Path,
    *,
    force: bool,
    browser: bool,
    like: Sequence[str],
    number: int | None,
    columns: str,
    yes: bool,
) -> None:
    """Look at a page, and write a source for the list that a person means."""
    fetching = fetch_config(ctx.settings)
    url_refused(url, TargetPolicy.parse(ctx.settings.allow_hosts))
    refuse_existing(output, force=force)
    names = [name.strip() for name in columns.split(",") if name.strip()]
    asking = sys.stdin.isatty() and sys.stdout.isatty() and not (yes or ctx.json)
    render: Render = "browser" if browser else "static"
    wish = Wish(url, output, force, render, like, number, names, asking)
    with crawl_engine() as engine:
        look = engine.run(look_at(engine, url, render, fetching, like))
        if look.lists is None or not look.lists.seen:
            _report_nothing(ctx, wish, look)
            end_process(4 if look.harvest.blocked else 3, engine)
        chosen = _chosen(wish, look.lists)
        proposed = engine.run(_propose(engine, wish, look.lists, chosen, fetching))
    _report(ctx, wish, look.lists, chosen, proposed)
    end_process(0 if proposed.ready else 3, engine)


def _chosen(wish: Wish, lists: Lists) -> int:
    """The number of the list to read, from 1."""
    count = len(lists.seen)
    if wish.number is not None:
        if wish.number > count:
            raise click.UsageError(
                f"--list {wish.number}: the page has {plural(count, 'list')}; without --list they "
                "are shown."
            )
        return wish.number
    if not wish.asking or count == 1:
        return 1
    print_lists(lists)
    chosen: int = click.prompt("Which list", default=1, type=click.IntRange(1, count), err=True)
    return chosen


async def _propose(
    engine: CrawlEngine, wish: Wish, lists: Lists, number: int, fetching: FetchConfig
) -> Proposed:
    found = propose(lists, lists.seen[number - 1])
    if not found.columns:
        raise click.ClickException(
            f"Nothing differs from record to record in {found.selector}; --list N reads another "
            "list of the page, --like TEXT one that holds a text."
        )
    if wish.columns:
        found = _only(found, wish.columns)
    name = _name(lists.survey.page.title or "", wish.url)
    return await Prover(engine, fetching, wish.url, wish.render, name).prove(found)


def _name(title: str, url: str) -> str:
    """A name that is typed without quotes: of the page's title without its site, else of the host.

    "Kettles & pots | The Shop" is kettles-pots.
    """
    host = (urlsplit(url).hostname or "table").removeprefix("www.")
    named = ""
    for word in _WORDS.findall(_ASIDE.split(title.strip(), maxsplit=1)[0].lower()):
        if len(named) + len(word) >= _LONGEST_NAME:
            break
        named = f"{named}-{word}" if named else word
    return named or host


def _only(found: ProposedList, names: Sequence[str]) -> ProposedList:
    """The list with the columns that a person names, and no other."""
    known = [column.name for column in found.columns]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise click.UsageError(
            f"--columns: the list has no {unknown[0]!r}; it has {', '.join(known)}."
        )
    return found.only(names)


def _report(ctx: CommandContext, wish: Wish, lists: Lists, number: int, proposed: Proposed) -> None:
    """Print what was found, and write it."""
    file = str(wish.output)
    if not ctx.json:
        print_found(lists, number, proposed, asked=wish.asking)
    if wish.asking:
        name = click.prompt("Name", default=proposed.declaration["name"], err=True)
        proposed.declaration["name"] = name
    write_new(wish.output, commented_source(proposed, file), force=wish.force)
    if ctx.json:
        print_json({"file": file, **found_json(lists, number, proposed)})
        return
    if proposed.ready:
        print_text(f"Wrote {file}: a Run would take it over.")
        print_message(f"Make a dataset of it: {Subject().command('dataset create', file)}")
        return
    print_text(f"Wrote {file}, which is not ready.")
    preview = Subject().command("preview", file)
    print_message(f"{why_not_ready(proposed)} Edit the file, then try it: {preview}")


def _report_nothing(ctx: CommandContext, wish: Wish, look: Look) -> None:
    """Say why nothing is proposed, and write the template if the page could be read."""
    why = _why_nothing(wish, look)
    if look.page is not None:
        write_new(wish.output, template(wish.url, wish.output), force=wish.force)
    if ctx.json:
        file = None if look.page is None else str(wish.output)
        print_json({"file": file, "ready": False, "lists": [], "error": why})
        return
    print_message(why)
    if look.page is None:
        for line in machine_hints(look.harvest.ending.problem, Subject()):
            print_message(f"  {line}")
    else:
        print_text(f"Wrote {wish.output}: a blank form, to fill in by hand.")


def _why_nothing(wish: Wish, look: Look) -> str:
    """Why a page could not be read, or has no list."""
    if look.page is None:
        problem = look.harvest.ending.problem
        return "The page could not be read." if problem is None else sentence(problem)
    seen = outline(look.page.markup)
    if len(seen.text) < _SHELL and seen.scripts and wish.render == "static":
        return (
            f"{wish.url} is an empty page that scripts fill: read it with --browser, which needs "
            'livedata installed with its extra "browser".'
        )
    if wish.like:
        given = ", ".join(map(repr, wish.like))
        return (
            f"No list on {wish.url} has a record that holds {given}; without --like all lists are "
            "shown."
        )
    return (
        f"Nothing repeats on {wish.url}, so there is no list to propose: is it the page of a list? "
        "--like TEXT looks for a record that holds a text."
    )
