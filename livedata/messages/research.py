"""What a person is told who wants research and cannot have it yet."""

from __future__ import annotations

NO_MODEL = "Research needs a model, and none is set."
NO_SEARCH = "Research needs pages, and neither a search nor an address is given."
NOT_INSTALLED = "Research needs packages that are not installed here."
NO_PRICE = "limits money, but what the model costs is not known; limit tokens, or set its price"
