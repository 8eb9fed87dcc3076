"""Writing a declaration as TOML: ``source.toml``, its mark if it is not ready, and a plan."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import tomli_w

from livedata.hints import Subject
from livedata.model.errors import Invalid
from livedata.model.research.recipe import EntityKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from livedata.model.research.recipe import ResearchLimits
    from livedata.model.research.stored import DeclaredPlan

_MARK = "NOT READY. "
"""What a source begins with that was written although no Run would accept it."""

_TEMPLATE = """\
# What research looks for. Edit it, then: livedata research create --name NAME --plan FILE

# What the table is, what one row of it stands for, and what its column "name" is called.
title = {title}
rowMeaning = {row_meaning}
nameLabel = {name_label}

# What is searched for, in at most 400 characters.
query = {query}

# Pages to read, at most 20: public http:// or https:// addresses. With any, nothing is searched.
urls = {urls}

# What a Run may use at most: pages (1 to 50), tokens, and US dollars, which need the model's price.
maxPages = {pages}
maxTokens = {tokens}
{usd}

# What makes a row one thing. Its kind is {kinds}.
# scopeFields are the labels of attributes that tell things of one name apart, such as the year of
# a conference; mostly there are none. Labels, kind and scopeFields stay once the dataset is there.
[rowIdentity]
description = {identity}
kind = {kind}
scopeFields = {scope}

# What to find out about each, at most 12: the label of the column, and what to look for.
{attributes}"""


def write_source(declared: Mapping[str, object]) -> str:
    """Write a declaration as TOML in its JSON names; ``read_source`` reads it back equal."""
    source = declared["source"]
    columns = declared["columns"]
    assert isinstance(source, dict)
    assert isinstance(columns, (list, tuple))
    # In TOML the keys of a table come before the tables below it.
    parts = [_pairs(declared, but={"columns", "source"})]
    parts += ["[[columns]]\n" + _pairs(column) for column in columns]
    parts.append("[source]\n" + _pairs(source, but={"fields", "identity", "pagination"}))
    parts += ["[[source.fields]]\n" + _pairs(field) for field in source["fields"]]
    parts.append("[source.identity]\n" + _pairs(source["identity"]))
    parts.append("[source.pagination]\n" + _pairs(source["pagination"]))
    return "\n".join(parts)


def _pairs(table: Mapping[str, object], but: Iterable[str] = ()) -> str:
    # TOML has no null: what is left out is read back as the default, which is null.
    kept = {key: value for key, value in table.items() if key not in but and value is not None}
    return "".join(f"{_key(key)} = {inline(value)}\n" for key, value in kept.items())


def _key(key: str) -> str:
    return tomli_w.dumps({key: 0}).partition(" = ")[0]


def inline(value: object) -> str:
    """Write a value as it stands behind the equals sign of TOML."""
    if isinstance(value, dict):
        pairs = [f"{_key(key)} = {inline(v)}" for key, v in value.items() if v is not None]
        return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(inline(entry) for entry in value)}]"
    # tomli_w writes documents only, so a value is cut out of one.
    return tomli_w.dumps({"k": value}).removeprefix("k = ").removesuffix("\n")


def write_plan(plan: DeclaredPlan, urls: Sequence[str], limits: ResearchLimits) -> str:
    """Write a plan as TOML in its JSON names; ``read_declaration`` reads it back equal."""
    *kinds, last = get_args(EntityKind)
    identity = plan["rowIdentity"]
    return _TEMPLATE.format(
        title=inline(plan["title"]),
        row_meaning=inline(plan["rowMeaning"]),
        name_label=inline(plan["nameLabel"]),
        query=inline(plan["query"]),
        urls=inline(list(urls)),
        pages=limits.pages,
        tokens=limits.tokens,
        usd="# maxUsd = 0.50" if limits.usd is None else f"maxUsd = {inline(limits.usd)}",
        kinds=f"{', '.join(kinds)} or {last}",
        identity=inline(identity["description"]),
        kind=inline(identity["kind"]),
        scope=inline(list(identity["scopeFields"])),
        attributes="\n".join(
            f"[[attributes]]\nlabel = {inline(each['label'])}\n"
            f"description = {inline(each['description'])}\n"
            for each in plan["attributes"]
        ),
    )


def not_ready(why: str) -> str:
    """The comment that says why no Run would accept a source."""
    return f"{_MARK}{why}"


def refuse_not_ready(path: Path) -> None:
    """Refuse a file that still has the mark among the comments at its top; raises Invalid."""
    with path.open(encoding="utf-8-sig") as lines:
        top = takewhile(lambda line: line.startswith("#"), lines)
        for number, line in enumerate(top, 1):
            comment = line.removeprefix("#").strip()
            if comment.startswith(_MARK):
                why = comment.removeprefix(_MARK).rstrip(".")
                preview = Subject().command("preview", str(path))
                raise Invalid(
                    f"{path}:{number}: this source is marked as not ready: {why}. Edit it until "
                    f"{preview} is right, then delete line {number} of the file."
                )
