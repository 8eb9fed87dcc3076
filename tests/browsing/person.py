"""A person at a browser, who knows it by what is written on it: Chromium, or Firefox."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

from livedata.services.pages import sessions

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from livedata.store.database.store import Store

PATIENCE: Final = 60.0
"""Only a test that fails waits so long, in seconds."""


class Person(Protocol):
    """Somebody who is signed in, and acts by names, and by how labels begin, alone."""

    @property
    def place(self) -> str:
        """The path of the page that is open."""

    def open(self, path: str) -> None:
        """Go to a page by its address."""

    def press(self, name: str) -> None:
        """Press the first button or link of this name, and wait for the page that it leads to."""

    def unfold(self, name: str) -> None:
        """Open what stands folded behind this name, on the same page."""

    def fill(self, label: str, text: str) -> None:
        """Type into the field of a label."""

    def choose(self, label: str, option: str) -> None:
        """Choose one of the options of a label."""

    def tick(self, label: str) -> None:
        """Change the box of a label, or choose it among others."""

    def read(self) -> str:
        """The text that is shown."""


def come(person: Person, text: str) -> str:
    """Wait until a text is shown, looking again where a page offers it; all that is shown then."""
    deadline = time.monotonic() + PATIENCE
    while text not in (shown := person.read()):
        assert time.monotonic() < deadline, f"{text!r} does not come: {shown[:1_000]}"
        if "Look again" in shown:
            person.press("Look again")
        time.sleep(0.2)
    return shown


class AtChromium:
    """A person at a page of Chromium."""

    def __init__(self, page: Page, base: str) -> None:
        self._page, self._base = page, base

    @property
    def place(self) -> str:
        return urlsplit(self._page.url).path

    def open(self, path: str) -> None:
        self._page.goto(f"{self._base}{path}")

    def press(self, name: str) -> None:
        buttons = self._page.get_by_role("button", name=name, exact=True)
        links = self._page.get_by_role("link", name=name, exact=True)
        wanted = buttons.or_(links).locator("visible=true").first
        with self._page.expect_navigation():
            wanted.click()

    def unfold(self, name: str) -> None:
        self._page.locator("summary", has_text=name).first.click()

    def _field(self, label: str) -> Locator:
        return self._page.get_by_label(re.compile(rf"^\s*{re.escape(label)}(\s|$)")).first

    def fill(self, label: str, text: str) -> None:
        self._field(label).fill(text)

    def choose(self, label: str, option: str) -> None:
        self._field(label).select_option(label=option)

    def tick(self, label: str) -> None:
        self._field(label).click()

    def read(self) -> str:
        return " ".join(self._page.inner_text("body").split())


_NAMED: Final = """
const wanted = arguments[0], plain = text => text.replace(/\\s+/g, " ").trim();
const shown = element => element.getClientRects().length > 0;
return [...document.querySelectorAll("button, a[href], summary")].find(
  element => shown(element) && plain(element.ariaLabel || element.innerText) === wanted) || null;
"""
_LABELLED: Final = """
const wanted = arguments[0], plain = text => text.replace(/\\s+/g, " ").trim();
return [...document.querySelectorAll("input, select, textarea")].find(field =>
  [field.ariaLabel || "", ...[...(field.labels || [])].map(label => label.innerText)].some(
    label => `${plain(label)} `.startsWith(`${wanted} `))) || null;
"""
_ELEMENT: Final = "element-6066-11e4-a52e-4f735466cecf"
"""The name of an element in WebDriver."""
_CHOOSE: Final = """
const option = [...arguments[0].options].find(each => each.innerText.trim() === arguments[1]);
if (!option) return false;
arguments[0].value = option.value;
arguments[0].dispatchEvent(new Event("change", {bubbles: true}));
return true;
"""


class FirefoxFailed(Exception):
    """What Firefox says that it cannot do."""


class Marionette:
    """The protocol that Firefox speaks itself: WebDriver's commands as JSON behind their length.

    No registry has the driver that tools put before it, and its library brings a dozen others.
    """

    def __init__(self, port: int) -> None:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self._connection = socket.create_connection(("127.0.0.1", port), PATIENCE)
                break
            except ConnectionRefusedError:
                assert time.monotonic() < deadline, "Firefox does not start"
                time.sleep(0.1)
        self._stream = self._connection.makefile("rb")
        self._number = 0
        self._receive()  # it says who it is

    def _receive(self) -> Any:
        length = b""
        while (byte := self._stream.read(1)) != b":":
            length += byte
        return json.loads(self._stream.read(int(length)))

    def __call__(self, command: str, **given: object) -> Any:
        """What came of a command. Raises FirefoxFailed."""
        self._number += 1
        body = json.dumps([0, self._number, f"WebDriver:{command}", given]).encode()
        self._connection.sendall(b"%d:%b" % (len(body), body))
        _, _, error, result = self._receive()
        if error is not None:
            raise FirefoxFailed(f"{command}: {error['error']}: {error['message']}")
        return result.get("value", result) if isinstance(result, dict) else result

    def close(self) -> None:
        """Let it go."""
        self._stream.close()
        self._connection.close()


class AtFirefox:
    """A person at Firefox, as Debian has it."""

    def __init__(self, marionette: Marionette, base: str) -> None:
        self._do, self._base = marionette, base

    @property
    def place(self) -> str:
        return urlsplit(str(self._do("GetCurrentURL"))).path

    def open(self, path: str) -> None:
        self._do("Navigate", url=f"{self._base}{path}")

    def press(self, name: str) -> None:
        self._do("ElementClick", id=self._found(_NAMED, name))

    def unfold(self, name: str) -> None:
        self.press(name)

    def fill(self, label: str, text: str) -> None:
        field = self._found(_LABELLED, label)
        self._do("ElementClear", id=field)
        self._do("ElementSendKeys", id=field, text=text)

    def choose(self, label: str, option: str) -> None:
        field = {_ELEMENT: self._found(_LABELLED, label)}
        assert self._script(_CHOOSE, field, option), f"{label!r} has no option {option!r}"

    def tick(self, label: str) -> None:
        self._do("ElementClick", id=self._found(_LABELLED, label))

    def read(self) -> str:
        shown = None
        while shown is None:
            # A page that is left while it is asked says nothing; the next one does.
            with suppress(FirefoxFailed):
                shown = self._script("return document.body.innerText")
        return " ".join(shown.split())

    def _found(self, script: str, name: str) -> str:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with suppress(FirefoxFailed):
                if (element := self._script(script, name)) is not None:
                    return str(element[_ELEMENT])
            time.sleep(0.1)
        raise AssertionError(f"there is no {name!r}: {self.read()[:1_000]}")

    def _script(self, script: str, *given: object) -> Any:
        return self._do("ExecuteScript", script=script, args=given)


@contextmanager
def firefox(base: str, store: Store, width: int, height: int = 800) -> Iterator[AtFirefox]:
    """A person who is signed in at a Firefox of this machine."""
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    assert program is not None, "These tests need Firefox; ./tests/run installs it."
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        with socket.create_server(("127.0.0.1", 0)) as place:
            port = place.getsockname()[1]
        Path(profile, "user.js").write_text(f'user_pref("marionette.port", {port});\n')
        words = ("--headless", "--no-remote", "--marionette", "--profile", profile)
        with subprocess.Popen(
            [program, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            try:
                marionette = Marionette(port)
                marionette("NewSession")
                marionette("SetWindowRect", width=width, height=height)
                person = AtFirefox(marionette, base)
                person.open(f"/sign-in/link?token={sessions.make_link(store, 'local')}")
                person.press("Sign in")
                come(person, "Sign out")
                yield person
                marionette.close()
            finally:
                process.terminate()
