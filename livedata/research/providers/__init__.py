"""What meets the ports of a model and of a search, imported when a research Run begins.

This file says whether their packages are installed, and imports none of them to tell.
"""

from __future__ import annotations

from importlib.util import find_spec

from livedata.messages.research import NOT_INSTALLED
from livedata.model.errors import ResearchUnavailable
from livedata.model.problem import Remedy

PACKAGES = ("httpx2", "jsonschema_rs", "openai", "pydantic_ai")


def require_packages() -> None:
    """Raise ResearchUnavailable if a package of the extra is missing."""
    if any(find_spec(package) is None for package in PACKAGES):
        raise ResearchUnavailable(NOT_INSTALLED, remedies=(Remedy("install_research"),))
