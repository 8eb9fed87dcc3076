"""The turn of a Run at the sites to which its pages lead: one Run at a time asks a site."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from livedata.rules.network.targets import site_of
from spiders.session.session import CrawlSession


class SiteTurn:
    """The turn that a Run has: at first that of the site of its session. To take "" gives it up."""

    def __init__(self, session: CrawlSession, take: Callable[[str], Awaitable[None]]) -> None:
        self._deadline = session.deadline
        self._site = session.site
        self._take = take

    async def leave(self) -> None:
        """Give the turn up; the next page waits for one again."""
        if self._site:
            await self._take("")
            self._site = ""

    async def move(self, url: str) -> None:
        """Wait for the turn of a site if the next page is of another one than the last."""
        try:
            site = site_of(url)
        except ValueError:
            return  # it has no site: reading it fails
        if site not in ("", self._site):
            # Others hold the site for as long as they like, so this is no time of the Run's.
            with self._deadline.paused():
                await self._take(site)
            self._site = site
