"""Calls of the tools by the official client, with what holds of every answer."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import anyio
import jsonschema_rs
import orjson
from mcp import Client
from msgspec.structs import replace

from livedata.mcp.access import DatasetAccess
from livedata.mcp.answers import LONGEST_ANSWER
from livedata.mcp.server import make_server
from livedata.mcp.tools import READING, WRITING, Tool
from livedata.messages.controls import escape_controls
from livedata.store.database.store import Store

Call = tuple[str, dict[str, Any]]
TOOLS = {tool.name: tool for tool in READING}
FAILED = "livedata failed here"
"""How the sentence begins of what nobody thought of."""
STEERING = "\x1b[31m\x07\x7f\x9b\u202e\u2066\u200f\u061c\u2028"
"""Characters that steer a terminal, or turn a text around."""


class Agent:
    """An agent in this process: the official client at the server, without a pipe between.

    It asks about the datasets of an owner, or some of them.
    """

    def __init__(
        self, store: Store, *names: str, owner: str = "local", tools: Sequence[Tool] = READING
    ) -> None:
        access = DatasetAccess.of(store, owner, "UTC", names)
        self.access = replace(access, writes=any(tool.writes for tool in tools))
        self.tools = tools
        self.progress: list[str | None] = []

    def each(self, calls: Iterable[Call]) -> list[Any]:
        """The results of calls over one connection, of which each is sound."""
        asked = [*calls]

        async def results() -> list[Any]:
            async with Client(make_server(self.access, self.tools)) as client:
                return [
                    await client.call_tool(tool, given, progress_callback=self._hear)
                    for tool, given in asked
                ]

        answers = anyio.run(results)
        for (tool, _), answer in zip(asked, answers, strict=True):
            if answer.is_error:
                check(answer)
            else:
                checked(tool, answer)
        return answers

    def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The answer of a tool."""
        (result,) = self.each([(tool, arguments)])
        assert not result.is_error, result.content
        answer: dict[str, Any] = result.structured_content
        return answer

    def refused(self, tool: str, **arguments: Any) -> str:
        """The sentence with which a tool refuses."""
        (result,) = self.each([(tool, arguments)])
        assert result.is_error, result.content
        return text_of(result)

    def walk(self, part: str = "rows", **arguments: Any) -> Iterator[Sequence[Any]]:
        """Each page of the rows, from the first cursor to the end."""
        cursor = None
        while True:
            answer = self.ask("query_rows", **arguments, cursor=cursor)
            yield answer[part]
            cursor = answer["next"]
            if cursor is None:
                return

    async def _hear(self, progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG002
        self.progress.append(message)


def text_of(result: Any) -> str:
    """The half of a result that is text."""
    (content,) = result.content
    text: str = content.text
    return text


def check(result: Any) -> None:
    """Both halves of a result are small, the same, and steer nothing."""
    text = text_of(result)
    assert len(text.encode()) <= LONGEST_ANSWER
    assert escape_controls(text) == text
    if result.is_error:
        assert result.structured_content is None
        return
    assert json.loads(text) == result.structured_content
    assert len(orjson.dumps(result.structured_content)) <= LONGEST_ANSWER
    for part in strings(result.structured_content):
        assert escape_controls(part) == part


def checked(tool: str, answer: Any) -> dict[str, Any]:
    """The answer, which is sound and as its tool announces it."""
    check(answer)
    body: dict[str, Any] = answer.structured_content
    schema = next(each for each in (*READING, *WRITING) if each.name == tool).output_schema()
    jsonschema_rs.validator_for(schema).validate(body)
    return body


def strings(value: object) -> Iterator[str]:
    """Every string in a structured answer, names of properties too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield name
            yield from strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from strings(part)


def forged(cursor: str, **parts: object) -> str:
    """A cursor with other parts."""
    through, start, digest = orjson.loads(urlsafe_b64decode(cursor + "=="))
    made_up = {"through": through, "start": start, "digest": digest, **parts}
    return urlsafe_b64encode(orjson.dumps([*made_up.values()])).rstrip(b"=").decode()
