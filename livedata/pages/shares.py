"""Addresses at which a table is read without a key: make one, shown once, and revoke one."""

from __future__ import annotations

from collections.abc import Sequence

from flask import g, redirect, request
from msgspec import Struct
from werkzeug.datastructures import MultiDict
from werkzeug.wrappers import Response

from livedata.api.queries import identified
from livedata.api.tables import CHANGE_FORMS, ROW_FORMS
from livedata.hints import Subject
from livedata.model import ids
from livedata.model.account import Share
from livedata.model.errors import Conflict, Invalid, NotFound
from livedata.model.ids import DatasetId, Micros
from livedata.pages.answers import page, sentences
from livedata.pages.typed import WRONG, RefusedForm, request_id_of
from livedata.pages.visits import at_one_moment, context
from livedata.rules.conditions.parsing import example_clause
from livedata.services import queries, shares
from livedata.services.pages import sessions
from livedata.services.pages.row_edits import as_sent

_MADE_BEFORE = (
    "This address was made already, and it is not shown again: revoke it, and make another one."
)


class ShareForm(Struct, frozen=True):
    """What a form, or the address of a page that begins one, says of a share, as it is typed."""

    columns: Sequence[str]
    where: str
    label: str

    @classmethod
    def of(cls, given: MultiDict[str, str]) -> ShareForm:
        """The form that came, or an empty one with what an address says."""
        named = (part.strip() for text in given.getlist("columns") for part in text.split(","))
        where = "\n".join(as_sent(clause) for clause in given.getlist("where"))
        label = as_sent(given.get("label", "")).replace("\n", " ").strip()
        return cls(list(dict.fromkeys(filter(None, map(as_sent, named)))), where, label)

    @property
    def clauses(self) -> list[str]:
        """What holds for each row that is shared."""
        return [line.strip() for line in self.where.splitlines() if line.strip()]


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
    form = form or ShareForm.of(request.args)
    return page(
        "shares.html",
        data=lambda: {"data": listed},
        status=status,
        dataset=shown,
        open_shares=[share for share in listed if not share["revoked"]],
        revoked=[share for share in listed if share["revoked"]],
        form=form,
        strange=[name for name in form.columns if name not in names],
        refused=refused,
        made=made,
        forms=(*ROW_FORMS, *CHANGE_FORMS),
        example=example_clause(shown["columns"]),
        request_id=sessions.make_token(),
        reached=bool(context().public_url),
        about=Subject(owner, shown["name"]),
    )


def add(dataset: str) -> Response:
    """Make the address of a form, which is shown in this answer alone."""
    raw, owner, form = DatasetId(identified(dataset)), g.caller.owner, ShareForm.of(request.form)
    said = (*form.columns, "where", *form.clauses, form.label)
    # With all that is typed: who goes back and types something else makes another address.
    secret = sessions.secret_of(g.visit, request_id_of(request.form), dataset, *said)
    try:
        share, token = shares.add(
            *(context().store, owner, raw, form.columns, form.clauses, form.label or None),
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
