"""The sources of a folder as they were read, and all that is wrong with them together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from msgspec import Struct

from livedata.messages.request import summary
from livedata.model.errors import Detail, Invalid, LocatedDetail
from livedata.model.source_file import FileNotice, SourceFile
from livedata.rules.declaration import consistency
from livedata.rules.declaration.cron import schedule_problem
from livedata.rules.declaration.declaration_text import DeclarationText
from livedata.rules.declaration.notices import (
    ChangeFilter,
    Clash,
    clashes,
    parse_kinds,
    parse_span,
    usual_kinds,
)
from livedata.rules.network.targets import TargetPolicy
from livedata.store.notices import Subscription

_CLASHES: Final[Mapping[Clash, Detail]] = {
    "silent": Detail("silent-for", 'goes with silent in on: give both, such as "2d", or neither'),
    "filter": Detail("on", "must have changes: when, kind, columns and ignore are about them"),
    "digest": Detail("on", "must have changes: digest gathers them"),
}


class FolderSource(Struct, frozen=True):
    """A source of the folder as it was read; `targets` are those of its notices."""

    file: str
    declared: SourceFile
    written: DeclarationText
    targets: Sequence[tuple[str, str]] = ()

    @property
    def name(self) -> str:
        """The name of its dataset."""
        return self.declared.name

    @property
    def schedule(self) -> dict[str, str]:
        """What it says of its schedule, by the names of an update."""
        given = self.declared.schedule
        wanted = {} if given is None else {"schedule": given.cron, "status": given.status}
        return {name: value for name, value in wanted.items() if value is not None}


class Problems:
    """All that is wrong in the files of a folder, with the place of each."""

    def __init__(self) -> None:
        self._details: list[Detail] = []

    @property
    def details(self) -> Sequence[Detail]:
        """What was refused so far; an error names the first of them only."""
        return tuple(self._details)

    @contextmanager
    def of(self, written: DeclarationText | None = None, path: str = "") -> Iterator[None]:
        """Keep what is refused meanwhile; below a `path` of the file that was written."""
        try:
            yield
        except Invalid as error:
            self.add(error, written, path)

    def add(self, error: Invalid, written: DeclarationText | None = None, path: str = "") -> None:
        """Keep an error; below a `path` of the file that was written."""
        inner = _below(path, error) if path else error
        located = inner if written is None else written.locate(inner)
        # An error without details, such as a name that is taken, is told as one.
        whole = LocatedDetail("", located.message, located.remedies)
        self._details += located.details or (whole,)

    def check(self) -> None:
        """Raise Invalid if anything was refused."""
        if self._details:
            said = summary(self._details[0].message.removesuffix("."), len(self._details))
            raise Invalid(said, tuple(self._details))


def judge(sources: Sequence[FolderSource], targets: TargetPolicy, problems: Problems) -> None:
    """Keep in `problems` all that is wrong with sources, whatever the store has."""
    places = _Names("name")
    shown = _Names("notice")
    for source in sources:
        declared, written = source.declared, source.written
        # One by one: who mends a folder sees all that is wrong in it, and not the first of each.
        with problems.of(written):
            consistency.check(declared, targets)
        with problems.of(written):
            consistency.check_name(declared.name)
        with problems.of(written):
            places.take(source, "name", declared.name)
        with problems.of(written, "schedule"):
            _check_cron(declared)
        for number, notice in enumerate(declared.notice or ()):
            path = f"notice[{number}]"
            with problems.of(written):
                shown.take(source, f"{path}.name", notice.name)
            with problems.of(written, path):
                wish(notice)
        labels = [share.label for share in declared.share or ()]
        for number, label in enumerate(labels):
            if label in labels[:number]:
                with problems.of(written, f"share[{number}]"):
                    raise wrong("label", f'repeats "{label}"; a label names one share of a file')


class _Names:
    """Names that one file alone may have."""

    def __init__(self, kind: str) -> None:
        self._kind, self._first = kind, dict[str, str]()

    def take(self, source: FolderSource, path: str, name: str) -> None:
        first = self._first.setdefault(name, f"{source.file}:{path}")
        file = first.removesuffix(f":{path}")
        if first != f"{source.file}:{path}":
            what = "dataset" if self._kind == "name" else "notice"
            raise wrong(path, f'repeats "{name}" of {file}; a {what} stands in one file')


def wish(given: FileNotice, channel: str = "", target: str = "") -> Subscription:
    """What a notice of a file wishes, of no dataset yet. Raises Invalid with a detail for each."""
    details: list[Detail] = []

    def parsed(option: str, text: str | None, parse: Callable[[str], Any]) -> Any:
        try:
            return None if text is None else parse(text)
        except Invalid as error:
            details.append(Detail(option, error.message, is_predicate=False))
            return None

    silent_for = parsed("silent-for", given.silent_for, parse_span)
    kinds = parsed("on", given.on, parse_kinds) or usual_kinds(silent_for)
    narrowed: ChangeFilter | None = ChangeFilter(
        given.when or (), given.kind or (), split_names(given.columns), given.ignore or ()
    )
    # A filter that leaves out nothing is kept as none, as `notice add` does: else it would differ.
    narrowed = None if narrowed == ChangeFilter() else narrowed
    if not details:
        details += [_CLASHES[clash] for clash in clashes(kinds, silent_for, narrowed, given.digest)]
    if given.digest is not None and (problem := schedule_problem(given.digest)) is not None:
        details.append(Detail("digest", problem))
    if details:
        raise Invalid(details[0].message, tuple(details))
    # As the option of `notice add` has it.
    after = 2 if given.after is None else given.after
    return Subscription(
        given.name, channel, target, kinds, None, after, silent_for, narrowed, given.digest
    )


def split_names(text: str | None) -> tuple[str, ...]:
    """The names of columns with commas between them."""
    return tuple(dict.fromkeys(name for part in (text or "").split(",") if (name := part.strip())))


def _check_cron(declared: SourceFile) -> None:
    cron = None if declared.schedule is None else declared.schedule.cron
    problem = None if cron is None else schedule_problem(cron)
    if problem is not None:
        raise wrong("cron", problem)


def wrong(path: str, why: str) -> Invalid:
    """The error of a wrong place, which goes on after its path."""
    return Invalid(f"{path} {why}.", (Detail(path, why),))


def _below(path: str, error: Invalid) -> Invalid:
    """The same error, its details below a path."""
    details = tuple(
        Detail(f"{path}.{d.path}", d.message.removesuffix("."), d.remedies, d.is_predicate)
        for d in error.details
    ) or (Detail(path, error.message.removesuffix("."), error.remedies, is_predicate=False),)
    return Invalid(error.message, details, error.remedies)


def address_of(pinned: object) -> str | None:
    """The address that a recipe of selectors reads; None for what no file declares."""
    if not isinstance(pinned, dict) or "itemSelector" not in pinned:
        return None
    return str(pinned["url"])
