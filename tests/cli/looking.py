"""The command ``init`` on a site of a test."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.shell import Shell
    from tests.site import Site


class Looking:
    """The command ``init`` on a site of the test."""

    def __init__(self, livedata: Shell, site: Site, file: Path) -> None:
        self.livedata, self.site, self.file = livedata, site, file

    def __call__(self, *options: str, code: int = 0) -> tuple[str, str]:
        """What it prints to stdout and to stderr for the first page of the site."""
        return self.typed("init", self.site.at("/1"), "-o", str(self.file), *options, code=code)

    def typed(self, *args: str, code: int = 0) -> tuple[str, str]:
        return self.livedata.typed(*args, code=code)

    def told(self, *answers: str) -> tuple[str, int]:
        """What it shows on a terminal on which a person types these answers, and how it ends."""
        words = ("init", self.site.at("/1"), "-o", str(self.file))
        return self.livedata.answered(*words, answers=answers)

    def json(self, *options: str, code: int = 0) -> Any:
        return json.loads(self("--json", *options, code=code)[0])
