"""``lint``, and ``schema source``: what a reviewer and an editor need to know of source files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import quote

import click

from livedata import __version__
from livedata.cli.context import CommandContext, store_options
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.source.source_file import (
    files_below,
    leads_outside,
    locate_problems,
    read_source,
    refuse_not_ready,
)
from livedata.formats.json_schema import source_file_schema
from livedata.hints import Subject, hints
from livedata.messages.request import invalid
from livedata.messages.templates import joined, plural
from livedata.model.errors import Detail, Invalid
from livedata.model.source_file import SourceFile
from livedata.rules.declaration.consistency import check, check_name
from livedata.rules.declaration.cron import schedule_problem
from livedata.rules.declaration.lint_rules import LINT_RULES
from livedata.rules.network.targets import TargetPolicy

ERRORS: Final[Mapping[str, str]] = {
    "invalid": "What dataset create would refuse",
    "not-ready": "A source that is marked as not ready",
    "repeated-name": "Two files that declare one dataset",
    "outside": "A link to a file outside of the folder",
}
"""The rules that no source may break, and what each finds."""
SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_DOCS: Final = "https://github.com/livedata/livedata/blob/main/docs/how-to/lint.md"


class Finding(NamedTuple):
    """What is wrong, or may be, at a line of a file."""

    file: str
    line: int
    rule: str
    level: Literal["error", "warning"]
    message: str


@click.command("source")
@store_options
def print_schema(ctx: CommandContext) -> None:  # noqa: ARG001
    """Print the JSON Schema of a source file, by which editors complete and check it.

    \b
    livedata schema source > source.schema.json

    puts it where the first line of what livedata init writes looks for it: beside the file.
    """
    print_json(source_file_schema())


@click.command("lint")
@click.argument(
    "paths",
    metavar="FILE|DIR...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, path_type=Path),
)
@click.option(
    "--ignore",
    "ignored",
    metavar="RULE",
    multiple=True,
    callback=lambda _context, _option, names: tuple(map(_known, names)),
    help="Leave out the warnings of a rule, such as plain-http; may be repeated.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "sarif", "github")),
    default="text",
    show_default=True,
    help="Lines of text, SARIF 2.1.0, or the annotations of a workflow at GitHub.",
)
@store_options
def lint(ctx: CommandContext, paths: tuple[Path, ...], ignored: tuple[str, ...], form: str) -> None:
    """Judge source files as create would, and warn of what a careful person would question.

    Of a folder it reads all *.toml in it and below. It opens no store and reads no website. It
    ends with 1 if there is an error; warnings alone end with 0.
    """
    if ctx.json and form != "text":
        raise click.UsageError("Give --json or --format, not both.")
    files = dict.fromkeys(found for path in paths for found in _files(path))
    findings = [
        finding
        for finding in _judged(list(files), ctx.settings.targets)
        if finding.rule not in ignored
    ]
    _PRINTERS["json" if ctx.json else form](findings)
    if form == "text":
        print_message(_summary(findings, len(files)))
    if any(finding.level == "error" for finding in findings):
        click.get_current_context().exit(1)


def _known(name: str) -> str:
    if name in LINT_RULES:
        return name
    if name in ERRORS:
        raise click.BadParameter(f"{name!r} is an error, which cannot be left out: mend it")
    raise click.BadParameter(f"there is no rule {name!r}; there is {joined(list(LINT_RULES))}")


def _files(path: Path) -> Iterator[tuple[Path, Path | None]]:
    """The files to read, each with the folder that it may not lead out of."""
    if not path.is_dir():
        yield path, None
        return
    files = list(files_below(path))
    if not files:
        raise Invalid(f"{path}: there is no *.toml in this folder or below it.")
    for file in files:
        yield file, path


def _judged(files: Sequence[tuple[Path, Path | None]], targets: TargetPolicy) -> Iterator[Finding]:
    """What is to be said of all files, in their order and by line."""
    first: dict[str, Path] = {}
    for path, folder in files:
        if folder is not None and leads_outside(path, folder):
            why = f"The file is a link to what is not in {folder}; put the file itself there."
            yield Finding(str(path), 1, "outside", "error", why)
            continue
        found = list(_of_file(path, targets, first))
        yield from sorted(found, key=lambda finding: finding.line)


def _of_file(path: Path, targets: TargetPolicy, first: dict[str, Path]) -> Iterator[Finding]:
    try:
        declared = read_source(path)
    except Invalid as error:
        yield from _placed(error, path, "invalid", "error")
        return
    yield from _refusals(declared, path, targets)
    if declared.name in first:
        other = first[declared.name]
        why = f'is "{declared.name}" in {other} too; each dataset has a name of its own'
        yield from _at([Detail("name", why)], path, "repeated-name", "error")
    first.setdefault(declared.name, path)
    for rule in LINT_RULES.values():
        yield from _at(list(rule.find(declared)), path, rule.name, "warning")


def _refusals(declared: SourceFile, path: Path, targets: TargetPolicy) -> Iterator[Finding]:
    """What create and apply would refuse of a file that has its shape."""
    judges: Sequence[tuple[str, Callable[[], None]]] = (
        ("invalid", lambda: check_name(declared.name)),
        ("invalid", lambda: check(declared, targets)),
        ("not-ready", lambda: refuse_not_ready(path)),
    )
    for rule, judge in judges:
        try:
            judge()
        except Invalid as error:
            yield from _placed(locate_problems(error, path), path, rule, "error")
    cron = declared.schedule and declared.schedule.cron
    if cron and (problem := schedule_problem(cron)):
        yield from _at([Detail("schedule.cron", problem)], path, "invalid", "error")


def _at(
    details: Sequence[Detail], path: Path, rule: str, level: Literal["error", "warning"]
) -> Iterator[Finding]:
    if details:
        yield from _placed(locate_problems(invalid(details), path), path, rule, level)


def _placed(
    error: Invalid, path: Path, rule: str, level: Literal["error", "warning"]
) -> Iterator[Finding]:
    """A finding for each sentence, which begins with its place as `locate_problems` writes it."""
    for detail in error.details or (Detail("", error.message, error.remedies),):
        rest = detail.message.removeprefix(str(path))
        place = re.match(r":(\d+): |: ", rest)
        line = int(place[1] or 1) if place else 1
        sentence = rest[place.end() :] if place else rest
        said = [f"{sentence.removesuffix('.')}.", *hints(detail.remedies, Subject())]
        yield Finding(str(path), line, rule, level, " ".join(said))


def _summary(findings: Sequence[Finding], files: int) -> str:
    read = plural(files, "file")
    if not findings:
        return f"Nothing to complain of in {read}."
    count = Counter(finding.level for finding in findings)
    said = " and ".join(
        plural(count[level], level) for level in ("error", "warning") if count[level]
    )
    return f"Found {said} in {len({finding.file for finding in findings})} of {read}."


def _print_text(findings: Iterable[Finding]) -> None:
    for each in findings:
        level = "error: " if each.level == "error" else ""
        print_text(_one_line(f"{each.file}:{each.line}: {each.rule}: {level}{each.message}"))


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())


def _print_github(findings: Iterable[Finding]) -> None:
    for each in findings:
        place = {"file": each.file, "line": str(each.line), "title": f"livedata {each.rule}"}
        properties = ",".join(f"{name}={_property(value)}" for name, value in place.items())
        print_text(f"::{each.level} {properties}::{_data(each.message)}")


def _data(text: str) -> str:
    """A text as a workflow command takes it, in which these three characters would end it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _print_sarif(findings: Sequence[Finding]) -> None:
    warnings = {name: rule.summary for name, rule in LINT_RULES.items()}
    rules = [
        {
            "id": name,
            "shortDescription": {"text": f"{summary}."},
            "helpUri": f"{_DOCS}#{name}",
            "defaultConfiguration": {"level": "error" if name in ERRORS else "warning"},
        }
        for name, summary in {**ERRORS, **warnings}.items()
    ]
    places = [rule["id"] for rule in rules]
    driver = {
        "name": "livedata",
        "semanticVersion": __version__,
        "informationUri": "https://github.com/livedata/livedata",
        "rules": rules,
    }
    results = [_result(finding, places.index(finding.rule)) for finding in findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    print_json({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]})


def _result(finding: Finding, rule: int) -> dict[str, Any]:
    place = {
        "artifactLocation": {"uri": _uri(Path(finding.file))},
        "region": {"startLine": finding.line},
    }
    return {
        "ruleId": finding.rule,
        "ruleIndex": rule,
        "level": finding.level,
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": place}],
    }


def _uri(path: Path) -> str:
    """A file as SARIF names it: by its way from here, with which code scanning finds its line."""
    whole, here = path.absolute(), Path.cwd()
    if whole.is_relative_to(here):
        return quote(whole.relative_to(here).as_posix())
    return whole.as_uri()


_PRINTERS: Final[Mapping[str, Callable[[Sequence[Finding]], None]]] = {
    "text": _print_text,
    "sarif": _print_sarif,
    "github": _print_github,
    "json": lambda findings: print_json([finding._asdict() for finding in findings]),
}
"""What writes findings in each form."""
