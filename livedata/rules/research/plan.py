"""What a plan must hold beyond its shape: rules 14.1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from livedata.model.research.answers import OfferedPlan
from livedata.rules.research.fold import fold

MOST_ATTRIBUTES = 12
LONGEST_LABEL = 120
LONGEST_QUERY = 400
LONGEST_DESCRIPTION = 500
FIXED_LABELS = ("Evidence", "Source")
"""The labels of the columns that every research dataset has beside its name."""


def plan_faults(plan: OfferedPlan) -> list[str]:
    """Everything that is wrong with a plan, each as one sentence."""
    return [*_text_faults(plan), *_label_faults(plan)]


def _text_faults(plan: OfferedPlan) -> Iterator[str]:
    texts = {
        "title": (plan.title, LONGEST_DESCRIPTION),
        "rowMeaning": (plan.row_meaning, LONGEST_DESCRIPTION),
        "nameLabel": (plan.name_label, LONGEST_LABEL),
        "query": (plan.query, LONGEST_QUERY),
    }
    for number, attribute in enumerate(plan.attributes):
        texts[f"attributes[{number}].label"] = (attribute.label, LONGEST_LABEL)
        texts[f"attributes[{number}].description"] = (attribute.description, LONGEST_DESCRIPTION)
    for path, (text, longest) in texts.items():
        if not fold(text):
            yield f"{path} is empty."
        elif len(text) > longest:
            yield f"{path} has {len(text)} characters; at most {longest} are allowed."


def _label_faults(plan: OfferedPlan) -> Iterator[str]:
    labels = [attribute.label for attribute in plan.attributes]
    if not 1 <= len(labels) <= MOST_ATTRIBUTES:
        yield f"attributes has {len(labels)} entries; a plan has 1 to {MOST_ATTRIBUTES}."
    folded = Counter(fold(label) for label in (plan.name_label, *FIXED_LABELS, *labels))
    for label, count in folded.items():
        if label and count > 1:
            yield f"The label {label!r} is there {count} times."
    for number, label in enumerate(plan.row_identity.scope_fields):
        if label not in labels:
            yield f"rowIdentity.scopeFields[{number}] is {label!r}, which is no attribute's label."
