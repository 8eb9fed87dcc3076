"""The jobs of a file: there are none, so crawl workers look at the queue by themselves."""

from __future__ import annotations

from collections.abc import Callable

from livedata.store.database.backend import Job


class NoJobs:
    """Calls nobody."""

    heard = False

    async def listen(self, ring: Callable[[], object]) -> None:
        """Nothing comes."""

    def take(self) -> Job | None:
        """None."""
        return None

    def finish(self, job: Job) -> None:
        """Nothing."""

    def sweep(self) -> None:
        """Nothing."""
