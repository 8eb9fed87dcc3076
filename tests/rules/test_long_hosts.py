"""An address with a host that no name can be costs no time: Python normalizes one, mark by mark."""

from __future__ import annotations

import time

import pytest

from livedata.messages.render import sentence
from livedata.rules.diagnosis.page_snapshot import address_tails
from spiders.fetch.errors import UnsafeTarget
from spiders.outcome.fetch_errors import classify

LONG = "https://a" + "\u0323\u0302\u0301" * 10_000 + "/lamps/1"


@pytest.mark.timed
def test_the_tails_of_an_address_of_an_endless_host_are_the_address_itself() -> None:
    start = time.process_time()
    assert address_tails(LONG) == {LONG}
    assert time.process_time() - start < 0.1


@pytest.mark.timed
def test_a_target_of_an_endless_host_is_a_wrong_address() -> None:
    start = time.process_time()
    told = sentence(classify(UnsafeTarget(LONG), 1))
    assert time.process_time() - start < 0.1
    assert "its host is not a valid name or address" in told
