"""A source.toml to start from, and where a new one may be written."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click

from livedata.cli.context import CommandContext
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.formats.json_schema import source_file_schema
from livedata.formats.source_toml import SCHEMA_FILE, SCHEMA_LINE
from livedata.hints import Subject
from livedata.messages.controls import escape_controls
from livedata.messages.request import predicate
from livedata.model.errors import Detail, Invalid
from livedata.rules.network.targets import TargetPolicy, url_problem

EXAMPLE = "https://shop.example/products"

TEMPLATE = """\
{schema}# What livedata reads, and how. Edit it, then try it: livedata preview {file}
# When the preview is right: livedata dataset create {file}

# The name by which every command knows the dataset (1 to 120 characters).
name = "products"

# What the dataset is for, in your own words. Optional, up to 1,000 characters.
# question = "Which products are there, and what do they cost?"


# ---- Columns: what the table holds, in the order in which it is shown ----
#
# name         a letter, then letters, digits or underscores. It never changes.
# type         "string", "number" or "boolean"; your own columns also "date" or "url".
# key          true for the columns that tell records apart (see source.identity).
# label        how people see the column. Optional: the name.
# description  what it means. Optional.
# ownership    "collected" (read from the site), or "user": your own, which Runs never touch.

[[columns]]
name = "link"
type = "string"
key = true

[[columns]]
name = "title"
type = "string"
label = "Title"

[[columns]]
name = "price"
type = "number"
description = "As the shop shows it, without the currency"

[[columns]]
name = "note"
type = "string"
ownership = "user"


# ---- Source: where the records are, and how each is read ----

[source]
# The version of this format: always 1.
version = 1

# The first page: a public http:// or https:// address.
url = {url}

# "static" reads the page as the server sends it; "browser" after its scripts have run, which needs
# livedata installed with its extra "browser".
render = "static"

# A CSS selector that matches every record once: tags, classes, ids, attributes, "a b" and "a > b".
# The rows of a table without classes: "table tr[livedata-row='data']".
itemSelector = "li.product"

# How far a Run goes: at most so many pages (1 to 50) and records (1 to 1,000). A list that is
# longer is held for you to look at, never cut in silence.
maxPages = 10
maxItems = 1000

# Fewer records than this fail the Run: a broken selector is not an empty shop (0 to 1,000).
minimumItems = 1

# Matters only where LIVEDATA_PROXY is set: "auto" uses that proxy after the site has refused,
# "always" from the start, "never" not at all.
proxy = "auto"

# true reads pages that the site's robots.txt asks programs not to read.
ignoreRobots = false


# ---- One read for each collected column, relative to the record ----
#
# name      the column's name.
# read      selector: a CSS selector within the record; left out, the record itself is read.
#           Where nothing has a class: "td[livedata-header='Price']", "dd[livedata-term='Price']",
#           or by its place, "td[livedata-index='2']".
#           kind: "text" (also when left out), or "attribute" together with attribute = "...".
# required  true: a Run in which one record lacks the value is not accepted.

[[source.fields]]
name = "link"
read = {{ selector = "a", kind = "attribute", attribute = "href" }}
required = true

[[source.fields]]
name = "title"
read = {{ selector = "h2" }}
required = true

[[source.fields]]
name = "price"
read = {{ selector = ".price" }}


# ---- Identity: which columns say that two records are the same thing ----
#
# One column:       kind = "source-key", field = "link"
# Several together: kind = "composite", fields = ["brand", "model"]
# They are the columns with key = true. Choose what the site never changes: an address or an
# article number, rather than a title or a price.

[source.identity]
kind = "source-key"
field = "link"


# ---- Pagination: how a Run comes to the next page, and knows the last one ----
#
# A single page:    kind = "none"
# A link to follow: kind = "next-link", selector = "a.next"
# Numbered pages:   kind = "url-pattern", pattern = "https://shop.example/products?page={{page}}",
#                   startPage = 1, endSelector = ".last-page" (matches on the last page only;
#                   url above is then the pattern with startPage in it)

[source.pagination]
kind = "next-link"
selector = "a.next"
"""


def write_template(ctx: CommandContext, url: str | None, output: Path, *, force: bool) -> None:
    """Write a commented source.toml to `output`; it reads `url` first."""
    if url is not None:
        url_refused(url, ctx.settings.targets)
    write_new(output, blank_form(url, output), force=force)
    if ctx.json:
        print_json({"file": str(output)})
    else:
        print_text(f"Wrote {output}.")
        print_message(f"Edit it, then try it: {Subject().command('preview', str(output))}")
    add_schema(output, quiet=ctx.json)


def blank_form(url: str | None, output: Path) -> str:
    """A commented source.toml that reads `url` first."""
    # A string of JSON is one of TOML too. The file's name stands in comments of the template, which
    # a line end in it would end.
    file = escape_controls(shlex.quote(str(output)))
    return TEMPLATE.format(schema=SCHEMA_LINE, url=json.dumps(url or EXAMPLE), file=file)


def add_schema(source: Path, *, quiet: bool) -> None:
    """Write the schema that the first line of a source file names, where it is missing."""
    schema = source.parent / SCHEMA_FILE
    # One that is there may be of the version that a whole team works with.
    if source.exists() and not schema.exists():
        write_new(schema, schema_text(), force=False)
        if not quiet:
            print_message(f"Editors complete and check it by {schema}, which is new beside it.")


def schema_text() -> str:
    """The JSON Schema of a source, as the file that a source names on its first line."""
    return json.dumps(source_file_schema(), indent=2) + "\n"


def write_new(output: Path, text: str, *, force: bool) -> None:
    """Write a file that is not there yet, or any with `force`."""
    try:
        # "x" fails if the file is there, also if it appears at this very moment.
        with output.open("w" if force else "x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except FileExistsError:
        raise _exists(output) from None


def refuse_existing(output: Path, *, force: bool) -> None:
    """Refuse a file that cannot be written, before anything is read for it."""
    if output.exists() and not force:
        raise _exists(output)
    if not output.parent.is_dir():
        raise click.ClickException(
            f"{output.parent} is no folder that is there; make it, or name another file with -o."
        )


def _exists(output: Path) -> click.ClickException:
    return click.ClickException(f"{output} exists; --force overwrites it, -o names another file.")


def url_refused(url: str, targets: TargetPolicy) -> None:
    """Refuse at once a URL with which no dataset could be created."""
    problem = url_problem(url, targets)
    if problem:
        why = predicate(problem)
        detail = Detail("source.url", why, problem.remedies)
        raise Invalid(f"{url} {why}.", (detail,), problem.remedies)
