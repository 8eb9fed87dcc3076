"""``livedata import``: one recipe for many addresses, and sources of what other tools watch."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

import click
from msgspec import Struct

from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_message
from livedata.cli.output.tables import print_table
from livedata.cli.output.whole_file import file_stem, write_whole_files
from livedata.cli.source.address_list import AddressList, ListedAddress, read_addresses
from livedata.cli.source.source_file import (
    locate_problems,
    not_ready,
    read_source,
    refuse_not_ready,
)
from livedata.cli.source.template import schema_text
from livedata.formats.source_toml import SCHEMA_FILE, SCHEMA_LINE, write_source
from livedata.hints import Subject
from livedata.messages.controls import escape_controls
from livedata.messages.request import format_detail, nearest, predicate, summary
from livedata.messages.templates import joined, plural
from livedata.messages.validation import read
from livedata.model.errors import Invalid, LocatedDetail
from livedata.model.recipe import moved_pattern, numbered_url
from livedata.model.source import UrlPattern
from livedata.model.source_file import SourceFile
from livedata.rules.declaration.consistency import check, check_name
from livedata.rules.network.targets import TargetPolicy, url_problem

_PARTS: Final = ("host", "path", "last", "n", "like")
_DEFAULT: Final = "{host}-{path}"
_ENDING: Final = re.compile(r"\.(?:html?|php|aspx?|jsp)$", re.IGNORECASE)


class _Written(Struct, frozen=True):
    """A source that is to be written: what declares it, and its file."""

    entry: ListedAddress
    name: str
    file: Path
    text: str


@click.command("import")
@click.argument("listed", metavar="FILE", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--like", metavar="SOURCE", type=click.Path(path_type=Path), help="The recipe of all."
)
@click.option(
    "--to", "folder", metavar="DIR", required=True, type=click.Path(path_type=Path),
    help="The folder for the sources.",
)  # fmt: skip
@click.option(
    "--name", "pattern", metavar="PATTERN",
    help="How they are called, such as '{host}-{last}': host, path, last part of the path and "
    "query.NAME of the address; n, its number in the list; like, the name of SOURCE; and the "
    "columns of a CSV file, or title in an export.  [default: {name} or {title} where there is "
    "one, else {host}-{path}]",
)  # fmt: skip
@click.option(
    "--from", "kind", type=click.Choice(["urls", "csv", "changedetection", "webchanges"]),
    help="What FILE is; without it as its name ends.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace files that say something else.")
@common_options
def import_sources(
    ctx: CommandContext,
    listed: Path,
    like: Path | None,
    folder: Path,
    pattern: str | None,
    kind: str | None,
    force: bool,
) -> None:
    """Write a source for each address of a list, or of what another tool watches.

    FILE has an address a line, with # before a comment; or it is CSV with a column url; or - for
    stdin. Each source is SOURCE with a name and an address of its own, to which the pattern of its
    numbered pages is moved. All are judged first: if one is wrong, none is written.

    FILE may also be a backup, an url-watches.json or an answer of the API of changedetection.io, or
    the jobs.yaml of webchanges and urlwatch. Without SOURCE each source has the address and the
    selector, and is marked as not ready; what cannot be carried over is said, a line each.

    An archive with a table and its history is read by livedata dataset import.
    """
    names = _Pattern(pattern) if pattern is not None else None
    addresses = read_addresses(listed, kind)
    if like is None and not addresses.tool:
        raise click.UsageError(
            "A list of addresses needs a recipe: name a source that reads one of them, such as "
            "--like source.toml; livedata init URL writes one."
        )
    if names is not None:
        names.judge(addresses)
    targets = ctx.settings.targets
    recipe = None if like is None else _Recipe(like, _judged(like, targets))
    addresses = _told(addresses, targets, like)
    sources = _Sources(addresses, recipe, names, folder, targets).all()
    texts = {each.file: each.text for each in sources}
    if not (schema := folder / SCHEMA_FILE).exists():
        texts[schema] = schema_text()
    actions = write_whole_files(texts, folder, force=force)
    _report(ctx, sources, actions, folder, ready=recipe is not None)


class _Recipe(Struct, frozen=True):
    """The source that the others are like."""

    file: Path
    declared: SourceFile


def _judged(like: Path, targets: TargetPolicy) -> SourceFile:
    """What a source declares. Raises Invalid for one that create would refuse."""
    declared = read_source(like)
    refuse_not_ready(like)
    try:
        check(declared, targets)
    except Invalid as error:
        raise locate_problems(error, like) from None
    if declared.test is not None:
        print_message(f"{like}: [test] is left out: other addresses have pages of their own.")
    for notice in declared.notice or ():
        if notice.dataset is not None:
            print_message(f"{like}: the notice {notice.name} is left out: it names its datasets.")
    return declared


def _told(addresses: AddressList, targets: TargetPolicy, like: Path | None) -> AddressList:
    """Say what cannot be carried over of another tool's export; the addresses that are left.

    Raises Invalid if none is left.
    """
    if not addresses.tool:
        return addresses
    told, kept = [*addresses.left_out], []
    for entry in addresses.entries:
        problem = url_problem(entry.url, targets)
        if problem is not None:
            told.append(f"{entry.place} is left out: {entry.url} {predicate(problem)}.")
            continue
        told += [f"{entry.place}: {sentence}" for sentence in entry.lost]
        if like is not None and entry.selector is not None:
            told.append(f"{entry.place}: {entry.selector} is not read: {like} says what is.")
        kept.append(entry)
    for sentence in told:
        print_message(sentence)
    if not kept:
        raise Invalid(f"{addresses.name}: no source can be made of what it has.")
    return AddressList(addresses.name, kept, addresses.columns, addresses.tool)


class _Sources(Struct, frozen=True):
    """What is made of a list of addresses."""

    addresses: AddressList
    recipe: _Recipe | None
    names: _Pattern | None
    folder: Path
    targets: TargetPolicy

    def all(self) -> list[_Written]:
        """A source for each address. Raises Invalid with all that is wrong, by line of the list."""
        made: dict[Path, _Written] = {}
        problems: list[LocatedDetail] = []
        for number, entry in enumerate(self.addresses.entries, 1):
            try:
                source = self._source(entry, number)
                if source.file in made:
                    raise Invalid(_twice(source.name, entry, made[source.file].entry))
                made[source.file] = source
            except Invalid as error:
                said = [format_detail(each) for each in error.details] or [error.message[:-1]]
                problems += [
                    LocatedDetail("", f"{entry.place}: {why}.", error.remedies) for why in said
                ]
        if problems:
            first = problems[0].message[:-1]
            remedies = problems[0].remedies
            raise Invalid(summary(first, len(problems)), tuple(problems), remedies)
        return [*made.values()]

    def _source(self, entry: ListedAddress, number: int) -> _Written:
        if problem := url_problem(entry.url, self.targets):
            raise Invalid(f"{entry.url} {predicate(problem)}.", remedies=problem.remedies)
        recipe = self.recipe
        like = recipe.declared.name if recipe else ""
        name = (self.names or _usual(entry)).name(entry, number, like)
        declared = _like(recipe.declared, name, entry) if recipe else _unready(name, entry)
        check_name(name)
        check(read(SourceFile, declared), self.targets)
        # No line and no folder: a list that grows, or stands elsewhere, changes no other file.
        listed = Path(self.addresses.name).name
        lines = [f"One of the addresses of {listed}, written by livedata import."]
        if recipe is not None:
            lines[0] = f"{lines[0][:-1]} --like {recipe.file.name}."
        else:
            lines += [
                not_ready(
                    f"its columns and key are not known: {self.addresses.tool} watches the text of "
                    "a part of a page, and livedata reads the records of a list"
                ),
                f"What proposes them: {Subject().command('init', entry.url)}",
            ]
        top = "".join(f"# {escape_controls(line)}\n" for line in lines)
        text = f"{SCHEMA_LINE}{top}\n{write_source(declared)}"
        return _Written(entry, name, self.folder / f"{file_stem(name)}.toml", text)


def _like(recipe: SourceFile, name: str, entry: ListedAddress) -> dict[str, Any]:
    """The recipe with another name and address, and notices of its own."""
    declared = recipe.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude={"test"})
    # A notice is known by its name alone, so each dataset needs another one.
    notices = [
        {**notice, "name": f"{notice['name']} of {name}"}
        for notice in declared.pop("notice", ())
        if "dataset" not in notice
    ]
    if notices:
        declared["notice"] = notices
    source = {**declared["source"], "url": entry.url}
    pages = recipe.source.pagination
    if isinstance(pages, UrlPattern):
        pattern = moved_pattern(pages.pattern, pages.start_page, entry.url)
        if pattern is None:
            raise Invalid(
                f"{entry.url} has no place for the page of {pages.pattern}: give the address of "
                f"its first page, as {recipe.source.url} is of that one."
            )
        source["url"] = numbered_url(pattern, pages.start_page)
        source["pagination"] = {**source["pagination"], "pattern": pattern}
    return {**declared, "name": name, "source": source}


def _unready(name: str, entry: ListedAddress) -> dict[str, Any]:
    """A source of which only address and selector are known: the text of what it matches."""
    return {
        "name": name,
        "columns": [{"name": "text", "type": "string", "key": True}],
        "source": {
            "version": 1,
            "url": entry.url,
            "render": entry.render,
            "itemSelector": entry.selector or "body",
            "fields": [{"name": "text", "read": {"kind": "text"}, "required": True}],
            "identity": {"kind": "source-key", "field": "text"},
            "pagination": {"kind": "none"},
        },
    }


class _Pattern:
    """How sources are called: a text with placeholders."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self.parts = [*string.Formatter().parse(text)]
        except ValueError as error:
            raise click.BadParameter(
                f"{text!r} cannot be read: {error}; a pattern is such as {_DEFAULT!r}.",
                param_hint="'--name'",
            ) from None
        wrong = [
            field
            for _, field, spec, conversion in self.parts
            if conversion or (spec and not (field == "n" and re.fullmatch(r"0\d", spec)))
        ]
        if wrong:
            raise click.BadParameter(
                f"{{{wrong[0]}}} stands alone between its braces; only n may have a width, as "
                "{n:03} is.",
                param_hint="'--name'",
            )

    def judge(self, addresses: AddressList) -> None:
        """Refuse a placeholder that no entry of a list has."""
        known = [*dict.fromkeys([*_PARTS, *addresses.columns])]
        for _, field, _, _ in self.parts:
            if field is not None and field not in known and not field.startswith("query."):
                near = nearest(field, known)
                hint = f"; did you mean {{{near}}}?" if near else ""
                raise click.BadParameter(
                    f"{{{field}}} is none of {joined(known)}, nor a part of the query such as "
                    f"query.page{hint}",
                    param_hint="'--name'",
                )

    def name(self, entry: ListedAddress, number: int, like: str) -> str:
        """The name of an entry. Raises Invalid if it lacks what the pattern asks for."""
        said: list[str] = []
        empty = False
        for text, field, spec, _ in self.parts:
            said.append(text)
            if field is not None:
                value = format(number, spec or "") if field == "n" else _value(entry, field, like)
                empty = empty or not value
                said.append(value)
        name = "".join(said)
        # The first page of a site has no path, which leaves the sign before it.
        return re.sub(r"([-_. /])\1+", r"\1", name).strip("-_. /") if empty else name


def _usual(entry: ListedAddress) -> _Pattern:
    named = next((key for key in ("name", "title") if entry.values.get(key)), None)
    return _Pattern(_DEFAULT if named is None else f"{{{named}}}")


def _value(entry: ListedAddress, field: str, like: str) -> str:
    """What a placeholder stands for. Raises Invalid if it stands for nothing."""
    of_address = _of_address(entry.url)
    if field in entry.values:
        value = entry.values[field]
    elif field in of_address:
        # The first page of a site has no path.
        return of_address[field]
    elif field == "like":
        value = like
    else:
        query = dict(parse_qsl(urlsplit(entry.url).query))
        value = query.get(field.removeprefix("query."), "")
    if not value:
        raise Invalid(f"it has no {field}, which its name is made of.")
    return value


def _of_address(url: str) -> dict[str, str]:
    parts = urlsplit(url)
    path = [unquote(part) for part in parts.path.split("/") if part]
    path[-1:] = [_ENDING.sub("", part) for part in path[-1:]]
    words = ["-".join(part.split()) for part in path]
    host = (parts.hostname or "").removeprefix("www.")
    return {"host": host, "path": "-".join(words), "last": words[-1] if words else ""}


def _twice(name: str, entry: ListedAddress, other: ListedAddress) -> str:
    if entry.url == other.url:
        return f"{entry.url} is the address of {other.place} already; leave one of them out."
    mine, theirs = (dict(parse_qsl(urlsplit(each.url).query)) for each in (entry, other))
    differs = next((key for key, value in mine.items() if theirs.get(key) != value), None)
    how = f"{_DEFAULT}-{{n}}" if differs is None else f"{_DEFAULT}-{{query.{differs}}}"
    if _of_address(entry.url) != _of_address(other.url):
        how = _DEFAULT
    return (
        f'its name "{name}" is that of {other.place}, or gives the same file; tell them apart with '
        f"--name, such as --name '{how}'."
    )


def _report(
    ctx: CommandContext,
    sources: Sequence[_Written],
    actions: Mapping[Path, str],
    folder: Path,
    *,
    ready: bool,
) -> None:
    if ctx.json:
        print_json([*_as_json(sources, actions, ready=ready)])
        return
    written = [source for source in sources if actions[source.file] != "leave"]
    if left := len(sources) - len(written):
        print_message(f"{plural(left, 'file')} of {folder} said so already.")
    if not written:
        return
    print_table(
        ["file", "name", "address"],
        [[str(source.file), source.name, source.entry.url] for source in written],
    )
    print_message(f"Wrote {plural(len(written), 'source')} to {folder}.")
    first = str(written[0].file)
    if ready:
        print_message(f"Look at one of them: {Subject().command('preview', first)}")
        plan = Subject(ctx.owner).command("apply", str(folder), options=["--plan"])
        print_message(f"See what datasets they make: {plan}")
    else:
        preview = Subject().command("preview", first)
        print_message(f"None is ready: edit each until its preview is right: {preview}")


def _as_json(
    sources: Sequence[_Written], actions: Mapping[Path, str], *, ready: bool
) -> Iterator[dict[str, Any]]:
    for source in sources:
        yield {
            "name": source.name,
            "file": str(source.file),
            "url": source.entry.url,
            "action": actions[source.file],
            "ready": ready,
            "notCarriedOver": list(source.entry.lost),
        }
