"""Notices: whom to tell of what, and how; and how their messages fare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from livedata.model.ids import DatasetId, MessageId, Micros, NoticeId, OwnerName, RunId
from livedata.model.problem import Problem
from livedata.rules.declaration.notices import ChangeFilter
from livedata.store.database.backend import SYMPTOMS, Reader, Row, Writer
from livedata.store.database.codec import NAMES, PROBLEM, TOLD, JsonColumn, dump
from livedata.store.database.statements import insert, listed
from livedata.store.outbox import Stream

CHANGE_FILTER = JsonColumn[ChangeFilter](ChangeFilter)
_COLUMNS = (
    *("id", "owner", "name", "channel", "target", "secret", "kinds", "datasets", "threshold"),
    *("silent_for", "change_filter", "digest", "created_at", "ended_at"),
    *("digest_at", "digest_zone"),
)
_SELECT = f"SELECT {', '.join(f'n.{column}' for column in _COLUMNS)} FROM notices n"  # noqa: S608
_STREAMS = f"""
SELECT {", ".join(f"n.{column}" for column in _COLUMNS)}, s.failures, s.failing, s.silent
FROM notices n LEFT JOIN notice_streams s ON s.notice_id = n.id AND s.dataset_id = :dataset
WHERE n.owner = :owner ORDER BY n.name
"""  # noqa: S608  (our names)
_ADD = insert("notices", *_COLUMNS)
_CHANGED = (
    *("name", "target", "kinds", "datasets", "threshold", "silent_for", "change_filter", "digest"),
    *("digest_at", "digest_zone"),
)
_CHANGE = (
    f"UPDATE notices SET {', '.join(f'{column} = :{column}' for column in _CHANGED)} "  # noqa: S608
    "WHERE id = :id"
)

# The facts of the newest accepted Run are never let go of, so their index has that Run.
_SINCE = (
    "coalesce((SELECT max(r.completed_at) FROM runs r WHERE r.dataset_id = d.id "
    "AND r.status = 'succeeded' AND r.facts IS NOT NULL), d.created_at)"
)


class Subscription(Struct, frozen=True):
    """A wish to be told: of these kinds, by this channel, of all datasets or of some by their ids.

    `threshold` is how many Runs in a row fail before that is told, `silent_for` how long nothing
    may be accepted, in microseconds; `change_filter` says which changes are told, None for all, and
    `digest` is the cron by which they are told together, None for at once.
    """

    name: str
    channel: str
    target: str
    kinds: Sequence[str]
    datasets: Sequence[str] | None
    threshold: int
    silent_for: Micros | None
    change_filter: ChangeFilter | None = None
    digest: str | None = None

    def _without_secrets(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    __repr__ = _without_secrets  # a target may hold a password


class Notice(Subscription, frozen=True, kw_only=True):
    """A wish as it is kept; `ended_at` is when its receiver wanted no more.

    `digest_at` is when its digest fires next, as reckoned in the time zone `digest_zone`.
    """

    id: NoticeId
    owner: OwnerName
    secret: str | None
    created_at: Micros
    ended_at: Micros | None = None
    digest_at: Micros | None = None
    digest_zone: str | None = None


class Concerned(Struct, frozen=True):
    """The dataset of a Run that has ended, if there are notices that may tell of it."""

    dataset: DatasetId
    name: str
    owner: OwnerName
    head: int


class Quiet(Struct, frozen=True):
    """A dataset that is not paused, and since when no Run of it was accepted.

    If none ever was, that is when the dataset was made.
    """

    dataset: DatasetId
    name: str
    since: Micros


class MessageState(Struct, frozen=True):
    """A message, and what came of it: `status` is waiting, sent or given_up.

    `tries` and `due_at` are of its stream, and mean the first that waits there.
    """

    id: MessageId
    dataset: DatasetId
    kind: str
    data: dict[str, Any]
    created_at: Micros
    status: str
    ended_at: Micros | None
    problem: Problem | None
    tries: int
    due_at: Micros | None


class NoticeState(Struct, frozen=True):
    """How the messages of a notice fare: how many wait, and when one arrived last.

    `problem` is why the last one did not arrive, if none has since; it is tried again at `due_at`,
    for which there were `tries`, or was given up if that is None. `since` is when that was, or when
    what waits was written.
    """

    waiting: int = 0
    sent_at: Micros | None = None
    problem: Problem | None = None
    tries: int = 0
    due_at: Micros | None = None
    since: Micros | None = None

    @property
    def is_unwanted(self) -> bool:
        """Whether the receiver has said that it wants no more."""
        return self.problem is not None and self.problem.code == "notice.gone"


def add(writer: Writer, notice: Notice) -> None:
    """Add a notice. Raises AlreadyThere if its owner has one of that name."""
    writer.execute(_ADD, **_kept(notice))


def _kept(notice: Notice) -> dict[str, Any]:
    """A notice by its columns."""
    values = asdict(notice)
    values["kinds"] = dump(list(notice.kinds))
    values["datasets"] = None if notice.datasets is None else dump(list(notice.datasets))
    wanted = notice.change_filter
    values["change_filter"] = None if wanted is None else dump(wanted)
    return values


def change(writer: Writer, notice: Notice) -> None:
    """Keep what a notice says now; its owner is locked. Raises AlreadyThere for a name in use."""
    writer.execute(_CHANGE, **_kept(notice))


def turn_on(writer: Writer, notice: NoticeId) -> None:
    """Let a notice tell again, as if it knew nothing of its datasets; its owner is locked."""
    writer.execute(
        "UPDATE notice_streams SET failures = 0, failing = FALSE, silent = FALSE "
        "WHERE notice_id = :id",
        id=notice,
    )
    writer.execute("UPDATE notices SET ended_at = NULL WHERE id = :id", id=notice)


def by_name(reader: Reader, owner: OwnerName) -> dict[str, NoticeId]:
    """Name -> id of every notice of an owner, also of one that cannot be read."""
    sql = "SELECT name, id FROM notices WHERE owner = :owner ORDER BY name"
    return dict(reader.rows(sql, owner=owner))


def readable(reader: Reader, owner: OwnerName) -> Iterator[Notice]:
    """Every notice of an owner but those that cannot be read: `livedata check` names them."""
    return _readable(reader.rows(f"{_SELECT} WHERE n.owner = :owner ORDER BY n.name", owner=owner))


def ask_streams(
    reader: Reader, owner: OwnerName, dataset: DatasetId
) -> Callable[[], list[tuple[Notice, Stream]]]:
    """The same with what each knows of a dataset, asked together with the next question."""
    answer = reader.ask(_STREAMS, owner=owner, dataset=dataset)

    def streams() -> list[tuple[Notice, Stream]]:
        known = {row[0]: Stream.of(row[-3:]) for row in answer()}
        return [(notice, known[notice.id]) for notice in _readable(row[:-3] for row in answer())]

    return streams


def get(reader: Reader, notice: NoticeId) -> Notice | None:
    """One notice; None if it was removed."""
    row = reader.row(f"{_SELECT} WHERE n.id = :id", id=notice)
    return None if row is None else _notice(row)


def remove(writer: Writer, notice: NoticeId) -> None:
    """Remove a notice with all that waits for it; the caller has locked its owner."""
    # The stream before its messages, as whoever delivers one locks them: else each could wait for
    # the other.
    for table in ("notice_streams", "outbox"):
        writer.execute(f"DELETE FROM {table} WHERE notice_id = :id", id=notice)  # noqa: S608
    writer.execute("DELETE FROM notices WHERE id = :id", id=notice)


def end(writer: Writer, notice: NoticeId, now: Micros) -> None:
    """Tell this notice nothing any more."""
    writer.execute(
        "UPDATE notices SET ended_at = :now, digest_at = NULL WHERE id = :id AND ended_at IS NULL",
        id=notice,
        now=now,
    )


def concerned(reader: Reader, run: RunId) -> Concerned | None:
    """The dataset of a Run, if its owner has notices."""
    # One step in each of three indexes: nearly every Run that ends asks this, and has none.
    row = reader.row(
        "SELECT d.id, d.name, d.owner, d.head FROM runs r JOIN datasets d ON d.id = r.dataset_id "
        "WHERE r.id = :run AND EXISTS (SELECT 1 FROM notices n WHERE n.owner = d.owner)",
        run=run,
    )
    return None if row is None else Concerned(*row)


def states(reader: Reader, owner: OwnerName) -> dict[NoticeId, NoticeState]:
    """How the messages fare of each notice of an owner that has any."""
    # Two questions for all notices together: a list of a hundred asks no more than a short one.
    counted = reader.rows(
        "SELECT o.notice_id, count(CASE WHEN o.status = 'waiting' THEN 1 END), "
        "max(CASE WHEN o.status = 'sent' THEN o.ended_at END) "
        "FROM outbox o JOIN notices n ON n.id = o.notice_id WHERE n.owner = :owner "
        "GROUP BY o.notice_id",
        owner=owner,
    )
    known = {key: NoticeState(waiting, sent_at) for key, waiting, sent_at in counted}
    failed = reader.rows(
        "SELECT o.notice_id, o.problem, o.created_at, o.ended_at, s.tries, s.due_at "
        "FROM outbox o JOIN notices n ON n.id = o.notice_id LEFT JOIN notice_streams s "
        "ON s.notice_id = o.notice_id AND s.dataset_id = o.dataset_id "
        "WHERE n.owner = :owner AND o.status <> 'sent' AND o.problem IS NOT NULL "
        "ORDER BY o.created_at",
        owner=owner,
    )
    for key, text, created_at, ended_at, tries, due_at in failed:
        # What waits says more than what was given up, and one that arrived since has mended that.
        state, problem = known[key], _problem(text)
        if ended_at is None:
            tried = {"tries": tries or 0, "due_at": due_at, "since": created_at}
            known[key] = replace(state, problem=problem, **tried)
        elif state.due_at is None and ended_at > (state.sent_at or 0):
            known[key] = replace(state, problem=problem, since=ended_at)
    return known


def of_notice(reader: Reader, notice: NoticeId, limit: int) -> list[MessageState]:
    """The last messages of a notice, the newest first."""
    rows = reader.rows(
        "SELECT o.id, o.dataset_id, o.kind, o.data, o.created_at, o.status, o.ended_at, o.problem, "
        "coalesce(s.tries, 0), s.due_at FROM outbox o LEFT JOIN notice_streams s "
        "ON s.notice_id = o.notice_id AND s.dataset_id = o.dataset_id "
        "WHERE o.notice_id = :notice ORDER BY o.created_at DESC, o.id DESC LIMIT :limit",
        notice=notice,
        limit=limit,
    )
    return [_message(row) for row in rows]


def _message(row: Row) -> MessageState:
    message, dataset, kind, data, created_at, status, ended_at, problem, tries, due_at = row
    ended = (created_at, status, ended_at, _problem(problem))
    return MessageState(message, dataset, kind, TOLD.load(data), *ended, tries, due_at)


def waiting_for_silence(reader: Reader) -> Iterator[Notice]:
    """The notices, of all owners, that tell of silence and can be read."""
    return _readable(
        reader.rows(f"{_SELECT} WHERE n.silent_for IS NOT NULL AND n.ended_at IS NULL")
    )


def unheard(
    reader: Reader, owner: OwnerName, before: Micros, limit: int
) -> list[tuple[DatasetId, Micros]]:
    """The datasets of an owner of which more is to be noted than is, with what.

    That is since when no Run was accepted, of those of which none is noted since a moment.
    """
    of_owner = (
        f"SELECT d.id, {_SINCE} FROM datasets d "  # noqa: S608  (our own words)
        "WHERE d.owner = :owner AND d.status <> 'paused'"
    )
    in_order = "ORDER BY d.heard_at LIMIT :limit"
    rows = reader.rows(
        f"SELECT * FROM ({of_owner} AND d.heard_at IS NULL {in_order}) new "  # noqa: S608
        f"UNION ALL SELECT * FROM ({of_owner} AND d.heard_at < :before "
        f"AND d.heard_at < {_SINCE} {in_order}) old LIMIT :limit",
        owner=owner,
        before=before,
        limit=limit,
    )
    return [(row[0], row[1]) for row in rows]


def hear(writer: Writer, since: Mapping[DatasetId, Micros]) -> int:
    """Note since when no Run was accepted of datasets that are free; how many of them were."""
    # Not when a Run is accepted: that would be one more line in an index for each.
    names, named = listed("dataset", since)
    free = writer.all_locked_if_free(
        f"SELECT id FROM datasets WHERE id IN ({names}) ORDER BY id",  # noqa: S608  (our names)
        **named,
    )
    writer.many(
        "UPDATE datasets SET heard_at = :since WHERE id = :dataset",
        [{"dataset": dataset, "since": since[dataset]} for (dataset,) in free],
    )
    return len(free)


def quiet(reader: Reader, notice: Notice, before: Micros) -> list[Quiet]:
    """The datasets of which none is noted since a moment, and of which a notice has not told it.

    Of all that its owner has and that are not paused.
    """
    rows = reader.rows(
        "SELECT d.id, d.name, d.heard_at FROM datasets d WHERE d.owner = :owner "
        "AND d.status <> 'paused' AND d.heard_at < :before "
        "AND NOT EXISTS (SELECT 1 FROM notice_streams s "
        "WHERE s.notice_id = :notice AND s.dataset_id = d.id AND s.silent) ORDER BY d.name",
        owner=notice.owner,
        notice=notice.id,
        before=before,
    )
    return [Quiet(*row) for row in rows]


def quiet_since(reader: Reader, dataset: DatasetId) -> Micros | None:
    """Since when no Run of a dataset was accepted; None if it is paused."""
    sql = f"SELECT {_SINCE} FROM datasets d WHERE d.id = :dataset AND d.status <> 'paused'"  # noqa: S608
    since: Micros | None = reader.value(sql, dataset=dataset)
    return since


def _readable(rows: Iterable[Row]) -> Iterator[Notice]:
    # One that is damaged must keep no Run from its end, and no other notice from being told.
    for row in rows:
        with suppress(*SYMPTOMS):
            yield _notice(row)


def _notice(row: Row) -> Notice:
    values = dict(zip(_COLUMNS, row, strict=True))
    values["kinds"] = NAMES.load(values["kinds"])
    if values["datasets"] is not None:
        values["datasets"] = NAMES.load(values["datasets"])
    if values["change_filter"] is not None:
        values["change_filter"] = CHANGE_FILTER.load(values["change_filter"])
    return Notice(**values)


def _problem(problem: str | None) -> Problem | None:
    return None if problem is None else PROBLEM.load(problem)
