"""What a client that shows more than tools is offered: resources and prompts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import anyio
import mcp_types as types
from anyio.to_thread import run_sync
from mcp.shared.exceptions import MCPError
from msgspec import Struct

from livedata.mcp.access import DatasetAccess
from livedata.mcp.answers import cut_text
from livedata.mcp.guarding import LONGEST_ERROR, AgentRequest, T, Unanswered, guarded
from livedata.mcp.prompts import prompt_named, prompts
from livedata.mcp.resources import RESOURCES, SCHEME, list_resources, read_resource
from livedata.model.errors import LivedataError

_UNPAGED: Final = "cursor leads to no page of this list, which is whole: ask for it without one."


class OfferedResources(Struct, frozen=True):
    """What can be attached of the datasets that a request may be about."""

    access_of: Callable[[AgentRequest], DatasetAccess]
    limiter: anyio.CapacityLimiter
    tell: Callable[[LivedataError], str]

    async def list(
        self, asked: AgentRequest, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        cursor = None if params is None else params.cursor
        page, more = await self._ask(asked, partial(list_resources, cursor=cursor))
        resources = [
            types.Resource(
                uri=kind.uri(name),
                name=f"{name} {kind.path}",
                title=f"{kind.title} of {name}",
                description=f"{kind.about} It is {state}.",
                mime_type=kind.mime_type,
            )
            for name, state in page
            for kind in RESOURCES
        ]
        return types.ListResourcesResult(resources=resources, next_cursor=more)

    async def list_templates(
        self, _asked: AgentRequest, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        refuse_cursor(params)
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(
                    uri_template=f"{SCHEME}{{dataset}}/{kind.path}",
                    name=kind.path,
                    title=kind.title,
                    description=kind.about,
                    mime_type=kind.mime_type,
                )
                for kind in RESOURCES
            ]
        )

    async def read(
        self, asked: AgentRequest, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        mime, text = await self._ask(asked, partial(read_resource, uri=params.uri))
        contents = types.TextResourceContents(uri=params.uri, mime_type=mime, text=text)
        return types.ReadResourceResult(contents=[contents])

    async def _ask(self, asked: AgentRequest, question: Callable[[DatasetAccess], T]) -> T:
        access = self.access_of(asked)
        try:
            return await run_sync(
                lambda: guarded(access, self.tell, "A resource", lambda: question(access)),
                limiter=self.limiter,
            )
        except Unanswered as failed:
            raise MCPError(types.INVALID_PARAMS, failed.sentence) from failed


class OfferedPrompts(Struct, frozen=True):
    """The prompts that the tools can answer; no dataset is asked for them."""

    write: bool

    async def list(
        self, _asked: AgentRequest, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        refuse_cursor(params)
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(
                    name=prompt.name,
                    title=prompt.title,
                    description=prompt.about,
                    arguments=[
                        types.PromptArgument(
                            name=argument.name, description=argument.about, required=True
                        )
                        for argument in prompt.arguments
                    ],
                )
                for prompt in prompts(write=self.write)
            ]
        )

    async def get(
        self, _asked: AgentRequest, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        try:
            prompt = prompt_named(params.name, write=self.write)
            text = prompt.text(params.arguments or {})
        except LivedataError as error:
            raise MCPError(types.INVALID_PARAMS, cut_text(error.message, LONGEST_ERROR)) from error
        message = types.PromptMessage(
            role="user", content=types.TextContent(type="text", text=text)
        )
        return types.GetPromptResult(description=prompt.about, messages=[message])


def refuse_cursor(params: types.PaginatedRequestParams | None) -> None:
    """Refuse a cursor of a list that has a single page. Raises MCPError."""
    if params is not None and params.cursor is not None:
        raise MCPError(types.INVALID_PARAMS, _UNPAGED)
