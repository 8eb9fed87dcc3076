"""What became of an output mode of a model, as people read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from livedata.messages.templates import plural

if TYPE_CHECKING:
    from livedata.research.providers.trial import Tried


def outcome_in_words(tried: Tried) -> str:
    """What became of one output mode."""
    understood = tried.understood
    if understood.failure is not None:
        return f"no answer: {understood.failure.detail or understood.failure.code}"
    usage = understood.usage
    tokens = ""
    if usage.input_tokens is not None and usage.output_tokens is not None:
        tokens = f", {usage.input_tokens + usage.output_tokens:,} tokens"
    refused = f", {len(understood.refused)} refused" if understood.refused else ""
    rows = plural(len(understood.rows), "row")
    return f"{rows} that the page supports{refused}, {tried.seconds:.1f} s{tokens}"
