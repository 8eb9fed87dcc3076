"""Which output mode a model's server understands, and what the model understood of one page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from livedata.model.research.settings import ModelOutput
from livedata.research.providers.trial import MODES
from tests.cli.shell import lines
from tests.makers import PLAN, SECOND, makers_page, read_makers
from tests.servers.model import Asked, ModelServer, Script, Status, only

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.shell import Shell

pytestmark = pytest.mark.one_database

ACME = ["Acme", "Lamps", "1999", "Bern"]


def honest(asked: Asked) -> object:
    return read_makers(asked)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Serves a model and sets it: a function of its script and the output mode."""
    servers: list[ModelServer] = []

    def serving(script: Script, output: str = "native") -> ModelServer:
        servers.append(ModelServer(script))
        monkeypatch.setenv("LIVEDATA_MODEL", "scripted")
        monkeypatch.setenv("LIVEDATA_MODEL_BASE_URL", servers[-1].base_url)
        monkeypatch.setenv("LIVEDATA_MODEL_OUTPUT", output)
        monkeypatch.setattr("livedata.research.providers.openai.PAUSE", 0.01)
        return servers[-1]

    yield serving
    for server in servers:
        server.close()


@pytest.mark.parametrize("mode", MODES)
def test_the_mode_that_a_server_understands_is_named(
    livedata: Shell, serve: Any, mode: ModelOutput
) -> None:
    serve(only(mode, honest))
    told = livedata("research", "try")
    assert ACME in lines(told.stdout)
    assert "Traceback" not in told.stdout + told.stderr
    assert f"{mode}: 3 rows that the page supports" in told.stderr
    if mode == "native":
        assert "The server understands the output mode that is set, native." in told.stdout
    else:
        assert "native: no answer: status 500: [{'type': 'literal_error'" in told.stderr
        assert f"export LIVEDATA_MODEL_OUTPUT={mode}" in told.stdout
    answer = livedata.json("research", "try")
    assert answer["best"] == mode
    assert [each["output"] for each in answer["modes"]] == list(MODES)


def test_a_server_that_knows_objects_with_a_schema_fills_the_table_of_a_run(
    livedata: Shell, serve: Any, tmp_path: Path
) -> None:
    server = serve(only("object", honest), "object")
    (tmp_path / "page.html").write_text(makers_page(SECOND))
    plan = livedata.json("research", "plan", "Who makes lamps?")
    assert plan["title"] == PLAN["title"]
    assert server.asked[-1].mode == "object"
    form = server.asked[-1].body["response_format"]
    assert (form["type"], "schema" in form, "json_schema" in form) == ("json_object", True, False)


def test_a_page_and_a_plan_of_ones_own_are_tried(
    livedata: Shell, serve: Any, tmp_path: Path
) -> None:
    serve(honest)
    plan, page = tmp_path / "plan.toml", tmp_path / "page.html"
    livedata("research", "plan", "Who makes lamps?", "-o", str(plan))
    page.write_text(makers_page(SECOND))
    told = lines(livedata.out("research", "try", str(page), "--plan", str(plan)))
    assert ["Cogwheel", "1987", "Chur"] in told
    assert ACME not in told
    assert "neither of them" in livedata.error("research", "try", str(page), code=2)


def test_what_no_words_of_the_page_support_is_told_as_refused(livedata: Shell, serve: Any) -> None:
    def inventing(asked: Asked) -> object:
        answer = read_makers(asked)
        answer["rows"][0]["nameQuote"] = "Nobody"
        answer["rows"][1]["cells"][0]["quote"] = "since 1850"
        return answer

    serve(inventing)
    told = livedata("research", "try")
    assert "Refused Acme Lamps: The quote of its name does not stand on the page." in told.stdout
    assert "1 refused" in told.stderr


def test_a_model_that_understands_nothing_says_so(livedata: Shell, serve: Any) -> None:
    server = serve(lambda _: {"rows": [], "hasMore": False})
    told = livedata("research", "try", code=1)
    assert "understood nothing of the page in any output mode" in told.stdout
    assert len(server.asked) == len(MODES)
    refusing = serve(lambda _: Status(401, "no such key"))
    assert "no such key" in livedata("research", "try", code=1).stderr
    assert len(refusing.asked) == 1


def test_doctor_asks_the_model_only_if_somebody_wants_it(livedata: Shell, serve: Any) -> None:
    livedata("key", "create")
    server = serve(only("object", honest))
    assert "output native" in livedata.out("doctor")
    assert server.asked == []
    told = livedata("doctor", "--ask-model", code=9).stdout
    assert "it answers with output object" in told
    assert "set LIVEDATA_MODEL_OUTPUT=object." in told
    assert "Traceback" not in told
    asked = len(server.asked)
    serve(only("object", honest), "object")
    told = livedata.out("doctor", "--ask-model")
    assert "it answers, in " in told
    assert "All is well." in told
    assert asked == 3
