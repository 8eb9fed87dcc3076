"""The crawler: the only package that knows Scrapy, Twisted and Playwright.

Scrapy's HTTP handler is imported first of all: while it is imported it looks several times through
the whole call stack and all loaded modules, which is cheapest while there are few of both.
"""

import scrapy.core.downloader.handlers.http11  # noqa: F401
