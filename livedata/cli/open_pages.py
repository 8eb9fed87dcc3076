"""``open``: the pages of a running server, in a browser that is signed in by a link."""

from __future__ import annotations

import webbrowser
from typing import Final
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

from livedata.cli.context import CommandContext
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.config import is_base
from livedata.model import ids
from livedata.model.errors import Invalid, LivedataError
from livedata.services import queries
from livedata.services.browsing import sessions

USUAL: Final = "http://127.0.0.1:8000"
"""Where `livedata serve` is reached without options."""
_PATIENCE: Final = 5.0


def open_in_browser(
    ctx: CommandContext, name: str | None, url: str | None, *, print_link: bool
) -> None:
    """Open the pages, or print the link that would. Raises Invalid, NotFound, LivedataError."""
    base = (url or ctx.settings.public_url or USUAL).rstrip("/")
    if not is_base(base):
        # It is not repeated: it may hold a password, which is one of the reasons.
        raise Invalid(
            "--url must be an address of a server, without a user, a query or a fragment, such as "
            f"{USUAL}."
        )
    with ctx.writing() as store:
        path = "/"
        if name is not None:
            dataset = queries.find_dataset(store, ctx.owner, name)
            path = f"/datasets/{ids.format_uuid(dataset)}"
        _check_serving(base)
        token = sessions.make_link(store, ctx.owner, first_credits=ctx.first_credits)
    link = f"{base}/sign-in/link?{urlencode({'token': token, 'next': path})}"
    if ctx.json:
        print_json({"link": link})
    elif print_link or not webbrowser.open(link):
        print_text(link)
        print_message("It works once, within ten minutes.")
    else:
        print_message(f"Opened {base}{path} in your browser.")


def _check_serving(base: str) -> None:
    """Raise LivedataError if no livedata answers at an address."""
    try:
        with urlopen(f"{base}/healthz", timeout=_PATIENCE) as answer:  # noqa: S310  (http or https)
            if answer.headers.get("X-Request-Id"):
                return
            problem = "what answers is not livedata"
    except (URLError, OSError, ValueError) as error:
        problem = str(getattr(error, "reason", error))
    raise LivedataError(
        f"No livedata answers at {base}: {problem}. Start one, livedata serve, or name its address "
        "with --url."
    )
