"""Research in words: what its model took, and why a person cannot have it yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from typing_extensions import override

from livedata.messages.templates import plural

if TYPE_CHECKING:
    from livedata.model.research.answers import CallUsage


NO_MODEL = "Research needs a model, and none is set."
NO_SEARCH = "Research needs pages, and neither a search nor an address is given."
NOT_INSTALLED = "Research needs packages that are not installed here."
NO_PRICE = "limits money, but what the model costs is not known; limit tokens, or set its price"

_CENT: Final = 0.01


class UsageTotal(Struct):
    """The tokens and the money that calls took; `usd` is None once a price is not known.

    `untold` are the calls of which the server did not tell the tokens.
    """

    calls: int = 0
    tokens: int = 0
    untold: int = 0
    usd: float | None = 0.0

    def include(self, calls: Sequence[CallUsage]) -> None:
        """Count calls of a model; a search has no tokens."""
        for call in calls:
            if call.model is None:
                continue
            self.calls += call.requests
            self.untold += call.input_tokens is None or call.output_tokens is None
            self.tokens += (call.input_tokens or 0) + (call.output_tokens or 0)
            known = self.usd is not None and call.usd is not None
            self.usd = (self.usd or 0) + (call.usd or 0) if known else None

    @override
    def __str__(self) -> str:
        """Such as "12,345 tokens, $0.0210"; without money if no call or no price is known."""
        usd = self.usd or 0
        # A window costs less than a cent.
        return self._told(f"${usd:,.2f}" if usd >= 1 else f"${usd:.4f}")

    def to_the_cent(self) -> str:
        """The same with no more of the money than its cents."""
        usd = self.usd or 0
        return self._told("under $0.01" if 0 < usd < _CENT else f"${usd:,.2f}")

    def _told(self, money: str) -> str:
        if self.untold and not self.tokens:
            return f"tokens not told for {plural(self.untold, 'question')}"
        tokens = f"{self.tokens:,} token{'' if self.tokens == 1 else 's'}"
        if self.untold:
            tokens = f"{tokens}, not told for {plural(self.untold, 'question')}"
        if self.usd is None or self.calls == 0:
            return tokens
        return f"{tokens}, {money}"


def describe_calls(calls: Sequence[CallUsage], *, to_the_cent: bool = False) -> str:
    """Say what the calls of a Run took, or that the model was not asked."""
    total = UsageTotal()
    total.include(calls)
    if not total.calls:
        return "the model was not asked"
    return total.to_the_cent() if to_the_cent else str(total)
