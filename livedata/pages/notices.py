"""Notices: whom to tell of what. Add one, test it, see what it would have told, and end it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from threading import Event
from typing import Any, Final

from flask import g, redirect, request
from msgspec import Struct
from werkzeug.wrappers import Response

from livedata.api.queries import identified
from livedata.hints import Subject, hints
from livedata.messages.notice_events import BECAME as REVISION_WORDS
from livedata.messages.render import sentence
from livedata.model import ids
from livedata.model.account import OPERATOR
from livedata.model.errors import (
    ChangedMeanwhile,
    Conflict,
    Detail,
    Invalid,
    LivedataError,
    LocatedDetail,
    NotFound,
)
from livedata.model.ids import MessageId, Micros, NoticeId
from livedata.pages.answers import page, sentences
from livedata.pages.notice_form import (
    BECAME,
    MAIL,
    OF_COLUMNS,
    OFFERS,
    OPERATORS,
    NoticeForm,
    find_notice,
    known_columns,
    shown_notices,
    target_of,
    whole,
)
from livedata.pages.settings import COMMON
from livedata.pages.trials import tried_lately
from livedata.pages.typed import CHANGED, WRONG, RefusedForm, request_id_of
from livedata.pages.visits import at_one_moment, context
from livedata.rules.declaration.notices import CHANNELS, channel_of
from livedata.rules.network.targets import TargetPolicy
from livedata.services import queries
from livedata.services.notices import delivering, subscriptions
from livedata.services.notices.cloud_events import trial_event
from livedata.services.notices.subscriptions import as_json
from livedata.services.pages import sessions
from livedata.store.notices import Notice, Subscription
from livedata.worker.delivery import courier

LAST: Final = 50
"""So many messages of a notice are listed."""
MEANT: Final = {
    "changes": ("Changes", "rows are new, changed, gone or back after a Run"),
    "failing": ("Failing Runs", "not accepted, or one that is held"),
    "recovered": ("Recovery", "the first accepted Run after that"),
    "silent": ("No news", "no Run was accepted"),
    "odd": ("Looks unusual", "a Run was accepted, but what it read looks unusual"),
}
"""What each kind is called, and when it is told."""
_BEGINS: Final = frozenset({*NoticeForm.__struct_fields__, "dataset", "kind", "add"})
"""What an address says that begins the form."""
_CHOICES: Final[dict[str, Any]] = {
    "meant": MEANT,
    "revision_kinds": REVISION_WORDS,
    "common": COMMON,
    "operators": OPERATORS,
    "of_columns": OF_COLUMNS,
    "offers": OFFERS,
    "of_shell": [channel for channel in CHANNELS.values() if channel.shell_only],
    "became": BECAME,
}
"""What the form of a notice offers."""
SAID: Final = {
    "added": "The notice is on.",
    "saved": "The notice is saved.",
    "resumed": "The notice is on: it tells what comes from now on.",
    "again": "The message is sent again: what comes of it stands here.",
    "paused": "The notice is off: it tells nothing until you resume it.",
}
"""What is told of what was done."""
_FIELDS: Final = dict.fromkeys(CHANNELS, "target")
_NOT_YET: Final = frozenset({"name", "target", "channel", "mail_to", "mail_server"})
"""What need not be right of a form whose changes are only tried."""
SECRET: Final = ("target", "mail_password")
"""What is never repeated of a form."""
_NEVER_REPEATED: Final = (
    "The address is not repeated here, since it may hold a password: type it again."
)
_OF_OPERATOR: Final = {
    channel.name: f"{channel.operator_only}: only the owner {OPERATOR}, who operates this server, "
    "adds one here. Whoever operates it adds yours at a shell, by livedata notice add."
    for channel in CHANNELS.values()
    if channel.operator_only
}
"""Why another owner does not add a notice of these channels here."""


@at_one_moment
def show(
    form: NoticeForm | None = None,
    refused: RefusedForm | None = None,
    status: int = 200,
    wish: Notice | None = None,
) -> Response:
    """The notices of an owner, or a form that adds one; with what is wrong if it was refused.

    With what a `wish` would have told, if that is asked for.
    """
    owner, zone = g.caller.owner, context().zone
    is_begun = form is not None or not _BEGINS.isdisjoint(request.args.keys())
    is_new, form = form is None, form or NoticeForm.of(request.args)
    listing = subscriptions.listed(g.db, owner, zone, form.datasets)
    # Of all datasets would be another wish than of one that is not there.
    if is_new and not set(form.datasets) <= listing.datasets.keys():
        raise NotFound("There is no such dataset.")
    return page(
        "notices.html",
        data=lambda: {
            "data": [as_json(notice, listing.datasets) for notice in listing.notices],
            "damaged": listing.damaged,
        },
        status=status,
        notices=sorted(shown_notices(listing.notices, listing), key=_is_well),
        damaged=[(name, ids.format_uuid(listing.keys[name])) for name in listing.damaged],
        datasets=listing.datasets,
        has_more=listing.has_more,
        form=form,
        is_begun=is_begun,
        refused=refused,
        known_columns=known_columns(form, listing.datasets),
        **_CHOICES,
        zone=zone,
        not_yours={} if owner == OPERATOR else _OF_OPERATOR,
        request_id=sessions.make_token(),
        about=Subject(owner),
        **(tried_lately(wish, zone) if wish else {}),
    )


def _is_well(shown: Mapping[str, object]) -> bool:
    """Whether what a notice tells arrives; those of which it does not stand first."""
    return not shown["problem"]


def add() -> Response:
    """Add the notice of a form; the secret of a webhook is shown in this answer alone."""
    form, owner, store = NoticeForm.of(request.form), g.caller.owner, context().store
    if request.form.get("act") == "fields":
        return _shown_again(form)
    target, amiss = target_of(request.form)
    wish, wrong = form.wish(target)
    if request.form.get("act") == "try":
        return _try(wish, wrong, form)
    wrong += amiss
    # With its name: who goes back and types another one makes another notice.
    secret = sessions.secret_of(g.visit, request_id_of(request.form), wish.name)
    wrong += _refusals(wish)
    if wrong:
        return show(form, _refused(wrong), 422)
    try:
        notice = subscriptions.add(store, owner, wish, context().zone, secret=secret)
    except Invalid as error:
        return show(form, _refused(error.details), 422)
    except Conflict as error:
        again = subscriptions.added_before(store, owner, wish, secret)
        # Who clicks twice is told what the first click has done.
        if again is None or not sessions.is_just_made(again.created_at):
            return show(form, RefusedForm("notice", {}, _why(f"{sentences(error)} {WRONG}")), 409)
        notice = again
    if notice.secret is None:
        return redirect(f"/notices/{ids.format_uuid(notice.id)}?done=added", 303)
    return show_one(ids.format_uuid(notice.id), NoticeAnswer(secret=notice.secret))


def _try(wish: Subscription, wrong: Sequence[Detail], form: NoticeForm) -> Response:
    """The form again with what it would have told; nobody is told, and nothing is saved."""
    known = _known(wish)
    wrong = _of_changes([*wrong, *_gone(wish, known), *_unfit(wish)])
    return show(form, _refused(wrong), 422) if wrong else _shown_again(form, _as_notice(wish))


def _of_changes(wrong: Sequence[Detail]) -> list[Detail]:
    """What is wrong with the changes of a wish, whatever its name is and whom it tells."""
    return [each for each in wrong if each.path not in _NOT_YET]


def _as_notice(wish: Subscription) -> Notice:
    """A wish as it would be kept."""
    named = {name: getattr(wish, name) for name in Subscription.__struct_fields__}
    new = NoticeId(ids.new_id())
    return Notice(**named, id=new, owner=g.caller.owner, secret=None, created_at=ids.now())


def _refusals(wish: Subscription) -> list[Detail]:
    """All that is wrong with a wish, so that nobody types a password again for each."""
    wrong = _gone(wish, _known(wish))
    try:
        # A form of ours offers no command: it would run as the user of the server.
        if not channel_of(wish.channel).offers:
            raise Invalid("", (whole("channel", "Choose one of these."),))
        # Nothing judges which addresses Apprise dials: it may be any of the network that it is in.
        if wish.channel in _OF_OPERATOR and g.caller.owner != OPERATOR:
            raise Invalid("", (whole("channel", _OF_OPERATOR[wish.channel]),))
        courier.check(wish.channel, wish.target, _targets())
    except Invalid as error:
        wrong += error.details
    except LivedataError as error:
        wrong.append(whole("channel", sentences(error)))
    return [*wrong, *_unfit(wish)]


def _known(wish: Subscription) -> Collection[str]:
    """Those of the datasets of a wish that are there."""
    return queries.names_of(context().store, g.caller.owner, wish.datasets or ())


def _gone(wish: Subscription, known: Collection[str]) -> list[Detail]:
    """What is wrong with the datasets of a wish, which are to be among known ones."""
    if set(wish.datasets or ()) <= set(known):
        return []
    return [whole("dataset", "A dataset is not there any more: choose again.")]


def _unfit(wish: Subscription) -> Sequence[Detail]:
    """What is wrong with the parts of a wish by the rules."""
    try:
        subscriptions.check(context().store, g.caller.owner, wish)
    except Invalid as error:
        return error.details
    return ()


def _refused(wrong: Sequence[Detail]) -> RefusedForm:
    return RefusedForm("notice", {}, _why(WRONG), {**_unrepeated(), **_by_field(wrong)})


def _unrepeated() -> dict[str, str]:
    """What is said beside each field that comes back empty."""
    # Whoever looks over a shoulder, or at the source of the page, learns no password of it.
    return {name: _NEVER_REPEATED for name in SECRET if request.form.get(name)}


def _shown_again(form: NoticeForm, wish: Notice | None = None) -> Response:
    """A form that was sent to be shown alone."""
    again = _unrepeated()
    refused = RefusedForm("notice", {}, _NEVER_REPEATED, again) if again else None
    return show(form, refused, wish=wish)


def _by_field(wrong: Sequence[Detail]) -> dict[str, str]:
    """What is said beside each field."""
    said = {}
    fields = (
        dict.fromkeys(_FIELDS, "mail_server") if request.form.get("channel") == MAIL else _FIELDS
    )
    for each in reversed(wrong):
        told = each.message if isinstance(each, LocatedDetail) else f"It {each.message}."
        said[fields.get(each.path, each.path)] = told
    return said


def _why(said: str) -> str:
    """What is said above a form that comes back."""
    return f"{said} {_NEVER_REPEATED}" if _unrepeated() else said


def _targets() -> TargetPolicy:
    """Which addresses get a webhook: what the courier judges by, whatever sites may be read."""
    return TargetPolicy(context().targets.allow)


class NoticeAnswer(Struct, frozen=True):
    """What the page of a notice answers to a form: what was said, why not, and a secret, once."""

    said: str = ""
    refusal: str = ""
    secret: str | None = None
    form: NoticeForm | None = None
    refused: RefusedForm | None = None
    seen: str | None = None
    wish: Notice | None = None


@at_one_moment
def show_one(notice: str, told: NoticeAnswer | None = None, status: int = 200) -> Response:
    """The page of a notice: what it tells, what became of its last messages, and what it may be.

    With what it answers to a form that was sent.
    """
    kept, told = find_notice(g.db, notice), told or NoticeAnswer()
    owner, zone = g.caller.owner, context().zone
    form, is_edited = told.form or NoticeForm.of_notice(kept), "edit" in request.args
    messages = delivering.deliveries(g.db, kept, LAST)
    deliveries = [delivering.delivery_as_json(each) for each in messages]
    about = [each.data["dataset"]["id"] for each in messages if each.data["dataset"]]
    listing = subscriptions.listed(g.db, owner, zone, [*about, *form.datasets])
    (shown,) = shown_notices([each for each in listing.notices if each.id == kept.id], listing)
    return page(
        "notice.html",
        data=lambda: {"data": as_json(kept, listing.datasets), "deliveries": deliveries},
        status=status,
        notice=shown,
        deliveries=deliveries,
        datasets=listing.datasets,
        has_more=listing.has_more,
        told=told,
        said=told.said or SAID.get(request.args.get("done", "")),
        form=form,
        known_columns=known_columns(form, listing.datasets),
        edits=is_edited or told.form is not None,
        refused=told.refused,
        seen=told.seen or subscriptions.fingerprint(kept),
        **_CHOICES,
        zone=zone,
        request_id=sessions.make_token(),
        about=Subject(owner),
        **(tried_lately(told.wish, zone) if told.wish else {}),
    )


def save(notice: str) -> Response:
    """Let a notice tell what its form says; its channel and its address stay."""
    form, store, owner = NoticeForm.of(request.form), context().store, g.caller.owner
    kept, seen = find_notice(store, notice), request.form.get("seen", "")
    act = request.form.get("act")
    if act == "fields":
        return show_one(notice, NoticeAnswer(form=form, seen=seen))
    wish, wrong = form.wish(kept.target)
    # One that is deleted may stay: without any it would tell of all.
    known = {*_known(wish), *(kept.datasets or ())}
    wrong += [*_gone(wish, known), *_unfit(wish)]
    if act == "try" and not _of_changes(wrong):
        return show_one(notice, NoticeAnswer(form=form, seen=seen, wish=_as_notice(wish)))
    try:
        if wrong:
            raise Invalid("", tuple(wrong))
        subscriptions.update(store, owner, kept.id, wish, seen, context().zone)
    except Invalid as error:
        refused = RefusedForm("notice", {}, WRONG, _by_field(error.details))
        return show_one(notice, NoticeAnswer(form=form, refused=refused, seen=seen), 422)
    except ChangedMeanwhile:
        refused = RefusedForm("notice", {}, CHANGED)
        return show_one(notice, NoticeAnswer(form=form, refused=refused), 409)
    except Conflict as error:
        refused = RefusedForm("notice", {}, f"{sentences(error)} {WRONG}")
        return show_one(notice, NoticeAnswer(form=form, refused=refused, seen=seen), 409)
    return redirect(f"/notices/{notice}?done=saved", 303)


def set_state(notice: str) -> Response:
    """Pause a notice, or resume it."""
    kept, store, owner = find_notice(context().store, notice), context().store, g.caller.owner
    match request.form.get("act"):
        case "pause":
            subscriptions.pause(store, owner, kept.id)
            return redirect(f"/notices/{notice}?done=paused", 303)
        case "resume":
            subscriptions.resume(store, owner, kept.id, context().zone)
            return redirect(f"/notices/{notice}?done=resumed", 303)
    told = NoticeAnswer(refusal="Nothing was done: pause it or resume it.")
    return show_one(notice, told, 422)


def send_again(notice: str) -> Response:
    """Let a message be delivered that was given up."""
    kept, store, owner = find_notice(context().store, notice), context().store, g.caller.owner
    message = MessageId(identified(request.form.get("message", "")))
    try:
        given_up_at = Micros(ids.parse_timestamp(request.form.get("ended", "")))
        subscriptions.send_again(store, owner, kept.id, message, given_up_at)
    except ValueError:
        refusal = "Nothing was done: choose a message that was given up."
        return show_one(notice, NoticeAnswer(refusal=refusal), 422)
    except Conflict as error:
        return show_one(notice, NoticeAnswer(refusal=sentences(error)), 409)
    return redirect(f"/notices/{notice}?done=again", 303)


def test(notice: str) -> Response:
    """Deliver a message now that says it is a test."""
    kept = find_notice(context().store, notice)
    if shell_only := channel_of(kept.channel).shell_only:
        return show_one(notice, NoticeAnswer(refusal=f"{shell_only.tested}."), 409)
    # Who clicks twice sends one message twice, as after a crash: receivers know it by its id.
    made = sessions.secret_of(g.visit, request_id_of(request.form), notice)
    event = trial_event(kept, context().public_url, ids.format_uuid(made[: ids.ID_LENGTH]))
    # In no transaction: a receiver may take its time.
    problem = courier.send(kept, event, _targets(), Event())
    if problem is None:
        return show_one(notice, NoticeAnswer("The test was delivered."))
    # What helps may be a setting, which only the operator changes; others learn whom to ask.
    lines = hints(problem.remedies, Subject(g.caller.owner))
    refusal = " ".join([f"Not delivered: {sentence(problem)}", *lines])
    return show_one(notice, NoticeAnswer(refusal=refusal))


def remove(notice: str) -> Response:
    """End a notice, with what still waits, if a person is sure."""
    store, owner = context().store, g.caller.owner
    name = subscriptions.name_of(store, owner, NoticeId(identified(notice)))
    if request.form.get("sure") != "yes":
        refusal = "Nothing was removed: say that you are sure."
        return show_one(notice, NoticeAnswer(refusal=refusal), 422)
    subscriptions.remove(store, owner, name)
    # Its page is gone.
    return redirect("/notices", 303)
