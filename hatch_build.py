"""What an index of packages shows of livedata: the README, whose links lead there too."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)(\[[^\]]*\])\((?!https?://|#)([^)\s]+)\)")


class Description(MetadataHookInterface):  # type: ignore[misc]  # hatchling says no types
    """Fills in the description of the project."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Give the project its README as it is read without the files beside it."""
        source = metadata["urls"]["Source"]

        def absolute(link: re.Match[str]) -> str:
            picture, text, path = link.groups()
            return f"{picture}{text}({source}/{'raw' if picture else 'blob'}/main/{path})"

        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        described = LINK.sub(absolute, text)
        metadata["readme"] = {"content-type": "text/markdown", "text": described}
