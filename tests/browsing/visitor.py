"""A person in a browser without scripts: follows links, and sends the forms of a page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from typing import TYPE_CHECKING, Any

from livedata.services import accounts

if TYPE_CHECKING:
    from flask import Flask
    from flask.testing import FlaskClient
    from werkzeug.test import TestResponse

    from livedata.store.database.store import Store

_AS_JSON = re.compile(r'<a href="([^"]+)">This page as JSON</a>')
_NEXT = re.compile(r'<a href="([^"]+)" rel="next">')
_TOKEN = re.compile(r'name="token" value="([0-9a-f]{64})"')


@dataclass(frozen=True)
class Visitor:
    """An owner who looks at the pages; `key` is the API key, and `key_id` its id."""

    client: FlaskClient
    owner: str
    key: str
    key_id: str

    @classmethod
    def meet(cls, app: Flask, store: Store, owner: str) -> Visitor:
        """A new owner with 1,000 credits, who has signed in by a key."""
        key = accounts.create_key(store, owner, None, first_credits=1000)
        visitor = cls(app.test_client(), owner, key["key"], key["id"])
        assert visitor.sign_in().status_code == 303
        return visitor

    def sign_in(self, **more: str) -> TestResponse:
        """Send the form of the sign-in."""
        return self.post("/sign-in", self.token("/sign-in"), key=self.key, **more)

    def follow(self, link: str, **more: str) -> TestResponse:
        """Open a link that signs in, and press its button."""
        page = self.client.get("/sign-in/link", query_string={"token": link, **more})
        return self.press(page.text)

    def press(self, page: str) -> TestResponse:
        """Press the button of a page of such a link."""
        form = re.findall(r'name="(token|link|next)" value="([^"]*)"', page)
        data = {name: unescape(value) for name, value in form}
        return self.client.post("/sign-in/link", data=data)

    def get(self, path: str, code: int = 200, **options: Any) -> str:
        """The text of a page that is answered with `code`."""
        answer = self.client.get(path, **options)
        assert answer.status_code == code, answer.text
        return answer.text

    def pages(self, path: str) -> Iterator[str]:
        """The text of a page, and of all that follow it."""
        while True:
            yield (page := self.get(path))
            match = _NEXT.search(page)
            if match is None:
                return
            path = unescape(match[1])

    def as_json(self, path: str) -> Any:
        """What the link of a page to the same as JSON leads to."""
        match = _AS_JSON.search(self.get(path))
        assert match is not None
        return json.loads(self.get(unescape(match[1])))

    def token(self, path: str) -> str:
        """What the forms of a page have."""
        match = _TOKEN.search(self.client.get(path).text)
        assert match is not None
        return match[1]

    def post(self, path: str, form_token: str, **form: str) -> TestResponse:
        """Send a form."""
        return self.client.post(path, data={"token": form_token, **form})
