"""A web server on loopback that speaks TLS, with a certificate that nobody has vouched for."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from typing_extensions import override

from tests.site import Site

if TYPE_CHECKING:
    import socket
    from threading import Event

DAY = dt.timedelta(days=1)


class SecureSite(Site):
    """A site at https, for 127.0.0.1; its certificate is signed by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.url = f"https://{self.host}"

    @override
    def _serve(self, connection: socket.socket, stopping: Event) -> None:
        with suppress(OSError), context().wrap_socket(connection, server_side=True) as secure:
            super()._serve(secure, stopping)


@cache
def certificate() -> bytes:
    """The certificate of every `SecureSite`, with its key, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    place = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - DAY)
        .not_valid_after(now + DAY)
        .add_extension(x509.SubjectAlternativeName([place]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return private + made.public_bytes(serialization.Encoding.PEM)


@cache
def context() -> ssl.SSLContext:
    """What a server needs to speak TLS."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as folder:
        file = Path(folder, "both.pem")
        file.write_bytes(certificate())
        made.load_cert_chain(file)
    return made
