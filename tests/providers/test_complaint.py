"""What is kept of a provider's words."""

from __future__ import annotations

import pytest

from livedata.research.providers.complaint import complaint, first_sentence, words_of_error

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


TRACEBACK = (
    'Traceback (most recent call last):\n  File "/app.py", line 3, in <module>\n    go()\n'
    "RuntimeError: no such format"
)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", ""),
        ("no", "no"),
        ("The model 'gpt-4.1' does not exist", "The model 'gpt-4.1' does not exist"),
        (
            "Incorrect API key provided. You can find yours at https://a.example. Bye.",
            "Incorrect API key provided.",
        ),
        ("Use e.g. Qwen 2.5 or another of the models that are here", None),
        (f"response_format is not known\n{TRACEBACK}", "response_format is not known"),
        (TRACEBACK, "RuntimeError: no such format"),
        (f"\n\n{TRACEBACK}\n", "RuntimeError: no such format"),
    ],
)
def test_of_the_words_of_a_server_the_first_sentence_is_kept(
    text: str, sentence: str | None
) -> None:
    assert first_sentence(text) == (text if sentence is None else sentence)


def test_a_traceback_is_told_as_the_error_that_it_ends_in() -> None:
    said = words_of_error(500, {"error": {"message": f"json_object wanted\n{TRACEBACK}"}})
    assert said == (
        "status 500: json_object wanted; a server that knows no such schemas needs the output mode "
        "object or prompted"
    )
    assert words_of_error(500, TRACEBACK) == "status 500: RuntimeError: no such format"
