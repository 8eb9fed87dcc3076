"""The model of research, asked: whether it answers in the output mode that is set."""

from __future__ import annotations

from livedata.cli.output.tried import outcome_in_words
from livedata.model.research.settings import ResearchSettings
from livedata.research.providers.sample import MARKUP, PLAN, URL, compiled, page_text
from livedata.research.providers.trial import Tried, try_modes


def ask_model(settings: ResearchSettings) -> tuple[str, list[str]]:
    """What is said of the model once it was asked about a small page, and what needs a person."""
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
