"""How a question is answered whatever goes wrong in it: by a sentence, and a line in the log."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final, TypeVar

from mcp.server.context import ServerRequestContext

from livedata.mcp.access import DatasetAccess
from livedata.mcp.answers import cut_text
from livedata.model.errors import LivedataError

T = TypeVar("T")
AgentRequest = ServerRequestContext[Any, Any]
"""A request as the SDK hands it over."""

LONGEST_ERROR: Final = 2_000
_LOG: Final = logging.getLogger("livedata.mcp")


class Unanswered(Exception):
    """What an agent asked has no answer, and `sentence` says why."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = cut_text(sentence, LONGEST_ERROR)


def guarded(
    access: DatasetAccess,
    tell: Callable[[LivedataError], str],
    what: str,
    question: Callable[[], T],
) -> T:
    """The answer to a question. Raises Unanswered, and logs what nobody has foreseen."""
    try:
        return question()
    except LivedataError as error:
        raise Unanswered(tell(error)) from error
    except Exception as error:
        _LOG.exception("%s failed", what)
        try:
            # An unreadable record shows as a common error: only now it is searched for.
            access.database.raise_damage(error)
        except LivedataError as damage:
            raise Unanswered(tell(damage)) from error
        raise Unanswered(
            "livedata failed here; the log of livedata mcp, on its stderr, says where."
        ) from error
