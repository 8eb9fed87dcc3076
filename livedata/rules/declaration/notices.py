"""What a notice may say: of which kinds it tells, after how long a silence, and by what channel."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, Literal, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct

from livedata.messages.deliveries import masked
from livedata.model.errors import Invalid
from livedata.model.ids import Micros
from livedata.model.row import RevisionKind

_Cell = TypeVar("_Cell")
Clash = Literal["silent", "filter", "digest"]
"""What of a wish does not go with the rest of it."""
KINDS: Final = ("changes", "failing", "recovered", "silent", "odd")
"""What a notice may tell of."""
MOST: Final = 100
"""How many notices an owner has at most."""
MOST_RUNS: Final = 1000
"""The most Runs in a row that must fail before that is told."""
LONGEST_ADDRESS: Final = 8_000
"""The characters of an address at most."""

_UNITS: Final = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_SPAN: Final = re.compile(r"([1-9][0-9]{0,4})([mhdw])")
_LONGEST: Final = 3650 * 86_400


class ChannelOffer(Struct, frozen=True):
    """What a page calls a channel that may be added there, and what it says of it."""

    named: str
    meaning: str


class ShellOnly(Struct, frozen=True):
    """Why a channel is added and tested at a shell alone, where people have the server's rights.

    `named` begins a sentence that goes on with what it `gets`; `example` is a target.
    """

    named: str
    gets: str
    reason: str
    example: str

    @property
    def tested(self) -> str:
        """Why a page does not test it."""
        return f"{self.named} is tested at a shell, since {self.reason}"


class Channel(Struct, frozen=True):
    """By what a notice tells: all that a door has to know of it.

    Its name is that of its option too, of which `metavar` and `help` are. `delivers` is the module
    that delivers to a target, as `livedata.worker.delivery.courier.Deliverer` describes it.
    """

    name: str
    metavar: str = ""
    help: str = ""
    delivers: str = ""
    is_address: bool = True
    """Whether a target is an address, of which only the beginning is shown, or words."""
    shows_host: bool = False
    """Whether the host of an address is no secret."""
    has_secret: bool = False
    """Whether each notice gets a secret, by which its receiver knows that a message is ours."""
    offers: Mapping[str, ChannelOffer] = {}
    """How pages let it be added, by what their form calls each."""
    shell_only: ShellOnly | None = None
    """Why pages do not."""
    operator_only: str = ""
    """Why a page adds it for the operator alone, if it does."""
    words: Mapping[str, str] = {}
    """What one is called by how its target begins, if not as the channel."""

    def word(self, target: str) -> str:
        """What a notice of this target is called: the kind of whom it tells."""
        words = (word for begins, word in self.words.items() if target.startswith(begins))
        return next(words, self.name)


CHANNELS: Final = {
    channel.name: channel
    for channel in (
        Channel(
            "webhook",
            "URL",
            "POST it to this address, signed.",
            "livedata.worker.delivery.webhook",
            shows_host=True,
            has_secret=True,
            offers={"webhook": ChannelOffer("Webhook", "a signed POST to an address of yours")},
        ),
        Channel(
            "command",
            "CMD",
            "Start this shell command, with it on stdin.",
            "livedata.worker.delivery.command",
            is_address=False,
            shell_only=ShellOnly(
                named="A command",
                gets="the message on stdin",
                reason="it runs on the server",
                example="cat >> log",
            ),
        ),
        Channel(
            "apprise",
            "URL",
            "Mail or chat: an address of Apprise.",
            "livedata.worker.delivery.apprise_message",
            offers={
                "mail": ChannelOffer("Mail", "by a server that sends for you"),
                "apprise": ChannelOffer(
                    "Chat or another service", "an address of Apprise, such as slack://TOKENS"
                ),
            },
            operator_only="Apprise reaches any address, private ones too",
            words={"mailto": "mail", "": "chat"},
        ),
    )
}
"""By what a notice may tell, in the order in which it is offered."""


def channel_of(name: str) -> Channel:
    """The channel of a notice; of one that only a newer version knows, what holds of any."""
    return CHANNELS.get(name) or Channel(name)


def shown_target(name: str, target: str) -> str:
    """Whom a channel tells; of an address only the beginning, since the rest may be secret."""
    channel = channel_of(name)
    # First, since a command need not be what an address may be, such as one that begins with //[.
    if not channel.is_address:
        return masked(target)
    try:
        parts = urlsplit(target)
    except ValueError:
        return "…"
    if not parts.scheme:
        return masked(target)
    # Chat services put the key into the path of a webhook, others put it anywhere.
    place = parts.netloc if channel.shows_host else ""
    rest = "…" if not channel.shows_host or parts.path.strip("/") or parts.query else ""
    return f"{parts.scheme}://{place}{'/' if place and rest else ''}{rest}"


class ChangeFilter(Struct, frozen=True):
    """Which changes a notice tells: those that meet all of these; what is empty leaves out none.

    `when` are the clauses of a condition, `kinds` those of revisions. One of `columns` must have
    changed, and only these are told; where all that changed is to `ignore`, nothing is.
    """

    when: Sequence[str] = ()
    kinds: Sequence[RevisionKind] = ()
    columns: Sequence[str] = ()
    ignore: Sequence[str] = ()

    def told_of(self, cells: Mapping[str, _Cell]) -> Mapping[str, _Cell]:
        """Those of the cells of a row, by the names of the columns, that are told."""
        if not self.columns:
            return cells
        return {name: cell for name, cell in cells.items() if name in self.columns}


def parse_kinds(text: str) -> list[str]:
    """The kinds that a list with commas names. Raises Invalid."""
    named = [part.strip() for part in text.split(",")]
    for kind in named:
        if kind not in KINDS:
            raise Invalid(f"there is no kind {kind!r}; name some of {','.join(KINDS)}")
    return [kind for kind in KINDS if kind in named]


def parse_span(text: str) -> Micros:
    """The time that a text such as ``2d`` says. Raises Invalid."""
    match = _SPAN.fullmatch(text.strip())
    seconds = int(match[1]) * _UNITS[match[2]] if match else 0
    if not 0 < seconds <= _LONGEST:
        raise Invalid(
            f"{text!r} is no span of time between 1m and 3650d; write minutes, hours, days or "
            "weeks such as 30m, 12h, 2d or 1w"
        )
    return Micros(seconds * 1_000_000)


def format_span(span: Micros) -> str:
    """A span of time as a person writes it, in the largest unit that says it whole."""
    seconds = span // 1_000_000
    unit = next(unit for unit in "wdhm" if seconds % _UNITS[unit] == 0)
    return f"{seconds // _UNITS[unit]}{unit}"


def usual_kinds(silent_for: Micros | None) -> list[str]:
    """What is told if nothing else is wished: all, silence only if it is said how long."""
    return [kind for kind in KINDS if kind != "silent" or silent_for is not None]


def clashes(
    kinds: Collection[str],
    silent_for: Micros | None,
    wanted: ChangeFilter | None,
    digest: str | None,
) -> Iterator[Clash]:
    """What does not go together: silence and how long it lasts, or what narrows no changes."""
    if ("silent" in kinds) != (silent_for is not None):
        yield "silent"
    if wanted is not None and "changes" not in kinds:
        yield "filter"
    if digest is not None and "changes" not in kinds:
        yield "digest"
