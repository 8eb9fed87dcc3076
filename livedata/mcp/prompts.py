"""What a person may ask an agent for in one word: prompts, which name the tools to take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import mcp_types as types
from mcp.shared.exceptions import MCPError
from msgspec import Struct

from livedata.mcp.access import LONGEST_NAME
from livedata.mcp.answers import compact, cut_text, refuse_cursor
from livedata.mcp.arguments import Argument, read_arguments
from livedata.mcp.guarding import LONGEST_ERROR, AgentRequest
from livedata.messages.controls import escape_json
from livedata.messages.request import shortened
from livedata.model.errors import LivedataError, NotFound
from livedata.services.moments import LONGEST_WHEN

_DATASET: Final = Argument("dataset", "name of the dataset.", required=True, longest=LONGEST_NAME)


class AgentPrompt(Struct, frozen=True):
    """A prompt; `template` has its arguments in braces. One that `writes` needs tools that do."""

    name: str
    title: str
    about: str
    arguments: Sequence[Argument]
    template: str
    writes: bool = False

    def text(self, given: Mapping[str, object]) -> str:
        """What the agent is asked. Raises Invalid, which says what the prompt takes."""
        values = read_arguments(self.name, self.arguments, given)
        # As JSON, so that no argument can end its quotes and go on as if it were the prompt.
        written = {name: escape_json(compact(value)).decode() for name, value in values.items()}
        return self.template.format(**written)


def prompt_named(name: str, *, write: bool) -> AgentPrompt:
    """The prompt of a name. Raises NotFound, which lists what there is."""
    offered = prompts(write=write)
    for prompt in offered:
        if prompt.name == name:
            return prompt
    names = ", ".join(prompt.name for prompt in offered)
    raise NotFound(f"There is no prompt {shortened(name)!r}. There is: {names}.")


def prompts(*, write: bool) -> list[AgentPrompt]:
    """The prompts that the tools of an agent can answer."""
    return [prompt for prompt in _PROMPTS if write or not prompt.writes]


_PROMPTS: Final = (
    AgentPrompt(
        "make_table",
        "Make a table of a page",
        "A table of the list at an address, tried before it is made.",
        (Argument("url", "the first page of the list.", required=True, longest=2_048),),
        "Make a table of the list at {url} with livedata. Look at the page with look_at_page, and "
        "tell me which list you take, its columns, its key, and all that is unsure. Try the "
        "declaration with preview_source. If it would be accepted, and I agree, make the dataset "
        "with create_dataset; ask me before run_dataset, since it costs credits. Then show me the "
        "first rows, with where one of them was read (get_row).",
        writes=True,
    ),
    AgentPrompt(
        "what_changed",
        "What changed",
        "What became new, changed or gone in a table since a day.",
        (
            _DATASET,
            Argument(
                "since",
                "a day, a moment with its zone, or a sequence.",
                required=True,
                longest=LONGEST_WHEN,
            ),
        ),
        "What changed in the dataset {dataset} of livedata since {since}? Ask query_rows with "
        "at={since} and limit=1: its `through` is the sequence of that moment. Ask list_changes "
        "with after=that sequence until `next` is null. Tell me by row what is new, what is gone, "
        "and what changed from which value to which; if `state` is not ok, say first since when "
        "and why the rows are older.",
    ),
    AgentPrompt(
        "why_not_taken",
        "Why it is not up to date",
        "Why a table is not up to date, and what helps.",
        (_DATASET,),
        "Why is the dataset {dataset} of livedata not up to date? Ask explain_run, and tell me in "
        "two sentences what happened and what the likeliest cause is, then what I can do: what is "
        "in `forOwner` only I may do, so show me those commands and give none of them yourself.",
    ),
)
"""All of them, in the order in which they are listed."""


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
