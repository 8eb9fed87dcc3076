"""``livedata init URL``: looks at a page, and writes a source that reads the list on it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click

from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.source.template import (
    add_schema,
    blank_form,
    refuse_existing,
    url_refused,
    write_new,
    write_template,
)
from livedata.extraction.lists.page_lists import Lists
from livedata.extraction.lists.proposal import ProposedList
from livedata.hints import SOURCE_FILE, Subject, machine_hints
from livedata.messages.validation import read
from livedata.model.errors import Invalid
from livedata.model.recipe import Render
from livedata.model.requests import CreateDataset
from spiders.cli.fetched_page import FetchedPage, fetch_lists
from spiders.cli.init_report import (
    commented_source,
    found_json,
    nothing_json,
    print_found,
    print_lists,
    why_not_ready,
)
from spiders.cli.looking import is_read, name_of, proposal_of
from spiders.cli.no_list import is_feed, no_list, no_such_list, unread
from spiders.cli.proving import Proposed, Prover
from spiders.crawl.engine import crawl_engine, end_process
from spiders.crawl.settings import fetch_config


@click.command()
@click.argument("url", required=False)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("source.toml"),
    show_default=True,
    help="The file to write.",
)
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
@click.option("--browser", is_flag=True, help="Read the page after its scripts have run.")
@click.option(
    "--like", multiple=True, metavar="TEXT", help="Read the list that has a record with this text."
)
@click.option(
    "--list", "number", type=click.IntRange(1), metavar="N", help="Read the N-th list of the page."
)
@click.option("--columns", metavar="A,B,...", default="", help="Keep these columns only.")
@click.option("--yes", is_flag=True, help="Ask nothing on a terminal.")
@click.option("--template", is_flag=True, help="Write a blank form, and look at no page.")
@common_options
def init(
    ctx: CommandContext,
    url: str | None,
    output: Path,
    force: bool,
    browser: bool,
    like: Sequence[str],
    number: int | None,
    columns: str,
    yes: bool,
    template: bool,
) -> None:
    """Look at a page, and write a source.toml for its list.

    URL is the first page of the list. It says which lists, columns, key and next page it found, and
    writes what was proved by reading two pages. Nothing is stored.
    """
    if template:
        write_template(ctx, url, output, force=force)
        return
    if url is None:
        raise click.UsageError(
            "Give the address of a page with a list, or --template for a blank form: livedata init "
            "https://shop.example/products"
        )
    names = [name.strip() for name in columns.split(",") if name.strip()]
    if columns and not names:
        raise click.UsageError("--columns names no column: --columns title,price")
    if not all(text.strip() for text in like):
        raise click.UsageError("--like needs a text of the list: --like 'Kettle'")
    asking = sys.stdin.isatty() and sys.stdout.isatty() and not (yes or ctx.json)
    render: Render = "browser" if browser else "static"
    _look_and_write(ctx, Wanted(url, output, force, render, like, number, names, asking))


class Wanted(NamedTuple):
    """What a person asks for: the page, the list on it, its columns, and where to write it."""

    url: str
    output: Path
    force: bool
    render: Render
    like: Sequence[str]
    number: int | None
    columns: Sequence[str]
    asking: bool

    @property
    def is_named(self) -> bool:
        """Whether a person names the list."""
        return self.number is not None or bool(self.like)


def _look_and_write(ctx: CommandContext, wanted: Wanted) -> None:
    fetching = fetch_config(ctx.settings)
    url, render = wanted.url, wanted.render
    url_refused(url, ctx.settings.targets)
    refuse_existing(wanted.output, force=wanted.force)
    with crawl_engine() as engine:
        look = engine.run(fetch_lists(engine, url, render, fetching, wanted.like))
        if look.lists is None or not is_read(look.lists, is_named=wanted.is_named):
            _report_nothing(ctx, wanted, look)
            add_schema(wanted.output, quiet=ctx.json)
            end_process(4 if look.harvest.blocked else 3, engine)
        chosen = _chosen(wanted, look.lists)
        proposal = _proposal(wanted, look.lists, chosen)
        if isinstance(proposal, str):
            _give_template(ctx, wanted, proposal, look.lists)
            add_schema(wanted.output, quiet=ctx.json)
            end_process(3, engine)
        name = name_of(look.lists, url)
        proposed = engine.run(Prover(engine, fetching, url, render, name).prove(proposal))
    _report(ctx, wanted, look.lists, chosen, proposed)
    add_schema(wanted.output, quiet=ctx.json)
    end_process(0 if proposed.ready else 3, engine)


def _chosen(wanted: Wanted, lists: Lists) -> int:
    """The number of the list to read, from 1."""
    count = len(lists.seen)
    if wanted.number is not None:
        if wanted.number > count:
            raise click.UsageError(no_such_list(wanted.number, lists))
        return wanted.number
    if not wanted.asking or count == 1:
        return 1
    print_lists(lists)
    with _asking():
        chosen: int = click.prompt(
            "Number of the list, Enter takes", default=1, type=click.IntRange(1, count), err=True
        )
    return chosen


@contextmanager
def _asking() -> Iterator[None]:
    """Ctrl-C and the end of the input end the command, and nothing is written."""
    try:
        yield
    except click.Abort:
        # They leave the cursor behind the question.
        print_message("\nNothing was written.")
        raise click.exceptions.Exit(130) from None


def _proposal(wanted: Wanted, lists: Lists, number: int) -> ProposedList | str:
    """What is proposed of a list; or why nothing is, as a sentence."""
    proposal = proposal_of(lists, number, wanted.url)
    if isinstance(proposal, str) or not wanted.columns:
        return proposal
    return _only(proposal, wanted.columns)


def _only(proposal: ProposedList, names: Sequence[str]) -> ProposedList:
    """The list with the columns that a person names, and no other."""
    known = [column.name for column in proposal.columns]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise click.UsageError(
            f"--columns: the list has no {unknown[0]!r}; it has {', '.join(known)}."
        )
    return proposal.only(names)


def _report(
    ctx: CommandContext, wanted: Wanted, lists: Lists, number: int, proposed: Proposed
) -> None:
    """Print what was found, and write it."""
    file = str(wanted.output)
    if not ctx.json:
        print_found(lists, number, proposed, asked=wanted.asking)
    if wanted.asking:
        declaration = proposed.declaration
        checked = partial(_name_for, declaration)
        with _asking():
            declaration["name"] = click.prompt(
                "Name of the dataset, Enter takes",
                default=declaration["name"],
                value_proc=checked,
                err=True,
            )
    write_new(wanted.output, commented_source(proposed, file), force=wanted.force)
    if ctx.json:
        print_json({"file": file, **found_json(lists, number, proposed)})
        return
    if proposed.ready:
        print_text(f"Wrote {file}: a Run would accept it.")
        print_message(f"Before that, change in {file} what stays afterwards: key, names and types.")
        print_message(f"Make a dataset of it: {Subject().command('dataset create', file)}")
        return
    print_text(f"Wrote {file}, which is not ready.")
    print_message(why_not_ready(proposed))
    if len(lists.seen) > 1:
        other = "2" if number == 1 else "1"
        print_message(f"If another list is meant: {_again(wanted, '--list', other)}")
    if not wanted.like:
        named = _again(wanted, "--like", "TEXT")
        print_message(f"If a list is meant that is not shown, name a text of it: {named}")
    print_message(f"Edit the file, then try it: {Subject().command('preview', file)}")


def _again(wanted: Wanted, *which: str) -> str:
    """The command that reads another list of the page into the same file."""
    options = [*which, "--force"]
    if wanted.output != Path(SOURCE_FILE):
        options += ["-o", str(wanted.output)]
    if wanted.render == "browser":
        options.append("--browser")
    return Subject().command("init", wanted.url, options=options)


def _report_nothing(ctx: CommandContext, wanted: Wanted, look: FetchedPage) -> None:
    """Say why a page could not be read, or has no list."""
    if look.lists is None:
        why = unread(look.harvest.ending.problem)
    else:
        rendered = wanted.render == "browser"
        why = no_list(wanted.url, look.lists, wanted.like, rendered=rendered)
    _give_template(ctx, wanted, why, look.lists)
    if look.page is None and not ctx.json:
        for line in machine_hints(look.harvest.ending.problem, Subject()):
            print_message(f"  {line}")


def _name_for(declaration: dict[str, Any], name: str) -> str:
    """A name if a dataset may have it; else a person is asked again."""
    try:
        read(CreateDataset, {**declaration, "name": name})
    except Invalid as refused:
        raise click.BadParameter(f"A name {refused.details[0].message}.") from None
    return name


def _give_template(ctx: CommandContext, wanted: Wanted, why: str, lists: Lists | None) -> None:
    """Say why nothing is proposed, and write the template if the page could be read."""
    if lists is not None:
        write_new(wanted.output, blank_form(wanted.url, wanted.output), force=wanted.force)
    if ctx.json:
        print_json(
            {"file": None if lists is None else str(wanted.output), **nothing_json(lists, why)}
        )
        return
    print_message(why)
    if lists is None:
        return
    if lists.seen and not is_feed(lists):
        print_lists(lists)
    print_text(f"Wrote {wanted.output}: a blank form, to fill in by hand.")
