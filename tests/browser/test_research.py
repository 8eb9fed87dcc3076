"""Research asks a browser for a page that says little without its scripts."""

from __future__ import annotations

from livedata.model.research.answers import PageText
from spiders.crawl.engine import CrawlEngine
from tests.browser.scripted import scripted
from tests.researching import Researching
from tests.site import Site

TABLE = "<table><tr><td>Acme<td>1999</table>"


def test_a_page_made_by_scripts_is_read_in_a_browser_once(engine: CrawlEngine, site: Site) -> None:
    site.page("/app", scripted(TABLE))
    site.page("/plain", TABLE)
    site.page("/long", scripted(TABLE, tail=f"<p>{'long ' * 100}"))
    researching = Researching(engine, site.host)
    app, plain, long = researching.read(*map(site.at, ("/app", "/plain", "/long")))
    assert isinstance(app, PageText)
    assert (app.text, app.final_url) == ("Acme\t1999", site.at("/app"))
    assert isinstance(plain, PageText)
    assert isinstance(long, PageText)
    assert "Acme" not in long.text
    assert [path for path in site.paths if path != "/favicon.ico"].count("/app") == 2
    assert site.paths.count("/plain") == 1
