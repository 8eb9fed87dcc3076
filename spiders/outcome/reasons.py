"""The code of what went wrong with a page -> its reason, one of interface 2.11."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from livedata.model.problem import Problem
from livedata.model.run import FailureReason

_CODES: Final[Mapping[FailureReason, tuple[str, ...]]] = {
    "challenge": ("challenge",),
    "forbidden": ("forbidden",),
    "rate_limited": ("rate_limited", "robots_rate_limited"),
    "login_redirect": ("login_redirect",),
    "empty_body": ("empty_body",),
    "connection_reset": ("connection_cut",),
    # RFC 9309: while robots.txt is answered with 5xx, nothing of the site may be read.
    "robots_disallowed": ("robots_disallowed", "robots_down"),
    "timeout": ("timeout", "run_out_of_time"),
    "cancelled": ("cancelled",),
    "network": (
        "unknown_host",
        "no_connection",
        "connection_refused",
        "connection_broke",
        "browser_unreachable",
        "bad_certificate",
        "certificate_of_another",
        "no_tls",
        "proxy_unreachable",
        "no_tunnel",
    ),
    "http_error": (
        "partial",
        "odd_status",
        "odd_redirect",
        "no_such_page",
        "not_public",
        "proxy_credentials",
        "error_status",
    ),
    "invalid_content": (
        "not_html",
        "not_http",
        "broken_http",
        "broken_length",
        "broken_encoding",
        "broken_chunks",
        "damaged_compression",
        "cut_compression",
        "unasked_compression",
        "not_shown",
        "unreadable_answer",
    ),
    "limit_exceeded": (
        "redirect_loop",
        "long_headers",
        "too_big",
        "too_complex",
        "too_much_work",
        "too_much_work_of_run",
        "too_much",
        "loads_too_much",
        "rendered_too_big",
        "too_many_elements",
        "too_much_text",
        "tab_crashed",
    ),
    "unsafe_target": ("private_address", "other_host", "wrong_address", "wrong_scheme"),
    "unknown": ("browser_lost", "unexpected"),
}
_REASONS: Final = {f"fetch.{code}": reason for reason, codes in _CODES.items() for code in codes}


def reason_of(problem: Problem) -> FailureReason:
    """The reason that a trace gives for a page that was not read."""
    # Interface 2.11 has no word for it: what stopped robots.txt is what stopped the page.
    if problem.code == "fetch.robots_unread":
        return reason_of(problem.evidence[0])
    return _REASONS[problem.code]
