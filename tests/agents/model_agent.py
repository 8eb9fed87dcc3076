"""A model that answers a question with the tools of a server.

Only who asks a model imports this: the client takes two seconds to import.
"""

from __future__ import annotations

import warnings
from typing import Any

import httpx2
import mcp_types
from mcp import Client
from pydantic_ai import Agent, ModelSettings, Tool, UsageLimits
from pydantic_ai.exceptions import (
    AgentRunError,
    UsageLimitExceeded,
    UsageLimitUnavailableWarning,
)
from pydantic_ai.usage import RunUsage

from livedata.model.research.settings import ResearchSettings
from livedata.research.providers.complaint import complaint
from livedata.research.providers.connection import http_client
from livedata.research.providers.openai import chat_model, failure_code, failure_words, sampling
from tests.agents.judged import Answered, Called

MOST_TURNS = 20
"""So many times the model is asked for one task."""
MOST_TOKENS = 200_000
"""So many tokens it may take for one task; at each turn it reads again what was said before."""
MOST_OUTPUT = 8_000
"""So many tokens it may write at one turn."""
REPEATS = 2
"""So many times a request is repeated that failed in passing."""
MISTAKES = 3
"""So many times a model may call what is no tool, or answer nothing, before it is given up."""
HOW = (
    "Answer the person's question with the tools. End with one line that begins with 'Answer:' "
    "and has what was asked for, whole and with nothing else."
)
UNREACHABLE = {"model_auth", "model_unavailable"}


async def answer(question: str, server: Client, settings: ResearchSettings) -> Answered:
    """What the model of the settings answers, or why it does not."""
    calls: list[Called] = []
    usage = RunUsage()
    text = trouble = ""
    unreachable = False
    async with http_client(settings.model_seconds) as http:
        agent = await _agent(server, settings, http, calls)
        try:
            text = await _answered(agent, question, usage, settings)
        except (AgentRunError, httpx2.HTTPError) as error:
            unreachable = failure_code(error) in UNREACHABLE
            trouble = _trouble(error, usage, settings)
    return Answered(
        text=text,
        trouble=trouble,
        unreachable=unreachable,
        calls=calls,
        turns=usage.requests,
        read=usage.input_tokens,
        written=usage.output_tokens,
        measured=not usage.unmeasured_requests,
    )


async def _agent(
    server: Client, settings: ResearchSettings, http: httpx2.AsyncClient, calls: list[Called]
) -> Agent[None, str]:
    model = chat_model(settings, http, repeats=REPEATS)
    return Agent(
        model,
        instructions=f"{server.instructions}\n\n{HOW}",
        tools=[_tool(tool, server, calls) for tool in (await server.list_tools()).tools],
        retries=MISTAKES,
        model_settings=sampling(model) | ModelSettings(max_tokens=MOST_OUTPUT),
    )


def _tool(announced: mcp_types.Tool, server: Client, calls: list[Called]) -> Tool[None]:
    """A tool as the server announces it; what it refuses is an answer too."""

    async def call(**arguments: Any) -> str:
        calls.append(Called(announced.name, arguments))
        result = await server.call_tool(announced.name, arguments)
        return "".join(getattr(part, "text", "") for part in result.content)

    schema = dict(announced.input_schema)
    return Tool.from_schema(call, announced.name, announced.description, schema)


async def _answered(
    agent: Agent[None, str], question: str, usage: RunUsage, settings: ResearchSettings
) -> str:
    with warnings.catch_warnings():
        # Where a server does not count, the turns are bounded, and the summary says it.
        warnings.simplefilter("ignore", UsageLimitUnavailableWarning)
        result = await agent.run(
            question,
            usage=usage,
            usage_limits=UsageLimits(request_limit=MOST_TURNS, total_tokens_limit=MOST_TOKENS),
            timeout=MOST_TURNS * settings.model_seconds,
        )
    return result.output


def _trouble(error: Exception, usage: RunUsage, settings: ResearchSettings) -> str:
    """Why there is no answer, in words."""
    if isinstance(error, UsageLimitExceeded):
        if usage.requests >= MOST_TURNS:
            return f"it went on to call tools, and had not answered after {MOST_TURNS} turns"
        return f"it had not answered after {MOST_TOKENS:,} tokens"
    match failure_code(error):
        case "model_invalid_output":
            # What follows the first sentence is advice to who writes the client.
            words = str(error).partition(". ")[0]
            return f"it gave no answer: {complaint(words, settings.model_api_key)}"
        case "model_output_cut":
            return f"its answer was cut after {MOST_OUTPUT:,} tokens"
        case "model_refused":
            return f"it refused: {failure_words(error, settings)}"
        case _:
            return failure_words(error, settings)
