"""Which hosts an agent may have read, and what is said of one that it may not."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from livedata.config import load
from livedata.mcp.access import DatasetAccess
from livedata.messages import request
from livedata.model.errors import Invalid
from livedata.model.problem import Remedy
from livedata.rules.network.targets import TargetPolicy, url_problem

ONLY: Final = "LIVEDATA_ONLY_HOSTS"
_NAMED: Final = 10


def environ(access: DatasetAccess) -> dict[str, str]:
    """The environment of this process, where `sites` narrows what may be read."""
    narrowed = {ONLY: access.sites} if access.sites else {}
    return {**os.environ, **narrowed}


def targets(access: DatasetAccess) -> TargetPolicy:
    """What an agent may have read."""
    return load(environ(access)).targets


def check_url(access: DatasetAccess, what: str, url: str) -> None:
    """Raise Invalid if a URL may not be read; `what` is the subject of the sentence."""
    problem = url_problem(url, targets(access))
    if problem is not None:
        why = f"{what} {request.predicate(problem)}."
        raise Invalid(why, remedies=problem.remedies)


def who_names_hosts(access: DatasetAccess, remedies: Sequence[Remedy]) -> str:
    """Behind what is wrong with a host: which may be read, and who says so; "" if nothing is."""
    if all(remedy.code != "name_host" for remedy in remedies):
        return ""
    hosts = sorted(targets(access).only or ())
    more = f" and {len(hosts) - _NAMED} more" if len(hosts) > _NAMED else ""
    where = "--sites of livedata mcp" if access.sites else ONLY
    named = f"{', '.join(hosts[:_NAMED])}{more}"
    return f" Those are {named}: ask for a page there, or your person, who names them in {where}."


def of_agents(access: DatasetAccess, remedies: Sequence[Remedy]) -> Iterator[Remedy]:
    """The remedies of a Run, of which the one for a host names what a person wrote for agents."""
    sites = TargetPolicy.parse("", access.sites)
    for remedy in remedies:
        if remedy.code != "name_host":
            yield remedy
            continue
        is_of_sites = not _covers(sites, remedy.params)
        if is_of_sites:
            yield Remedy("name_site", remedy.params)
        # The settings of this command, or of another one that executed the Run.
        if not is_of_sites or not _covers(load().targets, remedy.params):
            yield remedy


def _covers(policy: TargetPolicy, params: Mapping[str, object]) -> bool:
    host, _, port = str(params["host"]).rpartition(":")
    return policy.covers(host, int(port))
