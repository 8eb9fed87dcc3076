"""A model behind an OpenAI-compatible server answers in JSON that fits, or says why not."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from livedata.model.research.answers import Failed, ModelAnswer
from livedata.model.research.settings import ModelOutput, ResearchSettings
from livedata.research.ports import Prices, Question
from livedata.research.providers.connection import connected
from tests.servers.model import (
    Cut,
    Hang,
    Malformed,
    ModelServer,
    NoUsage,
    Refusal,
    Reset,
    Scripted,
    Status,
    Text,
    ToolCall,
)

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "enum": ["Bolt", "Zeus"]},
        "year": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    },
    "required": ["name", "year"],
    "additionalProperties": False,
}
SYSTEM = "You read pages."
KEY = "sk-secret-123"
GOOD = {"name": "Bolt", "year": 1999}
BAD = {"name": "Acme", "year": "1999"}


def question(requests: int = 2) -> Question:
    message = json.dumps({"task": "rows", "text": "Bolt, 1999"})
    return Question(
        kind="rows",
        source_url="https://a.example/",
        window="",
        system=SYSTEM,
        message=message,
        schema=json.dumps(SCHEMA),
        most_output=500,
        requests=requests,
    )


def ask(
    server: ModelServer, *, output: ModelOutput = "native", requests: int = 2, **settings: Any
) -> ModelAnswer:
    told = ResearchSettings(
        model="scripted",
        model_base_url=server.base_url,
        model_api_key=KEY,
        model_output=output,
        **settings,
    )

    async def asked() -> ModelAnswer:
        async with connected(told) as providers:
            return await providers.model.ask(question(requests))

    return asyncio.run(asked())


@pytest.mark.parametrize("output", ["native", "object", "tool", "prompted"])
def test_a_valid_answer_is_its_json_in_each_output_mode(output: ModelOutput) -> None:
    with ModelServer([GOOD]) as server:
        answer = ask(server, output=output)
    assert answer.body == '{"name":"Bolt","year":1999}'
    (asked,) = server.asked
    assert asked.mode == output
    assert asked.schema["required"] == ["name", "year"]
    assert asked.schema["properties"]["name"]["enum"] == ["Bolt", "Zeus"]
    assert asked.system.startswith(SYSTEM)
    assert asked.task == {"task": "rows", "text": "Bolt, 1999"}
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert answer.usage.provider == "127.0.0.1"
    assert answer.usage.requests == 1
    assert answer.usage.input_tokens
    assert answer.usage.output_tokens


def test_a_strict_schema_is_asked_for_and_the_most_output_is_named() -> None:
    with ModelServer([GOOD]) as server:
        ask(server)
    body = server.asked[0].body
    assert body["response_format"]["json_schema"]["strict"] is True
    assert body["max_tokens"] == 500
    assert (body["temperature"], body["seed"]) == (0, 7)


@pytest.mark.parametrize("output", ["native", "object", "tool", "prompted"])
def test_an_invalid_answer_is_asked_for_again_with_what_is_wrong(output: ModelOutput) -> None:
    with ModelServer([BAD, GOOD]) as server:
        answer = ask(server, output=output)
    assert answer.body == '{"name":"Bolt","year":1999}'
    assert answer.usage.requests == 2
    assert server.asked[1].is_again
    last = json.dumps(server.asked[1].messages[-1])
    assert "Acme" in last
    assert "is not one of" in last


# What is scripted -> the code, words of the detail, the requests, whether the tokens are known.
TROUBLES: dict[str, tuple[list[Scripted], str, str, int, bool]] = {
    "invalid twice": ([BAD], "model_invalid_output", "", 2, True),
    "no JSON": ([Text("Here you are!")], "model_invalid_output", "", 2, True),
    "half a surrogate pair": (
        [Text('{"name": "Bolt", "year": "\\ud800"}')],
        "model_invalid_output",
        "",
        2,
        True,
    ),
    "a foreign tool": ([ToolCall()], "model_invalid_output", "", 2, True),
    "cut": ([Cut(GOOD)], "model_output_cut", "cut after 500 tokens", 1, True),
    "refused": ([Refusal()], "model_refused", "I cannot help with that.", 1, True),
    "wrong key": ([Status(401, f"no such key {KEY}")], "model_auth", "key ***", 1, True),
    "forbidden": ([Status(403)], "model_auth", "403", 1, True),
    "bad request": (
        [Status(400, "no schemas here")],
        "model_unavailable",
        "no schemas here",
        1,
        True,
    ),
    "no such path": ([Status(404)], "model_unavailable", "the path /v1", 1, True),
    "asked too often": ([Status(429)], "model_unavailable", "429", 2, True),
    "broken": ([Status(500)], "model_unavailable", "500", 2, True),
    "redirected": (
        [Status(302, headers={"Location": "http://127.0.0.1:9/"})],
        "model_unavailable",
        "302",
        1,
        False,
    ),
    "no JSON at all": ([Malformed()], "model_unavailable", "/v1: ", 1, False),
    "no completion": ([Malformed("{}")], "model_invalid_output", "", 1, False),
    "too large": ([Malformed("x" * 5_000_000)], "model_unavailable", "4 MiB", 1, False),
    "reset": ([Reset()], "model_unavailable", "", 1, False),
}


@pytest.mark.parametrize("name", TROUBLES)
def test_an_answer_that_fails_says_why(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted, code, words, requests, is_measured = TROUBLES[name]
    monkeypatch.setattr("livedata.research.providers.openai.PAUSE", 0.01)
    with ModelServer(scripted) as server:
        answer = ask(server, model_price_in=1.0, model_price_out=2.0)
        assert isinstance(answer.body, Failed), answer
        assert answer.body.code == (code or answer.body.code)
        assert words in answer.body.detail
        assert KEY not in answer.body.detail
        assert answer.usage.requests == requests
        assert server.site.connections
    assert len(server.asked) == requests
    assert (answer.usage.input_tokens is not None) is is_measured
    assert (answer.usage.usd is not None) is is_measured


def test_a_server_that_nobody_runs_is_named() -> None:
    with ModelServer([GOOD]) as server:
        pass
    answer = ask(server)
    assert isinstance(answer.body, Failed)
    assert answer.body.code == "model_unavailable"
    assert answer.body.detail == f"nothing answers at {server.base_url}"


def test_a_server_that_never_answers_is_left_after_the_seconds_of_a_question() -> None:
    with ModelServer([Hang()]) as server:
        answer = ask(server, model_seconds=0.2)
    assert answer.body == Failed("model_unavailable", "no complete answer within 0.2 s")
    assert (answer.usage.requests, answer.usage.input_tokens) == (1, None)


def test_the_time_that_a_server_asks_for_is_waited_for_if_there_is_as_much() -> None:
    with ModelServer([Status(429, retry_after=1), GOOD]) as server:
        assert isinstance(ask(server, model_seconds=0.5).body, Failed)
        assert len(server.asked) == 1
    with ModelServer([Status(429, retry_after=1), GOOD]) as server:
        answer = ask(server)
    assert answer.body == '{"name":"Bolt","year":1999}'
    assert answer.usage.requests == 2


def test_an_invalid_answer_is_final_if_one_request_is_allowed() -> None:
    with ModelServer([BAD, GOOD]) as server:
        answer = ask(server, requests=1)
    assert isinstance(answer.body, Failed)
    assert answer.body.code == "model_invalid_output"
    assert len(server.asked) == 1


def test_what_nobody_told_is_unknown_and_never_0() -> None:
    with ModelServer([NoUsage(GOOD)]) as server:
        answer = ask(server, model_price_in=1.0, model_price_out=2.0)
    assert answer.body == '{"name":"Bolt","year":1999}'
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (None, None)
    assert answer.usage.usd is None


def test_a_price_makes_money_of_tokens_and_without_one_there_is_none() -> None:
    with ModelServer([GOOD]) as server:
        priced = ask(server, model_price_in=1.0, model_price_out=2.0).usage
        unpriced = ask(server).usage
    assert priced.usd == (priced.input_tokens or 0) / 1e6 + 2 * (priced.output_tokens or 0) / 1e6
    assert unpriced.usd is None
    assert unpriced.input_tokens == priced.input_tokens


def test_one_connection_of_the_run_serves_many_questions_at_once() -> None:
    settings: list[ResearchSettings] = []

    async def asked() -> list[ModelAnswer]:
        async with connected(settings[0]) as providers:
            model = providers.model
            assert model.prices == Prices(1.0, 2.0)
            assert model.name == "scripted"
            first = [await model.ask(question()) for _ in range(4)]
            return first + list(await asyncio.gather(*[model.ask(question()) for _ in range(4)]))

    with ModelServer([GOOD]) as server:
        told = ResearchSettings(
            model="scripted",
            model_base_url=server.base_url,
            model_price_in=1.0,
            model_price_out=2.0,
        )
        settings.append(told)
        answers = asyncio.run(asked())
        assert {answer.body for answer in answers} == {'{"name":"Bolt","year":1999}'}
        assert server.site.connections <= 4


@pytest.mark.parametrize("model", ["gpt-5-mini", "o3", "gpt-4o-mini", "qwen2.5:7b", "deepseek/r1"])
def test_no_name_of_a_model_makes_a_warning(model: str) -> None:
    with ModelServer([GOOD]) as server:
        told = ResearchSettings(model=model, model_base_url=server.base_url)

        async def asked() -> ModelAnswer:
            async with connected(told) as providers:
                return await providers.model.ask(question())

        assert asyncio.run(asked()).body == '{"name":"Bolt","year":1999}'
    assert server.asked[0].headers["authorization"] == "Bearer none"


def test_a_key_is_in_no_representation_of_the_settings() -> None:
    settings = ResearchSettings(model="m", model_api_key=KEY, search_key=KEY)
    assert KEY not in repr(settings)
    assert KEY not in str(settings)
