"""The HTTP client of a Run's providers: no redirects, no proxies of the system, bounded answers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
from typing_extensions import override

MOST_BYTES = 4 * 1024 * 1024
"""Bytes of an answer, headers apart: more than any model or search gives out in one."""


class AnswerTooLarge(httpx2.ReadError):
    """An answer has more bytes than a provider ever needs."""


class BoundedTransport(httpx2.AsyncHTTPTransport):
    """Reads no more of an answer than `MOST_BYTES`, and nothing that grows when it is unpacked."""

    @override
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        encoding = response.headers.get("content-encoding", "identity")
        if encoding != "identity":
            await response.aclose()
            raise httpx2.DecodingError(f"compressed as {encoding}, which was not asked for")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=_BoundedStream(response.stream),
            extensions=response.extensions,
        )


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > MOST_BYTES:
                raise AnswerTooLarge("the answer is larger than 4 MiB")
            yield chunk

    @override
    async def aclose(self) -> None:
        await self._stream.aclose()


def http_client(seconds: float) -> httpx2.AsyncClient:
    """A client for the loop that runs; each step of a request may take `seconds`."""
    # The guard of addresses is not asked: it is the operator who names model and search.
    return httpx2.AsyncClient(
        transport=BoundedTransport(trust_env=False),
        headers={"Accept-Encoding": "identity"},
        timeout=seconds,
        follow_redirects=False,
        trust_env=False,
    )
