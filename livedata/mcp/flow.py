"""What flows between the pipes and the server: few requests at once, and none without an answer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from pydantic import ValidationError

_AT_ONCE: Final = 32
"""So many requests wait for their answers to be written: the SDK would hold all that there are."""
_GRACE: Final = 5
"""For so many seconds what was asked is answered still when nothing more comes."""
_UNREADABLE: Final = "livedata mcp cannot read this line: it is no message of JSON-RPC."

Incoming = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]


@asynccontextmanager
async def few_at_once(
    incoming: ReadStream[Incoming], outgoing: WriteStream[SessionMessage]
) -> AsyncIterator[Streams]:
    """Streams for a server that let the next request in when an earlier one is answered."""
    asked, questions = anyio.create_memory_object_stream[Incoming]()
    answers, answered = anyio.create_memory_object_stream[SessionMessage]()
    room = anyio.Semaphore(_AT_ONCE, max_value=_AT_ONCE)

    async def release() -> None:
        room.release()

    async def read() -> None:
        async with incoming, asked:
            async for item in incoming:
                if isinstance(item, Exception):
                    await _refuse(item, outgoing)
                elif isinstance(item.message, types.JSONRPCRequest):
                    await room.acquire()
                    # One that the client takes back has no answer.
                    told = ServerMessageMetadata(on_request_unanswered=release)
                    await asked.send(SessionMessage(item.message, told))
                else:
                    await asked.send(item)
            with anyio.move_on_after(_GRACE):
                for _ in range(_AT_ONCE):
                    await room.acquire()

    async def write() -> None:
        async with answered, outgoing:
            async for item in answered:
                await outgoing.send(item)
                if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
                    room.release()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        tasks.start_soon(write)
        yield questions, answers


async def _refuse(error: Exception, outgoing: WriteStream[SessionMessage]) -> None:
    """Answer a line that is no message: an agent waits for an answer to each call."""
    line: Any = error.errors()[0].get("input") if isinstance(error, ValidationError) else None
    if isinstance(line, str) and not line.strip():
        return
    about = types.ErrorData(code=types.PARSE_ERROR, message=_UNREADABLE)
    answer = types.JSONRPCError(jsonrpc="2.0", id=_id_of(line), error=about)
    await outgoing.send(SessionMessage(answer))


def _id_of(line: Any) -> str | int | None:
    """The id in a line that the SDK does not read: half of a surrogate pair is enough for that."""
    try:
        number = (json.loads(line) if isinstance(line, str) else line)["id"]
        # What cannot be written again is no id either.
        is_sound = type(number) in {str, int} and bool(
            json.dumps(number, ensure_ascii=False).encode()
        )
    except (ValueError, TypeError, LookupError, RecursionError):
        return None
    return number if is_sound else None
