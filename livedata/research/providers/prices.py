"""What a model costs, as the operator set it."""

from __future__ import annotations

from livedata.model.research.settings import ResearchSettings
from livedata.research.ports import Prices


def prices_of(settings: ResearchSettings) -> Prices | None:
    """What the operator says that the model costs."""
    price_in, price_out = settings.model_price_in, settings.model_price_out
    return None if price_in is None or price_out is None else Prices(price_in, price_out)
