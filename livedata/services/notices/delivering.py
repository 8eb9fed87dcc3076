"""Takes messages out of the outbox, notes what came of them, and tells it.

Nothing is sent in a transaction.

Each is delivered at least once, and those of one notice about one dataset in their order: the next
one waits until the first was delivered, or is given up a day after it was written.
"""

from __future__ import annotations

from msgspec import Struct

from livedata.messages import notice_events
from livedata.messages.render import sentence
from livedata.model import ids
from livedata.model.errors import NotFound
from livedata.model.ids import Micros
from livedata.model.problem import Problem
from livedata.services import leases
from livedata.services.notices.cloud_events import CloudEvent, digest_event, event_of
from livedata.store import digests, notices, outbox
from livedata.store.database.backend import Reader
from livedata.store.database.store import Database, Store
from livedata.store.notices import MessageState, Notice
from livedata.store.outbox import Head, Message
from livedata.store.queue import Lease

SECOND = 1_000_000
LEASE = 60 * SECOND
"""How long a process may take for one message; a command has half of it."""
FIRST_PAUSE = 5 * SECOND
LONGEST_PAUSE = 3_600 * SECOND
GIVEN_UP_AFTER = 86_400 * SECOND


class Delivery(Struct, frozen=True):
    """A message that this process is to deliver, and the lease on its stream."""

    head: Head
    notice: Notice
    message: Message
    event: CloudEvent


def waiting(db: Database) -> int:
    """How many streams have something to deliver now, counting one for each process that is gone.

    Asked every second, and nearly always for nothing: reading is cheap.
    """
    with db.reading() as reader:
        return outbox.due(reader, reader.now()) + len(_lost(reader))


def take(store: Store, public_url: str = "") -> Delivery | None:
    """Lease the stream that is due longest, with its first message; None if none is due.

    `public_url` is where the API is reached from outside, if that is known.
    """
    if not waiting(store):
        return None
    _release_lost(store)
    while True:
        with store.writing() as writer:
            now = writer.now()
            head = outbox.take(writer, now)
            if head is None:
                return None
            head = outbox.lease(writer, head, leases.lease_holder(), Micros(now + LEASE))
        # Read only now: what cannot be read stays leased for a while, and holds up no other stream.
        with store.reading() as reader:
            message, notice = outbox.first(reader, head), notices.get(reader, head.notice)
        if message is None or notice is None:
            _release(store, head)
            continue
        try:
            event = _event(store, notice, head, message, public_url)
        except NotFound:  # what it tells of was deleted
            _drop(store, head, message)
            continue
        return Delivery(head, notice, message, event)


def succeeded(store: Store, delivery: Delivery) -> None:
    """Note that a message was delivered; the next one of its stream is due at once."""
    with store.writing() as writer:
        if outbox.lock(writer, delivery.head):
            now = writer.now()
            outbox.end(writer, delivery.message.id, "sent", now)
            outbox.release(writer, delivery.head, _next_due(writer, delivery.head, now), 0)


def failed(store: Store, delivery: Delivery, problem: Problem, pause: int = FIRST_PAUSE) -> None:
    """Note that a message could not be delivered; it is tried again, or given up after a day.

    The first `pause` is followed by growing ones.
    """
    head, message = delivery.head, delivery.message
    with store.writing() as writer:
        if not outbox.lock(writer, head):
            return
        now = writer.now()
        outbox.note_failure(writer, message.id, problem)
        if now - message.created_at >= GIVEN_UP_AFTER:
            outbox.end(writer, message.id, "given_up", now)
            outbox.release(writer, head, _next_due(writer, head, now), 0)
            return
        wait = min(pause * 2 ** min(head.tries, 20), LONGEST_PAUSE)
        # The last try comes when the day is over, not up to an hour later.
        due_at = min(now + wait, message.created_at + GIVEN_UP_AFTER)
        outbox.release(writer, head, Micros(due_at), head.tries + 1)


def put_back(store: Store, delivery: Delivery) -> None:
    """Give a message back that was not tried to its end; it is due at once."""
    with store.writing() as writer:
        if outbox.lock(writer, delivery.head):
            outbox.release(writer, delivery.head, writer.now(), delivery.head.tries)


def unwanted(store: Store, delivery: Delivery, problem: Problem) -> None:
    """Turn a notice off of which the receiver wants no more, with all that waits for it."""
    with store.writing() as writer:
        if outbox.lock(writer, delivery.head):
            now = writer.now()
            # The notice before its messages: another stream of it may be answered so just now.
            notices.end(writer, delivery.notice.id, now)
            outbox.note_failure(writer, delivery.message.id, problem)
            outbox.give_up_all(writer, delivery.notice.id, now)
            outbox.release(writer, delivery.head, None, 0)


def deliveries(db: Database, notice: Notice, limit: int) -> list[MessageState]:
    """The last messages of a notice and what came of them, the newest first."""
    with db.reading() as reader:
        return notices.of_notice(reader, notice.id, limit)


def said(message: MessageState) -> str:
    """What a message says, in a sentence."""
    if message.kind == digests.KIND:
        return notice_events.digest([part["sentence"] for part in message.data["datasets"]])
    return str(message.data["sentence"])


def delivery_as_json(message: MessageState) -> dict[str, object]:
    """A message and what came of it, as JSON."""
    waits = message.status == "waiting" and message.problem is not None
    return {
        "id": ids.format_uuid(message.id),
        "kind": message.kind,
        "dataset": message.data["dataset"],
        "sentence": said(message),
        "createdAt": ids.format_timestamp(message.created_at),
        "status": message.status,
        "endedAt": ids.format_optional_timestamp(message.ended_at),
        "problem": None if message.problem is None else sentence(message.problem),
        "tries": message.tries if waits else None,
        "nextTryAt": ids.format_optional_timestamp(message.due_at) if waits else None,
    }


def _event(
    store: Store, notice: Notice, head: Head, message: Message, public_url: str
) -> CloudEvent:
    """A message as it is delivered. Raises NotFound if what it tells of was deleted."""
    if message.kind == digests.KIND:
        return digest_event(store, notice, message, public_url)
    return event_of(store, notice, head.dataset, message, public_url)


def _drop(store: Store, head: Head, message: Message) -> None:
    """Drop a message that has nothing to tell any more."""
    with store.writing() as writer:
        if outbox.lock(writer, head):
            outbox.drop(writer, message.id)
            outbox.release(writer, head, _next_due(writer, head, writer.now()), 0)


def _release(store: Store, head: Head) -> None:
    """Let go of a stream in which nothing waits."""
    with store.writing() as writer:
        if outbox.lock(writer, head):
            outbox.release(writer, head, _next_due(writer, head, writer.now()), 0)


def _next_due(reader: Reader, head: Head, now: Micros) -> Micros | None:
    """When the next message of a stream is due; None if nothing waits."""
    return now if outbox.waits(reader, head) else None


def _release_lost(store: Store) -> None:
    """Let go of what processes have leased that are gone."""
    with store.reading() as reader:
        lost = _lost(reader)
    for holder in lost:
        with store.writing() as writer:
            outbox.release_all_of(writer, holder, writer.now())


def _lost(reader: Reader) -> list[str]:
    """The processes that are gone and have leased streams."""
    return [
        holder
        for holder, until in outbox.leases(reader)
        if not leases.is_live(reader, Lease(holder, until, None))
    ]
