"""A table from an address: look at a page, choose columns, try them, and make the table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import orjson
from flask import g, redirect, request
from msgspec import Struct
from werkzeug.wrappers import Response

from livedata.api.queries import identified
from livedata.model import ids
from livedata.model.errors import Conflict, InsufficientCredits, Invalid, LivedataError
from livedata.model.ids import DatasetId, LookId
from livedata.model.look import LONGEST_ADDRESS, LONGEST_LIKE, ListOnPage, LookWish, PageLook
from livedata.model.recipe import Render
from livedata.model.row import Scalar
from livedata.pages.answers import page, sentences
from livedata.pages.settings import COMMON, OTHER
from livedata.pages.visits import context
from livedata.rules.declaration.chosen_columns import ChosenColumn, choose, title_of
from livedata.services import looks, queries
from livedata.services.looks import ACCEPTED
from livedata.services.pages.row_edits import as_sent
from livedata.store.looks import StoredLook

PATIENCE: Final = 20.0
"""After so many seconds without a worker it is told what may be missing."""
DAILY: Final = "0 6 * * *"
"""How often a table is read if nobody says otherwise."""
_KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "a": ("link", "links"),
    "p": ("paragraph", "paragraphs"),
    "td": ("table cell", "table cells"),
    "tr": ("table row", "table rows"),
    "option": ("choice", "choices"),
    "img": ("picture", "pictures"),
}
"""What an element is called that repeats, one and several."""
KEEP, TITLE = "keep-", "title-"
"""What the names of the fields of a column begin with in the form; its place follows."""


class OfferedColumn(Struct, frozen=True):
    """A column that was seen, whether it is kept, and what a person calls it."""

    name: str
    title: str
    kept: bool
    type: str
    examples: Sequence[Scalar]
    filled: int
    required: bool


class OfferedKey(Struct, frozen=True):
    """A key that was proved, what its columns are called, and why it may or may not stay so."""

    names: Sequence[str]
    titles: str
    reason: str
    sure: bool
    chosen: bool


class Outcome(Struct, frozen=True):
    """What a Run would say of what was tried: its columns and first rows, and what is odd."""

    accepted: bool
    why: str | None
    columns: Sequence[tuple[str, int, int]]
    """The title of each, in how many records it is filled, and in how many it is unreadable."""
    titles: Sequence[str]
    rows: Sequence[Sequence[Scalar]]
    pages: Sequence[Mapping[str, Any]]
    records: int
    failed: Sequence[str]
    odd: Sequence[str]
    is_key: bool
    """Whether the key is what is wrong."""


def form(refusal: str = "", status: int = 200) -> Response:
    """The page on which somebody names the address of a list."""
    kept = looks.kept(context().store, g.caller.owner)
    base = context().base(request.host, request.host_url)
    given = request.form if request.method == "POST" else request.args
    return page(
        "new.html",
        data=lambda: {"data": [_as_json(look) for look in kept]},
        status=status,
        kept=[(_path(look), look, _asked(look)) for look in kept],
        url=given.get("url", "")[:LONGEST_ADDRESS],
        scripts=given.get("scripts") == "yes",
        bookmarklet=None if base is None else _bookmarklet(base),
        refusal=refusal,
    )


def _bookmarklet(base: str) -> str:
    """What the bookmark of a browser does at a page: it leads here, with that page's address."""
    begin = orjson.dumps(f"{base}/new?url=").decode()
    return f"javascript:location.href={begin}+encodeURIComponent(location.href)"


def ask() -> Response:
    """Look at the page of an address."""
    try:
        look = looks.ask(context().store, g.caller.owner, _wish(), context().targets)
    except (Invalid, Conflict) as error:
        return form(sentences(error), 409 if isinstance(error, Conflict) else 422)
    return redirect(f"/new/{ids.format_uuid(look)}", 303)


def _wish(before: LookWish | None = None) -> LookWish:
    """What a form asks for. Raises Invalid."""
    given = request.form
    number = given.get("list", "")
    if number and not (number.isascii() and number.isdecimal() and len(number) < 4):
        raise Invalid("There is no such list on the page.")
    render: Render = "browser" if given.get("scripts") == "yes" else "static"
    url = given.get("url", "").strip() if before is None else before.url
    # People write addresses as their browser shows them.
    if url and "://" not in url and "." in url.partition("/")[0] and " " not in url:
        url = f"https://{url}"
    like = " ".join(as_sent(given.get("like", "")).split())
    return LookWish(url, render, like, int(number) if number else None)


def show(look: str, refusal: str = "", status: int = 200) -> Response:
    """A look: how far it is, or what was seen, what was tried, and what can be made of it."""
    shown = looks.show(context().store, g.caller.owner, _id(look))
    if shown.dataset is not None:
        return redirect(f"/datasets/{ids.format_uuid(shown.dataset)}", 303)
    seen = shown.seen
    return page(
        "new_look.html",
        data=lambda: {"data": _as_json(shown)},
        status=status,
        look=shown,
        here=f"/new/{look}",
        site=_site(shown.wish.url),
        seen=seen,
        wish=shown.wish,
        since=ids.format_timestamp(shown.started or shown.asked),
        asked=_asked(shown),
        seconds=seconds_of(shown),
        patience=PATIENCE,
        columns=_columns(shown),
        keys=_keys(shown),
        outcome=None if shown.is_open else _outcome(shown),
        name=request.form.get("name") or _name(shown),
        common=COMMON,
        daily=DAILY,
        kind_of=_kind_of,
        given=request.form,
        zone=context().zone,
        longest_like=LONGEST_LIKE,
        refusal=refusal,
    )


def _path(look: StoredLook) -> str:
    """The page of a look: of one that is about a dataset its preview."""
    if look.dataset is not None:
        return f"/datasets/{ids.format_uuid(look.dataset)}/preview"
    return f"/new/{ids.format_uuid(look.id)}"


def _asked(look: StoredLook) -> str:
    return ids.format_timestamp(look.asked)


def seconds_of(look: StoredLook) -> float:
    """For how many seconds an open look has waited, or been executed."""
    since = look.started if look.status == "running" and look.started else look.asked
    # No less than nothing, whatever the clock does.
    return max(0, ids.now() - since) / 1_000_000


def _site(url: str) -> str:
    return urlsplit(url).hostname or url


def _kind_of(each: ListOnPage) -> str:
    """How many there are of what repeats, and what it is."""
    last = re.split(r"[\s>+~]+", each.selector.strip())[-1]
    element = re.match(r"[a-z0-9]*", last)
    assert element is not None  # it matches nothing at least
    words = _KINDS.get(element[0], ("record", "records"))
    return f"{each.records:,} {words[each.records != 1]}"


def _name(look: StoredLook) -> str:
    declared = look.chosen or (look.seen.declaration if look.seen else None) or {}
    return str(declared.get("name", ""))


def again(look: str) -> Response:
    """Look at the page again: at another list, or after its scripts have run."""
    return _acted(
        look,
        lambda store, owner, raw: looks.ask_again(
            store, owner, raw, _wish(looks.show(store, owner, raw).wish), context().targets
        ),
    )


def stop(look: str) -> Response:
    """Stop a look that is open."""
    return _acted(look, looks.stop)


def try_out(look: str) -> Response:
    """Try the columns that a person has chosen."""
    return _acted(look, _try)


def _try(store: Any, owner: str, raw: LookId) -> None:
    shown = looks.show(store, owner, raw)
    if shown.seen is None or shown.seen.declaration is None:
        raise Conflict("There is no list here whose columns could be tried.")
    kept = [ChosenColumn(each.name, each.title) for each in _columns(shown) if each.kept]
    key = next((each.names for each in _keys(shown) if each.chosen), ())
    declaration = choose(shown.seen.declaration, kept, key)
    looks.try_out(store, owner, raw, declaration, context().targets)


def create(look: str) -> Response:
    """Make a table of what was tried, and run it."""
    given, owner, store = request.form, g.caller.owner, context().store
    schedule, typed = given.get("schedule", ""), " ".join(given.get("cron", "").split())
    # Whoever types one need not choose "as cron" before.
    cron = typed if schedule == OTHER or not schedule else schedule
    name = " ".join(as_sent(given.get("name", "")).split())
    shared = context()
    try:
        dataset = looks.create(
            *(store, owner, _id(look), name, cron), targets=shared.targets, zone=shared.zone
        )
    except (Invalid, Conflict, InsufficientCredits) as error:
        return _refused(look, error)
    run = queries.dataset(store, owner, DatasetId(dataset))["lastRun"]
    path = f"/datasets/{ids.format_uuid(dataset)}" if run is None else f"/runs/{run['id']}"
    return redirect(path, 303)


def _acted(look: str, act: Any) -> Response:
    """Do something with a look, and lead back to it."""
    try:
        act(context().store, g.caller.owner, _id(look))
    except (Invalid, Conflict) as error:
        return _refused(look, error)
    return redirect(f"/new/{look}", 303)


def _refused(look: str, error: LivedataError) -> Response:
    return show(look, sentences(error), 422 if isinstance(error, Invalid) else 409)


def _id(look: str) -> LookId:
    return LookId(identified(look))


def _columns(look: StoredLook) -> list[OfferedColumn]:
    """The columns of the list that is read, as they were chosen last, or stand in the form."""
    seen = look.seen
    if seen is None or seen.declaration is None:
        return []
    chosen = _chosen_titles(look, seen)
    fields = {field["name"]: field for field in seen.declaration["source"]["fields"]}
    offered = []
    for place, column in enumerate(seen.declaration["columns"]):
        title, kept = chosen.get(column["name"], title_of(column)), column["name"] in chosen
        # What a person has typed stays, also if something is wrong with it.
        if f"{TITLE}{place}" in request.form:
            title = as_sent(request.form[f"{TITLE}{place}"])
            kept = f"{KEEP}{place}" in request.form
        examples = list(dict.fromkeys(row[place] for row in seen.rows if row[place] is not None))
        required = bool(fields[column["name"]].get("required"))
        named = (column["name"], title, kept, column["type"])
        offered.append(OfferedColumn(*named, examples[:3], seen.filled[place], required))
    return offered


def _chosen_titles(look: StoredLook, seen: PageLook) -> dict[str, str]:
    """The columns of a look that are kept, and what they are called, by their names when seen."""
    assert seen.declaration is not None
    if look.chosen is None:
        return {column["name"]: title_of(column) for column in seen.declaration["columns"]}
    titles = {column["name"]: title_of(column) for column in look.chosen["columns"]}
    fields = look.chosen["source"]["fields"]
    # A column may be called otherwise, but it reads what it did.
    by_read = {orjson.dumps(field["read"]): titles[field["name"]] for field in fields}
    seen_fields = seen.declaration["source"]["fields"]
    read = {field["name"]: orjson.dumps(field["read"]) for field in seen_fields}
    return {name: by_read[what] for name, what in read.items() if what in by_read}


def _keys(look: StoredLook) -> list[OfferedKey]:
    """The keys that were proved; one is chosen."""
    seen = look.seen
    if seen is None or not seen.keys:
        return []
    titles = {column.name: column.title for column in _columns(look)}
    wanted = request.form.get("key")
    if wanted is None or not (wanted.isascii() and wanted.isdecimal() and len(wanted) < 3):
        wanted = str(_chosen_key(look, seen))
    return [
        OfferedKey(
            key.names,
            ", ".join(titles.get(name, name) for name in key.names),
            key.reason,
            key.sure,
            str(place) == wanted,
        )
        for place, key in enumerate(seen.keys)
    ]


def _chosen_key(look: StoredLook, seen: PageLook) -> int:
    """The place of the key that was tried last among those that were proved."""
    if look.chosen is None:
        return 0
    titles = _chosen_titles(look, seen)
    chosen = {title_of(each) for each in look.chosen["columns"] if each.get("key")}
    by_place = ({titles.get(name) for name in key.names} for key in seen.keys)
    return next((place for place, key in enumerate(by_place) if key == chosen), 0)


def _outcome(look: StoredLook) -> Outcome | None:
    """What a Run would say of what was tried last."""
    tried, chosen = look.tried, look.chosen
    if tried is None or chosen is None:
        return None
    titles = {column["name"]: title_of(column) for column in chosen["columns"]}
    accepted = tried["outcome"] == ACCEPTED
    checks = [check for check in tried["checks"] if not check["passed"]]
    return Outcome(
        accepted,
        # It reads the first pages on purpose, which is no fault of the declaration.
        None if accepted else tried["error"],
        [
            (titles[field["name"]], field["filled"], field["extractionFailed"])
            for field in tried["fields"]
        ],
        list(titles.values()),
        [[row.get(name) for name in titles] for row in tried["rows"]],
        tried["pages"],
        sum(each["items"] for each in tried["pages"]),
        [str(check.get("message", check["checkId"])) for check in checks],
        [each["message"] for each in tried["odd"]],
        any(check["checkId"] == "identity" for check in checks),
    )


def _as_json(look: StoredLook) -> dict[str, object]:
    """A look for a program."""
    return {
        "id": ids.format_uuid(look.id),
        "status": look.status,
        "askedAt": _asked(look),
        "wish": look.wish,
        "far": look.far,
        "seen": look.seen,
        "chosen": look.chosen,
        "tried": look.tried,
        "error": look.error,
    }
