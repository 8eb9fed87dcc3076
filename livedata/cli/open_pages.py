"""``open``: the pages of a running server, in a browser that is signed in by a link."""

from __future__ import annotations

import time
import webbrowser
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.source.template import url_refused
from livedata.config import is_base
from livedata.model import ids
from livedata.model.errors import Invalid, LivedataError
from livedata.services import queries
from livedata.services.pages import sessions
from livedata.store.database.store import Store

USUAL: Final = "http://127.0.0.1:8000"
"""Where `livedata serve` is reached without options."""
BROWSER_SECONDS = 20.0
"""A browser may take so long to start and to read its file; then that is deleted all the same."""
_PATIENCE: Final = 5.0
_PAUSE: Final = 0.2
_LEADS: Final = (
    '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
    '<meta http-equiv="refresh" content="0; url={link}"><title>livedata</title>'
    '<p><a href="{link}">To livedata</a></p>'
)


@click.command("open")
@click.argument("name", required=False, metavar="[D]", shell_complete=complete_dataset)
@click.option("--url", metavar="URL", help="Where `livedata serve` is reached.")
@click.option("--new", metavar="URL", help="Begin a table of the list at this address.")
@click.option("--print", "print_link", is_flag=True, help="Print the link, and open no browser.")
@common_options
def open_pages(
    ctx: CommandContext, name: str | None, url: str | None, new: str | None, print_link: bool
) -> None:
    """Look at the datasets in a browser.

    The browser is signed in by a link that works once, within ten minutes; D is shown at once.
    """
    if name is not None and new is not None:
        raise click.UsageError("--new begins another table: leave out D, or --new.")
    if new is not None:
        url_refused(new, ctx.settings.targets)
    base = (url or ctx.settings.public_url or USUAL).rstrip("/")
    if not is_base(base):
        # It is not repeated: it may hold a password, which is one of the reasons.
        raise Invalid(
            "--url must be an address of a server, without a user, a query or a fragment, such as "
            f"{USUAL}."
        )
    with ctx.writing() as store:
        path = "/" if new is None else f"/new?{urlencode({'url': new})}"
        if name is not None:
            dataset = queries.find_dataset(store, ctx.owner, name)
            path = f"/datasets/{ids.format_uuid(dataset)}"
        _check_serving(base)
        token = sessions.make_link(store, ctx.owner, first_credits=ctx.first_credits)
        link = f"{base}/sign-in/link?{urlencode({'token': token, 'next': path})}"
        if ctx.json:
            print_json({"link": link})
        elif print_link or not _is_opened(store, link, token):
            print_text(link)
            print_message("It works once, within ten minutes.")


def _is_opened(store: Store, link: str, token: str) -> bool:
    """Open a link, and wait until it has signed somebody in; False if there is no browser."""
    # Everybody on a machine can read what stands on a command line, such as that of a browser: it
    # gets the name of a file that only this user can read, and that leads to the link.
    with TemporaryDirectory(prefix="livedata-") as folder:
        if not webbrowser.open(write_lead(Path(folder), link).as_uri()):
            return False
        print_message("Your browser has a page with a button: press it to sign in.")
        deadline = time.monotonic() + BROWSER_SECONDS
        while sessions.owner_of_link(store, token) is not None:
            if time.monotonic() > deadline:
                print_message("If no page has come, livedata open --print prints a link to open.")
                return True
            time.sleep(_PAUSE)
    print_message("Signed in.")
    return True


def write_lead(folder: Path, link: str) -> Path:
    """A file of this user alone that leads a browser to a link."""
    file = folder / "sign-in.html"
    file.touch(mode=0o600)
    file.write_text(_LEADS.format(link=escape(link)), "utf-8")
    return file


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
