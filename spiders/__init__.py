"""The crawler: the only package that knows Scrapy, Twisted and Playwright.

Two modules of Scrapy are imported first of all, by themselves: while they are imported they look
three times at every frame of the call stack, each time through all loaded modules. That is cheapest
while there are few of both.
"""

import scrapy.core.downloader.contextfactory
import scrapy.core.downloader.tls  # noqa: F401
