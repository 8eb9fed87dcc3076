"""Writing a plan of research as TOML, with what each part means."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from livedata.cli.source.write import inline
from livedata.model.research.recipe import EntityKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from livedata.model.research.recipe import ResearchLimits
    from livedata.model.research.stored import DeclaredPlan

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
