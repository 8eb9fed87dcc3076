"""Addresses at which a table is read without a key: make one, shown once, and revoke one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from flask import g, redirect, request
from msgspec import Struct
from werkzeug.datastructures import MultiDict
from werkzeug.wrappers import Response

from livedata.api.queries import identified
from livedata.formats.forms import CHANGE_FORMS, MENU_FORMS, SERVED_FORMS
from livedata.hints import Subject
from livedata.model import ids
from livedata.model.account import Share
from livedata.model.dataset import Column, Dataset
from livedata.model.errors import Conflict, Invalid, NotFound
from livedata.model.ids import DatasetId, Micros, OwnerName
from livedata.pages.answers import page, sentences
from livedata.pages.filter import TableFilter
from livedata.pages.typed import WRONG, RefusedForm, request_id_of
from livedata.pages.visits import at_one_moment, context
from livedata.services import queries, shares
from livedata.services.pages import sessions
from livedata.services.pages.row_edits import as_sent
from livedata.services.pages.table import how_many

_MADE_BEFORE = (
    "This address was made already, and it is not shown again: revoke it, and make another one."
)
ALL = "all"
"""What the form says of columns if it is not only of those that are ticked."""
FEW = 12
"""Of so many columns all are ticked at first: some of them are taken away, not chosen."""
_FORMS: Final[Mapping[str, str]] = {
    **{form.name: form.title for form in MENU_FORMS},
    **{form.name: form.title for form in SERVED_FORMS if not form.in_menu},
    **{end: f"Changes as {form.title}" for end, form in CHANGE_FORMS.items()},
}
"""What an address may end in, that of a spreadsheet first -> what it is called."""
_NO_COLUMN = "Choose one column at least."


class ShareForm(Struct, frozen=True):
    """What a form, or the address of a page that begins one, says of a share, as it is typed.

    `asked` has its clauses, and the one that the fields of the form add to them.
    """

    scope: str
    columns: Sequence[str]
    asked: TableFilter
    label: str

    @classmethod
    def of(cls, given: MultiDict[str, str], known: Sequence[Column]) -> ShareForm:
        """The form that came, or one with what an address says: all columns if it names none."""
        named = (part.strip() for text in given.getlist("columns") for part in text.split(","))
        columns = list(dict.fromkeys(filter(None, map(as_sent, named))))
        # A form always says of columns that it has them, also if none of them is ticked.
        every = [column["name"] for column in known]
        if "columns" not in given or given.get("scope") == ALL:
            columns = every
        scope = given.get("scope", ALL if {*columns} == {*every} else "these")
        label = as_sent(given.get("label", "")).replace("\n", " ").strip()
        return cls(scope, columns, TableFilter.of(_clauses(given), known), label)

    @property
    def ticked(self) -> Sequence[str]:
        """The columns whose boxes are ticked: of many none, until some are meant."""
        return [] if self.scope == ALL and len(self.columns) > FEW else self.columns

    @property
    def clauses(self) -> list[str]:
        """What holds for each row that is shared."""
        return [*dict.fromkeys([*self.asked.texts, *filter(None, [self.asked.added])])]

    def with_added(self, known: Sequence[Column]) -> ShareForm:
        """The same with the clause that its fields add among the others."""
        where = MultiDict([("where", clause) for clause in self.clauses])
        return ShareForm(self.scope, self.columns, TableFilter.of(where, known), self.label)


def _clauses(given: MultiDict[str, str]) -> MultiDict[str, str]:
    """What a form says of its clauses: one in each line, and what was typed into the fields."""
    lines = (line for text in given.getlist("where") for line in as_sent(text).splitlines())
    fields = ((name, as_sent(given.get(name, ""))) for name in ("filter", "operator", "value"))
    return MultiDict([*(("where", line) for line in lines), *fields])


class ShownShare(Struct, frozen=True):
    """An address, the rows that it shows, in words, and how many these are, if that is known."""

    share: Share
    of: Sequence[str]
    rows: int | None


def _shown(owner: OwnerName, dataset: Dataset, listed: Sequence[Share]) -> list[ShownShare]:
    raw = DatasetId(ids.raw_id(dataset["id"]))
    asked = [
        TableFilter.of(MultiDict([("where", text) for text in share["where"]]), dataset["columns"])
        for share in listed
    ]
    numbers = how_many(g.db, owner, raw, (each.states for each in asked if each.states))
    return [
        ShownShare(
            share,
            [chip.words for chip in each.chips],
            next(numbers) if each.states else None if each.wrong else dataset["rowCount"],
        )
        for share, each in zip(listed, asked, strict=True)
    ]


@at_one_moment
def show(
    dataset: str,
    form: ShareForm | None = None,
    refused: RefusedForm | None = None,
    made: str | None = None,
    status: int = 200,
) -> Response:
    """The addresses of a dataset; once with one that was made, or with what is wrong in a form."""
    raw, owner = DatasetId(identified(dataset)), g.caller.owner
    shown = queries.dataset(g.db, owner, raw)
    listed = shares.list_shares(g.db, owner, raw)
    names = [column["name"] for column in shown["columns"]]
    form = form or ShareForm.of(request.args, shown["columns"])
    return page(
        "shares.html",
        data=lambda: {"data": listed},
        status=status,
        dataset=shown,
        labels={column["name"]: column["label"] for column in shown["columns"]},
        open_shares=_shown(owner, shown, [share for share in listed if not share["revoked"]]),
        revoked=[share for share in listed if share["revoked"]],
        form=form,
        asked=form.asked,
        strange=[name for name in form.columns if name not in names],
        refused=refused,
        made=[(name, f"{made.removesuffix('csv')}{end}") for end, name in _FORMS.items()]
        if made
        else None,
        request_id=sessions.make_token(),
        reached=bool(context().public_url),
        about=Subject(owner, shown["name"]),
    )


def add(dataset: str) -> Response:
    """Make the address of a form, which is shown in this answer alone; or add a clause to it."""
    raw, owner = DatasetId(identified(dataset)), g.caller.owner
    known = queries.dataset(context().store, owner, raw)["columns"]
    form = ShareForm.of(request.form, known)
    wrong = {"where": form.asked.typed.wrong, "columns": "" if form.columns else _NO_COLUMN}
    if any(wrong.values()):
        return show(dataset, form, RefusedForm("share", {}, WRONG, wrong), status=422)
    if "add" in request.form and not form.asked.wrong:
        return show(dataset, form.with_added(known))
    # All columns are those to come too.
    columns = [] if form.scope == ALL else form.columns
    said = (form.scope, *form.columns, "where", *form.clauses, form.label)
    # With all that is typed: who goes back and types something else makes another address.
    secret = sessions.secret_of(g.visit, request_id_of(request.form), dataset, *said)
    try:
        share, token = shares.add(
            *(context().store, owner, raw, columns, form.clauses, form.label or None),
            secret=secret,
        )
    except Invalid as error:
        wrong = {detail.path: detail.message for detail in error.details}
        return show(dataset, form, RefusedForm("share", {}, WRONG, wrong), status=422)
    except Conflict as error:
        refused = RefusedForm("share", {}, f"{sentences(error)} {WRONG}")
        return show(dataset, form, refused, status=409)
    # Who clicks twice is shown what the first click has made.
    if share["revoked"] or not sessions.is_just_made(_made_at(share)):
        return show(dataset, form, RefusedForm("share", {}, _MADE_BEFORE), status=409)
    base = context().base(request.host, request.host_url)
    return show(dataset, made=shares.address(base or "", token, share["dataset"]))


def _made_at(share: Share) -> Micros:
    return Micros(ids.parse_timestamp(share["createdAt"]))


def revoke(dataset: str, share: str) -> Response:
    """End an address at once."""
    raw, owner, store = DatasetId(identified(dataset)), g.caller.owner, context().store
    wanted = ids.format_uuid(identified(share))
    # Of this very dataset: its page says which addresses there are to revoke.
    if wanted not in {each["id"] for each in shares.list_shares(store, owner, raw)}:
        raise NotFound("There is no such share.")
    shares.revoke(store, owner, wanted)
    return redirect(f"/datasets/{dataset}/shares", 303)
