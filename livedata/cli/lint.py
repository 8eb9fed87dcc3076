"""``lint``, and ``schema source``: what a reviewer and an editor need to know of source files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import click

from livedata import __version__
from livedata.cli.context import CommandContext, store_options
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.source.source_file import as_source, check_ready, read_text, sources_below
from livedata.config import HOMEPAGE
from livedata.formats.json_schema import source_file_schema
from livedata.hints import Subject, hints
from livedata.messages.request import invalid
from livedata.messages.templates import joined, plural
from livedata.model.errors import Detail
from livedata.rules.declaration.lint_rules import LINT_RULES
from livedata.rules.network.targets import TargetPolicy
from livedata.services.folder import FolderSource, Problems, judge

ERRORS: Final[Mapping[str, str]] = {
    "invalid": "What create or apply would refuse",
    "not-ready": "A source that is marked as not ready",
}
"""The rules that no source may break, and what each finds."""
SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_PAGE: Final = "blob/main/docs/how-to/lint.md"


class LintFinding(NamedTuple):
    """What is wrong, or may be, at a line of a file."""

    file: str
    line: int
    rule: str
    level: str
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
    # What is named twice, or lies in a folder that is named too, is read once.
    files = {file.absolute(): file for path in paths for file in _files(path)}
    findings = [
        finding
        for finding in _judged(list(files.values()), ctx.settings.targets)
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


def _files(path: Path) -> Sequence[Path]:
    return sources_below(path) if path.is_dir() else (path,)


def _judged(files: Sequence[Path], targets: TargetPolicy) -> list[LintFinding]:
    """What is to be said of all files, in their order and by line."""
    refused, unready, sources = Problems(), Problems(), list[FolderSource]()
    for path in files:
        with refused.of():
            written = read_text(path)
            with unready.of():
                check_ready(written)
            sources.append(FolderSource(str(path), as_source(written), written))
    judge(sources, targets, refused)
    warned = [
        ("warning", rule.name, detail)
        for source in sources
        for rule in LINT_RULES.values()
        if (places := list(rule.find(source.declared)))
        for detail in source.written.locate(invalid(places)).details
    ]
    told = [
        *(("error", "invalid", detail) for detail in refused.details),
        *(("error", "not-ready", detail) for detail in unready.details),
        *warned,
    ]
    order = {str(path): number for number, path in enumerate(files)}
    findings = [_placed(level, rule, detail, order) for level, rule, detail in told]
    return sorted(findings, key=lambda each: (order[each.file], each.line))


def _placed(level: str, rule: str, detail: Detail, files: Iterable[str]) -> LintFinding:
    """A finding of a sentence that begins with its place: ``file:line:``, or ``file:`` alone."""
    file = max((file for file in files if detail.message.startswith(f"{file}:")), key=len)
    rest = detail.message.removeprefix(f"{file}:")
    place = re.match(r"(\d+): ", rest)
    sentence = rest[place.end() :] if place else rest.lstrip()
    said = [f"{sentence.removesuffix('.')}.", *hints(detail.remedies, Subject())]
    return LintFinding(file, int(place[1]) if place else 1, rule, level, " ".join(said))


def _summary(findings: Sequence[LintFinding], files: int) -> str:
    read = plural(files, "file")
    if not findings:
        return f"Nothing to complain of in {read}."
    count = Counter(finding.level for finding in findings)
    said = " and ".join(
        plural(count[level], level) for level in ("error", "warning") if count[level]
    )
    return f"Found {said} in {len({finding.file for finding in findings})} of {read}."


def _print_text(findings: Iterable[LintFinding]) -> None:
    for each in findings:
        level = "error: " if each.level == "error" else ""
        print_text(_one_line(f"{each.file}:{each.line}: {each.rule}: {level}{each.message}"))


def _one_line(text: str) -> str:
    # A value of the file may have ends of lines, and a finding is one line.
    return " ".join(text.splitlines())


def as_annotation(finding: LintFinding) -> str:
    """The workflow command by which GitHub shows a finding at its line."""
    title = f"livedata {finding.rule}"
    place = {"file": finding.file, "line": str(finding.line), "title": title}
    properties = ",".join(f"{name}={_property(value)}" for name, value in place.items())
    return f"::{finding.level} {properties}::{_data(finding.message)}"


def _print_github(findings: Iterable[LintFinding]) -> None:
    for each in findings:
        print_text(as_annotation(each))


def _data(text: str) -> str:
    """A text as a workflow command takes it, in which these three characters would end it."""
    # The percent sign first, or what stands for the others would be escaped again.
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _print_sarif(findings: Sequence[LintFinding]) -> None:
    warnings = {name: rule.summary for name, rule in LINT_RULES.items()}
    rules = [
        {
            "id": name,
            "shortDescription": {"text": f"{summary}."},
            "helpUri": f"{HOMEPAGE}/{_PAGE}#{name}",
            "defaultConfiguration": {"level": "error" if name in ERRORS else "warning"},
        }
        for name, summary in {**ERRORS, **warnings}.items()
    ]
    places = [rule["id"] for rule in rules]
    driver = {
        "name": "livedata",
        "semanticVersion": __version__,
        "informationUri": HOMEPAGE,
        "rules": rules,
    }
    results = [_result(finding, places.index(finding.rule)) for finding in findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    print_json({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]})


def _result(finding: LintFinding, rule: int) -> dict[str, Any]:
    place = {
        "artifactLocation": {"uri": _uri(Path(finding.file))},
        # Without a column: a line is what a person mends.
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


_PRINTERS: Final[Mapping[str, Callable[[Sequence[LintFinding]], None]]] = {
    "text": _print_text,
    "sarif": _print_sarif,
    "github": _print_github,
    "json": lambda findings: print_json([finding._asdict() for finding in findings]),
}
"""What writes findings in each form."""
