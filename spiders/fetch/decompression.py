"""Compressed bodies: gzip and deflate, whole or not at all."""

from __future__ import annotations

import zlib

from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from typing_extensions import override

from spiders.fetch.errors import TooMuch, UnreadableBody

_GZIP = b"\x1f\x8b\x08"


class Decompression(HttpCompressionMiddleware):
    """Undoes gzip and deflate, whole or not at all."""

    # Scrapy's own keeps what it can read of a body that was cut or damaged: the rows behind the cut
    # would be missing, and nobody would know.
    @staticmethod
    @override
    def _decode(body: bytes, encoding: bytes, max_size: int) -> bytes:
        if encoding == b"deflate":
            # By RFC 9110 it has zlib's header; some servers send it bare.
            wrapped = body[:1] and body[0] & 0x0F == 8 and not int.from_bytes(body[:2]) % 31
            # zlib's window bits: 15 with its header, -15 without, 31 with that of gzip.
            return _inflated(body, 15 if wrapped else -15, max_size)
        if encoding in {b"gzip", b"x-gzip"}:
            return _inflated(body, 31, max_size)
        raise UnreadableBody("unasked_compression", encoding=encoding.decode("latin-1"))


def _inflated(body: bytes, form: int, most: int) -> bytes:
    """What `body` holds; of gzip all its members, without padding behind them."""
    found, rest = bytearray(), body
    while rest and (not found or rest.startswith(_GZIP)):
        stream = zlib.decompressobj(form)
        # One byte more than a Run takes: a bomb shows itself before it is unpacked.
        try:
            found += stream.decompress(rest, most + 1 - len(found))
        except zlib.error as error:
            said = str(error).rpartition(": ")[2]
            raise UnreadableBody("damaged_compression", said=said) from error
        if len(found) > most:
            raise TooMuch("too_big", mib=most >> 20)
        if not stream.eof:
            raise UnreadableBody("cut_compression")
        rest = stream.unused_data
    return bytes(found)
