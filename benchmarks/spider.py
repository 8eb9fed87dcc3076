"""The spider that a person would write for the shop by hand, without livedata.

scrapy runspider benchmarks/spider.py -O items.jsonl -s LOG_LEVEL=ERROR -a url=http://…/list/1.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import scrapy
from scrapy.http import Response
from typing_extensions import override


class ShopSpider(scrapy.Spider):
    """A spider that follows the next link, or reads as many `pages` as it gets told."""

    name = "shop"
    custom_settings: dict[Any, Any] | None = {  # noqa: RUF012  (as Scrapy declares it)
        # livedata has neither; a pause or a console would make the spider look slow.
        "TELNETCONSOLE_ENABLED": False,
        "DOWNLOAD_DELAY": 0,
    }

    def __init__(self, url: str, pages: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [url]
        self.linked = not pages
        if pages:
            numbers = range(1, int(pages) + 1)
            self.start_urls = [url.replace("1.html", f"{number}.html") for number in numbers]

    @override
    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        """The items of one page, then the next page."""
        for tile in response.css("article.tile"):
            yield {
                "sku": tile.attrib.get("data-sku"),
                "title": tile.css(".tile__name a::text").get(),
                "brand": tile.css("p.tile__brand::text").get(),
                "price": tile.css(".tile__price > .now::attr(data-amount)").get(),
                "rating": tile.css(".tile__stars .value::text").get(),
                "reviews": tile.css(".tile__stars .count::text").get(),
                "stock": tile.css("p.availability::text").get(),
                "link": tile.css("a.tile__image::attr(href)").get(),
            }
        following = response.css("a.pages__next::attr(href)").get()
        if self.linked and following:
            yield response.follow(following)
