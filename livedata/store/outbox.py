"""The outbox: what notices have to deliver, in order per notice and dataset.

A stream is what one notice tells of one dataset. Its row is the head of that queue: when its first
message is due, and who delivers it just now. The digests of a notice, which are about several
datasets, are a stream of their own: its id is that of the notice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from livedata.model.ids import DatasetId, MessageId, Micros, NoticeId, OwnerName, new_id
from livedata.model.problem import Problem
from livedata.store.database.backend import Reader, Row, Writer
from livedata.store.database.codec import PROBLEM, TOLD, dump
from livedata.store.database.statements import Expiring

_TELL = """
INSERT INTO notice_streams
    (notice_id, dataset_id, sequence, due_at, failures, failing, silent, fence, tries)
VALUES (:notice, :dataset, :count, :due, :failures, :failing, :silent, 0, 0)
ON CONFLICT (notice_id, dataset_id) DO UPDATE SET failures = excluded.failures,
    failing = excluded.failing, silent = excluded.silent,
    sequence = notice_streams.sequence + excluded.sequence,
    due_at = coalesce(notice_streams.due_at, excluded.due_at)
"""
_PUT = """
INSERT INTO outbox (id, notice_id, dataset_id, sequence, kind, data, after_sequence,
    through_sequence, created_at, status)
SELECT :id, notice_id, dataset_id, sequence - :later, :kind, :data, :after, :through, :now,
    'waiting'
FROM notice_streams WHERE notice_id = :notice AND dataset_id = :dataset
"""
_ONE = "WHERE notice_id = :notice AND dataset_id = :dataset"
_HEAD = "notice_id, dataset_id, fence, tries, holder, due_at"
OLD_MESSAGES = Expiring(
    *("outbox", "id", "status IN ('sent', 'given_up') AND ended_at < :moment"),
    "DELETE FROM outbox",
)
"""What was delivered, or given up, before a moment."""


class Stream(Struct, frozen=True):
    """What a notice knows of a dataset: Runs in a row that failed, and what it has told."""

    failures: int = 0
    failing: bool = False
    silent: bool = False

    @classmethod
    def of(cls, row: Row) -> Stream:
        """What stands in its columns; nothing is known where there is none."""
        failures, failing, silent = row
        return cls(failures or 0, bool(failing), bool(silent))


class NewMessage(Struct, frozen=True):
    """Something to tell that is put into a stream."""

    kind: str
    data: Mapping[str, Any]
    window: RevisionRange | None


class ToldStream(Struct, frozen=True):
    """What a notice tells of a dataset, and what it knows of it afterwards."""

    notice: NoticeId
    after: Stream
    messages: Sequence[NewMessage]


class Head(Struct, frozen=True):
    """A stream that has something to deliver; `fence` grows each time that somebody takes it."""

    notice: NoticeId
    dataset: DatasetId
    fence: int
    tries: int
    holder: str | None
    due_at: Micros | None


class RevisionRange(Struct, frozen=True):
    """The revisions that a message is about: after < sequence <= through."""

    after: int
    through: int


class Message(Struct, frozen=True):
    """Something to tell; `data` is what is said, without the changes of a `window`."""

    id: MessageId
    sequence: int
    kind: str
    data: dict[str, Any]
    window: RevisionRange | None
    created_at: Micros


class Backlog(Struct, frozen=True):
    """What waits, since when the first of it and why, and what was given up.

    Of the last that was given up there are the name of its notice, and why.
    """

    waiting: int
    oldest: Micros | None
    trouble: Problem | None
    given_up: int
    notice: str | None
    problem: Problem | None


def stream(reader: Reader, notice: NoticeId, dataset: DatasetId) -> Stream:
    """What a notice knows of a dataset."""
    row = reader.row(
        f"SELECT failures, failing, silent FROM notice_streams {_ONE}",  # noqa: S608
        notice=notice,
        dataset=dataset,
    )
    return Stream() if row is None else Stream.of(row)


def put_each(writer: Writer, dataset: DatasetId, told: Sequence[ToldStream], now: Micros) -> None:
    """Note what notices know of a dataset, and put what they tell of it at the end of its streams.

    The caller has locked their owner.
    """
    # One statement for all streams and one for all messages. The first locks each stream until the
    # end, so that its deliverer sees the message or waits for it. A stream that is leased, or waits
    # for its next try, keeps its moment.
    streams, messages = [], []
    for each in told:
        stream = {"notice": each.notice, "dataset": dataset}
        number = len(each.messages)
        due = now if number else None
        streams.append({**stream, **asdict(each.after), "count": number, "due": due})
        for later, message in zip(range(number - 1, -1, -1), each.messages, strict=True):
            messages.append({**stream, **_columns(message), "later": later, "now": now})
    writer.many(_TELL, streams)
    writer.many(_PUT, messages)


def _columns(message: NewMessage) -> dict[str, object]:
    window = message.window
    return {
        "id": new_id(),
        "kind": message.kind,
        "data": dump(message.data),
        "after": window and window.after,
        "through": window and window.through,
    }


def due(reader: Reader, now: Micros) -> int:
    """How many streams have something that is to be delivered now."""
    count: int = reader.value("SELECT count(*) FROM notice_streams WHERE due_at <= :now", now=now)
    return count


def take(writer: Writer, now: Micros) -> Head | None:
    """The stream that is due longest and that nobody else takes just now; None if none is due."""
    row = writer.locked_if_free(
        f"SELECT {_HEAD} FROM notice_streams WHERE due_at <= :now "  # noqa: S608
        "ORDER BY due_at LIMIT 1",
        now=now,
    )
    return None if row is None else Head(*row)


def lock(writer: Writer, head: Head) -> bool:
    """Lock a stream that was taken; False if somebody has taken it since, or it is gone."""
    row = writer.locked(
        f"SELECT fence FROM notice_streams {_ONE}",  # noqa: S608
        notice=head.notice,
        dataset=head.dataset,
    )
    return row is not None and row[0] == head.fence


def lease(writer: Writer, head: Head, holder: str, until: Micros) -> Head:
    """Lease a stream that is locked to a process."""
    fence: int = writer.value(
        "UPDATE notice_streams SET due_at = :until, holder = :holder, "  # noqa: S608
        f"fence = fence + 1 {_ONE} RETURNING fence",
        notice=head.notice,
        dataset=head.dataset,
        until=until,
        holder=holder,
    )
    return Head(head.notice, head.dataset, fence, head.tries, holder, until)


def release(writer: Writer, head: Head, due_at: Micros | None, tries: int) -> None:
    """Let go of a stream until a moment, or if nothing waits in it until something does."""
    writer.execute(
        f"UPDATE notice_streams SET due_at = :due_at, holder = NULL, tries = :tries {_ONE}",  # noqa: S608
        notice=head.notice,
        dataset=head.dataset,
        due_at=due_at,
        tries=tries,
    )


def leases(reader: Reader) -> list[tuple[str, Micros]]:
    """Every process that has leased streams, and until when the last of them."""
    rows = reader.rows(
        "SELECT holder, max(due_at) FROM notice_streams "
        "WHERE holder IS NOT NULL AND due_at IS NOT NULL GROUP BY holder"
    )
    return [(row[0], row[1]) for row in rows]


def release_all_of(writer: Writer, holder: str, now: Micros) -> None:
    """Let go of what a process has leased that is gone."""
    writer.execute(
        "UPDATE notice_streams SET due_at = :now, holder = NULL WHERE holder = :holder",
        holder=holder,
        now=now,
    )


def first(reader: Reader, head: Head) -> Message | None:
    """The message that is next in a stream; None if nothing waits."""
    row = reader.row(
        "SELECT id, sequence, kind, data, after_sequence, through_sequence, created_at "  # noqa: S608
        f"FROM outbox {_ONE} AND status = 'waiting' ORDER BY sequence LIMIT 1",
        notice=head.notice,
        dataset=head.dataset,
    )
    if row is None:
        return None
    key, sequence, kind, data, after, through, created_at = row
    window = None if after is None else RevisionRange(after, through)
    return Message(key, sequence, kind, TOLD.load(data), window, created_at)


def waits(reader: Reader, head: Head) -> bool:
    """Whether something waits in a stream."""
    row = reader.row(
        f"SELECT 1 FROM outbox {_ONE} AND status = 'waiting' LIMIT 1",  # noqa: S608
        notice=head.notice,
        dataset=head.dataset,
    )
    return row is not None


def note_failure(writer: Writer, message: MessageId, problem: Problem) -> None:
    """Note why a message could not be delivered."""
    writer.execute(
        "UPDATE outbox SET problem = :problem WHERE id = :id", id=message, problem=dump(problem)
    )


def end(writer: Writer, message: MessageId, status: str, now: Micros) -> None:
    """End a message: it was ``sent``, or ``given_up``."""
    writer.execute(
        "UPDATE outbox SET status = :status, ended_at = :now WHERE id = :id AND status = 'waiting'",
        id=message,
        status=status,
        now=now,
    )


def drop(writer: Writer, message: MessageId) -> None:
    """Let go of a message that has nothing to tell any more."""
    writer.execute("DELETE FROM outbox WHERE id = :id", id=message)


def give_up_all(writer: Writer, notice: NoticeId, now: Micros) -> None:
    """Give up all that waits for a notice."""
    writer.execute(
        "UPDATE outbox SET status = 'given_up', ended_at = :now "
        "WHERE notice_id = :notice AND status = 'waiting'",
        notice=notice,
        now=now,
    )


def wait_again(writer: Writer, notice: NoticeId, message: MessageId, ended_at: Micros) -> bool:
    """Let a message wait that was given up at a moment; False if it is not so any more.

    The owner of its notice is locked. It comes before what waits in its stream already.
    """
    dataset = writer.value(
        "SELECT dataset_id FROM outbox WHERE id = :id AND notice_id = :notice "
        "AND status = 'given_up' AND ended_at = :ended_at",
        id=message,
        notice=notice,
        ended_at=ended_at,
    )
    # The stream before its message, as whoever delivers it locks them.
    if dataset is None or not writer.written(
        f"UPDATE notice_streams SET due_at = coalesce(due_at, :now) {_ONE}",  # noqa: S608
        notice=notice,
        dataset=dataset,
        now=writer.now(),
    ):
        return False
    writer.execute(
        "UPDATE outbox SET status = 'waiting', ended_at = NULL, problem = NULL "
        "WHERE id = :id AND status = 'given_up'",
        id=message,
    )
    return True


def depth(reader: Reader) -> int:
    """How many messages wait."""
    count: int = reader.value("SELECT count(*) FROM outbox WHERE status = 'waiting'")
    return count


def undelivered(reader: Reader, owner: OwnerName) -> dict[NoticeId, int]:
    """How many messages wait, of each notice of an owner of which one could not be delivered."""
    sql = (
        "SELECT notice_id, count(*) FROM outbox WHERE status = 'waiting' "
        "AND notice_id IN (SELECT id FROM notices WHERE owner = :owner) "
        "GROUP BY notice_id HAVING count(problem) > 0"
    )
    return dict(reader.rows(sql, owner=owner))


def backlog(reader: Reader) -> Backlog:
    """How the outbox is doing, of all owners."""
    oldest = reader.row(
        "SELECT created_at, problem FROM outbox WHERE status = 'waiting' "
        "ORDER BY created_at, sequence LIMIT 1"
    )
    since, trouble = oldest or (None, None)
    # A notice that has delivered something since is well again.
    lost = reader.rows(
        "SELECT n.name, o.problem FROM outbox o JOIN notices n ON n.id = o.notice_id "
        "WHERE o.status = 'given_up' AND NOT EXISTS (SELECT 1 FROM outbox s "
        "WHERE s.notice_id = o.notice_id AND s.status = 'sent' AND s.ended_at >= o.ended_at) "
        "ORDER BY o.ended_at DESC"
    )
    name, problem = lost[0] if lost else (None, None)
    return Backlog(depth(reader), since, _loaded(trouble), len(lost), name, _loaded(problem))


def _loaded(problem: str | None) -> Problem | None:
    return None if problem is None else PROBLEM.load(problem)


def stranded(reader: Reader) -> list[tuple[DatasetId, MessageId]]:
    """(dataset, message) of what waits in a stream of which nobody would take it."""
    rows = reader.rows(
        "SELECT o.dataset_id, o.id FROM outbox o LEFT JOIN notice_streams s "
        "ON s.notice_id = o.notice_id AND s.dataset_id = o.dataset_id "
        "WHERE o.status = 'waiting' AND s.due_at IS NULL"
    )
    return [(row[0], row[1]) for row in rows]


def astray(reader: Reader) -> list[tuple[NoticeId, DatasetId]]:
    """(notice, dataset) of each stream about what is neither a dataset nor the notice itself."""
    rows = reader.rows(
        "SELECT s.notice_id, s.dataset_id FROM notice_streams s LEFT JOIN datasets d "
        "ON d.id = s.dataset_id WHERE d.id IS NULL AND s.dataset_id <> s.notice_id"
    )
    return [(row[0], row[1]) for row in rows]
