"""The reading of a list, in words: why a page could not be read, and what broke the way on."""

from __future__ import annotations

from collections.abc import Mapping

from livedata.messages import remedies
from livedata.messages.request import predicate
from livedata.messages.templates import Words, fill
from livedata.model.problem import Problem


def _no_tunnel(problem: Problem) -> str:
    status = problem.params["proxy_status"]
    answer = f"answered with the status {status}" if status else "cut the connection"
    return f"the proxy {problem.params['proxy']} opened no way to it, but {answer}"


def _rate_limited(problem: Problem) -> str:
    wait = problem.params.get("wait")
    asks = f", and wants to be left alone for {wait:.0f} s" if wait else ""
    return f"the site said that it was asked too often{asks}"


def _not_html(problem: Problem) -> str:
    declared = problem.params["type"]
    return "it is not an HTML page " + (
        f"but {declared}" if declared else "and says nothing of what it is"
    )


def _robots_unread(problem: Problem) -> str:
    return f"the site's robots.txt, which comes first, could not be: {why(problem.evidence[0])}"


def _wrong_address(problem: Problem) -> str:
    return f"its address {predicate(problem.evidence[0])}"


WHY: Mapping[str, Words] = {
    "fetch.cancelled": "the Run was cancelled",
    "fetch.timeout": "the answer was not complete after {seconds:g} s",
    # The way to the site.
    "fetch.unknown_host": "no host of the name {site} can be found",
    "fetch.no_connection": "no connection to {site} came about",
    "fetch.connection_refused": "nothing answers at {site} ({said})",
    "fetch.browser_unreachable": "the browser could not reach it ({said})",
    "fetch.bad_certificate": "its certificate is not valid: nobody whom this machine trusts has "
    "signed it, or it has expired",
    "fetch.certificate_of_another": "its certificate is not valid: it is for another host",
    "fetch.no_tls": "no secure connection came about ({said})",
    "fetch.proxy_unreachable": "the proxy {proxy} does not take a connection",
    "fetch.no_tunnel": _no_tunnel,
    "fetch.proxy_credentials": "a proxy on the way to it wants other credentials",
    "fetch.connection_cut": "the connection was cut before the answer was complete",
    "fetch.connection_broke": "the connection broke off ({said})",
    # Where the page may not be read.
    "fetch.private_address": "the address of {site} is private",
    "fetch.other_host": "{site} is none of the hosts that may be read",
    "fetch.wrong_address": _wrong_address,
    "fetch.wrong_scheme": "its address begins neither with http:// nor https://",
    "fetch.robots_disallowed": "the site's robots.txt does not allow it",
    "fetch.robots_down": "nothing may be read while the site's robots.txt answers with an error",
    "fetch.robots_rate_limited": "the site said that its robots.txt was asked for too often",
    "fetch.robots_unread": _robots_unread,
    # What the site answered instead of the page.
    "fetch.challenge": "the site answered with a challenge for browsers",
    "fetch.forbidden": "the site refused it",
    "fetch.rate_limited": _rate_limited,
    "fetch.login_redirect": "the site sent it to a login page",
    "fetch.empty_body": "the site answered with nothing",
    "fetch.not_html": _not_html,
    "fetch.partial": "the site gave out a part of it only, for which nobody asked",
    "fetch.odd_status": "the site answered with a status that means nothing",
    "fetch.odd_redirect": "the site answered with a redirect that cannot be followed",
    "fetch.no_such_page": "the site says that there is no such page",
    "fetch.not_public": "the site does not let everybody read it",
    "fetch.error_status": "the site answered with an error",
    # What is wrong with the answer itself.
    "fetch.not_http": "the answer is not HTTP: it begins with {begins!r}",
    "fetch.broken_http": "the answer is broken HTTP: {said}",
    "fetch.broken_length": "the answer is broken HTTP: its Content-Length is not one number",
    "fetch.broken_encoding": "the answer is broken HTTP: its Transfer-Encoding is {said}",
    "fetch.broken_chunks": "the answer is broken HTTP: its chunks do not say how long they are",
    "fetch.damaged_compression": "its compression is damaged ({said})",
    "fetch.cut_compression": "its compressed body was cut",
    "fetch.unasked_compression": "it is compressed as {encoding}, which was not asked for",
    "fetch.not_shown": "it is a download, or nothing that a browser shows",
    "fetch.unreadable_answer": "{said}",
    # Where it is more than a Run takes.
    "fetch.redirect_loop": "it redirects more often than a Run follows",
    "fetch.long_headers": "its headers have more than {kib} KiB, which is the most that is read",
    "fetch.too_big": "it has more than {mib} MiB, which is the most that is read",
    "fetch.too_complex": "it has more than 130,000 elements or 250,000 attributes, or nests them "
    "so deeply that it cannot be read",
    "fetch.too_much_work": "reading it with the selector {selector!r} takes more than {steps:,} "
    "steps, which is more than a page may take",
    "fetch.too_much_work_of_run": "with it the Run takes more than {steps:,} steps, most of them "
    "for the selector {selector!r}, which is more than a Run may take",
    "fetch.loads_too_much": "it loads more than {mib} MiB",
    "fetch.rendered_too_big": "its rendered form is over {mib} MiB",
    "fetch.too_many_elements": "it has over {elements:,} elements",
    "fetch.too_much_text": "its text is over {mib} MiB",
    "fetch.too_much": "{said}",
    "fetch.tab_crashed": "it made the browser's tab crash",
    "fetch.browser_lost": "the browser ended while it showed the page",
    "fetch.unexpected": "something unexpected happened ({type}: {said})",
}
"""Why a page could not be read, as the rest of a sentence."""


def why(problem: Problem) -> str:
    """Why a page could not be read, as the rest of a sentence."""
    return fill(WHY, problem)


def advice(problem: Problem) -> str:
    """What may help, as the end of a sentence; empty if nothing is known to."""
    sentences = map(remedies.advice, problem.remedies)
    return ", or ".join(f"{sentence[0].lower()}{sentence[1:]}" for sentence in sentences)


def _unread(problem: Problem) -> str:
    params = problem.params
    status = params.get("status")
    shown = "" if status is None else f" (status {status})"
    moved = f", sent on to {params['sent_on_to']}," if "sent_on_to" in params else ""
    helps = advice(problem)
    end = f"{why(problem)}{shown}" + (f"; {helps}" if helps else "")
    return f"Page {problem.page} ({problem.url}){moved} could not be read: {end}."


SENTENCES: Mapping[str, Words] = {
    **dict.fromkeys(WHY, _unread),
    "fetch.run_out_of_time": "Page {page} ({url}) was not read: the Run has taken the {seconds:g} "
    "s that it may; lower maxPages, or let a Run take longer.",
}

PAGINATION: Mapping[str, Words] = {
    "pagination.repeat": "Page {page} ({url}) has the same {records:record(s)} as the page before: "
    "the server repeats a page, or an old copy of it was served, so what comes after is not known; "
    "run again later, and if it stays, look at the pagination.",
    "pagination.circle": "Page {page} ({url}) led to {final_url}, which was read as page {known} "
    "already: the list goes round in a circle.",
    "pagination.loop": "The next link {selector!r} on page {page} ({url}) leads back to page "
    "{known}: the list goes round in a circle, so its end is not known; select a link that is only "
    "there while there is a next page.",
    "pagination.click_only": "The next link {selector!r} on page {page} ({url}) has no address to "
    "follow: it works by clicks only, which is not supported; if another link has one, select it "
    "by its address, such as {with_address!r}.",
    "pagination.max_items": "More items than maxItems = {max_items} allows were found by "
    "page {page} ({url}), so the table would be cut; raise maxItems (at most 1000) or narrow the "
    "source.",
    "pagination.max_pages": "The list goes on after page {page} ({url}), which is the last one "
    "that maxPages = {max_pages} allows, so the table would be cut; raise maxPages (at most 50) or "
    "narrow the source.",
}
"""The way from page to page: what broke it, or cut the list."""
