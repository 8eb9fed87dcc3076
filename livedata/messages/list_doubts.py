"""What is unsure of a list that was found on a page, in words."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import asdict, replace

from livedata.messages.fetch import why
from livedata.messages.templates import Words, fill, plural
from livedata.model.diagnosis.explanation import Suggestion
from livedata.model.problem import Problem


class Ways(Struct, frozen=True):
    """How a door is asked to look at a page once more, as it stands in a sentence."""

    list: str
    without_like: str
    columns: str
    browser: str
    scripts: str
    other: str
    """How another list is read, and one that holds a text; `fewer` if nothing was read yet."""
    fewer: str


SHELL = Ways(
    list="--list ",
    without_like="--like",
    columns="--columns keeps only the columns that it names",
    browser="--browser reads what scripts may add",
    scripts='read it with --browser, which needs livedata installed with its extra "browser"',
    other="--list N reads one of these, --like TEXT the list that holds a text",
    fewer="--list N reads another list of the page, --like TEXT one that holds a text",
)
"""What is asked of the shell: options."""
AGENTS = Ways(
    list="list=",
    without_like="like",
    columns="without it in columns and source.fields of the declaration it is not read",
    browser='with "render": "browser" in its source preview_source reads what scripts may add',
    scripts=(
        "look_at_page runs no scripts; if a browser is installed here, preview_source reads a "
        'declaration of yours with "render": "browser" in its source'
    ),
    other="list=N reads one of these, like=TEXT the list that holds a text",
    fewer="list=N reads another list of the page, like=TEXT one that holds a text",
)
"""What agents ask: arguments of `look_at_page`, and what stands in a declaration."""
BROWSER = Ways(
    list="list ",
    without_like="that text",
    columns="leave it out",
    browser="scripts may add one",
    scripts="look at it again after its scripts have run",
    other="read one of these, or name a text of the list that you mean",
    fewer="read another list of the page, or name a text of the one that you mean",
)
"""What is chosen on a page."""
_ANEW = "a record of which it changes counts as one row gone and one row new"
_SHARED = "once two records share it, no Run is accepted"


def _next_unread(doubt: Problem) -> str:
    return (
        f"{doubt.params['address']} looks like the next page, but could not be read: "
        f"{why(doubt.evidence[0])}"
    )


SENTENCES: Mapping[str, Words] = {
    "lists.alike": (
        "another list may be meant: {list}{number} reads the {count:record(s)} in {selector}"
    ),
    "lists.aside": (
        "the records stand in a menu or at the edge of the page, as if its middle had no list; "
        "{browser}"
    ),
    "lists.left_out": (
        "{count:element(s)} of another kind in {selector} are left out, and what they say of the "
        "records is not read"
    ),
    "lists.counter": (
        "{selector} is left out, since its numbers only say the place in the list, and all of them "
        "change when one record is added on top"
    ),
    "lists.shifted": (
        "{selector} is left out, since another part stands there in records that have one more or "
        "one fewer before it"
    ),
    "lists.unnumbered": (
        "{names} is read without the number in front, which only says the place in the list; "
        'kind = "text" reads it whole'
    ),
    "lists.cut": (
        "{name} is cut on the screen in some records, and these alone have it whole, in the "
        "attribute {attribute}, so what is shown is read; a field of your own can read that "
        "attribute"
    ),
    "lists.sign": (
        "{name} ends with {sign}, a link to its own place that the site may hide in a sheet that "
        "is not asked for; no selector leaves it out"
    ),
    "lists.goes_on": (
        "{name} is only the first of several texts in {count:record(s)}; a field of your own, with "
        "a selector for what is around them, reads them all"
    ),
    "lists.visits": (
        "{names} says how often a record is looked at, so that its row changes with each Run; "
        "{columns}"
    ),
    "lists.key_several": f"no column alone tells the records apart, {{names}} does: {_ANEW}",
    "lists.key_several_of_today": (
        f"only {{names}} tells the records apart, and may change: {_ANEW}"
    ),
    "lists.key_beside": f"the key {{names}} leads to something beside the record: {_SHARED}",
    "lists.key_text": f"the key {{names}} is a text that may repeat: {_SHARED}",
    "lists.key_numbered": (
        "the key {names} begins with a number that counts the records: once one is added above, "
        "each row after it counts as one gone and one new"
    ),
    "lists.key_prose": f"the key {{names}} is a long text, of which any word may change: {_ANEW}",
    "lists.key_image": f"the key {{names}} is the address of a picture, which may change: {_ANEW}",
    "lists.key_moment": f"the key {{names}} is a moment, and not who the record is: {_SHARED}",
    "lists.key_figure": f"the key {{names}} is a figure, which may be corrected: {_ANEW}",
    "lists.key_place": (
        "the key {names} only counts the records: once one is added above, each row after it gets "
        "the values of another record"
    ),
    "lists.key_moves": (
        "{name} is no key, since {parameter} in its address follows the place in the list or the "
        "visit; {names} is the key in its place"
    ),
    "lists.seldom": ("most of the {count:record(s)} have no {names}; {columns}"),
    "lists.numbered": (
        "pages up to {last} are linked by their numbers ({pattern}), but nothing says which is the "
        "last one, so only the first page is read: pagination url-pattern with an endSelector of "
        "your own reads more"
    ),
    "lists.elsewhere": (
        "the page has a next link to another host, {host} ({address}), which this source does not "
        "follow, so a Run of it reads this page alone: if the list goes on there, give the address "
        "that it has there, or follow the link with pagination next-link and a selector of your own"
    ),
    "lists.unproved": "{address} looks like the next page, but has no other records",
    "lists.next_answered": "{address} looks like the next page, but answered {status}",
    "lists.next_unread": _next_unread,
    "lists.no_key": "no column tells the records apart{near}",
}

_BROWSER: Mapping[str, Words] = {
    **SENTENCES,
    "lists.alike": "another list may be meant: list {number}, the {count:record(s)} in {selector}",
    "lists.unnumbered": (
        "{names} is read without the number in front, which only says the place in the list"
    ),
    "lists.numbered": (
        "pages up to {last} are linked by their numbers ({pattern}), but nothing says which is the "
        "last one, so only the first page is read"
    ),
    "lists.elsewhere": (
        "the page has a next link to another host, {host} ({address}), which is not followed, so "
        "a Run reads this page alone: if the list goes on there, give the address that it has there"
    ),
}
"""The same for whoever has no declaration before them."""

_KEYS: Mapping[str, str] = {
    "id": "is an identifier of the record",
    "main": "is the address that the record leads to",
    "code": "is a number or a code of the record",
    "name": "is what the record is called",
    "beside": "leads to something beside the record",
    "text": "is a text that may repeat",
    "several": "tell the records apart only together",
    "numbered": "begins with a number that counts the records",
    "prose": "is a long text, of which any word may change",
    "image": "is the address of a picture, which may change",
    "several_of_today": "tell the records apart only together, and may change",
    "moment": "is a moment, and not who the record is",
    "figure": "is a figure, which may be corrected",
    "place": "only counts the records",
}

_WHY: Mapping[str, str] = {
    "not_filled": "is empty in some",
    "not_unique": "repeats",
    "moving": "has an address that follows its place in the list or the visit",
    "person": "is a person beside the record",
    "ago": "is a moment, told from today",
    "price": "is a price",
    "count": "is a count",
    "generated": "is made anew for each visit",
}


def doubt_sentence(doubt: Problem, ways: Ways = SHELL) -> str:
    """What is unsure, as a sentence without its point, and how a door is asked for another list."""
    table = _BROWSER if ways is BROWSER else SENTENCES
    return fill(table, replace(doubt, params={**asdict(ways), **doubt.params}))


def key_reason(standing: str) -> str:
    """What a key is, behind the names of its columns."""
    return _KEYS[standing]


def missing_key(reasons: Mapping[str, str]) -> str:
    """Why a list has no key, by what is wrong with each column that was near one."""
    near = ", ".join(f"{name} {_WHY[why]}" for name, why in list(reasons.items())[:4])
    return doubt_sentence(Problem("lists.no_key", {"near": f": {near}" if near else ""}))


def known_records(suggestion: Suggestion) -> str:
    """How many records a page has, and how many of those that were looked at are known rows."""
    records, known = plural(suggestion["records"], "record"), suggestion["rows"]
    if suggestion["searched"] < suggestion["records"]:
        return f"{records}; of the first {suggestion['searched']}, {known} are known from before"
    return f"{records}, {known} of them known from before"


def unmended_sentence(reason: str, rows: int, expected: int, address: str) -> str:
    """Why no source is proposed for a page that has changed, on which so many rows stood before."""
    if reason == "no_key":
        return (
            f"{plural(rows, 'known row')} can be seen on {address}, but nothing there says a key "
            "any more, so rows cannot be told apart: choose another key in a new dataset."
        )
    return (
        f"{plural(rows, 'known row')} can be seen on {address}, on which about "
        f"{expected} stood: too few to tell where the records are now. Is it still the page of "
        "this list?"
    )


def unmended_for_work(selector: str, address: str) -> str:
    """Why no source is proposed for a page on which looking for known rows takes too long."""
    return (
        f"Looking for the known rows on {address} takes more steps than a page may, most of them "
        f"for {selector}: look at the page, and mend the source by hand."
    )
