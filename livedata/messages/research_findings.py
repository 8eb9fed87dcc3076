"""What diagnostics say of research Runs: findings, unknowns and the facts of entities, in words."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from livedata.messages.templates import Words, fill
from livedata.model.problem import Param, Problem
from livedata.model.research.record import Merge


def research_sentence(code: str, **params: Param) -> str:
    """The words for a finding or an unknown of a research Run."""
    return fill(SENTENCES, Problem(code, params))


def fact_detail(code: str, detail: str, label: str | None = None) -> str:
    """What a fact says of one entity; `label` is that of its cell, if it is about one."""
    if code == "row_missing" and detail == "stands":
        return "The Run did not find it, and its row stands: nothing showed that it is gone."
    meaning = fact_meaning(code)
    if code == "row_merged":
        detail = _merged(detail)
    elif code == "row_kept":
        detail = _KEPT.get(detail, detail)
    if label is not None:
        meaning = f"{label}: {meaning}"
    return f"{meaning} ({detail})" if detail else meaning


def fact_meaning(code: str) -> str:
    """The meaning of a fact for any entity."""
    # What other versions recorded has no words here, and its code says enough.
    return FACT_MEANINGS.get(code) or code.replace("_", " ")


def _merged(detail: str) -> str:
    try:
        return f"the row is from {msgspec.json.decode(detail, type=Merge).winner}"
    except msgspec.DecodeError:
        return detail


_KEPT: Mapping[str, str] = {"minted": "a new entity", "known": "known before"}
_READ: Mapping[str, str] = {
    "challenge": "The page answered with a challenge for robots.",
    "forbidden": "The site refused the page.",
    "rate_limited": "The site refused the page: too many requests.",
    "login_redirect": "The page asks for a login.",
    "empty_body": "The page was empty.",
    "connection_reset": "The connection to the site was cut.",
    "robots_disallowed": "The site's robots.txt does not allow the page.",
    "timeout": "The site did not answer in time.",
    "cancelled": "The Run was cancelled while it read the page.",
    "network": "The site could not be reached.",
    "http_error": "The site answered with an error.",
    "invalid_content": "The page is not text that can be read.",
    "limit_exceeded": "The page is too large.",
    "unsafe_target": "The page leads to an address that is not read.",
    "unknown": "The page could not be read.",
}
"""Why a page was not read -> what that means."""

FACT_MEANINGS: Mapping[str, str] = {
    "explicit_source": "The page is one that the recipe names.",
    "known_source": "A row in the table rests on the page.",
    "candidate_found": "The search found the page.",
    "search_failed": "The search did not answer.",
    "page_selected": "The page was chosen to be read.",
    "duplicate_url": "The page is one that was read already.",
    "excluded_domain": "The page is on a site that is left out.",
    "page_budget": "The limit of pages left no room for the page.",
    "unsafe_target": "The address is none that may be read.",
    "page_read": "The page was read.",
    **{f"read_{reason}": meaning for reason, meaning in _READ.items()},
    "text_cut": "The page is longer than what was read of it.",
    "row_offered": "The model offered a row of this name.",
    "no_rows_offered": "The model offered no row of this part of the page.",
    "window_split": "A part of the page had more rows than one answer holds, and was halved.",
    "answer_reused": "An earlier answer to the same question was used.",
    "page_checked": "Every part of the page was answered.",
    "model_invalid_output": "The model did not answer in the form that was asked for.",
    "model_output_cut": "The model's answer was cut off.",
    "model_refused": "The model refused to answer.",
    "model_auth": "The model's server refused the key.",
    "model_unavailable": "The model did not answer.",
    "token_limit": "The limit of tokens left no room for the page.",
    "cost_limit": "The limit of money left no room for the page.",
    "deadline": "The time of the Run had expired.",
    "cancelled": "The Run was cancelled.",
    "row_cap_reached": "A part of the page has more rows than are kept of it.",
    "mentioned_not_offered": "The page names it, and the model offered no row.",
    "row_supported": "The page supports the row.",
    "invalid_name": "The name has no letter and no digit.",
    "name_quote_not_on_page": "The quote of its name does not stand on the page.",
    "name_not_in_quote": "The quote does not hold its name.",
    "scope_missing": "A value that tells it apart from others of its name is missing.",
    "quote_not_on_page": "The quote of the value does not stand on the page.",
    "digits_not_in_quote": "A number of the value does not stand in its quote.",
    "row_kept": "The row stands for this entity.",
    "row_merged": "Another page has the row already; this one fills its empty cells.",
    "cell_conflict": "Another page has another value, and that one stays.",
    "identity_ambiguous": "The row fits several entities, and nothing tells which it is.",
    "over_row_limit": "The Run has more rows than a table holds.",
    "row_written": "The Run wrote the row.",
    "row_unchanged": "The row is in the table as it was before.",
    "row_missing": "Its page no longer names it, and its row was marked gone.",
    "output_withheld": "The output of the Run was not accepted.",
    "outcome_digest": "How the Run ended, and the digest with which a replay is compared.",
}
"""Code of a research fact -> its meaning for any entity."""

FINDINGS: Mapping[str, Words] = {
    "finding.stopped_by_limit": "{message}",
    "finding.all_pages_refused": "Every page that was asked for was refused: {pages}.",
    "finding.most_pages_unreadable": "{unreadable} of {pages:page(s)} could not be read.",
    "finding.single_host": "All that was found is from one host: {host}.",
    "finding.pages_cut": "Pages that were not read to their end: {pages}.",
    "finding.candidates_left": "Pages that were found and not read: {pages}.",
    "finding.field_never_found": "{label}: no value in {rows:row(s)}.",
    "finding.field_often_failed": "{label}: in {failed} of {rows:row(s)} the page does not support "
    "the value that was offered.",
    "finding.many_rows_rejected": "Of {offered:row(s)} that were offered, {rejected} became none.",
    "finding.many_quotes_dropped": "Of {cells:value(s)} that were offered, {dropped} had no quote "
    "on the page that supports them.",
}
"""Code of a finding -> its sentence."""

STOPS: Mapping[str, Words] = {
    "stop.page_budget": "The limit of pages ended the reading.",
    "stop.token_limit": "The limit of tokens ended the reading.",
    "stop.cost_limit": "The limit of money ended the reading.",
    "stop.day_token_limit": "The tokens that the owner has for a day ended the reading.",
    "stop.day_cost_limit": "The money that the owner has for a day ended the reading.",
    "stop.deadline": "The limit of time ended the reading.",
}
"""Rule that ended the reading -> its sentence."""

UNKNOWNS: Mapping[str, Words] = {
    "unknown.no_plan": "No plan is pinned: the first Run of the question makes it.",
    "unknown.no_facts": "What this Run found was not recorded.",
    "unknown.not_yet": "It is not over yet; this is what it has recorded so far.",
    "unknown.old_facts": "What a Run notes of pages and rows is kept for a time only, which is "
    "over.",
    "unknown.pages_unreadable": "{pages:page(s)} could not be read; which entities are there was "
    "not recorded.",
    "unknown.pages_unfinished": "Nothing was kept of {pages:page(s)} because not all parts were "
    "answered.",
    "unknown.pages_unattempted": "{pages:candidate page(s)} left unread; which entities are there "
    "was not recorded.",
    "unknown.pages_cut": "{pages:page(s)} had more text than was read; which entities are in the "
    "rest was not recorded.",
    "unknown.rows_capped": "{pages:page(s)} had more rows in one part than are kept; which ones "
    "were left out was not recorded.",
    "unknown.search_failed": "The search did not answer, so which pages there are is not known.",
    "unknown.ambiguous_name": "The name means {entities} entities; ask for one of their keys.",
    "unknown.no_such_entity": "No entity of that name was recorded.",
    "unknown.named_on_page": "The name stands on {address}, and no row was offered for it there.",
    "unknown.cells_not_taken": "Which cells it had was not recorded, since no row was written.",
    "unknown.cells_of_output": "Which cells the output had was not recorded, since it was not "
    "accepted.",
    "unknown.table_size": "How many rows the table then had was not recorded.",
    "unknown.price": "The price of {calls} of {all:model call(s)} is not known (model {model}).",
    "unknown.tokens": "The tokens of {calls} of {all:model call(s)} are not known.",
    "unknown.credits": "What {calls} of {all:search call(s)} took is not known.",
}
"""Code of what is not known -> its sentence."""

SENTENCES: Mapping[str, Words] = {**FINDINGS, **STOPS, **UNKNOWNS}
