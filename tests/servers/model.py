"""A scripted model behind the OpenAI-compatible `POST /v1/chat/completions`, on loopback.

    with ModelServer(script) as server:          # script: Asked -> what to answer
        settings = ResearchSettings(model="scripted", model_base_url=server.base_url)

A script is a function of one `Asked`: the task as JSON, the schema, the system text, the number.
It returns a dict, which is the answer in the output mode that was asked for, or a trouble:
`Status(429, retry_after=1)`, `Hang()`, `Reset()`, `Refusal()`, `Cut(answer)`, `Malformed()`,
`ToolCall()`, `NoUsage(answer)`, `Text(words)`. A list of answers is a script too: one after the
other, the last for ever. `server.asked` has every call in order. Answers with seeded defects are
made by `tests.servers.defects`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Self

from livedata.model.research.settings import ModelOutput
from tests.site import Answer, Request, Site

PATH = "/v1/chat/completions"
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Asked:
    """One call as the model sees it: `task` is the JSON object of its one user message."""

    number: int
    system: str
    messages: list[dict[str, Any]]
    task: Any
    schema: dict[str, Any]
    mode: ModelOutput
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def is_again(self) -> bool:
        """Whether an earlier answer to the same question was invalid."""
        return any(message["role"] == "assistant" for message in self.messages)


@dataclass(frozen=True)
class Status:
    """An HTTP error with the provider's words."""

    status: int
    message: str = "no"
    retry_after: int | None = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Hang:
    """No answer as long as the server lives."""


@dataclass(frozen=True)
class Reset:
    """The connection is closed instead of an answer."""


@dataclass(frozen=True)
class Refusal:
    """The model refuses to answer, in the field that is made for it."""

    words: str = "I cannot help with that."


@dataclass(frozen=True)
class Cut:
    """The answer ends in its middle, since it had no tokens left."""

    answer: object


@dataclass(frozen=True)
class Malformed:
    """An answer that is no completion at all."""

    body: str = "<html>not here</html>"


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool, by default of one that nobody offered; `arguments` are JSON."""

    name: str = "send_mail"
    arguments: str = "{}"


@dataclass(frozen=True)
class NoUsage:
    """A good answer that says nothing of what it took."""

    answer: object


@dataclass(frozen=True)
class Text:
    """An answer as text, word for word."""

    text: str


Scripted = object
Script = Callable[[Asked], Scripted]


def only(mode: ModelOutput, script: Script) -> Script:
    """A server that understands one way of asking for JSON; else it breaks as llama-cpp-python's.

    Words alone are understood by every server.
    """

    def answer(asked: Asked) -> Scripted:
        if asked.mode in (mode, "prompted"):
            return script(asked)
        return Status(
            500,
            "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': \"Input "
            "should be 'text' or 'json_object'\"}]\nTraceback (most recent call last):\n  File "
            '"/usr/lib/python3/llama_cpp/server/errors.py", line 171, in custom_route_handler\n'
            "    response = await original_route_handler(request)\nKeyError: 'messages'",
        )

    return answer


class ModelServer:
    """The server; `delay` is the seconds that each answer takes."""

    def __init__(self, script: Script | Sequence[Scripted], *, delay: float = 0) -> None:
        self._script = script if callable(script) else _one_after_the_other(script)
        self._lock = Lock()
        self.asked: list[Asked] = []
        self.site = Site()
        self.site.delay = delay
        self.site.route(PATH, self._answer)
        self.base_url = self.site.at("/v1")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop at once."""
        self.site.close()

    def _answer(self, request: Request) -> Answer | None:
        with self._lock:
            asked = _asked(request, len(self.asked) + 1)
            self.asked.append(asked)
            scripted = self._script(asked)
        match scripted:
            case Status():
                wait = (
                    {}
                    if scripted.retry_after is None
                    else {"Retry-After": str(scripted.retry_after)}
                )
                body = json.dumps({"error": {"message": scripted.message, "type": "scripted"}})
                return Answer(scripted.status, body, {**JSON, **wait, **scripted.headers})
            case Hang():
                request.wait()
                return None
            case Reset():
                return None
            case Malformed():
                return Answer(200, scripted.body, JSON)
            case _:
                return Answer(200, json.dumps(_completion(asked, scripted)), JSON)


def _one_after_the_other(answers: Sequence[Scripted]) -> Script:
    return lambda asked: answers[min(asked.number, len(answers)) - 1]


def _asked(request: Request, number: int) -> Asked:
    body = json.loads(request.body)
    messages = body["messages"]
    system = "\n\n".join(m["content"] for m in messages if m["role"] in {"system", "developer"})
    question = next(_words(m) for m in messages if m["role"] == "user")
    mode: ModelOutput = "prompted"
    schema: dict[str, Any] = {}
    if "json_schema" in body.get("response_format", {}):
        mode, schema = "native", body["response_format"]["json_schema"]["schema"]
    elif "schema" in body.get("response_format", {}):
        mode, schema = "object", body["response_format"]["schema"]
    elif body.get("tools"):
        mode, schema = "tool", body["tools"][0]["function"]["parameters"]
    else:
        # In this mode the schema stands in the system text, as the one JSON object on a line.
        match = re.search(r"^\{.*\}$", system, re.MULTILINE)
        schema = json.loads(match[0]) if match else {}
    return Asked(number, system, messages, _task(question), schema, mode, request.headers, body)


def _words(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _task(question: str) -> Any:
    try:
        return json.loads(question)
    except ValueError:
        return question


def _completion(asked: Asked, scripted: Scripted) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None}
    finish = "stop"
    match scripted:
        case Refusal():
            message["refusal"] = scripted.words
        case ToolCall():
            message["tool_calls"] = [_call(asked, scripted.name, scripted.arguments)]
            finish = "tool_calls"
        case Text():
            message["content"] = scripted.text
        case Cut():
            text = json.dumps(scripted.answer)
            _put(message, asked, text[: len(text) // 2])
            finish = "length"
        case NoUsage():
            _put(message, asked, json.dumps(scripted.answer))
        case _:
            _put(message, asked, json.dumps(scripted))
    if finish == "stop" and "tool_calls" in message:
        finish = "tool_calls"
    completion: dict[str, Any] = {
        "id": f"scripted-{asked.number}",
        "object": "chat.completion",
        "created": 1_750_000_000,
        "model": asked.body["model"],
        "choices": [{"index": 0, "finish_reason": finish, "message": message}],
    }
    if not isinstance(scripted, NoUsage):
        # About four characters a token, as the models of the day have it.
        taken = len(json.dumps(asked.messages)) // 4
        given = len(json.dumps(message)) // 4
        completion["usage"] = {
            "prompt_tokens": taken,
            "completion_tokens": given,
            "total_tokens": taken + given,
        }
    return completion


def _put(message: dict[str, Any], asked: Asked, text: str) -> None:
    if asked.mode == "tool":
        message["tool_calls"] = [_call(asked, asked.body["tools"][0]["function"]["name"], text)]
    else:
        message["content"] = text


def _call(asked: Asked, name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": f"call-{asked.number}", "type": "function", "function": function}
