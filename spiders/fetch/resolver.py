"""Only public addresses are dialled: they are judged once a name is resolved.

Twisted resolves every host here, literals included, and then dials the very address that it was
given, so there is no second look-up in which a name could change its mind.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Any

from msgspec import Struct, field
from twisted.internet.interfaces import IHostnameResolver, IResolutionReceiver
from zope.interface import implementer

from livedata.rules.network.targets import TargetPolicy, literal_address


class DialPolicy(Struct):
    """What one request may dial; it learns here which addresses it was refused."""

    targets: TargetPolicy
    proxy: str | None = None
    refused: list[str] = field(default_factory=list)

    def permits(self, host: str, port: int, address: str) -> bool:
        """Whether to dial `address`: the operator's own proxy is let through by its name."""
        return host == self.proxy or self.targets.permits(host, port, address)


# Twisted resolves through one resolver per process and hands it nothing of the request; a context
# variable is the only thing that reaches it, for each request has a task of its own.
DIAL_POLICY: ContextVar[DialPolicy] = ContextVar("dial_policy")
"""The policy of the request that is being made; without one, only public addresses."""


@implementer(IResolutionReceiver)
class _Filter:
    """Passes on the addresses that may be dialled."""

    def __init__(self, inner: Any, policy: DialPolicy, host: str, port: int) -> None:
        self._inner = inner
        self._policy = policy
        self._host = host
        self._port = port

    def resolutionBegan(self, resolution: Any) -> None:  # noqa: N802  (Twisted's name)
        self._inner.resolutionBegan(resolution)

    def addressResolved(self, address: Any) -> None:  # noqa: N802
        if self._policy.permits(self._host, self._port, address.host):
            self._inner.addressResolved(address)
        else:
            self._policy.refused.append(address.host)

    def resolutionComplete(self) -> None:  # noqa: N802
        self._inner.resolutionComplete()


@implementer(IResolutionReceiver)
class _Completed:
    """Waits for the end of a resolution; only the refused addresses matter."""

    def __init__(self, done: asyncio.Future[None]) -> None:
        self._done = done

    def resolutionBegan(self, resolution: Any) -> None:  # noqa: N802
        pass

    def addressResolved(self, address: Any) -> None:  # noqa: N802
        pass

    def resolutionComplete(self) -> None:  # noqa: N802
        # The page's time may have run out during the look-up: then the future is cancelled.
        if not self._done.done():
            self._done.set_result(None)


async def refused_addresses(host: str, port: int, targets: TargetPolicy) -> list[str]:
    """The addresses of `host`, as this machine resolves it, that may not be read."""
    literal = literal_address(host)
    if literal is not None:  # in a form, perhaps, that only the proxy takes for an address
        return [] if targets.permits(host, port, literal) else [literal]
    from twisted.internet import reactor

    installed: Any = reactor
    policy = DialPolicy(targets)
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    token = DIAL_POLICY.set(policy)
    try:
        # Through the same filter as a dial: `refused` then says what a dial would be refused.
        installed.nameResolver.resolveHostName(_Completed(done), host, port)
    finally:
        DIAL_POLICY.reset(token)
    await done
    return policy.refused


@implementer(IHostnameResolver)
class GuardedResolver:
    """A resolver that gives away no address which the policy of the request does not permit."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def resolveHostName(  # noqa: N802
        self,
        resolutionReceiver: Any,  # noqa: N803
        hostName: str,  # noqa: N803
        portNumber: int = 0,  # noqa: N803
        addressTypes: Any = None,  # noqa: N803
        transportSemantics: str = "TCP",  # noqa: N803
    ) -> Any:
        """As Twisted has it."""
        policy = DIAL_POLICY.get(DialPolicy(TargetPolicy()))
        receiver = _Filter(resolutionReceiver, policy, hostName, portNumber)
        return self._inner.resolveHostName(
            receiver, hostName, portNumber, addressTypes, transportSemantics
        )
