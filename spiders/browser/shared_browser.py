"""The one browser of a process: how it is found, started, lent to Runs and closed.

Playwright is imported only once a Run wants a browser: it is an extra, ``livedata[browser]``.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livedata.model.problem import Problem, Remedy

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Playwright

ON_PATH = ("chromium-headless-shell", "chromium")

# Each closes a way around the egress: WebRTC and QUIC go over UDP, which no HTTP proxy carries; a
# name that Chromium resolves itself is asked for in the open and not judged; and it calls home.
_ARGUMENTS = (
    # Full Chromium obeys the first, the headless shell the second; neither knows the other's.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--disable-quic",
    "--disable-background-networking",
    "--dns-prefetch-disable",
    "--no-pings",
    # A page that fills its heap loses its tab, and not this machine its memory.
    "--js-flags=--max-old-space-size=512",
)
# If it is set, Playwright lets pages reach loopback past the proxy.
_LETS_LOOPBACK_OUT = "PLAYWRIGHT_DISABLE_FORCED_CHROMIUM_PROXIED_LOOPBACK"
_PATIENCE = 5.0
"""Seconds that an answer, and closing, may take."""


class NoBrowser(Exception):
    """There is no browser, or it does not start."""

    def __init__(self, what: str, remedy: str, **params: str) -> None:
        super().__init__(what)
        self.problem = Problem(f"run.{what}", params, remedies=(Remedy(remedy),))


def executable(named: str) -> str | None:
    """The browser to start: the one that is named, else one on PATH; None for Playwright's own.

    Raises NoBrowser if the one that is named cannot be started.
    """
    if not named:
        return next(filter(None, map(shutil.which, ON_PATH)), None)
    path = Path(named).expanduser()
    if not (path.is_file() and os.access(path, os.X_OK)):
        raise NoBrowser("wrong_browser", "name_browser", path=named)
    return str(path)


class SharedBrowser:
    """Started with the first Run that wants it, and again if it has died or stands still."""

    def __init__(self) -> None:
        self._starting = asyncio.Lock()
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._path: str | None = None
        self._nowhere: socket.socket | None = None

    async def start(self, named: str) -> Browser:
        """The browser. Raises NoBrowser."""
        path = executable(named)
        # Runs that begin together share one start.
        async with self._starting:
            if path != self._path or not await self._answers():
                await self._close_browser()
                self._browser = await self._launch(path)
                self._path = path
            assert self._browser is not None
            return self._browser

    async def close(self) -> None:
        """Close it with all that belongs to it."""
        async with self._starting:
            await self._close_browser()
            await self._stop_driver()
            if self._nowhere is not None:
                self._nowhere.close()
            self._nowhere = None

    async def _answers(self) -> bool:
        """Whether there is a browser that does what it is asked."""
        if self._browser is None or not self._browser.is_connected():
            return False
        # One that stands still stays connected, and every Run to come would wait for it in vain.
        with suppress(Exception):
            async with asyncio.timeout(_PATIENCE):
                session = await self._browser.new_browser_cdp_session()
                await session.detach()
            return True
        return False

    async def _close_browser(self) -> None:
        if self._browser is not None:
            try:
                await asyncio.wait_for(self._browser.close(), _PATIENCE)
            except TimeoutError:
                # It is deaf: only its driver can kill it, and does so before it ends itself.
                await self._stop_driver()
            except Exception:  # noqa: BLE001, S110  (it is dead already)
                pass
        self._browser = None

    async def _stop_driver(self) -> None:
        if self._playwright is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._playwright.stop(), _PATIENCE)
        self._playwright = None

    async def _launch(self, path: str | None) -> Browser:
        try:
            from playwright.async_api import Error, async_playwright
        except ImportError as error:
            raise NoBrowser("no_browser_support", "install_browser_support") from error
        os.environ.pop(_LETS_LOOPBACK_OUT, None)
        if self._playwright is None:
            self._playwright = await async_playwright().start()
        try:
            return await self._playwright.chromium.launch(
                executable_path=path,
                headless=True,
                chromium_sandbox=os.geteuid() != 0,  # Chromium refuses to sandbox for root
                proxy={"server": self._dead_end()},
                args=list(_ARGUMENTS),
            )
        except Error as error:
            raise _not_started(path, error.message) from error

    def _dead_end(self) -> str:
        """A port of our own on which nobody listens: the way out of what is in no Run's context."""
        # Bound and never listening: no other program gets the port, and to connect is refused.
        if self._nowhere is None:
            self._nowhere = socket.socket()
            self._nowhere.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{self._nowhere.getsockname()[1]}"


def _not_started(path: str | None, message: str) -> NoBrowser:
    if path is None and "Executable doesn't exist" in message:
        return NoBrowser("no_browser", "install_browser")
    first = next((line for line in message.splitlines() if line.strip()), "no reason given")
    browser = path or "of Playwright"
    return NoBrowser("browser_not_started", "name_browser", browser=browser, said=first[:300])


class Lent:
    """The shared browser as one Run holds it: it makes contexts, and cannot be closed."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser

    async def new_context(self, **options: Any) -> BrowserContext:
        """A context of the browser."""
        return await self._browser.new_context(**options)

    def on(self, _event: str, _listener: object) -> None:
        """Nothing: what every Run hangs onto a browser that outlives them all adds up."""

    async def close(self) -> None:
        """Nothing: others use it."""


class Provider:
    """Gives scrapy-playwright the shared browser."""

    def __init__(self, browser: Browser | None) -> None:
        self._browser = browser

    async def start(self) -> None:
        """Nothing: it was started before the crawl."""

    async def launch_browser(self) -> Lent:
        """The shared browser."""
        assert self._browser is not None  # without one the Run was cancelled, and asks for no page
        return Lent(self._browser)

    async def launch_persistent_context(self, _options: object) -> BrowserContext:
        """Never: nothing of a Run stays on the disk."""
        raise RuntimeError("a Run keeps nothing on the disk, so it has no persistent context")

    async def close(self) -> None:
        """Nothing: it is closed with the process."""
