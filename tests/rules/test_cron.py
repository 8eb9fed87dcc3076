"""When a schedule fires, compared with a scan of every minute."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livedata.model.errors import Invalid
from livedata.rules.declaration.cron import (
    due_at,
    following,
    in_words,
    next_fire,
    schedule_problem,
    spread_of,
    widest_spread,
)

# Before a leap day and the end of a month: the edges that a scan of four days can meet.
START = datetime(2024, 2, 27, 23, 30, tzinfo=UTC)
DAYS = 4


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("@daily", "five fields"),
        ("@every 5m and more", "five fields"),
        ("* * * *", "must have five fields, not 4"),
        ("0 " * 60, "in at most 100 characters"),
        ("*/5 * * *", "five fields, not 4"),
        ("0 0 0 * * *", "none for seconds"),
        ("60 * * * *", '"60" is not 0 to 59'),
        ("0 24 * * *", '"24" is not 0 to 23'),
        ("0 0 0 * *", '"0" is not 1 to 31'),
        ("0 0 32 * *", '"32" is not 1 to 31'),
        ("0 0 1 13 *", '"13" is not 1 to 12 or jan to dec'),
        ("0 0 * * 8", '"8" is not 0 to 7 or sun to sat'),
        ("0 0 * * monday", '"monday" is not 0 to 7'),
        ("0 0 L * *", "day of the month"),
        ("0 0 LW * *", "day of the month"),
        ("0 0 15W * *", "day of the month"),
        ("0 0 * * 5L", "day of the week"),
        ("0 0 * * 1#2", "day of the week"),
        ("0 0 ? * *", "day of the month"),
        ("R 0 * * *", "minute"),
        ("5-1 * * * *", "ends before it begins"),
        ("*/0 * * * *", "step is 0"),
        ("5/10 * * * *", 'write "5-59/10"'),
        ("1,,2 * * * *", "minute"),
        ("1, * * * *", "minute"),
        ("-1 * * * *", "minute"),
        ("*-5 * * * *", "minute"),
        ("² * * * * ", "minute"),
        ("0 0\n* * *", "five fields, not 4"),
        ("0 0 31 2 *", "never comes"),
        ("0 0 30 feb *", "never comes"),
        ("0 0 31 4,6,9,11 *", "never comes"),
    ],
)
def test_what_is_no_schedule_is_refused_with_a_reason_and_an_example(
    expression: str, words: str
) -> None:
    problem = schedule_problem(expression) or ""
    assert words in problem
    assert '"30 6 * * *" is every day at 06:30' in problem


@pytest.mark.parametrize(
    "expression",
    [
        "* * * * *",
        "*/15 * * * *",
        "0-30/5,45 8-18 * * mon-fri",
        "0 0 1 JAN,Jul *",
        "0 0 * * 7",
        "0 0 29 2 *",
        "0 0 31 2 mon",
        "  5\t4  * * sun ",
    ],
)
def test_what_debian_reads_is_a_schedule(expression: str) -> None:
    assert schedule_problem(expression) is None


def test_a_wrong_schedule_never_fires_in_silence() -> None:
    with pytest.raises(Invalid, match="five fields"):
        next_fire("@daily", START)


@pytest.mark.parametrize(
    ("expression", "after", "zone", "expected"),
    [
        ("30 6 * * *", "2024-01-01T06:30:00+00:00", "UTC", "2024-01-02T06:30:00+00:00"),
        ("30 6 * * *", "2024-01-01T06:29:59.999999+00:00", "UTC", "2024-01-01T06:30:00+00:00"),
        ("30 6 * * *", "2024-01-01T06:30:00+02:00", "UTC", "2024-01-01T06:30:00+00:00"),
        ("30 6 * * *", "2024-01-01T00:00:00+00:00", "Europe/Berlin", "2024-01-01T05:30:00+00:00"),
        ("0 0 29 2 *", "2024-03-01T00:00:00+00:00", "UTC", "2028-02-29T00:00:00+00:00"),
        ("0 0 5-5/3 * *", "2024-01-05T00:00:00+00:00", "UTC", "2024-02-05T00:00:00+00:00"),
        ("0 0 * * mon-1/2", "2024-01-01T00:00:00+00:00", "UTC", "2024-01-08T00:00:00+00:00"),
        ("0 0 13 * fri", "2024-01-01T00:00:00+00:00", "UTC", "2024-01-05T00:00:00+00:00"),
        # The night without 02:30: it fires right after the change of clocks.
        ("30 2 * * *", "2024-03-31T00:00:00+00:00", "Europe/Berlin", "2024-03-31T01:00:00+00:00"),
        # The night with 02:30 twice: it fires the first time only.
        ("30 2 * * *", "2024-10-27T00:00:00+00:00", "Europe/Berlin", "2024-10-27T00:30:00+00:00"),
        ("30 2 * * *", "2024-10-27T00:30:00+00:00", "Europe/Berlin", "2024-10-28T01:30:00+00:00"),
        ("30 2 * * *", "2024-10-27T01:10:00+00:00", "Europe/Berlin", "2024-10-28T01:30:00+00:00"),
    ],
)
def test_a_schedule_fires_next_at(expression: str, after: str, zone: str, expected: str) -> None:
    moment = next_fire(expression, datetime.fromisoformat(after), zone)
    assert moment.isoformat() == expected


def _field(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    ends = st.tuples(number, number).map(sorted)
    step = st.integers(1, 12)
    term = st.one_of(
        number.map(str),
        ends.map(lambda pair: f"{pair[0]}-{pair[1]}"),
        st.tuples(ends, step).map(lambda both: f"{both[0][0]}-{both[0][1]}/{both[1]}"),
    )
    star = st.one_of(st.just("*"), step.map(lambda every: f"*/{every}"))
    return st.one_of(star, st.lists(term, min_size=1, max_size=3).map(",".join))


def _matches(text: str, low: int, high: int, number: int) -> bool:
    for term in text.split(","):
        span, _, step = term.partition("/")
        first, _, last = (f"{low}-{high}" if span == "*" else span).partition("-")
        if number in range(int(first), int(last or first) + 1, int(step or 1)):
            return True
    return False


def _fires(expression: str, moment: datetime) -> bool:
    minute, hour, day, month, weekday = expression.split()
    in_month = _matches(day, 1, 31, moment.day)
    dow = moment.isoweekday() % 7
    in_week = _matches(weekday, 0, 7, dow) or (dow == 0 and _matches(weekday, 0, 7, 7))
    # Debian's rule: if both day fields are restricted, either may match; "*/2" counts as open.
    both = day.startswith("*") or weekday.startswith("*")
    return (
        _matches(minute, 0, 59, moment.minute)
        and _matches(hour, 0, 23, moment.hour)
        and _matches(month, 1, 12, moment.month)
        and ((in_month and in_week) if both else (in_month or in_week))
    )


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.tuples(_field(0, 59), _field(0, 23), _field(1, 31), _field(1, 12), _field(0, 7)),
    st.integers(0, 24 * 3600),
)
def test_it_fires_where_a_scan_of_every_minute_finds_it(
    fields: tuple[str, ...], seconds: int
) -> None:
    expression = " ".join(fields)
    after = START + timedelta(seconds=seconds)
    # The strategy also makes days such as 31 February.
    if schedule_problem(expression) is not None:
        assert "never comes" in (schedule_problem(expression) or "")
        return
    minute = after.replace(second=0)
    scan = (minute + timedelta(minutes=n) for n in range(1, DAYS * 24 * 60))
    expected = next((moment for moment in scan if _fires(expression, moment)), None)
    fired = next_fire(expression, after)
    assert fired > after
    # The scan ends after four days; later moments are only bounded.
    if expected is None:
        assert fired >= minute + timedelta(days=DAYS)
    else:
        assert fired == expected


@settings(deadline=None)
@given(st.integers(0, 3 * 24 * 60), st.sampled_from(["30 2 * * *", "*/7 * * * *", "15 1-3 * * *"]))
def test_it_always_fires_later_even_where_clocks_change(minutes: int, expression: str) -> None:
    after = datetime(2024, 10, 26, tzinfo=UTC) + timedelta(minutes=minutes)
    assert after < next_fire(expression, after, "Europe/Berlin") <= after + timedelta(days=2)


@pytest.mark.parametrize(
    ("expression", "seconds"),
    [
        ("* * * * *", 6),
        ("*/15 * * * *", 90),
        ("0 * * * *", 360),
        ("0,59 * * * *", 6),
        ("30 6 * * *", 8_640),
        ("0 9 1 * *", 28 * 8_640),
        ("0 0 29 2 *", 1461 * 8_640),
    ],
)
def test_a_fire_is_spread_over_a_tenth_of_the_shortest_interval(
    expression: str, seconds: int
) -> None:
    assert widest_spread(expression) == timedelta(seconds=seconds)


SPREAD = ["* * * * *", "*/7 * * * *", "0 * * * *", "15 1-3 * * *", "30 2 * * *", "0 0 13 * fri"]


@settings(deadline=None)
@given(
    st.sampled_from(SPREAD),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 2)), min_size=2, max_size=30),
)
def test_each_moment_fires_once_however_much_later_and_where_that_changes(
    expression: str, steps: list[tuple[float, int]]
) -> None:
    zone = "Europe/Berlin"
    # Both changes of clocks lie within the steps of the daily ones.
    moment = next_fire(expression, datetime(2024, 3, 29, tzinfo=UTC), zone)
    fire = moment
    for share, seconds in steps:
        spread, now = widest_spread(expression) * share, fire + timedelta(seconds=seconds)
        assert spread_of(expression, fire, zone) == fire - moment
        moment, fire = (
            next_fire(expression, moment, zone),
            following(expression, fire, now, zone, spread),
        )
        assert fire == moment + spread
        # What was noted is what fires, whenever it is looked at.
        for look in (now, moment, fire, fire + timedelta(hours=1)):
            assert due_at(expression, fire, look, zone, zone) == fire


IN_WORDS = {
    "* * * * *": "every minute",
    "*/15 * * * *": "every 15 minutes",
    "0 * * * *": "every hour",
    "0 */6 * * *": "every 6 hours",
    "0  */6 *  * *": "every 6 hours",
    # These begin anew with each hour or day, so the last stretch is shorter.
    "*/7 * * * *": "every seventh minute of every hour",
    "0 */5 * * *": "at minute 0 past every fifth hour",
    "30 6 * * *": "at 06:30 every day",
    "0 9 * * 1-5": "at 09:00 on Monday through Friday",
    "0 0 1,15 * 3": "at 00:00 on the first and the 15th day of month and on Wednesday",
    "not a schedule": "not a schedule",
    "61 * * * *": "61 * * * *",
}


@pytest.mark.parametrize(("expression", "words"), IN_WORDS.items())
def test_a_schedule_is_told_in_words(expression: str, words: str) -> None:
    assert in_words(expression) == words
