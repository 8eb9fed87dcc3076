"""``livedata apply``: makes the store agree with the sources of a folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click
from msgspec import Struct

from livedata.cli.add_notice import kept_address
from livedata.cli.context import LOCAL_BASE, CommandContext, common_options
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.source.source_file import as_source, check_ready, read_text, sources_below
from livedata.cli.warnings import warn_if_low
from livedata.config import is_base
from livedata.hints import Subject
from livedata.messages.controls import escape_controls
from livedata.messages.templates import joined, plural
from livedata.model.errors import Conflict, Detail, Invalid, NotFound
from livedata.model.ids import DatasetId
from livedata.rules.declaration.notices import CHANNELS
from livedata.rules.network.targets import TargetPolicy
from livedata.services import apply as applying
from livedata.services import queries, shares
from livedata.services.apply import FolderStep, Made, Terms
from livedata.services.attempts import pages_before
from livedata.services.folder import FolderSource, Problems, judge
from livedata.services.forecast import revised
from livedata.store.database.codec import Fields
from livedata.store.database.store import Database
from livedata.worker.delivery import courier
from spiders.cli.revising import beside_rows
from spiders.cli.trial import Trial, trial_recipe, try_out
from spiders.cli.trial_report import MOST_LINES, forecast_lines, forecast_summary
from spiders.crawl.engine import CrawlEngine, crawl_engine, end_process
from spiders.crawl.job import CrawlJob
from spiders.crawl.settings import fetch_config
from spiders.saved.pages import open_pages

WOULD_CHANGE: Final = 10
"""The exit code of a plan by which something would change."""
_DONE: Final = {
    "create": "created",
    "revise": "revised",
    "update": "updated",
    "pause": "paused",
    "leave": "unchanged",
}
_SAVED: Final = "A Run of the saved pages"


class ToldStep(Struct, frozen=True):
    """A step as a person is told it; `rows` are those that a Run of its saved pages changes."""

    step: FolderStep
    changes: Sequence[str]
    rows: Sequence[str] = ()

    @property
    def is_change(self) -> bool:
        """Whether its dataset does not stay as it is."""
        return self.step.action != "leave"


class Report(Struct, frozen=True):
    """What would become of the datasets, or has: for a person, a program and a pull request."""

    owner: str
    folder: Path
    told: Sequence[ToldStep]
    plan: bool

    @property
    def changed(self) -> list[ToldStep]:
        """What does not stay as it is."""
        return [each for each in self.told if each.is_change]

    @property
    def undeclared(self) -> list[str]:
        """The datasets that no file declares, and that stay as they are."""
        return [
            each.step.name for each in self.told if each.step.file is None and not each.is_change
        ]

    @property
    def summary(self) -> str:
        """How many datasets change, and how."""
        counts = Counter[str](each.step.action for each in self.told)
        counts["leave"] -= len(self.undeclared)
        if not self.changed:
            return f"Nothing to change: {plural(counts['leave'], 'source')} applied already."
        listed = [f"{counts[action]} {word}" for action, word in _DONE.items() if counts[action]]
        return f"{'Would be' if self.plan else 'Done'}: {joined(listed)}."

    def print_json(self) -> None:
        """Print an object for each dataset."""
        print_json(
            [
                {
                    "name": each.step.name,
                    "file": each.step.file,
                    "action": each.step.action,
                    "changes": [*each.changes, *each.rows],
                }
                for each in self.told
            ]
        )

    def print_text(self) -> None:
        """Print what changes, a line for each thing."""
        for each in self.changed:
            print_text(f"{each.step.action:<7} {each.step.name}  ({each.step.file or 'no file'})")
            for line in each.changes:
                print_text(f"  {escape_controls(line)}")
            for line in each.rows[:MOST_LINES]:
                print_text(f"    {escape_controls(line)}")
            if len(each.rows) > MOST_LINES:
                more = plural(len(each.rows) - MOST_LINES, "row")
                print_text(f"    … and {more} more; --json has all.")
        print_message(self.summary)
        if self.plan and self.changed:
            prunes = any(each.step.action == "pause" for each in self.told)
            options = ["--prune", "pause"] if prunes else []
            command = Subject(self.owner).command("apply", str(self.folder), options=options)
            print_message(f"To do this: {command}")
        if self.undeclared:
            names = joined(self.undeclared)
            print_message(f"No file declares {names}, left alone; --prune pause pauses such.")

    def print_markdown(self) -> None:
        """Print a heading, a table and folded details."""
        parts = [f"### livedata apply {code(str(self.folder))}", self.summary]
        if self.changed:
            lines = ["| | dataset | file |", "| --- | --- | --- |"]
            for each in self.changed:
                name, file = code(each.step.name), code(each.step.file or "no file")
                lines.append(f"| {each.step.action} | {name} | {file} |")
            parts.append("\n".join(lines))
        for each in self.changed:
            lines = [f"- {code(line)}" for line in each.changes]
            lines += [f"  - {code(line)}" for line in each.rows[:MOST_LINES]]
            if len(each.rows) > MOST_LINES:
                lines.append(f"  - … and {plural(len(each.rows) - MOST_LINES, 'row')} more")
            heading = f"<details><summary>{each.step.action} {code(each.step.name)}</summary>"
            parts.append("\n".join([heading, "", *lines, "", "</details>"]))
        if self.undeclared:
            parts.append(f"No file declares {joined([*map(code, self.undeclared)])}, left alone.")
        print_text("\n\n".join(parts))


_PRINTS: Final[Mapping[str, Callable[[Report], None]]] = {
    "text": Report.print_text,
    "json": Report.print_json,
    "markdown": Report.print_markdown,
}
_PLAIN: Final = frozenset(" ,-+()=/\"'?%→")


def code(text: str) -> str:
    """A text in Markdown as it is: no mark-up, no link and no mention in it counts."""
    # By CommonMark a character that is written as its number makes no structure; a code span of
    # backticks is ended by a backtick in the text, or by a bar if it stands in a table.
    written = "".join(
        each if each.isalnum() or each in _PLAIN else f"&#{ord(each)};"
        for each in escape_controls(text)
    )
    return f"<code>{written}</code>"


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--plan", "only_plan", is_flag=True, help="Say what would change, and change nothing."
)
@click.option(
    "--prune",
    type=click.Choice(["pause"]),
    help="Pause the datasets that no file declares; nothing is ever deleted.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown"]),
    help="How it is printed: markdown is for a comment in a pull request.  [default: text]",
)
@common_options
def apply(
    ctx: CommandContext, folder: Path, only_plan: bool, prune: str | None, form: str | None
) -> None:
    """Make the datasets agree with the sources below DIR.

    Reads each *.toml below DIR, judges all of them, and then creates, revises or updates the
    datasets of their names, with their schedules, notices and shares: all of it or, if anything is
    wrong, nothing. What a file leaves out stays as it is.

    --plan exits with 10 if anything would change, else with 0; it also says what a Run of the pages
    that stand in [test] would change, by row and cell.
    """
    if ctx.json and form not in {None, "json"}:
        raise click.UsageError(f"--json is --format json; give it, or --format {form}.")
    prints = _PRINTS["json" if ctx.json else form or "text"]
    settings = ctx.settings
    terms = Terms(settings.targets, settings.timezone, prune is not None, ctx.first_credits)
    sources = _read(folder, terms.targets, TargetPolicy.parse(settings.allow_hosts))
    if not only_plan:
        prints(_applied(ctx, folder, sources, terms))
        return
    with ctx.reading() as db:
        steps = applying.plan(db, ctx.owner, sources, terms)
        told, engine = _tried(ctx, db, steps)
    report = Report(ctx.owner, folder, told, plan=True)
    prints(report)
    end_process(WOULD_CHANGE if report.changed else 0, engine)


def _applied(
    ctx: CommandContext, folder: Path, sources: Sequence[FolderSource], terms: Terms
) -> Report:
    """Apply a folder; what was done, with what a person has to know beside it."""
    public = ctx.settings.public_url
    with ctx.writing() as store:
        steps, made = applying.apply(store, ctx.owner, sources, terms)
        created = [step.name for step in steps if step.action == "create"]
        if created:
            keys = [queries.find_dataset(store, ctx.owner, name) for name in created]
            warn_if_low(store, ctx.owner, *keys)
    if any(each.kind == "share" and not (each.base or public) for each in made):
        print_message(
            "Only this machine reaches the address of the share, while `livedata serve` answers "
            "there. base in [[share]] or LIVEDATA_PUBLIC_URL says where others reach it."
        )
    base = public or LOCAL_BASE
    told = [
        ToldStep(step, (*_changes(ctx, step), *_shown_once(step, made, base))) for step in steps
    ]
    return Report(ctx.owner, folder, told, plan=False)


def _read(folder: Path, targets: TargetPolicy, allowed: TargetPolicy) -> list[FolderSource]:
    """The sources of a folder. Raises Invalid with all that is wrong, each with file and line."""
    problems, sources = Problems(), list[FolderSource]()
    for path in sources_below(folder):
        with problems.of():
            written = read_text(path)
            check_ready(written)
            declared = as_source(written)
            sources.append(FolderSource(str(path), declared, written))
    judge(sources, targets, problems)
    sources = [_with_targets(source, allowed, problems) for source in sources]
    problems.check()
    return sources


def _with_targets(source: FolderSource, allowed: TargetPolicy, problems: Problems) -> FolderSource:
    """A source with the targets of its notices, which stand where it says."""
    read: list[tuple[str, str]] = []
    for number, notice in enumerate(source.declared.notice or ()):
        given = [
            (channel, target)
            for channel in CHANNELS
            if (target := getattr(notice, channel)) is not None
        ]
        with problems.of(source.written, f"notice[{number}]"):
            read.append(_target(given, Path(source.file).parent, allowed))
    for number, share in enumerate(source.declared.share or ()):
        if share.base is not None and not is_base(share.base.rstrip("/")):
            why = "must be an address such as https://data.example.org"
            detail = Detail(f"share[{number}].base", why)
            problems.add(Invalid(why, (detail,)), source.written)
    return FolderSource(source.file, source.declared, source.written, read)


def _target(
    given: Sequence[tuple[str, str]], beside: Path, allowed: TargetPolicy
) -> tuple[str, str]:
    if len(given) != 1:
        raise Invalid(f"one of {joined([*CHANNELS])} says whom to tell, not {len(given)}")
    ((channel, said),) = given
    if said == "-":
        why = "names standard input, which a file has not; write env:NAME or file:PATH"
        raise Invalid(why, (Detail(channel, why),))
    try:
        target = kept_address(said, beside) if CHANNELS[channel].is_address else said
    except Invalid as error:
        why = error.message.removesuffix(".")
        raise Invalid(why, (Detail(channel, why, is_predicate=False),)) from error
    courier.check(channel, target, allowed)
    return channel, target


def _shown_once(step: FolderStep, made: Sequence[Made], base: str) -> Iterator[str]:
    """What opens the new shares of a step, and the secrets of its new notices."""
    for each in made:
        if each.dataset != step.name:
            continue
        if each.kind == "notice":
            yield f"the secret of notice {each.name}, shown only now: {each.secret}"
        else:
            address = shares.address((each.base or base).rstrip("/"), each.secret, each.dataset)
            yield f"the address of share {each.name}, shown only now: {address}"


def _changes(ctx: CommandContext, step: FolderStep) -> tuple[str, ...]:
    """What is said of a step, with what to do about a name that was changed."""
    if step.same_address is None:
        return step.changes
    rename = Subject(ctx.owner).command(
        "dataset update", step.same_address, options=["--name", step.name]
    )
    said = (
        f"{step.same_address}, which has no file, reads the same address; if this is its new name, "
        f"keep its rows and history, and rename it first: {rename}"
    )
    return (*step.changes, said)


def _tried(
    ctx: CommandContext, db: Database, steps: Sequence[FolderStep]
) -> tuple[list[ToldStep], CrawlEngine | None]:
    """The steps, each with what a Run of its saved pages would change."""
    told, problems, used = list[ToldStep](), Problems(), None
    with _crawling(steps) as engine:
        for step in steps:
            changes, rows = _changes(ctx, step), list[str]()
            source = step.source
            if engine is not None and source is not None and _is_tried(step):
                used = engine
                try:
                    said, rows = _of_pages(ctx, db, step, source, engine)
                    changes = (*changes, said)
                except (Conflict, Invalid, NotFound) as error:
                    problems.add(Invalid(error.message), source.written, "test.pages")
            told.append(ToldStep(step, changes, rows))
    problems.check()
    return told, used


@contextmanager
def _crawling(steps: Sequence[FolderStep]) -> Iterator[CrawlEngine | None]:
    """An engine, if any pages are to be read: to import one takes longer than most plans."""
    if any(map(_is_tried, steps)):
        with crawl_engine() as engine:
            yield engine
    else:
        yield None


def _is_tried(step: FolderStep) -> bool:
    return (
        step.action in {"create", "revise"}
        and step.source is not None
        and step.source.declared.test is not None
    )


def _of_pages(
    ctx: CommandContext, db: Database, step: FolderStep, source: FolderSource, engine: CrawlEngine
) -> tuple[str, list[str]]:
    """What a Run of its saved pages would change, and the rows of it."""
    test = source.declared.test
    assert test is not None  # who asks has looked
    pages = open_pages(Path(source.file).parent / test.pages)
    fetching = fetch_config(ctx.settings)
    fields, followers = None, None
    if step.dataset is None:
        recipe = trial_recipe(source.declared, fetching.targets)
    else:
        # What names its columns was looked at with the whole plan: the folder may change that too.
        after = revised(
            db, ctx.owner, step.dataset, source.declared, fetching.targets, checks_readers=False
        )
        recipe, fields = after.recipe, after.fields
        followers = pages_before(db, step.dataset)
    job = pages.job(CrawlJob(recipe, fetching, followers or ()))
    trial = engine.run(try_out(engine, job, pages.limit(recipe)))
    pages.check()
    return _forecast(ctx, db, step.dataset, trial, fields)


def _forecast(
    ctx: CommandContext,
    db: Database,
    dataset: DatasetId | None,
    trial: Trial,
    fields: Fields | None,
) -> tuple[str, list[str]]:
    if dataset is not None:
        trial, changes = beside_rows(db, ctx.owner, dataset, ctx.settings, trial, fields)
        if changes is not None:
            rows = [
                click.unstyle(f"{word}  {rest}") for word, rest in forecast_lines(trial, changes)
            ]
            return forecast_summary(trial, changes, _SAVED), rows
    if trial.verdict.outcome != "accept":
        return f"{_SAVED} would not be accepted: {trial.error}", []
    return f"{_SAVED} would add {plural(len(trial.saved_rows.rows), 'row')}", []
