"""How a Run came to an end that no page and no Check explains, or what it waits for, in words."""

from __future__ import annotations

import re
from collections.abc import Mapping

from livedata.messages.templates import Words, plural
from livedata.model.problem import Param, Problem
from livedata.model.run import RowDeltas

_HELD = "so the output is held for you to look at"
_PAGE = re.compile(r"^Page \d+ \(.*?\)(, sent on to \S+,)? (could not be read: |has (?=no items))")
_MASS_LOSS = f"{{gone}} of {{present:row(s)}} would be gone, {_HELD}"
_CREDITS = (
    "The Run costs {pages:credit(s)}, one for each checked page, and the balance is {balance}"
)


def list_cut_short(problem: Problem) -> str:
    """How a list ends too early, and what shows it; without the last point."""
    page, params = problem.page, problem.params
    ends = (
        f"The list ends on page {page} ({problem.url}) now, and had "
        f"{plural(params['pages_before'], 'page')} in the last accepted Run"
    )
    if params["leads_to"]:
        sign = f"page {page} still links to {params['leads_to']}"
    elif params["items"] == params["items_before"]:
        sign = f"the page is as full as it was then, with {_items(problem)}"
    else:
        sign = f"the page has {_items(problem)}, and {params['items_before']} then"
    return f"{ends}, but {sign}{_lost_link(problem)}"


def _lost_link(problem: Problem) -> str:
    """What the selector that leads from page to page finds on the last page, if it says why."""
    params = problem.params
    way = f"; {params['by']} {params['selector']!r}"
    if params["by"] == "endSelector" and params["links"]:
        return f"{way} matches there already"
    if params["by"] == "next link" and not params["links"] and params["links_before"]:
        return f"{way} matched there then and matches nothing now"
    return ""


def field_emptied(problem: Problem) -> str:
    """How a field lost its values, and what its selector finds; without the last point."""
    params = problem.params
    read = f"selector {params['selector']!r}" if params["selector"] else "the item itself"
    if params["attribute"]:
        read = f"attribute {params['attribute']!r} of {read}"
    return (
        f"{params['field']} has a value in {params['filled']} of {plural(params['rows'], 'row')} "
        f"now, and had one in {params['filled_before']} of {params['rows_before']} in the last "
        f"accepted Run: {read} matches in {params['matched']} of {_items(problem)}"
        f"{_what_is_there(problem)}"
    )


def _what_is_there(problem: Problem) -> str:
    """Where a field's read matches nothing, or what it finds instead of a value."""
    params = problem.params
    if params["matched"] != params["items"]:
        return f", and first misses one on page {problem.page} ({problem.url})"
    if params["unreadable"] and params["text"]:
        return f", but what stands there is no {params['type']}: {params['text']!r}"
    return ", but nothing stands there"


def without_advice(said: str) -> str:
    """What a Run says of its end, without what a held one advises."""
    return said.partition(f", {_HELD}")[0]


def cause_first(said: str) -> str:
    """The same for a narrow line: without the page and its address, which stand before a cause."""
    told = _PAGE.sub("", without_advice(said))
    return told[:1].upper() + told[1:]


def _held_list(problem: Problem) -> str:
    gone = f"{problem.params['gone']} of {plural(problem.params['present'], 'row')} would be gone"
    return f"{list_cut_short(problem)}. {gone}, {_HELD}"


def _held_field(problem: Problem) -> str:
    return f"{field_emptied(problem)}, {_HELD}"


def _items(problem: Problem) -> str:
    return plural(problem.params["items"], "item")


def _detail(problem: Problem) -> str:
    """What is known of a failure beside its kind."""
    detail = problem.params.get("detail")
    return f": {str(detail).rstrip('.')}" if detail else ""


def keys_moved(problem: Problem, are: str) -> str:
    """How keys have moved, and what knows the rows again; without the last point.

    `are` says what the rows are of which nothing was read.
    """
    params = problem.params
    fresh, better = params["fresh"], _names(problem, "better")
    said = (
        f"{params['gone']} of {plural(params['present'], 'row')} {are}, and {fresh} others come in "
        "their place"
    )
    key = f"key {_names(problem, 'keys')}"
    if better:
        return f"The {key} has changed: {said}, of which {better} knows {params['known']} again"
    if params["same"]:
        same = f"of which {params['same']} have all other cells of one of them"
        return f"The {key} has changed: {said}, {same}"
    return f"The {key} has changed, or the list is another one: {said}"


def _held_keys(problem: Problem) -> str:
    return f"{keys_moved(problem, 'would be gone')}, {_HELD}"


def _advised_keys(problem: Problem) -> str:
    better = _names(problem, "better")
    key = f"{better} as the key" if better else "a key that stays"
    return (
        f"{_held_keys(problem)}: choose {key} in a dataset of its own, or accept the output if the "
        "list really is another one; found again, it is held again."
    )


def _names(problem: Problem, name: str) -> str:
    names = problem.params[name]
    assert isinstance(names, list)
    return " with ".join(map(str, names))


def _day(problem: Problem, unit: str, used: str, limit: str) -> str:
    """That what the research of an owner may use in a day is used up."""
    renews = str(problem.params["renews"])[:16].replace("T", " ")
    return (
        f"Research has used {used} of the {limit} {unit} that its owner has for a day, and the "
        f"rest is too little for a question: run it again after {renews} UTC."
    )


def skipped_fires(name: str, count: Param, last: str, reason: str) -> str:
    """That no Run came of the last fires of a schedule, and why not of the last one."""
    fires = "fire" if count == 1 else f"{count} fires"
    # A reason that only another version knows is shown as it is.
    why = SKIPPED.get(reason, reason)
    return f"No Run came of the last {fires} of {name}; of that at {last}: {why}."


def would_change(deltas: RowDeltas, *, now: bool = True) -> str:
    """What accepting a held Run would do to the rows; or would have done, while it could be."""
    new, changed, gone = deltas["new"], deltas["changed"], deltas["gone"]
    return f"{new} new, {changed} changed, {gone} gone if it {'is' if now else 'had been'} accepted"


def read_so_far(pages: int, items: int) -> str:
    """How far a Run in progress has come."""
    return f"{plural(pages, 'page')} with {plural(items, 'item')} so far"


def waiting_sentence(code: str, site: str, attempt: int) -> str:
    """What a Run waits for, as a sentence."""
    return WAITS[code].format(site=site, attempt=attempt)


WAITS: Mapping[str, str] = {
    "worker": "It waits for a worker to take it.",
    "retry": "Its process was lost at attempt {attempt}; it starts again as soon as a worker takes "
    "it.",
    "turn": "It waits for its turn at {site}: another Run of that site is in progress.",
    "place": "It waits for its turn at {site}: Runs that wait there longer come first.",
    "other_site": "Its pages have led to another site, and it waits for its turn there: another "
    "Run of that site is in progress.",
    "lost": "Its process gives no sign of life; it starts again as soon as a worker finds that.",
    "cancelling": "It is being cancelled: whoever executes it asks the site nothing more, and ends "
    "it in seconds.",
    "cancelling_lost": "It is being cancelled, but its process gives no sign of life: the next "
    "worker that finds that ends it, and so does who cancels it once more.",
}
"""What it waits for, by its code -> a sentence."""

STATEMENTS: Mapping[str, Words] = {
    "run.mass_loss": _MASS_LOSS,
    "run.keys_changed": _held_keys,
    "run.lost_pagination": _held_list,
    "run.emptied_field": _held_field,
    "run.credits": _CREDITS,
}
"""What went wrong, for doors that say by themselves what may help; without the last point."""

SENTENCES: Mapping[str, Words] = {
    "run.cancelled": "The Run was cancelled.",
    "run.broke_off": "The crawl broke off, and nobody knows why; if it happens again, it is a "
    "fault of livedata: report it.",
    "run.worker_lost": "The process that executed this Run was lost on each of {attempts} "
    "attempts, so nothing was written; start it again, and if it is lost again look for what ends "
    "it (a kill, too little memory, a page that keeps it busy).",
    "run.stood_still": "The process that executed this Run was lost on each of {attempts} "
    "attempts, so nothing was written; the last time it was killed, for something on a page had "
    "stopped it for {seconds:g} s. Start the Run again, and if it ends so again report the address "
    "of the page: it is a fault of livedata.",
    "run.too_much_memory": "The process that executed this Run was lost on each of {attempts} "
    "attempts, so nothing was written; the last time it was killed, for it held more than "
    "{megabytes} MB. Lower maxPages or maxItems, or let a crawl worker hold more.",
    "run.stuck": "The Run was given up {seconds:g} s after its time was over, since it was still "
    "busy with {url}; start it again, and if it ends so again report that address: it is a fault "
    "of livedata.",
    "run.damaged": "The store is damaged, so nothing was written: in the table {table}, row {row}, "
    "the column {column} cannot be read.",
    "run.not_declarative": "This dataset's recipe is not a version-1 declaration, so it was held "
    "without any request and its data is kept; create a new dataset with itemSelector, fields, "
    "identity and pagination.",
    "run.mass_loss": f"{_MASS_LOSS}: if the site really dropped them, accept it, or run again, "
    "since a second complete Run that finds them gone is accepted.",
    "run.keys_changed": _advised_keys,
    "run.lost_pagination": lambda problem: (
        f"{_held_list(problem)}: mend the pagination of the "
        "source, or accept it if the list really is that short."
    ),
    "run.emptied_field": lambda problem: (
        f"{_held_field(problem)}: mend the selector of the field, "
        "or accept it if the site really leaves it empty."
    ),
    "run.credits": f"{_CREDITS}: add some, then accept this output.",
    "run.all_refused": "All of {pages:page(s)} refused to be read; run it again later, or name "
    "other pages to begin with.",
    "research.planning_failed": lambda problem: (
        f"The model gave no plan that can be used{_detail(problem)}; ask in other words, or write "
        "the plan yourself."
    ),
    "research.search_failed": lambda problem: (
        f"The search failed twice{_detail(problem)}; run it again later, or name pages to begin "
        "with."
    ),
    "research.model_invalid_output": "The model answered with what is no plan; ask in other words, "
    "or write the plan yourself.",
    "research.model_output_cut": "The model's plan was cut off before its end; ask for less, or "
    "write the plan yourself.",
    "research.model_refused": "The model refused to answer; ask in other words.",
    "research.model_auth": lambda problem: (
        f"The model refused its key{_detail(problem)}; set another one."
    ),
    "research.model_unavailable": lambda problem: (
        f"The model did not answer{_detail(problem)}; run it again when it does."
    ),
    "research.day_token_limit": lambda problem: _day(
        problem, "tokens", *(f"{problem.params[name]:,}" for name in ("reached", "limit"))
    ),
    "research.day_cost_limit": lambda problem: _day(
        problem, "US dollars", *(f"{problem.params[name]:,g}" for name in ("reached", "limit"))
    ),
    "run.no_proxy": "The source says proxy = always, but no proxy is set, so nothing was asked "
    "for: set one, or change the source.",
    "run.no_model": "Research asks a model, and none is set where this Run was executed, so "
    "nothing was asked for.",
    "run.no_research_support": "This is a research Run, and that part of livedata is not "
    "installed where it was executed.",
    "run.no_browser": 'The source says render = "browser", and no browser is installed here.',
    "run.no_browser_support": 'The source says render = "browser", and that part of livedata is '
    "not installed.",
    "run.wrong_browser": "The browser that is set, {path}, is not a program: give the path of "
    "Chromium there, or leave it out.",
    "run.browser_not_started": "The browser {browser} does not start: {said}",
}
"""The codes of such an end -> sentences."""

SKIPPED = {
    "run_in_progress": "a Run was in progress",
    "run_waiting": "the Run before it was still waiting",
    "no_credits": "no credits",
    "too_many_runs": "the owner had as many Runs waiting or in progress as it may have",
    "damaged": "something of the dataset cannot be read",
}
"""Why a fire was skipped, by its code."""
