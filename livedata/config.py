"""Settings: from the environment, then ``config.toml`` in the home, then the defaults."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, get_args

from msgspec import Struct
from platformdirs import user_data_path

from livedata import __version__
from livedata.messages.request import format_choices, nearest
from livedata.model.account import MAX_CREDITS, OPERATOR, Limits
from livedata.model.errors import Invalid, StoreUnavailable
from livedata.model.research.settings import (
    OPENAI,
    ModelOutput,
    ResearchSettings,
    SearchProvider,
)
from livedata.model.run import GUARDS, Guard

if TYPE_CHECKING:
    from livedata.rules.network.targets import TargetPolicy

HOMEPAGE = "https://github.com/livedata/livedata"
USER_AGENT = f"livedata/{__version__} (+{HOMEPAGE})"

LEAST_A_DAY = 50_000
"""Tokens: fewer leave no room for a question about a long page."""

Choice = TypeVar("Choice", bound=str)


class OwnerLimit(Struct, frozen=True):
    """How much of something any owner may have, and `others` who have another limit, or none."""

    most: int | None = None
    others: Mapping[str, int | None] = {}

    def of(self, owner: str) -> int | None:
        """The limit of one owner."""
        return self.others.get(owner, self.most)


class Settings(Struct, frozen=True):
    """The settings. Each is ``LIVEDATA_`` and its name as a variable, or its name in the file."""

    home: Path
    database_url: str
    read_url: str = ""
    listen_url: str = ""
    allow_hosts: str = ""
    only_hosts: str = ""
    public_url: str = ""
    hosts: str = ""
    user_agent: str = USER_AGENT
    delay: float = 0.25
    proxy: str = ""
    at_once: int = 4
    crawler_memory: int = 1_000
    look_ahead: int = 2
    page_seconds: float = 20.0
    run_seconds: float = 600.0
    browser: str = ""
    timezone: str = "UTC"
    spread: float = 0.0
    mass_loss: float | None = 0.5
    guards: frozenset[Guard] = frozenset(GUARDS)
    local_credits: int = 1_000_000
    owner_credits: int = 1_000
    owner_datasets: OwnerLimit = OwnerLimit()
    owner_runs: OwnerLimit = OwnerLimit()
    owner_requests: OwnerLimit = OwnerLimit()
    research: ResearchSettings = ResearchSettings()

    def _without_secrets(self) -> str:
        return f"Settings(home={self.home!r})"

    __repr__ = _without_secrets  # a proxy and a database may have a password in their URL

    @property
    def targets(self) -> TargetPolicy:
        """Which addresses sources may have. Raises Invalid for an entry that is not a host."""
        # Imported late: most commands read no website, and start faster without it.
        from livedata.rules.network.targets import TargetPolicy

        return TargetPolicy.parse(self.allow_hosts, self.only_hosts)

    @property
    def limits(self) -> Limits:
        """How much each owner but the operator may have."""
        datasets, runs, requests = self.owner_datasets, self.owner_runs, self.owner_requests
        others = {
            owner: Limits(datasets.of(owner), runs.of(owner), requests.of(owner))
            for owner in {*datasets.others, *runs.others, *requests.others}
        }
        return Limits(datasets.most, runs.most, requests.most, others)

    def grant(self, owner: str) -> int:
        """The credits that an owner starts with."""
        return self.local_credits if owner == "local" else self.owner_credits


def load(environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings in force.

    Raises Invalid for a wrong value, with the name of its variable or file, and StoreUnavailable
    if the home is not a folder.
    """
    # `or`: an empty variable counts as none, as a shell script leaves it behind.
    home = Path(environ.get("LIVEDATA_HOME") or user_data_path("livedata")).expanduser()
    given = _Given(environ, _read_file(home / "config.toml"), home / "config.toml")
    database_url = given.text("database_url", f"sqlite:///{home / 'livedata.db'}")
    return Settings(
        home=home,
        database_url=database_url,
        read_url=given.beside(database_url, "read_url"),
        listen_url=given.beside(database_url, "listen_url"),
        allow_hosts=given.text("allow_hosts", ""),
        only_hosts=given.text("only_hosts", ""),
        public_url=given.address("public_url"),
        hosts=given.text("hosts", ""),
        user_agent=given.text("user_agent", USER_AGENT),
        delay=given.number("delay", 0.25, 0, 60),
        proxy=given.text("proxy", ""),
        at_once=int(given.number("at_once", 4, 1, 64)),
        crawler_memory=int(given.number("crawler_memory", 1_000, 100, 1_000_000)),
        look_ahead=int(given.number("look_ahead", 2, 1, 4)),
        page_seconds=given.number("page_seconds", 20, 1, 300),
        run_seconds=given.number("run_seconds", 600, 1, 86_400),
        browser=given.text("browser", ""),
        timezone=given.zone("timezone", "UTC"),
        spread=given.number("spread", 0, 0, 86_400),
        mass_loss=given.share("mass_loss", 0.5),
        guards=given.guards("guards"),
        local_credits=int(given.number("local_credits", 1_000_000, 0, MAX_CREDITS)),
        owner_credits=int(given.number("owner_credits", 1_000, 0, MAX_CREDITS)),
        owner_datasets=given.owner_limit("owner_datasets"),
        owner_runs=given.owner_limit("owner_runs"),
        owner_requests=given.owner_limit("owner_requests"),
        research=_research(given),
    )


def _research(given: _Given) -> ResearchSettings:
    output: tuple[ModelOutput, ...] = get_args(ModelOutput)
    providers: tuple[SearchProvider, ...] = get_args(SearchProvider)
    settings = ResearchSettings(
        model=given.text("model", ""),
        model_base_url=given.address("model_base_url", "http://127.0.0.1:11434/v1") or OPENAI,
        model_api_key=given.key("model_api_key"),
        model_output=given.choice("model_output", "native", output),
        model_price_in=given.price("model_price_in"),
        model_price_out=given.price("model_price_out"),
        model_seconds=given.number("model_seconds", 60, 1, 600),
        search=given.choice("search", "none", providers),
        search_url=given.address("search_url", "http://127.0.0.1:8080"),
        search_key=given.key("search_key"),
        research_seconds=given.number("research_seconds", 1_800, 1, 86_400),
        research_tokens_a_day=given.count("research_tokens_a_day", LEAST_A_DAY),
        research_usd_a_day=given.price("research_usd_a_day"),
        timezone=given.zone("timezone", "UTC"),
    )
    if (settings.model_price_in is None) != (settings.model_price_out is None):
        raise Invalid(
            "A model's price has two parts: set LIVEDATA_MODEL_PRICE_IN and "
            "LIVEDATA_MODEL_PRICE_OUT, both in US dollars per million tokens, or neither."
        )
    if settings.research_usd_a_day is not None and settings.model_price_in is None:
        raise Invalid(
            "LIVEDATA_RESEARCH_USD_A_DAY limits money, so what the model costs must be known: set "
            "LIVEDATA_MODEL_PRICE_IN and LIVEDATA_MODEL_PRICE_OUT, or limit tokens instead with "
            "LIVEDATA_RESEARCH_TOKENS_A_DAY."
        )
    if settings.search == "searxng" and not settings.search_url:
        raise Invalid(
            "LIVEDATA_SEARCH is searxng, so LIVEDATA_SEARCH_URL must name your server, such as "
            "http://127.0.0.1:8080."
        )
    if settings.search == "brave" and not settings.search_key:
        raise Invalid("LIVEDATA_SEARCH is brave, so LIVEDATA_SEARCH_KEY must hold your key for it.")
    return settings


class _Given(Struct, frozen=True):
    """The values as given, with one reader for each kind of setting."""

    environ: Mapping[str, str]
    file: Mapping[str, object]
    path: Path

    def text(self, name: str, default: str) -> str:
        value = self._raw(name)
        # A file may give several hosts as a list, which the environment cannot.
        listed = value if isinstance(value, list) else [value]
        return default if value is None else ",".join(map(str, listed))

    def address(self, name: str, example: str = "https://data.example.org") -> str:
        value = self.text(name, "").rstrip("/")
        if value and not is_base(value):
            # It is not repeated: it may hold a password, which is one of the reasons.
            raise Invalid(
                f"{self._where(name)} must be an address without a user, a query or a fragment, "
                f"such as {example}."
            )
        return value

    def beside(self, database_url: str, name: str) -> str:
        """The URL of another server beside that of the store."""
        value, kinds = self.text(name, ""), ("postgresql://", "postgres://")
        if value and not (value.startswith(kinds) and database_url.startswith(kinds)):
            # It is not repeated: it may hold a password.
            raise Invalid(
                f"{self._where(name)} must be the URL of a PostgreSQL server, such as "
                "postgresql://livedata@db2.example/livedata, beside a store in PostgreSQL, which "
                "LIVEDATA_DATABASE_URL names."
            )
        return value

    def number(self, name: str, default: float, low: float, high: float) -> float:
        value = self._raw(name)
        if value is None:
            return default
        try:
            number = float(str(value))
        except ValueError:
            number = float("nan")  # in no range, so the message below is for it too
        if not low <= number <= high:
            raise Invalid(
                f"{self._where(name)} must be a number from {low} to {high}, not {value!r}."
            )
        return number

    def count(self, name: str, low: int) -> int | None:
        if self._raw(name) is None:
            return None
        return int(self.number(name, low, low, 1_000_000_000_000))

    def owner_limit(self, name: str) -> OwnerLimit:
        value = self._raw(name)
        if value is None:
            return OwnerLimit()
        # A list of the file may name owners with a comma, which the environment cannot.
        parts = value if isinstance(value, list) else str(value).split(",")
        limits: dict[str, int | None] = {}
        for part in parts:
            owner, _, number = (word.strip() for word in str(part).rpartition("="))
            number = number.lower()
            if owner in {*limits, OPERATOR} or not re.fullmatch("off|[1-9][0-9]{0,11}", number):
                raise Invalid(
                    f"{self._where(name)} must be a number from 1, or off, with others for owners "
                    f"but {OPERATOR} by their names, such as 100,alice=1000,bob=off, not {value!r}."
                )
            limits[owner] = None if number == "off" else int(number)
        return OwnerLimit(limits.pop("", None), limits)

    def price(self, name: str) -> float | None:
        return None if self._raw(name) is None else self.number(name, 0, 0, 1_000_000)

    def choice(self, name: str, default: Choice, choices: tuple[Choice, ...]) -> Choice:
        value = self.text(name, default).strip().lower()
        for choice in choices:
            if choice == value:
                return choice
        raise Invalid(f"{self._where(name)} must be {format_choices(choices)}, not {value!r}.")

    def key(self, name: str) -> str:
        value = self.text(name, "").strip()
        if not value.isascii() or not value.isprintable() or " " in value:
            raise Invalid(
                f"{self._where(name)} must be a key as the provider shows it: letters, digits and "
                "signs without blanks."
            )
        return value

    def share(self, name: str, default: float) -> float | None:
        if str(self._raw(name)).lower() == "off":
            return None
        return self.number(name, default, 0, 1)

    def guards(self, name: str) -> frozenset[Guard]:
        value = self._raw(name)
        if value is None:
            return frozenset(GUARDS)
        listed = value if isinstance(value, list) else str(value).split(",")
        names = [str(guard).strip().lower() for guard in listed]
        wrong = [guard for guard in names if guard not in {*GUARDS, "off"}]
        if wrong or ("off" in names and len(names) > 1):
            raise Invalid(
                f"{self._where(name)} must be off, or name guards with commas between them, such "
                f"as {','.join(GUARDS)}, not {value!r}."
            )
        return frozenset(guard for guard in GUARDS if guard in names)

    def zone(self, name: str, default: str) -> str:
        value = self.text(name, default)
        if value != default:
            # Imported late: most commands start with the default, and start faster without it.
            from zoneinfo import ZoneInfo

            try:
                ZoneInfo(value)
            # ZoneInfo opens a file of that name, which may be a folder or have a bad path.
            except (KeyError, ValueError, OSError):
                raise Invalid(
                    f"{self._where(name)} must be a time zone that this machine knows, such as "
                    f"Europe/Berlin, not {value!r}."
                ) from None
        return value

    def _raw(self, name: str) -> object:
        variable = self.environ.get(f"LIVEDATA_{name.upper()}")
        return variable or self.file.get(name)

    def _where(self, name: str) -> str:
        variable = f"LIVEDATA_{name.upper()}"
        return variable if self.environ.get(variable) else f"{name} in {self.path}"


def is_base(address: str) -> bool:
    """Whether paths can be put after an address."""
    # Imported late: few commands print addresses of ours.
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(address)
        named = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    plain = not any(mark in address for mark in "@?#") and address.isprintable()
    return named and plain and " " not in address and parts.scheme in {"http", "https"}


def _read_file(path: Path) -> Mapping[str, object]:
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except PermissionError as error:
        raise StoreUnavailable(
            f"The store's home {path.parent} cannot be used: {error.strerror}. Give yourself the "
            "right to it, or name another folder with LIVEDATA_HOME."
        ) from None
    except NotADirectoryError:
        raise StoreUnavailable(
            f"The store's home {path.parent} is not a folder; LIVEDATA_HOME must name one."
        ) from None
    except (OSError, ValueError) as error:
        raise Invalid(f"{path} cannot be read: {error}.") from error
    except RecursionError:
        raise Invalid(f"{path} cannot be read: it is nested too deep.") from None
    # The home is where the file is: it cannot be set inside.
    names = [name for name in Settings.__struct_fields__ if name not in {"home", "research"}]
    names += ResearchSettings.__struct_fields__
    for name in given:
        if name not in names:
            near = nearest(name, names)
            hint = f"did you mean {near}?" if near else f"known here: {', '.join(names)}."
            raise Invalid(f"{path} has the unknown setting {name}; {hint}")
    return given
