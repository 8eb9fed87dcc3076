"""What a Run may still begin: rules 14.10."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from livedata.model.research.answers import CallUsage
from livedata.model.research.recipe import ResearchLimits
from livedata.model.research.record import Spent
from livedata.model.research.settings import DayBudget
from livedata.research.ports import Prices, Question

Limit = Literal["token_limit", "cost_limit"]
LIMITS: Mapping[str, Limit] = {limit: limit for limit in get_args(Limit)}

_FRAME = 200
"""Tokens of a request beside its texts, at most: roles, and the names of tools."""
_COMPLAINT = 1_000
"""Tokens that say what was wrong with an answer, at most."""
_PER_PRICE = 1_000_000


class Cost(Struct, frozen=True):
    """Tokens and US dollars; `usd` is 0 if no money limit asks for it."""

    tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.tokens + other.tokens, self.usd + other.usd)


class Reached(Struct, frozen=True):
    """A limit that leaves no room: that of the Run, or that of the owner's day."""

    rule: Limit
    of_day: bool = False


class Budget:
    """The limits of a Run and of its owner's day, and what calls cost, at worst or as told."""

    def __init__(
        self,
        limits: ResearchLimits,
        spent: Spent,
        prices: Prices | None,
        day: DayBudget | None = None,
    ) -> None:
        self.limits = limits
        self.before = Cost(spent.tokens, spent.usd)
        self.day = day
        self._prices = prices

    def exceeded(self, cost: Cost) -> Reached | None:
        """The limit that this much, added to what was used before, would exceed."""
        limits, day = self.limits, self.day
        rule = self._exceeded(self.before + cost, limits.tokens, limits.usd)
        if rule is not None:
            return Reached(rule)
        if day is None:
            return None
        used = Cost(day.tokens, day.usd) + cost
        rule = self._exceeded(used, day.most_tokens, day.most_usd)
        return None if rule is None else Reached(rule, of_day=True)

    def figures(self, reached: Reached, cost: Cost) -> dict[str, Any]:
        """A limit and how far it was used, once an attempt has used so much."""
        day = self.day
        if reached.of_day and day is not None:
            limits, used = (day.most_tokens, day.most_usd), Cost(day.tokens, day.usd) + cost
            about = {"day": day.day, "renews": day.renews}
        else:
            limits, used = (self.limits.tokens, self.limits.usd), self.before + cost
            about = {}
        if reached.rule == "token_limit":
            return {"limit": limits[0], "reached": used.tokens, **about}
        return {"limit": limits[1], "reached": round(used.usd, 6), **about}

    def _exceeded(self, total: Cost, tokens: int | None, usd: float | None) -> Limit | None:
        if tokens is not None and total.tokens > tokens:
            return "token_limit"
        # Without a price nobody can say that a call is within a limit of money.
        unknown = usd is not None and self._prices is None
        return "cost_limit" if unknown or (usd is not None and total.usd > usd) else None

    def worst(self, question: Question, requests: int) -> Cost:
        """What a question may take at most."""
        return worst_case(question, requests, self._prices)

    def actual(self, usage: CallUsage, worst: Cost) -> Cost:
        """What a call took; the worst of it where nobody told."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return worst
        told = _cost(usage.input_tokens, usage.output_tokens, self._prices)
        return told if usage.usd is None else Cost(told.tokens, usage.usd)


def worst_case(question: Question, requests: int, prices: Prices | None) -> Cost:
    """What a question may take at most: one byte of text is never more than one token."""
    texts = (question.system, question.message, question.schema)
    asked = sum(len(text.encode()) for text in texts) + _FRAME
    # Each later request repeats all answers before it, and says what was wrong with them.
    repeated = (2 * question.most_output + _COMPLAINT) * (requests * (requests - 1) // 2)
    return _cost(asked * requests + repeated, question.most_output * requests, prices)


def with_worst_case(usage: CallUsage, question: Question, prices: Prices | None) -> CallUsage:
    """What a call took; if nobody told, with what it counts for in a later attempt."""
    if usage.input_tokens is not None and usage.output_tokens is not None:
        return usage
    worst = worst_case(question, question.requests, prices)
    return replace(usage, most_tokens=worst.tokens, most_usd=worst.usd)


def _cost(asked: int, answered: int, prices: Prices | None) -> Cost:
    if prices is None:
        return Cost(asked + answered)
    usd = (asked * prices.input + answered * prices.output) / _PER_PRICE
    return Cost(asked + answered, usd)
