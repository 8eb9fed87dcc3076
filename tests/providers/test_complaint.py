"""What is kept of a provider's words."""

from __future__ import annotations

import pytest

from livedata.research.providers.complaint import complaint

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("status 500: <b>no</b>", "status 500: <b>no</b>"),
        (
            "status 404: <!doctype html><html><body><h1>Not\n found</h1></body></html>; help",
            "status 404: Not found ; help",
        ),
        ("<html>a sec<b></b>ret, a secret</html>", "a sec ret, a ***"),
        ("<HTML>1 < 2 <", "1 < 2 <"),
    ],
)
def test_a_page_of_html_is_told_without_its_tags(text: str, words: str) -> None:
    assert complaint(text, "secret") == words
