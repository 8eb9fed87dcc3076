"""What diagnostics say of a Run: findings, what is not known, and facts of entities, in words."""

from __future__ import annotations

from collections.abc import Mapping

from livedata.messages.run_end import field_emptied, keys_moved, list_cut_short
from livedata.messages.templates import Words, fill, joined, plural
from livedata.model.diagnosis.recorded_run import RunFacts
from livedata.model.problem import Param, Problem, problem_of


def finding_sentence(code: str, page: int | None = None, /, **params: Param) -> str:
    """The words for a finding, an unknown, or a fact of an entity."""
    return fill(SENTENCES, Problem(code, params, page))


def oddity_sentence(oddity: Problem) -> str:
    """The words for something that looks odd."""
    return fill(FINDINGS, oddity)


def odd_sentences(facts: RunFacts) -> list[str]:
    """The words for all that looked odd in a Run."""
    return [oddity_sentence(problem_of(fact)) for fact in facts.get("odd", ())]


def fact_meaning(code: str) -> str:
    """The meaning of a fact for any entity, by the code that is sent."""
    return MEANINGS[f"fact.{code}"]


def _selector_matched_nothing(finding: Problem) -> str:
    items = plural(finding.params["items"], "item")
    return f"{_matched(finding)} none of {items}; first on {_place(finding)}."


def _selector_matched_some(finding: Problem) -> str:
    params = finding.params
    items, items_here = plural(params["items"], "item"), plural(params["items_here"], "item")
    return (
        f"{_matched(finding)} {params['matched']} of {items}; fewest on {_place(finding)}: in "
        f"{params['here']} of {items_here}."
    )


def _matched(finding: Problem) -> str:
    selector, attribute = finding.params["selector"], finding.params["attribute"]
    read = f"selector {selector!r}" if selector else "the item itself"
    read = f"attribute {attribute!r} of {read}" if attribute else read
    return f"{finding.params['field']}: {read} matched in"


def _place(finding: Problem) -> str:
    return f"page {finding.page} ({finding.params['address']})"


def _bare_rows(finding: Problem) -> str:
    rows, key = finding.params["rows"], finding.params["key"]
    first = f"The new row {key!r} has" if rows == 1 else f"{rows} new rows have"
    such = "" if rows == 1 else f", such as {key!r}"
    return f"{first} nothing but a key, where other rows have more{such}: it may be no record."


def _sparse_rows(finding: Problem) -> str:
    rows, key, lacks = finding.params["rows"], finding.params["key"], finding.params["lacks"]
    assert isinstance(lacks, list)
    fields = ", ".join(map(str, lacks))
    if rows == 1:
        said = f"The new row {key!r} has none of {fields}, which nearly all other rows have"
    else:
        such = f"{key!r}, which has none of {fields}"
        said = f"{rows} new rows lack most of what nearly all other rows have, such as {such}"
    return f"{said}: it may be no record."


def _cells_unreadable(finding: Problem) -> str:
    params = finding.params
    cells = plural(params["cells"], "cell")
    counted = f"{params['field']}: {params['unreadable']} of {cells} could not be read as its type"
    if "text" not in params:
        return f"{counted}."
    where = f"item {params['item']} of {_place(finding)}"
    return f"{counted}; first in {where}: {params['text']!r}."


def _duplicate_records(finding: Problem) -> str:
    params = finding.params
    count = params["count"]
    pages = f"page {params['first_page']} and {_place(finding)}"
    were = "was" if count == 1 else "were"
    return (
        f"{plural(count, 'key')} {were} read more than once; {params['key']!r} on {pages}, and "
        "was read as one row."
    )


def _list_cut_short(finding: Problem) -> str:
    gone = f"{finding.params['gone']} of {plural(finding.params['present'], 'row')}"
    return f"{list_cut_short(finding)}; {gone} could not be found."


def _more_unreadable(finding: Problem) -> str:
    params = finding.params
    then = f"{params['unreadable_before']} of {params['rows_before']}"
    before = f", and {then} in the last accepted Run" if params["rows_before"] else ""
    text = f"; the first is {params['text']!r}" if params["text"] else ""
    return (
        f"{params['field']}: {params['unreadable']} of {plural(params['rows'], 'cell')} could not "
        f"be read as a {params['type']}{before}{text}."
    )


def _edits_left(finding: Problem) -> str:
    params = finding.params
    name, keys, columns = params["name"], params["keys"], params["columns"]
    assert isinstance(keys, list)
    assert isinstance(columns, list)
    taken = f"The hand edits of {plural(params['taken'], 'row')} were taken over"
    said = [f"{taken if params['taken'] else 'No hand edit was taken over'} from {name!r}"]
    if params["rows"]:
        more = f" and {params['more']} more" if params["more"] else ""
        said.append(
            f"those of {plural(params['rows'], 'row')} were not, for no row here, or more than "
            f"one, has the same source cells: {', '.join(map(repr, keys))}{more}"
        )
    if columns:
        said.append(
            f"values in {joined([*map(str, columns)])} were not, for no cell here can have them"
        )
    return f"{'; '.join(said)}. What was not is still in {name!r}."


def _several_next_links(finding: Problem) -> str:
    params = finding.params
    addresses = params["addresses"]
    assert isinstance(addresses, list)
    return (
        f"The next link {params['selector']!r} matches links to {params['count']} different "
        f"addresses on page {finding.page} ({finding.url}), and the first was followed: "
        f"{', '.join(map(str, addresses))}"
    )


FINDINGS: Mapping[str, Words] = {
    "finding.not_declarative": "{message}",
    # The end of the Run, in its own words.
    "finding.stopped_by_limit": "{message}",
    "finding.mass_loss": "{message}",
    "finding.keys_changed": "{message}",
    "finding.lost_pagination": "{message}",
    "finding.emptied_field": "{message}",
    "finding.credits_missing": "{message}",
    "finding.worker_lost": "{message}",
    "finding.cancelled": "{message}",
    "finding.site_refused": "{message}",
    "finding.accepted_by_hand": "The output was held, and a person accepted it as it stands.",
    # A page that could not be read, and Checks that failed, in their own words.
    "finding.page_refused": "{message}",
    "finding.page_unreadable": "{message}",
    "finding.coverage_incomplete": "{message}",
    "finding.extraction_failed": "{message}",
    "finding.too_few_items": "{message}",
    "finding.required_field_empty": "{message}",
    "finding.identity_failed": "{message}",
    # What was counted.
    "finding.selector_matched_nothing": _selector_matched_nothing,
    "finding.selector_matched_some": _selector_matched_some,
    "finding.cells_unreadable": _cells_unreadable,
    "finding.duplicate_records": _duplicate_records,
    # What looks odd beside the last accepted Run.
    "finding.rows_lost": "{gone} of {present:row(s)} could not be found.",
    "finding.keys_moved": lambda finding: f"{keys_moved(finding, 'could not be found')}.",
    "finding.list_cut_short": _list_cut_short,
    "finding.field_emptied": lambda finding: f"{field_emptied(finding)}.",
    "finding.field_less_filled": lambda finding: f"{field_emptied(finding)}.",
    "finding.more_cells_unreadable": _more_unreadable,
    "finding.other_texts_unreadable": "{field}: cells that cannot be read as a {type} have other "
    "texts than in the last accepted Run, such as {text!r}.",
    "finding.bare_rows": _bare_rows,
    "finding.sparse_rows": _sparse_rows,
    "finding.list_redirected": "The list was redirected: {url} led to {address}.",
    "finding.fewer_pages": "The list had {pages_before:page(s)} in the last accepted Run, and has "
    "{pages} now.",
    "finding.next_link_in_item": "The next link {selector!r} of page {page} ({url}) lies within an "
    "item, so it may lead to a page of that item: {address}",
    "finding.next_link_to_other_host": "The next link {selector!r} of page {page} ({url}) leads to "
    "another host: {address}",
    "finding.several_next_links": _several_next_links,
    # What the first accepted Run of a dataset left of the hand edits of another one.
    "finding.edits_left": _edits_left,
}
"""Code of a finding -> its sentence."""

UNKNOWNS: Mapping[str, Words] = {
    "unknown.not_yet": "It is not over yet, and what it finds is recorded at its end.",
    "unknown.not_recorded": "What this Run read was not recorded.",
    "unknown.not_kept": "What an accepted Run noted of its pages is kept for 90 days only.",
    "unknown.comparison_not_kept": "The accepted Run before it is too old to compare with: what it "
    "noted of its pages is kept for 90 days only.",
    "unknown.list_goes_on": "Whether more pages come after the last one that was read was not "
    "recorded.",
    "unknown.older_version": "An older version recorded this Run, and did not record how records "
    "became rows.",
    "unknown.not_declarative": "Its declaration is not a source of version 1, so what it asks for "
    "is not known.",
    "unknown.page_unread": "Which items page {number} ({address}) has was not recorded, since it "
    "could not be read.",
    "unknown.table_size": "How many rows the table then had was not recorded.",
    "unknown.ambiguous_name": "The name stands in {keys} row keys; ask for one of them.",
    "unknown.no_such_item": "No item of that name was recorded.",
    "unknown.page_of_item": "On which page the item was read was not recorded.",
    "unknown.rest_of_list": "It is not among the items that were read, and not all of the list was "
    "read.",
    "unknown.cells_not_taken": "Which cells it had was not recorded, since the output of the Run "
    "was not accepted.",
    "unknown.long_keys": "The Run read {keys:key(s)} too long to be kept.",
    "unknown.no_key": "No name is known for {records:record(s)} without a key.",
    "unknown.not_started": "It has not started, so how long it waited is not recorded.",
    "unknown.old_phases": "What each phase took is kept for 30 days only.",
    "unknown.phases": "What each phase took was not recorded.",
}
"""Code of what is not known -> its sentence."""

MEANINGS: Mapping[str, str] = {
    "fact.declared_source": "The source declares the list.",
    "fact.page_selected": "The page is one of the list.",
    "fact.page_read": "The page was read.",
    "fact.row_offered": "An item of the page has this key.",
    "fact.not_offered": "The list was read to its end, and no item had this key.",
    "fact.row_supported": "Nothing that its row needs was found missing.",
    "fact.cell_unreadable": "A cell could not be read as its column's type.",
    "fact.required_cell_empty": "A required cell is empty.",
    "fact.row_kept": "The key stands for one record.",
    "fact.row_merged": "The key was read again with the same data, and taken once.",
    "fact.key_conflict": "The key stands for two different records.",
    "fact.row_written": "The Run wrote the row.",
    "fact.row_unchanged": "The row is in the table as it was before.",
    "fact.row_missing": "The list was read to its end without this item, and its row marked gone.",
    "fact.output_withheld": "The output of the Run was not accepted.",
}
"""Code of a fact -> its meaning for any entity."""

_AGAIN = " It is item {item} of page {number} too."
DETAILS: Mapping[str, Words] = {
    **MEANINGS,
    "fact.declared_source": "The source declares {address}.",
    "fact.page_selected": "{address} is page {number} of the list.",
    "fact.page_read": "Status {status}, {items:item(s)}.",
    "fact.row_offered": "Read on page {number} of the list.",
    "fact.cell_unreadable": "{label}: {text!r} could not be read as its type.",
    "fact.required_cell_empty": "{label} is required, and nothing was found.",
    "fact.row_merged": MEANINGS["fact.row_merged"] + _AGAIN,
    "fact.key_conflict": MEANINGS["fact.key_conflict"] + _AGAIN,
    "fact.row_missing.before": "The list was read to its end without this item, whose row was gone "
    "already.",
    "fact.output_withheld": "The Run ended {status}: {error}",
}
"""Code of a fact -> what it says of one entity."""

SENTENCES: Mapping[str, Words] = {**FINDINGS, **UNKNOWNS, **DETAILS}
