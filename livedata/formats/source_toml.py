"""Declarations as TOML: ``source.toml``, and the plan of research."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, get_args

import tomli_w

from livedata.model.errors import Invalid
from livedata.model.recipe import Kind, run_kind
from livedata.model.research.recipe import EntityKind, ResearchLimits

if TYPE_CHECKING:
    from livedata.model.research.stored import DeclaredPlan, StoredRecipe

SCHEMA_FILE: Final = "source.schema.json"
"""The JSON Schema of source files, which lies beside them: no machine has it at another place."""
SCHEMA_LINE: Final = f"#:schema ./{SCHEMA_FILE}\n"
"""The first line of a source file, by which editors and taplo find that schema."""

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
    """Write a declaration as TOML in its JSON names; ``read_source`` reads it back equal.

    A file of it begins with `SCHEMA_LINE`; a form on a page has no file beside it.
    """
    source = declared["source"]
    columns = declared["columns"]
    assert isinstance(source, dict)
    assert isinstance(columns, (list, tuple))
    # In TOML the keys of a table come before the tables below it.
    tables = {
        key: value for key, value in declared.items() if isinstance(value, (dict, list, tuple))
    }
    parts = [_pairs(declared, but=tables)]
    parts += ["[[columns]]\n" + _pairs(column) for column in columns]
    parts.append("[source]\n" + _pairs(source, but={"fields", "identity", "pagination"}))
    parts += ["[[source.fields]]\n" + _pairs(field) for field in source["fields"]]
    parts.append("[source.identity]\n" + _pairs(source["identity"]))
    parts.append("[source.pagination]\n" + _pairs(source["pagination"]))
    for name, value in tables.items():
        if isinstance(value, dict) and name != "source":
            parts.append(f"[{name}]\n" + _pairs(value))
        elif name not in ("columns", "source"):
            parts += [f"[[{name}]]\n" + _pairs(entry) for entry in value]
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


def write_declaration(name: str, declared: Mapping[str, Any]) -> str:
    """Write what a dataset was declared with, as ``queries.source`` has it: a source, or its plan.

    Raises Invalid for what cannot be written as TOML.
    """
    return _WRITERS[run_kind(declared["source"])](name, declared)


def declared_plan(name: str, declared: Mapping[str, Any]) -> DeclaredPlan:
    """The plan of a dataset as a person declares it. Raises Invalid before it has one."""
    recipe: StoredRecipe = declared["source"]
    pinned = recipe["plan"]
    if pinned is None:
        raise Invalid(f"{name} has no plan yet: its first Run makes one.")
    # Without the ids of its columns, a plan is what a person declares.
    plan: DeclaredPlan = {
        **pinned,
        "attributes": [
            {"label": each["label"], "description": each["description"]}
            for each in pinned["attributes"]
        ],
    }
    return plan


def _declared_source(name: str, declared: Mapping[str, Any]) -> str:
    if isinstance(declared["source"], list):
        raise Invalid(
            f"The source of {name} is not a version-1 declaration, so it cannot be written as "
            "TOML; --json prints it as it is."
        )
    return write_source(declared)


def _declared_research(name: str, declared: Mapping[str, Any]) -> str:
    stored = declared["source"]["limits"]
    limits = ResearchLimits(stored["maxPages"], stored["maxTokens"], stored.get("maxUsd"))
    return write_plan(declared_plan(name, declared), declared["source"]["urls"], limits)


_WRITERS: Final[Mapping[Kind, Callable[[str, Mapping[str, Any]], str]]] = {
    "selectors": _declared_source,
    "research": _declared_research,
}
"""What writes each kind of declaration."""
