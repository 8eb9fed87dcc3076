"""Notices as they may be shown: without what is secret of them."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from livedata.messages.deliveries import masked
from livedata.model import ids
from livedata.rules.declaration.notices import ChangeFilter, format_span
from livedata.store.notices import Notice


def as_json(notice: Notice, names: Mapping[str, str]) -> dict[str, object]:
    """A notice as JSON; `names` are those of the owner's datasets by their ids."""
    return {
        "name": notice.name,
        "channel": notice.channel,
        "target": shown_target(notice),
        "on": list(notice.kinds),
        "datasets": None
        if notice.datasets is None
        else [{"id": key, "name": names.get(key)} for key in notice.datasets],
        "after": notice.threshold,
        "silentFor": _silent_for(notice),
        **_filter_as_json(notice.change_filter or ChangeFilter()),
        "digest": notice.digest,
        "nextDigestAt": ids.format_optional_timestamp(notice.digest_at),
        "createdAt": ids.format_timestamp(notice.created_at),
        "endedAt": ids.format_optional_timestamp(notice.ended_at),
    }


def shown_target(notice: Notice) -> str:
    """Whom a notice tells; of an address only the beginning, since the rest may be secret."""
    parts = urlsplit(notice.target)
    if notice.channel == "command" or not parts.scheme:
        return masked(notice.target)
    # Chat services put the key into the path of a webhook, others put it anywhere.
    is_webhook = notice.channel == "webhook"
    place = parts.netloc if is_webhook else ""
    rest = "…" if not is_webhook or parts.path.strip("/") or parts.query else ""
    return f"{parts.scheme}://{place}{'/' if place and rest else ''}{rest}"


def told_of(notice: Notice) -> str:
    """Of what it tells, with how many Runs and how long, as they are given to `notice add`."""
    together = "" if notice.digest is None else f" together ({notice.digest})"
    details = {
        "changes": _filter_in_words(notice.change_filter or ChangeFilter()) + together,
        "failing": f" after {notice.threshold}",
        "silent": f" for {_silent_for(notice)}",
    }
    return ", ".join(f"{kind}{details.get(kind, '')}" for kind in notice.kinds)


def _filter_as_json(wanted: ChangeFilter) -> dict[str, object]:
    return {
        "when": [*wanted.when],
        "kinds": [*wanted.kinds],
        "columns": [*wanted.columns],
        "ignore": [*wanted.ignore],
    }


def _filter_in_words(wanted: ChangeFilter) -> str:
    """What narrows the changes, behind the word itself."""
    return "".join(
        [
            f" of kind {' or '.join(wanted.kinds)}" if wanted.kinds else "",
            f" of {' or '.join(wanted.columns)}" if wanted.columns else "",
            f" but of {' and '.join(wanted.ignore)}" if wanted.ignore else "",
            f" where {' and '.join(wanted.when)}" if wanted.when else "",
        ]
    )


def _silent_for(notice: Notice) -> str | None:
    return None if notice.silent_for is None else format_span(notice.silent_for)
