"""The form of a new notice: what a person types, or a link has typed, and what is wished by it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from flask import g
from msgspec import Struct
from werkzeug.datastructures import MultiDict

from livedata.model import ids
from livedata.model.errors import Detail, Invalid, LocatedDetail
from livedata.model.ids import DatasetId, Micros
from livedata.model.row import REVISION_KINDS
from livedata.pages.settings import COMMON, OTHER
from livedata.rules.declaration.notices import (
    KINDS,
    MOST_RUNS,
    ChangeFilter,
    Clash,
    clashes,
    format_span,
    parse_span,
    usual_kinds,
)
from livedata.services.pages.row_edits import as_sent
from livedata.store import datasets
from livedata.store.notices import Subscription

ALL: Final = "all"
"""What the form says of datasets if it is not only of those that are ticked."""
MOST_BOXES: Final = 60
"""So many columns are boxes to tick at most."""
_LOOKED_AT: Final = 100
"""The columns of so many datasets are asked for what they are called."""
_CLASHES: Final[Mapping[Clash, tuple[str, str]]] = {
    "silent": ("silent", "Silence and how long it lasts go together: give both, or neither."),
    "filter": ("when", "This is about changes: choose them above, or empty what narrows them."),
    "digest": ("digest", "Only changes are told together: choose them above, or “at once”."),
}


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
            when="\n".join(map(as_sent, given.getlist("when"))),
            kinds=given.getlist("kind"),
            columns=as_sent(", ".join(given.getlist("columns"))),
            ignore=as_sent(", ".join(given.getlist("ignore"))),
            common=given.get("common", OTHER if text["digest"] else ""),
            digest=text["digest"],
            channel=given.get("channel", "webhook"),
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
    def column_names(self) -> list[str]:
        """The columns of which one has to change."""
        return _names(self.columns)

    @property
    def ignored_names(self) -> list[str]:
        """The columns that do not count."""
        return _names(self.ignore)

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
            *(self.name, self.channel, target, self._kinds, chosen or None, threshold or 1),
            *(None if isinstance(silent, Detail) else silent, wanted, digest),
        ), wrong

    def _clashes(self) -> Iterator[Clash]:
        silent = self._silent_for()
        # What cannot be read as a time is said once, and not taken for none.
        span = Micros(0) if isinstance(silent, Detail) else silent
        return clashes(self._kinds, span, self._filter(), self._digest())

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
        clauses = [line.strip() for line in self.when.splitlines() if line.strip()]
        wanted = ChangeFilter(clauses, kinds, self.column_names, self.ignored_names)
        return wanted if clauses or kinds or wanted.columns or wanted.ignore else None


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


def agreed(named: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The labels of columns by their names, where there is one of each."""
    labels: dict[str, set[str]] = {}
    for name, label in named:
        labels.setdefault(name, set()).add(label)
    return {name: next(iter(given)) for name, given in labels.items() if len(given) == 1}


def _names(text: str) -> list[str]:
    parts = (part.strip() for part in text.replace("\n", ",").split(","))
    return list(dict.fromkeys(filter(None, parts)))


def whole(field: str, said: str) -> Detail:
    """What is wrong with a field, as a whole sentence."""
    return LocatedDetail(field, said, is_predicate=False)
