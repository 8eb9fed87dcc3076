"""What a plan must hold beyond its shape: rules 14.1."""

from __future__ import annotations

from collections.abc import Iterator

from livedata.model.errors import Detail
from livedata.model.research.answers import OfferedPlan
from livedata.rules.research.fold import fold

MOST_ATTRIBUTES = 12
LONGEST_LABEL = 120
LONGEST_QUERY = 400
LONGEST_DESCRIPTION = 500
FIXED_LABELS = ("Evidence", "Source")
"""The labels of the columns that every research dataset has beside its name."""


def plan_faults(plan: OfferedPlan) -> list[Detail]:
    """Everything that is wrong with a plan, place by place."""
    return [*_text_faults(plan), *_label_faults(plan)]


def _text_faults(plan: OfferedPlan) -> Iterator[Detail]:
    texts = {
        "title": (plan.title, LONGEST_DESCRIPTION),
        "rowMeaning": (plan.row_meaning, LONGEST_DESCRIPTION),
        "nameLabel": (plan.name_label, LONGEST_LABEL),
        "query": (plan.query, LONGEST_QUERY),
        "rowIdentity.description": (plan.row_identity.description, LONGEST_DESCRIPTION),
    }
    for number, attribute in enumerate(plan.attributes):
        texts[f"attributes[{number}].label"] = (attribute.label, LONGEST_LABEL)
        texts[f"attributes[{number}].description"] = (attribute.description, LONGEST_DESCRIPTION)
    for path, (text, longest) in texts.items():
        if not fold(text):
            yield Detail(path, "must not be empty")
        elif len(text) > longest:
            yield Detail(path, f"must have at most {longest} characters, not {len(text)}")


def _label_faults(plan: OfferedPlan) -> Iterator[Detail]:
    labels = [attribute.label for attribute in plan.attributes]
    if not 1 <= len(labels) <= MOST_ATTRIBUTES:
        yield Detail("attributes", f"must have 1 to {MOST_ATTRIBUTES} entries, not {len(labels)}")
    taken = {fold(label): label for label in (*FIXED_LABELS, plan.name_label)}
    for number, label in enumerate(labels):
        other = taken.setdefault(fold(label), label)
        if other is not label and fold(label):
            yield Detail(
                f"attributes[{number}].label", f"is {label!r}, which is too like {other!r}"
            )
    for number, label in enumerate(plan.row_identity.scope_fields):
        if label not in labels:
            yield Detail(
                f"rowIdentity.scopeFields[{number}]",
                f"is {label!r}, which is the label of no attribute",
            )
