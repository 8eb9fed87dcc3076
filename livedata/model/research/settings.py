"""Which model and search a research Run uses, and what a day may take, as the operator set them."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

ModelOutput = Literal["native", "object", "tool", "prompted"]
SearchProvider = Literal["tavily", "searxng", "brave", "none"]

OPENAI = "https://api.openai.com/v1"


class ResearchSettings(Struct, frozen=True):
    """The settings of research; `model` is "" as long as none is set.

    Prices are US dollars per million tokens; both are None as long as nobody has said them.
    `research_seconds` bound a Run, `model_seconds` each question with all that it repeats. What the
    research of one owner may use in a day of `timezone` is None as long as it is not limited.
    """

    model: str = ""
    model_base_url: str = OPENAI
    model_api_key: str = ""
    model_output: ModelOutput = "native"
    model_price_in: float | None = None
    model_price_out: float | None = None
    model_seconds: float = 60.0
    search: SearchProvider = "none"
    search_url: str = ""
    search_key: str = ""
    research_seconds: float = 1800.0
    research_tokens_a_day: int | None = None
    research_usd_a_day: float | None = None
    timezone: str = "UTC"

    def _without_secrets(self) -> str:
        return f"ResearchSettings(model={self.model!r}, search={self.search!r})"

    __repr__ = _without_secrets  # keys, and addresses that may have a password

    @property
    def has_prices(self) -> bool:
        """Whether it is known what the model costs."""
        return self.model_price_in is not None and self.model_price_out is not None

    @property
    def has_day(self) -> bool:
        """Whether the research of a day is limited."""
        return self.research_tokens_a_day is not None or self.research_usd_a_day is not None


class DayBudget(Struct, frozen=True):
    """The limits of a day, and what is used of it so far; without a limit it is None.

    `day` is its date in the operator's time zone, `renews` the moment at which the next one begins,
    both as ISO 8601 writes them. What a call under way may take at most counts as used.
    """

    day: str
    renews: str
    tokens: int = 0
    usd: float = 0.0
    most_tokens: int | None = None
    most_usd: float | None = None
