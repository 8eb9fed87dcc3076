"""Scrapy's settings for one Run: lean, polite, and nothing listening."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import cache, lru_cache
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace
from scrapy.settings import BaseSettings, Settings
from typing_extensions import override

from livedata import config
from livedata.extraction.matching.css import names_derived, without_derived
from livedata.model.recipe import NextLinkPages, Recipe, UrlPatternPages
from livedata.rules.network.installation import Proxy
from livedata.rules.network.targets import TargetPolicy
from spiders.fetch.handler import GuardedHandler
from spiders.fetch.middlewares import (
    Cookies,
    Decompression,
    Redirects,
    Refreshes,
    RenderedRobots,
    Robots,
)
from spiders.session import HarvestPipeline

MAX_BODY = 5 * 2**20

# Requests pass from the top down, answers from the bottom up: robots.txt is asked before anything
# else, redirects leave their cookies, and a refresh is looked for in a body that is unpacked.
_MIDDLEWARES: dict[str | type, int] = {
    Robots: 100,
    "scrapy.downloadermiddlewares.defaultheaders.DefaultHeadersMiddleware": 400,
    Refreshes: 580,
    Decompression: 590,
    Redirects: 600,
    Cookies: 700,
}
# A redirect to file: or ftp: finds nobody who would open it.
_NO_HANDLERS = dict.fromkeys(("file", "ftp", "data", "s3"))
_HEADERS = {
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Language": "en",
    "Accept-Encoding": "gzip, deflate",  # all that Decompression undoes
}


class FetchConfig(Struct, frozen=True):
    """How this installation fetches: what may be reached, as whom, how fast, for how long."""

    targets: TargetPolicy
    user_agent: str
    delay: float = 0.25
    timeout: float = 20.0
    run_timeout: float = 600.0
    look_ahead: int = 2
    proxy: Proxy | None = None
    browser: str = ""

    def narrowed(self, only_hosts: frozenset[str] | None) -> FetchConfig:
        """The same for a Run that may read only some hosts, if it names them."""
        if only_hosts is None:
            return self
        return replace(self, targets=self.targets.narrowed(only_hosts))


def fetch_config(settings: config.Settings) -> FetchConfig:
    """How the settings of the installation say that pages are fetched."""
    return FetchConfig(
        targets=settings.targets,
        user_agent=settings.user_agent,
        delay=settings.delay,
        timeout=settings.page_seconds,
        run_timeout=settings.run_seconds,
        look_ahead=settings.look_ahead,
        proxy=Proxy.parse(settings.proxy),
        browser=settings.browser,
    )


@cache
def _defaults() -> Settings:
    """Scrapy's own settings, which nobody changes."""
    return Settings()


class CrawlSettings(Settings):
    """The settings of one crawl, which nobody else has: Scrapy's own, and what is said here."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        # Not by Settings, which looks through Scrapy's module of defaults for each crawl.
        BaseSettings.__init__(self, _defaults())
        self.update(dict(values), "project")

    @override
    def copy(self) -> Self:
        # Scrapy copies deeply what it is given, lest two crawls share it. That took a sixth of the
        # CPU of a small Run. These are shared: a crawl marks its own as final, and changes none.
        return copy(self)


def settings_for(recipe: Recipe, fetching: FetchConfig) -> CrawlSettings:
    """The settings of the crawl that one Run of selectors is."""
    awaited = _awaited(recipe) if recipe.render == "browser" else None
    return crawl_settings(fetching, obey_robots=not recipe.ignore_robots, awaited=awaited)


def crawl_settings(
    fetching: FetchConfig, *, obey_robots: bool = True, awaited: Mapping[str, str] | None = None
) -> CrawlSettings:
    """The settings of a crawl; its pages are rendered if it says which selectors are `awaited`."""
    if awaited is None:
        return _plain(fetching, obey_robots)
    return CrawlSettings({**_common(fetching, obey_robots), **_rendering(awaited)})


@lru_cache(maxsize=8)
def _plain(fetching: FetchConfig, obey_robots: bool) -> CrawlSettings:
    # Alike for all Runs of a worker: to make them for each was a fifteenth of its CPU.
    return CrawlSettings(_common(fetching, obey_robots))


def _common(fetching: FetchConfig, obey_robots: bool) -> dict[str, Any]:
    """What is said of every crawl."""
    return {
        "LOG_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        "USER_AGENT": fetching.user_agent,
        "ROBOTSTXT_USER_AGENT": robots_product(fetching.user_agent),
        "ROBOTSTXT_OBEY": obey_robots,
        "DOWNLOAD_HANDLERS": {**_NO_HANDLERS, "http": GuardedHandler, "https": GuardedHandler},
        # The bases are replaced, not switched off one by one: Scrapy imports what it switches off.
        "DOWNLOADER_MIDDLEWARES_BASE": _MIDDLEWARES,
        # With the name of who asks: a middleware more is made anew for each crawl.
        "DEFAULT_REQUEST_HEADERS": {**_HEADERS, "User-Agent": fetching.user_agent},
        "ITEM_PIPELINES": {HarvestPipeline: 1},
        "EXTENSIONS_BASE": {},
        "SPIDER_MIDDLEWARES_BASE": {},
        "DOWNLOAD_TIMEOUT": fetching.timeout,
        "DOWNLOAD_MAXSIZE": MAX_BODY,
        "DOWNLOAD_WARNSIZE": 0,
        # Scrapy's default takes any certificate: whoever stands in between could write the rows.
        "DOWNLOAD_VERIFY_CERTIFICATES": True,
        "REDIRECT_MAX_TIMES": 5,
        "METAREFRESH_MAXDELAY": 5,
        # Scrapy's own limits are per crawl and host; the handler takes turns over all crawls.
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DOWNLOAD_DELAY": 0,
    }


def robots_product(user_agent: str) -> str:
    """What robots.txt knows us by (RFC 9309, 2.2.1): not the address behind it, nor the version."""
    return user_agent.partition("/")[0].partition(" ")[0] or user_agent


def _awaited(recipe: Recipe) -> dict[str, str]:
    """What says that a page is there; a browser knows no attribute that livedata derives."""
    pagination = recipe.pagination
    end = pagination.end_selector if isinstance(pagination, UrlPatternPages) else ""
    following = pagination.selector if isinstance(pagination, NextLinkPages) else ""
    return {
        "items": without_derived(recipe.item_selector),
        # One that says less would end the wait for items: it may match on any page.
        "end": "" if end and names_derived(end) else end,
        "next": without_derived(following) if following else "",
    }


def _rendering(awaited: Mapping[str, str]) -> dict[str, Any]:
    """What differs for rendered pages; by name, because a plain install does not have it."""
    handlers = dict.fromkeys(("http", "https"), "spiders.browser.rendering.RenderingHandler")
    others = {
        middleware: place for middleware, place in _MIDDLEWARES.items() if middleware is not Robots
    }
    return {
        "LIVEDATA_AWAITED": dict(awaited),
        "DOWNLOAD_HANDLERS": {**_NO_HANDLERS, **handlers},
        "DOWNLOADER_MIDDLEWARES_BASE": {
            RenderedRobots: _MIDDLEWARES[Robots],
            **others,
        },
        "PLAYWRIGHT_PROCESS_REQUEST_HEADERS": None,  # the browser's own are right
    }
