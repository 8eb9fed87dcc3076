"""What became of trying a model, in words; and the words of ``doctor``, which tries it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from livedata.messages.templates import plural

if TYPE_CHECKING:
    from livedata.model.research.settings import ResearchSettings
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


def ask_model(settings: ResearchSettings) -> tuple[str, list[str]]:
    """What is said of the model once it was asked about a small page, and what needs a person."""
    # Imported late: the harness of research, its packages and the parser.
    from livedata.research.providers.trial import MARKUP, PLAN, URL, compiled, page_text, try_modes

    page = page_text(MARKUP.encode(), URL)
    tried: list[Tried] = []
    for each in try_modes(settings, compiled(PLAN), page):
        tried.append(each)
        if each.works:
            break
    first, last = tried[0], tried[-1]
    if first.works:
        return f"it answers, in {first.seconds:.1f} s", []
    why = outcome_in_words(first)
    if not last.works:
        return "it does not answer", [f"The model fills no table in any output mode: {why}."]
    problem = (
        f"The model does not fill a table with the output mode {first.mode} ({why}), and does with "
        f"{last.mode}: set LIVEDATA_MODEL_OUTPUT={last.mode}."
    )
    return f"it answers with output {last.mode}", [problem]
