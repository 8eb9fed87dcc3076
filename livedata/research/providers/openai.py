"""A model behind an OpenAI-compatible server, asked by pydantic-ai."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlsplit

import httpx2
import jsonschema_rs
import msgspec
import pydantic_ai
from openai import AsyncOpenAI
from pydantic_ai import (
    Agent,
    ModelRetry,
    ModelSettings,
    NativeOutput,
    PromptedOutput,
    StructuredDict,
    ToolOutput,
    UsageLimits,
)
from pydantic_ai.exceptions import (
    AgentRunError,
    ContentFilterError,
    ModelAuthenticationError,
    ModelHTTPError,
    OutputTokenLimitExceeded,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
)
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.output import OutputSpec
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
from pydantic_ai.usage import RunUsage
from typing_extensions import override

from livedata.model.research.answers import CallFailure, CallUsage, Failed, ModelAnswer
from livedata.model.research.settings import ModelOutput, ResearchSettings
from livedata.research.ports import Prices, Question, prices_of
from livedata.research.providers.complaint import complaint, words_of_error

Answer = dict[str, Any]

PAUSE = 0.5
"""Seconds before a request is repeated, if the server does not name any."""
MOST_COMPLAINTS = 5
"""Places of an invalid answer that the model is told of."""
PASSING = {408, 409, 429, 500, 502, 503, 504}
"""The statuses after which the same request may succeed."""

# On a terminal it would advertise itself, in the middle of what a Run is at.
pydantic_ai.BANNER_ENABLED = False


def chat_model(
    settings: ResearchSettings, client: httpx2.AsyncClient, repeats: int
) -> OpenAIChatModel:
    """The model that the operator set; the client repeats a request in silence `repeats` times."""
    sdk = AsyncOpenAI(
        base_url=settings.model_base_url,
        api_key=settings.model_api_key or "none",
        http_client=client,
        max_retries=repeats,
        timeout=settings.model_seconds,
    )
    return OpenAIChatModel(
        settings.model,
        provider=OpenAICompatibleProvider("model", openai_client=sdk),
        profile=_profile(settings),
    )


class OpenAIModel:
    """The model that the operator set; one serves a whole Run on its loop."""

    def __init__(self, settings: ResearchSettings, client: httpx2.AsyncClient) -> None:
        self._settings = settings
        # Repeating is done here: what the client repeats in silence could not be counted.
        self._model = chat_model(settings, client, repeats=0)
        self._agents: dict[tuple[str, str], Agent[object, Answer]] = {}

    @property
    def name(self) -> str:
        """The name of the model, as the operator set it."""
        return self._settings.model

    @property
    def prices(self) -> Prices | None:
        """What the operator says that it costs."""
        return prices_of(self._settings)

    async def ask(self, question: Question) -> ModelAnswer:
        """The valid answer as JSON, or why there is none."""
        call = _Call(self._agent(question), self._model, question)
        seconds = self._settings.model_seconds
        body: str | Failed
        try:
            async with asyncio.timeout(seconds):
                body = await call.answered()
        except TimeoutError:
            body = Failed("model_unavailable", f"no complete answer within {seconds:g} s")
        except (AgentRunError, httpx2.HTTPError) as error:
            body = self._failure(error, question)
        return ModelAnswer(body, self._usage(call))

    def _agent(self, question: Question) -> Agent[object, Answer]:
        key = (question.system, question.schema)
        if key not in self._agents:
            # Building one takes 20 ms, and all windows of a Run have the same two texts.
            self._agents[key] = _agent(self._model, question, self._settings.model_output)
        return self._agents[key]

    def _usage(self, call: _Call) -> CallUsage:
        taken, prices = call.usage, self.prices
        is_measured = call.is_measured
        usd = None
        if is_measured and prices is not None:
            usd = (taken.input_tokens * prices.input + taken.output_tokens * prices.output) / 1e6
        return CallUsage(
            provider=urlsplit(self._settings.model_base_url).hostname or "",
            model=self.name,
            requests=call.sent,
            input_tokens=taken.input_tokens if is_measured else None,
            output_tokens=taken.output_tokens if is_measured else None,
            usd=usd,
        )

    def _failure(self, error: Exception, question: Question) -> Failed:
        code = failure_code(error)
        words = {
            "model_invalid_output": "no answer fitted the schema",
            "model_output_cut": f"the answer was cut after {question.most_output} tokens",
        }
        return Failed(code, words.get(code) or failure_words(error, self._settings))


class _Call(WrapperModel):
    """One question to its end: the model that it goes to, which counts what is sent and refused."""

    def __init__(
        self, agent: Agent[object, Answer], model: OpenAIChatModel, question: Question
    ) -> None:
        super().__init__(model)
        self._agent = agent
        self._question = question
        self.usage = RunUsage()
        self.sent = 0
        self._turned_down = 0

    @property
    def is_measured(self) -> bool:
        """Whether it is known what each request took; one that was turned down took nothing."""
        answered = self.usage.requests + self._turned_down
        return self.sent == answered and not self.usage.unmeasured_requests

    async def answered(self) -> str:
        """The valid answer; a request that failed in passing is repeated once."""
        try:
            return await self._asked()
        except ModelHTTPError as error:
            if error.status_code not in PASSING:
                raise
            wait = error.retry_after or PAUSE
        await asyncio.sleep(wait)
        return await self._asked()

    async def _asked(self) -> str:
        question = self._question
        left = question.requests - self.usage.requests
        result = await self._agent.run(
            question.message,
            model=self,
            usage=self.usage,
            usage_limits=UsageLimits(request_limit=question.requests),
            # Left to itself the client adds words of its own to the system text of a repetition.
            model_settings=ModelSettings(
                max_tokens=question.most_output, framing_announcement="never"
            ),
            retries=max(left - 1, 0),
        )
        return msgspec.json.encode(result.output).decode()

    @override
    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        self.sent += 1
        try:
            return await super().request(messages, model_settings, model_request_parameters)
        except ModelHTTPError:
            self._turned_down += 1
            raise


def _profile(settings: ResearchSettings) -> OpenAIModelProfile:
    """What the server can do: the operator knows it, and the name of a model says little."""
    host = urlsplit(settings.model_base_url).hostname or ""
    return OpenAIModelProfile(
        supports_json_schema_output=True,
        supports_tools=True,
        # Servers like OpenAI's know max_tokens; it alone refuses that name for some models.
        openai_chat_supports_max_completion_tokens=host.endswith((".openai.com", ".azure.com")),
    )


def sampling(model: OpenAIChatModel) -> ModelSettings:
    """How a model is told to draw the same answer again."""
    # A model that reasons draws as it likes, and refuses to be told.
    reasons = model.profile.get("openai_supports_reasoning", False)
    return ModelSettings() if reasons else ModelSettings(temperature=0, seed=7)


def _agent(
    model: OpenAIChatModel, question: Question, output: ModelOutput
) -> Agent[object, Answer]:
    validator = jsonschema_rs.validator_for(msgspec.json.decode(question.schema))
    agent: Agent[object, Answer] = Agent(
        model,
        output_type=_output_type(question, output),
        instructions=question.system,
        model_settings=sampling(model) | _format(question, output),
    )

    @agent.output_validator
    def valid(answer: Answer) -> Answer:
        errors = [_complaint_of(error) for error in validator.iter_errors(answer)]
        if errors:
            raise ModelRetry("The answer does not fit: " + "; ".join(errors[:MOST_COMPLAINTS]))
        return answer

    return agent


def _format(question: Question, output: ModelOutput) -> ModelSettings:
    """What a server is told that knows schemas by a word of its own, as llama-cpp-python's does."""
    if output != "object":
        return ModelSettings()
    schema = msgspec.json.decode(question.schema)
    return ModelSettings(extra_body={"response_format": {"type": "json_object", "schema": schema}})


def _output_type(question: Question, output: ModelOutput) -> OutputSpec[Answer]:
    shape = StructuredDict(msgspec.json.decode(question.schema), name=question.kind)
    if output == "native":
        return NativeOutput(shape, name=question.kind, strict=True)
    if output == "tool":
        return ToolOutput(shape, name=question.kind, strict=True)
    # A server that holds the answer to a schema does not show it to the model.
    return PromptedOutput(shape, name=question.kind)


def _complaint_of(error: jsonschema_rs.ValidationError) -> str:
    place = "/".join(map(str, error.instance_path))
    return f"{place or 'answer'}: {complaint(error.message)}"


def failure_code(error: Exception) -> CallFailure:
    """What an error of a call is."""
    match error:
        case ModelAuthenticationError():
            return "model_auth"
        case ContentFilterError():
            return "model_refused"
        case OutputTokenLimitExceeded():
            return "model_output_cut"
        case UnexpectedModelBehavior() | UsageLimitExceeded():
            return "model_invalid_output"
        case _:
            return "model_unavailable"


def failure_words(error: Exception, settings: ResearchSettings) -> str:
    """What the model's server, or the way to it, says went wrong; the key is not in it."""
    return complaint(_words(error, settings.model_base_url), settings.model_api_key)


def _words(error: Exception, address: str) -> str:
    if isinstance(error, ModelHTTPError):
        return words_of_error(error.status_code, error.body)
    if isinstance(error, ContentFilterError):
        return error.message
    causes = _chain(error)
    if any(isinstance(cause, httpx2.ConnectError) for cause in causes):
        return f"nothing answers at {address}"
    return f"{address}: {str(causes[-1]) or type(causes[-1]).__name__}"


def _chain(error: BaseException) -> list[BaseException]:
    """An error and what began it: the client and pydantic-ai wrap what the connection says."""
    return [error, *([] if error.__cause__ is None else _chain(error.__cause__))]
