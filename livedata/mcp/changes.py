"""The history of a table as agents read it: each change once, by names and keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from livedata.mcp.access import DatasetAccess, OpenDataset
from livedata.mcp.answers import Answer, cut_cell, cut_text, fit
from livedata.messages.request import format_value
from livedata.model.errors import Invalid
from livedata.rules.conditions.parsing import parse_when
from livedata.services.conditions import RevisionMatcher
from livedata.services.notices.told_changes import ChangesByName
from livedata.store import datasets, feed
from livedata.store.datasets import DatasetRef
from livedata.store.feed import ShownRevision

_LOOKED_AT: Final = 20_000
"""So many changes are looked at for one answer, however few of them meet its condition."""


def list_changes(
    access: DatasetAccess, *, dataset: str, after: int, when: Sequence[str] | None, limit: int
) -> Answer:
    """Changes after a sequence, the oldest first, as many as an answer holds."""
    with access.opened(dataset) as opened:
        ref = datasets.ref(opened.reader, opened.owner, opened.id)
        if after > ref.head:
            raise Invalid(
                f"after {format_value(after)} is past the last sequence, which is {ref.head}."
            )
        end = min(ref.head, after + _LOOKED_AT)
        names = ChangesByName.of(opened.reader, ref)
        columns = ref.fields.columns
        lines = (
            {**names.of_revision(revision, columns).line, "sentences": sentences}
            for revision, sentences in _revisions(opened, ref, after, end, when or ())
        )
        changes, more = fit(lines, named_change, limit)
        # All up to `end` was looked at, and what met no condition need not be looked at again.
        through = changes[-1]["sequence"] if more else end
        return {
            **opened.about(),
            "from_websites": True,
            "changes": changes,
            "through": through,
            "next": None if through == ref.head else through,
        }


def _revisions(
    opened: OpenDataset, ref: DatasetRef, after: int, through: int, when: Sequence[str]
) -> Iterator[tuple[ShownRevision, Sequence[str]]]:
    """The changes that meet a condition, each with the sentences that say how."""
    revisions = feed.shown(opened.reader, ref.id, ref.fields, after, through)
    if not when:
        return ((revision, ()) for revision in revisions)
    condition = parse_when(when, [*ref.fields.columns.values()])
    met = RevisionMatcher(ref.fields, condition).matches(opened.reader, revisions)
    return ((revision, [match.sentence for match in matches]) for revision, matches in met)


def named_change(line: Mapping[str, Any], most: int) -> Answer:
    """A change with both values of each cell that it changed: ``[before, after]``."""
    change: Answer = {
        "sequence": line["sequence"],
        "at": line["at"],
        "kind": line["kind"],
        "row": cut_text(line["row"], most),
        "cells": {
            name: [cut_cell(cell["before"], most), cut_cell(cell["after"], most)]
            for name, cell in line["changed"].items()
        },
    }
    if line.get("sentences"):
        change["matches"] = [cut_text(text, most) for text in islice(line["sentences"], 10)]
    return change
