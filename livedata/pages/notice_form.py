"""The form of a new notice: what a person types, or a link has typed, and what is wished by it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple
from urllib.parse import quote, urlencode

from flask import g
from msgspec import Struct
from werkzeug.datastructures import MultiDict

from livedata.api.queries import identified
from livedata.messages.render import sentence
from livedata.model import ids
from livedata.model.errors import Detail, Invalid, LocatedDetail
from livedata.model.ids import DatasetId, Micros, NoticeId
from livedata.model.row import REVISION_KINDS, RevisionKind
from livedata.pages.settings import COMMON, OTHER
from livedata.rules.declaration.notices import (
    CHANNELS,
    KINDS,
    MOST_RUNS,
    ChangeFilter,
    Channel,
    ChannelOffer,
    Clash,
    channel_of,
    clashes,
    format_span,
    parse_span,
    usual_kinds,
)
from livedata.services.notices import subscriptions
from livedata.services.notices.subscriptions import Listing, as_json
from livedata.services.pages.row_edits import as_sent
from livedata.store import datasets
from livedata.store.database.store import Database
from livedata.store.notices import Notice, NoticeState, Subscription

ALL: Final = "all"
"""What the form says of datasets if it is not only of those that are ticked."""
MOST_BOXES: Final = 60
"""So many columns are boxes to tick at most."""
BECAME: Final[Mapping[RevisionKind, str]] = {
    "baseline": "were imported",
    "created": "are new",
    "updated": "changed",
    "missing": "are gone",
    "returned": "are back",
}
"""What became of the rows that a notice tells of, by the kind of their changes."""
_LOOKED_AT: Final = 100
"""The columns of so many datasets are asked for what they are called."""
_CLASHES: Final[Mapping[Clash, tuple[str, str]]] = {
    "silent": ("silent", "Silence and how long it lasts go together: give both, or neither."),
    "filter": ("when", "This is about changes: choose them above, or empty what narrows them."),
    "digest": ("digest", "Only changes are told together: choose them above, or “at once”."),
}
MAIL: Final = "mail"
"""What the form calls an address of Apprise that it makes of the parts of a mailbox."""
OFFERS: Final[Mapping[str, tuple[Channel, ChannelOffer]]] = {
    name: (channel, offer)
    for channel in CHANNELS.values()
    for name, offer in channel.offers.items()
}
"""What the form offers to tell by, by what it calls each."""
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+(:[0-9]{1,5})?")
_ENCRYPTED_FROM_THE_START: Final = ":465"
_OF_COLUMN: Final = "column-"
"""How the names of the fields begin that say of a column what its changes are."""
OF_COLUMNS: Final[Mapping[str, str]] = {
    "columns": "Tell of it",
    "": "Don’t care",
    "ignore": "Ignore",
    "both": "Tell of it, but never of it alone",
}
"""What may be said of a column; the last of one of which a command says so."""
OPERATORS: Final[Mapping[str, Mapping[str, str]]] = {
    "Of any cell": {
        "=": "is …",
        "!=": "is not …",
        "is empty": "is empty",
        "is not empty": "is not empty",
        "changes": "changes",
    },
    "Of a number or a date": {
        "<": "is below, or before …",
        "<=": "is at most …",
        ">": "is above, or after …",
        ">=": "is at least …",
    },
    "Of a number": {
        "falls": "falls",
        "falls by": "falls by … or more",
        "rises": "rises",
        "rises by": "rises by … or more",
        "reaches a new low": "reaches a new low",
        "reaches a new high": "reaches a new high",
    },
    "Of a text": {
        "contains": "contains …",
        "starts with": "starts with …",
        "ends with": "ends with …",
    },
    "Of the row itself": {"is new": "is new", "is gone": "is gone", "is back": "is back"},
}
"""What a condition asks, in words, by what it may be asked of."""
_LONGEST_FIRST: Final = sorted(chain.from_iterable(OPERATORS.values()), key=len, reverse=True)


class ConditionRow(NamedTuple):
    """A clause as the fields of a form have it."""

    column: str
    operator: str
    value: str

    @classmethod
    def of(cls, clause: str) -> ConditionRow | None:
        """The fields that say the same as a clause; None for one that none of them say."""
        column, _, rest = clause.partition(" ")
        rest = rest.strip()
        for operator in _LONGEST_FIRST:
            if f"{rest} ".startswith(f"{operator} "):
                return cls(column, operator, rest.removeprefix(operator).strip())
        return None

    @property
    def clause(self) -> str:
        """What these fields say."""
        return " ".join(filter(None, (each.strip() for each in self)))


class NoticeForm(Struct, frozen=True):
    """What a form, or the address of a page that begins one, says of a notice, as it is typed."""

    name: str
    scope: str
    datasets: Sequence[str]
    on: Sequence[str]
    after: str
    silent: str
    when: str
    kinds: Sequence[str]
    columns: str
    ignore: str
    common: str
    digest: str
    channel: str

    @classmethod
    def of(cls, given: MultiDict[str, str]) -> NoticeForm:
        """The form that came, or an empty one with what an address says."""
        # White space at the edges is typed by nobody who means it, and pasted by many.
        text = {name: as_sent(given.get(name, "")).strip() for name in ("name", "silent", "digest")}
        datasets = list(dict.fromkeys(filter(None, given.getlist("dataset"))))
        # Of a form that came nothing is chosen that was not chosen there.
        usual = usual_kinds(None) if "name" not in given else []
        return cls(
            name=text["name"],
            scope=given.get("scope", "these" if datasets else ALL),
            datasets=datasets,
            on=given.getlist("on") or usual,
            after=given.get("after", "2").strip(),
            silent=text["silent"],
            when="\n".join([*_typed_clauses(given), *map(as_sent, given.getlist("when"))]),
            kinds=given.getlist("kind"),
            columns=_chosen_columns(given, "columns"),
            ignore=_chosen_columns(given, "ignore"),
            common=given.get("common", OTHER if text["digest"] else ""),
            digest=text["digest"],
            channel=given.get("channel", next(iter(OFFERS))),
        )

    @classmethod
    def of_notice(cls, kept: Subscription) -> NoticeForm:
        """The form that says what a notice says."""
        wanted, digest = kept.change_filter or ChangeFilter(), kept.digest or ""
        return cls(
            name=kept.name,
            scope="these" if kept.datasets else ALL,
            datasets=[*(kept.datasets or ())],
            on=[*kept.kinds],
            after=str(kept.threshold),
            silent="" if kept.silent_for is None else format_span(kept.silent_for),
            when="\n".join(wanted.when),
            kinds=[*wanted.kinds],
            columns=", ".join(wanted.columns),
            ignore=", ".join(wanted.ignore),
            common=digest if digest in COMMON else digest and OTHER,
            digest="" if digest in COMMON else digest,
            channel=kept.channel,
        )

    @property
    def narrows(self) -> bool:
        """Whether it says which changes are told."""
        return bool(self.when or self.kinds or self.columns or self.ignore)

    @property
    def clauses(self) -> list[str]:
        """What has to hold of a change."""
        return [*filter(None, map(str.strip, self.when.splitlines()))]

    @property
    def conditions(self) -> list[ConditionRow]:
        """The first clauses, as many as fields can say."""
        rows = [*map(ConditionRow.of, self.clauses)]
        end = rows.index(None) if None in rows else len(rows)
        return [row for row in rows[:end] if row is not None]

    @property
    def others(self) -> str:
        """The clauses behind those, a line each."""
        return "\n".join(self.clauses[len(self.conditions) :])

    @property
    def column_names(self) -> list[str]:
        """The columns of which one has to change."""
        return _names(self.columns)

    @property
    def ignored_names(self) -> list[str]:
        """The columns that do not count."""
        return _names(self.ignore)

    def said_of(self, column: str) -> str:
        """What is chosen of a column."""
        chosen = column in self.column_names, column in self.ignored_names
        return {(True, True): "both", (True, False): "columns", (False, True): "ignore"}.get(
            chosen, ""
        )

    def wish(self, target: str) -> tuple[Subscription, list[Detail]]:
        """What is wished, and what of it cannot be read."""
        wrong = [whole(*_CLASHES[clash]) for clash in self._clashes()]
        silent, threshold = self._silent_for(), self._threshold()
        if isinstance(silent, Detail):
            wrong.append(silent)
        if threshold is None:
            wrong.append(whole("after", f"It must be a whole number from 1 to {MOST_RUNS}."))
        if not self._kinds:
            wrong.append(whole("on", "Choose of what it tells."))
        # What stays ticked behind “all” is not meant.
        chosen = [] if self.scope == ALL else self.datasets
        if self.scope != ALL and not chosen:
            wrong.append(whole("dataset", "Choose one dataset at least, or all of them."))
        if self.common not in {OTHER, "", *COMMON}:
            wrong.append(whole("digest", "Choose one of these."))
        wanted, digest = self._filter(), self._digest()
        return Subscription(
            *(self.name, self._channel, target),
            *(self._kinds, chosen or None, threshold or 1),
            *(None if isinstance(silent, Detail) else silent, wanted, digest),
        ), wrong

    def _clashes(self) -> Iterator[Clash]:
        silent = self._silent_for()
        # What cannot be read as a time is said once, and not taken for none.
        span = Micros(0) if isinstance(silent, Detail) else silent
        return clashes(self._kinds, span, self._filter(), self._digest())

    @property
    def _channel(self) -> str:
        """The name of the channel by which it is told."""
        return OFFERS[self.channel][0].name if self.channel in OFFERS else self.channel

    @property
    def _kinds(self) -> list[str]:
        return [kind for kind in KINDS if kind in self.on]

    def _threshold(self) -> int | None:
        is_number = self.after.isascii() and self.after.isdecimal() and len(self.after) < 5
        number = int(self.after) if is_number else 0
        return number if 1 <= number <= MOST_RUNS else None

    def _silent_for(self) -> Micros | Detail | None:
        try:
            return parse_span(self.silent) if self.silent else None
        except Invalid as error:
            return whole("silent", f"{error.message}.")

    def _digest(self) -> str | None:
        return (self.digest if self.common == OTHER else self.common) or None

    def _filter(self) -> ChangeFilter | None:
        kinds = [kind for kind in REVISION_KINDS if kind in self.kinds]
        clauses, columns = self.clauses, self.column_names
        wanted = ChangeFilter(clauses, kinds, columns, self.ignored_names)
        return wanted if clauses or kinds or wanted.columns or wanted.ignore else None


def target_of(form: Mapping[str, str]) -> tuple[str, list[Detail]]:
    """The address that a form tells, and what is wrong with the parts of a mailbox."""
    if form.get("channel") != MAIL:
        return form.get("target", "").strip(), []
    named = (f"mail_{part}" for part in ("to", "server", "user", "password"))
    to, server, user, password = (form.get(name, "").strip() for name in named)
    wrong = []
    if "@" not in to:
        wrong.append(whole("mail_to", "Whom to mail, such as ada@example.org."))
    if not _HOST.fullmatch(server):
        wrong.append(whole("mail_server", "A host, such as smtp.example.org, or with its port."))
    login = f"{quote(user, '')}:{quote(password, '')}@" if user else ""
    said = {"to": to, "from": user if "@" in user else to}
    if server.endswith(_ENCRYPTED_FROM_THE_START):
        said["mode"] = "ssl"
    return f"mailtos://{login}{server}/?{urlencode(said, quote_via=quote)}", wrong


def column_labels(keys: Iterable[str]) -> dict[str, list[tuple[str, str]]]:
    """The names and the labels of the columns of each dataset, of the first ones."""
    wanted = [DatasetId(ids.raw_id(key)) for key in [*dict.fromkeys(keys)][:_LOOKED_AT]]
    with g.db.reading() as reader:
        refs = datasets.refs(reader, g.caller.owner, wanted) if wanted else {}
    return {
        ids.format_uuid(key): [
            (each["name"], each["label"]) for each in ref.fields.columns.values()
        ]
        for key, ref in refs.items()
    }


def known_columns(form: NoticeForm, known: Collection[str]) -> dict[str, str]:
    """What the columns are called of the datasets of a form; none if they are too many to choose.

    Of all datasets none is: names are typed there.
    """
    if form.scope == ALL:
        return {}
    named = [
        *chain.from_iterable(column_labels(key for key in form.datasets if key in known).values())
    ]
    names, called = dict.fromkeys(name for name, _ in named), agreed(named)
    return {name: called.get(name, name) for name in names} if len(names) <= MOST_BOXES else {}


def shown_notices(notices: Sequence[Notice], listing: Listing) -> list[dict[str, object]]:
    """Notices as pages show them, with what the columns are called that they name."""
    narrowed = {
        notice.id: [*(listing.datasets if notice.datasets is None else notice.datasets)]
        for notice in notices
        if notice.change_filter and (notice.change_filter.columns or notice.change_filter.ignore)
    }
    labels = column_labels(chain.from_iterable(narrowed.values()))
    # One that is called otherwise in another dataset is called by its name.
    told = {
        notice: agreed(chain.from_iterable(labels.get(key, ()) for key in of))
        for notice, of in narrowed.items()
    }
    return [{**_shown(each, listing), "labels": told.get(each.id, {})} for each in notices]


def _shown(notice: Notice, listing: Listing) -> dict[str, object]:
    """A notice as JSON has it, how its messages fare, and what is to be known of its channel."""
    state = listing.states.get(notice.id, NoticeState())
    # Of what a person has turned off nothing is wrong any more.
    is_told = notice.ended_at is None or state.is_unwanted
    channel, said = channel_of(notice.channel), as_json(notice, listing.datasets)
    return {
        **said,
        "by": channel,
        "word": channel.word(str(said["target"])),
        "id": ids.format_uuid(notice.id),
        "waiting": state.waiting,
        "sentAt": ids.format_optional_timestamp(state.sent_at),
        "problem": sentence(state.problem) if state.problem and is_told else None,
        "isUnwanted": state.is_unwanted,
        "tries": state.tries,
        "nextTryAt": ids.format_optional_timestamp(state.due_at),
        "since": ids.format_optional_timestamp(state.since),
    }


def find_notice(db: Database, notice: str) -> Notice:
    """The notice of an address. Raises NotFound."""
    name = subscriptions.name_of(db, g.caller.owner, NoticeId(identified(notice)))
    return subscriptions.find(db, g.caller.owner, name)


def agreed(named: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The labels of columns by their names, where there is one of each."""
    labels: dict[str, set[str]] = {}
    for name, label in named:
        labels.setdefault(name, set()).add(label)
    return {name: next(iter(given)) for name, given in labels.items() if len(given) == 1}


def _typed_clauses(given: MultiDict[str, str]) -> Iterator[str]:
    """What the fields of the conditions say; what is asked of nothing is no condition yet."""
    columns, operators, values = (
        [as_sent(text).replace("\n", " ") for text in given.getlist(name)]
        for name in ("filter", "operator", "value")
    )
    for row in map(ConditionRow, columns, operators, values):
        if row.column.strip() or row.value.strip():
            yield row.clause


def _chosen_columns(given: MultiDict[str, str], wanted: str) -> str:
    """The columns of which a form says this, as a list or of each of them."""
    named = [
        name.removeprefix(_OF_COLUMN)
        for name, said in given.items()
        if name.startswith(_OF_COLUMN) and said in {wanted, "both"}
    ]
    return as_sent(", ".join([*given.getlist(wanted), *named]))


def _names(text: str) -> list[str]:
    parts = (part.strip() for part in text.replace("\n", ",").split(","))
    return list(dict.fromkeys(filter(None, parts)))


def whole(field: str, said: str) -> Detail:
    """What is wrong with a field, as a whole sentence."""
    return LocatedDetail(field, said, is_predicate=False)
