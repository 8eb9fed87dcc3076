"""``livedata init URL``: looks at a page, and writes a source that reads the list on it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import click
from msgspec import Struct

from livedata.cli.context import CommandContext
from livedata.cli.hints import Subject, machine_hints
from livedata.cli.init import template, url_refused, write_new
from livedata.cli.output.escapes import escape_controls
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.output.tables import print_table
from livedata.cli.source.write import write_source
from livedata.extraction.lists.keys import NoKey
from livedata.extraction.lists.proposal import ProposedList, propose
from livedata.extraction.lists.seen import Lists
from livedata.extraction.outline import outline
from livedata.extraction.text import text
from livedata.messages.lists import doubt_sentence, missing_key
from livedata.messages.render import sentence
from livedata.messages.templates import plural
from livedata.model.problem import Problem
from livedata.model.recipe import Render
from livedata.rules.network.targets import TargetPolicy
from spiders.cli.first_look import Look, Proposed, Prover, look_at
from spiders.crawl.engine import CrawlEngine, crawl_engine, end_process
from spiders.crawl.settings import FetchConfig, fetch_config

FIRST_ROWS: Final = 5
LIKELY: Final = 0.8
_SHELL: Final = 200
"""A page with scripts and fewer characters than this is filled by them."""
_WORDS: Final = 60


class Wish(Struct, frozen=True):
    """What a person asks for: the page, the list on it, its columns, and where to write it."""

    url: str
    output: Path
    force: bool
    render: Render
    like: Sequence[str]
    number: int | None
    columns: Sequence[str]
    yes: bool


def init_url(
    ctx: CommandContext,
    url: str,
    output: Path,
    force: bool,
    browser: bool,
    like: Sequence[str],
    number: int | None,
    columns: str,
    yes: bool,
) -> None:
    """``init`` with a URL, as the command has it."""
    names = [name.strip() for name in columns.split(",") if name.strip()]
    render: Render = "browser" if browser else "static"
    init_source(ctx, Wish(url, output, force, render, like, number, names, yes))


def init_source(ctx: CommandContext, wish: Wish) -> None:
    """Look at a page, and write a source for the list that a person means."""
    fetching = fetch_config(ctx.settings)
    url_refused(wish.url, TargetPolicy.parse(ctx.settings.allow_hosts))
    if wish.output.exists() and not wish.force:
        raise click.ClickException(
            f"{wish.output} exists; --force overwrites it, -o names another file."
        )
    asking = sys.stdin.isatty() and sys.stdout.isatty() and not (wish.yes or ctx.json)
    with crawl_engine() as engine:
        look = engine.run(look_at(engine, wish.url, wish.render, fetching, wish.like))
        if look.lists is None or not look.lists.seen:
            _no_list(ctx, wish, look)
            end_process(_code(look), engine)
        number = _number(wish, look.lists, asking=asking)
        proposed = engine.run(_propose(engine, wish, look.lists, number, fetching))
    _report(ctx, wish, look.lists, number, proposed, asking=asking)
    end_process(0 if proposed.ready else 3, engine)


async def _propose(
    engine: CrawlEngine, wish: Wish, lists: Lists, number: int, fetching: FetchConfig
) -> Proposed:
    found = propose(lists, lists.seen[number - 1])
    if wish.columns:
        found = _only(found, wish.columns)
    name = _name(wish.url, lists)
    return await Prover(engine, fetching, wish.url, wish.render, name).prove(found)


def _only(found: ProposedList, names: Sequence[str]) -> ProposedList:
    """The list with the columns that a person names, and no other."""
    known = [column.name for column in found.columns]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise click.UsageError(
            f"--columns: the list has no {unknown[0]!r}; it has {', '.join(known)}."
        )
    return found.only(names)


def _number(wish: Wish, lists: Lists, *, asking: bool) -> int:
    """The number of the list to read, from 1."""
    count = len(lists.seen)
    if wish.number is not None:
        if wish.number > count:
            raise click.UsageError(f"--list {wish.number}: the page has {plural(count, 'list')}.")
        return wish.number
    if asking and count > 1:
        _print_lists(lists, 0)
        chosen: int = click.prompt("Which list", default=1, type=click.IntRange(1, count), err=True)
        return chosen
    return 1


def _name(url: str, lists: Lists) -> str:
    """A name for the dataset: what the page is called, else its host."""
    host = (urlsplit(url).hostname or "table").removeprefix("www.")
    title = (lists.survey.page.title or "").strip()
    return (title or host)[:80]


def _report(
    ctx: CommandContext, wish: Wish, lists: Lists, number: int, proposed: Proposed, *, asking: bool
) -> None:
    """Print what was found, and write it."""
    declaration = proposed.declaration
    if not ctx.json:
        _print_found(lists, number, proposed)
    if asking:
        declaration["name"] = click.prompt("Name", default=declaration["name"], err=True)
    write_new(wish.output, _commented(wish, declaration, proposed), force=wish.force)
    if ctx.json:
        print_json(_json(wish, lists, number, proposed))
        return
    file = str(wish.output)
    if proposed.ready:
        print_text(f"Wrote {wish.output}.")
        print_message(f"Try it: {Subject().command('preview', file)}")
        return
    print_text(f"Wrote {wish.output}, which is not ready.")
    print_message(
        f"{_why(proposed)} Edit the file, then try it: {Subject().command('preview', file)}"
    )


def _why(proposed: Proposed) -> str:
    """Why a Run would not take a source over."""
    if isinstance(proposed.key, NoKey):
        return f"A Run needs a key, and {missing_key(proposed.key.reasons)}."
    problem = proposed.trial.verdict.problem
    return "A Run would not take this over." if problem is None else sentence(problem)


def _print_found(lists: Lists, number: int, proposed: Proposed) -> None:
    seen = lists.seen[number - 1]
    declaration, trial = proposed.declaration, proposed.trial
    pagination = declaration["source"]["pagination"]
    first = f"{plural(seen.count, 'record')} in {seen.selector} on the page"
    if pagination["kind"] != "none":
        pages = trial.harvest.pages
        way = pagination.get("selector", pagination.get("pattern"))
        first = f"{first}; {len(pages[1].records)} other ones on page 2 ({way})"
    print_text(f"{first}.")
    names = [field["name"] for field in declaration["source"]["fields"]]
    rows = [list(record.values) for record in trial.records[:FIRST_ROWS]]
    if rows:
        print_text("")
        print_table(names, rows)
        print_text("")
    if not isinstance(proposed.key, NoKey):
        counted = plural(len(trial.records), "record")
        keys = " with ".join(proposed.key.names)
        print_text(f"Key: {keys}, filled and unique in {counted}.")
    for doubt in [*_alike(lists, number), *proposed.doubts]:
        print_text(f"Unsure: {doubt_sentence(doubt)}.")
    if len(lists.seen) > 1:
        _print_lists(lists, number)


def _alike(lists: Lists, number: int) -> list[Problem]:
    """The other lists that may as well be meant."""
    best = lists.seen[number - 1].score
    return [
        Problem("lists.alike", {"count": seen.count, "selector": seen.selector, "number": at})
        for at, seen in enumerate(lists.seen, 1)
        if at != number and seen.score >= LIKELY * best
    ][:1]


def _print_lists(lists: Lists, but: int) -> None:
    print_text("Other lists on the page:" if but else "Lists on the page:")
    for at, seen in enumerate(lists.seen, 1):
        if at != but:
            print_text(f"  --list {at}: {seen.count} in {seen.selector}: {_words(lists, at)!r}")


def _words(lists: Lists, number: int) -> str:
    """How the first record of a list begins."""
    first = lists.survey.nodes[lists.seen[number - 1].members[0]]
    said = " ".join(text(first, 4 * _WORDS).split())
    return said if len(said) <= _WORDS else f"{said[: _WORDS - 1]}…"


def _json(wish: Wish, lists: Lists, number: int, proposed: Proposed) -> dict[str, Any]:
    return {
        "file": str(wish.output),
        "ready": proposed.ready,
        "declaration": proposed.declaration,
        "list": number,
        "lists": [
            {
                "number": at,
                "selector": seen.selector,
                "records": seen.count,
                "score": round(seen.score, 3),
                "begins": _words(lists, at),
            }
            for at, seen in enumerate(lists.seen, 1)
        ],
        "rows": [
            dict(
                zip((column.name for column in proposed.found.columns), record.values, strict=True)
            )
            for record in proposed.trial.records[:FIRST_ROWS]
        ],
        "unsure": [
            {"code": doubt.code.removeprefix("lists."), "message": doubt_sentence(doubt)}
            for doubt in [*_alike(lists, number), *proposed.doubts]
        ],
        "outcome": proposed.trial.verdict.outcome,
    }


def _commented(wish: Wish, declaration: dict[str, Any], proposed: Proposed) -> str:
    """The source as a file, with what is to be known of it above."""
    file = shlex.quote(str(wish.output))
    if proposed.ready:
        lines = [f"When the preview is right: livedata dataset create {file}"]
    else:
        lines = [f"NOT READY. {_why(proposed)}"]
    lines = [
        f"What livedata reads, and how. Try it: livedata preview {file}",
        *lines,
        *(f"Unsure: {doubt_sentence(doubt)}." for doubt in proposed.doubts),
        "What else may stand here: livedata init --template -o template.toml",
    ]
    head = "".join(f"# {escape_controls(line)}\n" for line in lines)
    return f"{head}\n{write_source(declaration)}"


def _no_list(ctx: CommandContext, wish: Wish, look: Look) -> None:
    """Say why nothing is proposed, and write the template if the page could be read."""
    why = _refused(look) or _empty(wish, look)
    if look.page is not None:
        write_new(wish.output, template(wish.url, wish.output), force=wish.force)
    if ctx.json:
        written = str(wish.output) if look.page is not None else None
        print_json({"file": written, "ready": False, "lists": [], "error": why})
        return
    print_message(why)
    if look.page is None:
        for line in machine_hints(look.harvest.ending.problem, Subject()):
            print_message(f"  {line}")
    else:
        print_text(f"Wrote {wish.output}: a blank form, to fill in by hand.")


def _refused(look: Look) -> str | None:
    problem = look.harvest.ending.problem
    if look.page is None:
        return "The page could not be read." if problem is None else sentence(problem)
    return None


def _empty(wish: Wish, look: Look) -> str:
    """Why a page that was read has no list."""
    assert look.page is not None
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


def _code(look: Look) -> int:
    return 4 if look.harvest.blocked else 3
