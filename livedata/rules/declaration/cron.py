"""When a schedule fires: rules 8; interface 2.1, 4.1 and 8."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from livedata.model.errors import Invalid

_LONGEST = 100
_EXAMPLE = '"30 6 * * *" is every day at 06:30'
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_FIELDS: tuple[tuple[str, range, dict[str, int]], ...] = (
    ("minute", range(60), {}),
    ("hour", range(24), {}),
    ("day of the month", range(1, 32), {}),
    ("month", range(1, 13), {name: number for number, name in enumerate(_MONTHS, 1)}),
    ("day of the week", range(8), {name: number for number, name in enumerate(_DAYS)}),
)
_TERM = re.compile(r"(?:(\*)|([a-z0-9]+)(?:-([a-z0-9]+))?)(?:/([0-9]+))?")
_EVERY = (
    (re.compile(r"\*(?:/([1-9][0-9]?))?(?: \*){4}"), 60, "minute"),
    (re.compile(r"0 \*(?:/([1-9][0-9]?))?(?: \*){3}"), 24, "hour"),
)
_SET_BACK = timedelta(hours=3)
"""As Debian's cron: a step of the clock that is shorter is a correction and repeats no fire."""
_INSTANT = timedelta(microseconds=1)
_SECOND = timedelta(seconds=1)
_SAMPLED = 30
"""So many fires show the shortest interval of a schedule."""
_ANY_MOMENT = datetime(2000, 1, 1, tzinfo=UTC)


def in_words(expression: str) -> str:
    """A schedule in English, such as "every 6 hours"; one with a problem is left as it is."""
    if schedule_problem(expression) is not None:
        return expression
    for pattern, whole, unit in _EVERY:
        match = pattern.fullmatch(" ".join(expression.split()))
        # Every 7 minutes would begin anew with each hour.
        if match is not None and whole % (number := int(match[1] or 1)) == 0:
            return f"every {unit}" if number == 1 else f"every {number} {unit}s"
    told = CronSim(expression, _ANY_MOMENT).explain()
    return told[:1].lower() + told[1:]


def next_fire(expression: str, after: datetime, zone: str = "UTC") -> datetime:
    """The first moment after `after` at which `expression` fires in `zone`; both are aware, in UTC.

    A time that a change of clocks skips fires right after the change. A time that comes twice
    fires once. Raises Invalid for an expression with a problem.
    """
    _check(expression)
    return _first_after(expression, after, zone)


def due_at(
    expression: str,
    kept: datetime | None,
    now: datetime,
    zone: str = "UTC",
    kept_zone: str | None = None,
) -> datetime:
    """When a schedule fires next if `kept` is what was noted for it, reckoned in `kept_zone`.

    A clock that was ahead has noted a fire that lies too far away: then it fires next from now. If
    the clock went back by less than three hours, no fire comes a second time. What was reckoned in
    another zone is reckoned anew: a fire that is due moves to the first one after it.
    """
    if kept is not None and kept_zone not in {None, zone}:
        return next_fire(expression, min(kept - _INSTANT, now), zone)
    if kept is not None and kept <= latest_noted(expression, now, zone):
        return kept
    return next_fire(expression, now, zone)


def latest_noted(expression: str, now: datetime, zone: str) -> datetime:
    """The latest moment that may be noted for a schedule. Raises Invalid.

    A later one was reckoned by a clock that was ahead.
    """
    return next_fire(expression, now + _SET_BACK, zone) + widest_spread(expression)


@lru_cache(maxsize=1024)
def widest_spread(expression: str) -> timedelta:
    """How much later than its moment a fire may come: a tenth of the shortest interval.

    Raises Invalid.
    """
    _check(expression)
    fires = islice(CronSim(_without_points(expression), _ANY_MOMENT), _SAMPLED)
    shortest = min((after - before for before, after in pairwise(fires)), default=timedelta())
    return shortest / 10 // _SECOND * _SECOND


def spread_of(expression: str, fire: datetime, zone: str) -> timedelta:
    """How much later than its moment a fire was planned. Raises Invalid."""
    # Nearly always not at all.
    if next_fire(expression, fire - _INSTANT, zone) == fire:
        return timedelta()
    moment = next_fire(expression, fire - widest_spread(expression) - _INSTANT, zone)
    return max(timedelta(), fire - moment)


def following(
    expression: str, fire: datetime, now: datetime, zone: str, spread: timedelta
) -> datetime:
    """The fire after one that is taken now, `spread` later than its moment. Raises Invalid."""
    # A moment fires once, however much later: also where that has become more.
    taken = fire - spread_of(expression, fire, zone)
    return next_fire(expression, max(taken, now - spread), zone) + spread


def _check(expression: str) -> None:
    problem = schedule_problem(expression)
    if problem is not None:
        raise Invalid(f"The schedule {problem}.")


@lru_cache(maxsize=1024)
def schedule_problem(expression: str) -> str | None:
    """Why `expression` is no schedule, or None if it is one. The text follows a path.

    A schedule has five fields with the names and ranges of Debian's cron, and no extensions.
    """
    problem = _field_problem(expression)
    if problem is None and not _ever_fires(expression):
        problem = "must name a day that exists: this one never comes"
    return problem and f"{problem}; {_EXAMPLE}"


# Many datasets have one schedule, and what fires together is reckoned from one moment.
@lru_cache(maxsize=1024)
def _first_after(expression: str, after: datetime, zone: str) -> datetime:
    # cronsim handles clock changes for all zones but this very object, which has none.
    local = UTC if zone == "UTC" else ZoneInfo(zone)
    fires = CronSim(_without_points(expression), after.astimezone(local))
    moment = next(fires).astimezone(UTC)
    # In the second pass of an hour that comes twice, cronsim counts from the first one and
    # answers with moments that are over.
    while moment <= after:
        moment = next(fires).astimezone(UTC)
    return moment


def _without_points(expression: str) -> str:
    """`expression` with every range of one value, such as "5-5/2", as that value.

    cronsim reads "5-5/2" as every second value from 5 to the end of the field.
    """
    fields = zip(expression.lower().split(), _FIELDS, strict=True)
    return " ".join(
        ",".join(_without_point(term, names) for term in text.split(","))
        for text, (_, _, names) in fields
    )


def _without_point(term: str, names: dict[str, int]) -> str:
    low, _, high = term.partition("/")[0].partition("-")
    same = high and int(names.get(low, low)) == int(names.get(high, high))
    return low if same else term


def _ever_fires(expression: str) -> bool:
    # "0 0 30 2 *" has valid fields but never comes: cronsim gives up after 50 years.
    try:
        _first_after(expression, _ANY_MOMENT, "UTC")
    except (CronSimError, StopIteration):
        return False
    return True


def _field_problem(expression: str) -> str | None:
    if expression.startswith("@"):
        return f'must have five fields; "{expression}" and other names are not supported'
    if len(expression) > _LONGEST:
        return f"must have five fields in at most {_LONGEST} characters, not in {len(expression)}"
    fields = [field for field in re.split(r"[ \t]+", expression) if field]
    if len(fields) != len(_FIELDS):
        seconds = ": there is none for seconds" if len(fields) == len(_FIELDS) + 1 else ""
        return f"must have five fields, not {len(fields)}{seconds}"
    for text, (name, allowed, names) in zip(fields, _FIELDS, strict=True):
        for term in text.lower().split(","):
            why = _term_problem(term, allowed, names)
            if why:
                return f'has "{text}" for the {name}, {why}'
    return None


def _term_problem(term: str, allowed: range, names: dict[str, int]) -> str | None:
    match = _TERM.fullmatch(term)
    if match is None:
        return "which is not a number, a range or a list" + (" or a name" if names else "")
    star, low, high, step = match.groups()
    numbers = [names.get(word, word) for word in (low, high) if word is not None]
    for number in numbers:
        if not str(number).isdecimal() or int(number) not in allowed:
            spelt = f" or {next(iter(names))} to {list(names)[-1]}" if names else ""
            return f'but "{number}" is not {allowed[0]} to {allowed[-1]}{spelt}'
    if high is not None and int(numbers[0]) > int(numbers[1]):
        return "a range that ends before it begins"
    if step is not None and int(step) == 0:
        return "whose step is 0"
    # Crons disagree about "5/15": one value, or every 15 from 5 on.
    if step is not None and star is None and high is None:
        return f'a step without a range: write "{low}-{allowed[-1]}/{step}"'
    return None
