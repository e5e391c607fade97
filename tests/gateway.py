"""What stands before a Chroma server in real life: TLS with a certificate of one's own authority,
and a token that is asked for."""

from __future__ import annotations

import ssl
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

TOKEN = "tok-5f1c9d27ab0e4c6d"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


class Gateway:
    """A proxy before a Chroma server, with TLS if it is given a certificate; a context manager.

    Args:
        port: The server's.
        certificate: A file with a key and the certificate for it.
    """

    def __init__(self, port: int, certificate: Path | None = None) -> None:
        self.open = threading.Event()
        """Whether requests are answered; until then they hang."""
        self.open.set()
        self.seen: list[str] = []
        """The paths that were asked for with the token."""
        self.refusal = "a token is missing"
        self._server = _Server(("127.0.0.1", 0), _handler(self, port))
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        scheme = "http" if certificate is None else "https"
        self.port = self._server.server_port
        self.url = f"{scheme}://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._serving = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._serving.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.open.set()
        self._server.shutdown()
        self._server.server_close()
        self._serving.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away."""


def _handler(gateway: Gateway, port: int) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            gateway.open.wait()
            if self.headers.get("Authorization") != HEADERS["Authorization"]:
                self.answer(401, gateway.refusal.encode())
                return
            gateway.seen.append(self.path)
            with closing(HTTPConnection("127.0.0.1", port)) as upstream:
                json = {"Content-Type": "application/json"}
                upstream.request(self.command, self.path, body, json)
                answered = upstream.getresponse()
                status, found = answered.status, answered.read()
            self.answer(status, found)

        do_GET = do_POST = do_PUT = do_DELETE = forward  # as `http.server` asks

        def answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    return Handler


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def make_certificates(directory: Path) -> tuple[Path, Path]:
    """Return a certificate of a new authority, and one for 127.0.0.1 that it signed, with key."""
    own = ec.generate_private_key(ec.SECP256R1())
    authority = _certificate(
        "An authority", own, "An authority", own, x509.BasicConstraints(True, 0)
    )
    key = ec.generate_private_key(ec.SECP256R1())
    host = x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))])
    server = _certificate("A server", key, "An authority", own, host)
    trusted, served = directory / "authority.pem", directory / "server.pem"
    trusted.write_bytes(authority)
    served.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + server
    )
    return trusted, served


def _certificate(
    subject: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    issuer_key: ec.EllipticCurvePrivateKey,
    extension: x509.ExtensionType,
) -> bytes:
    now = datetime.now(UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(extension, critical=True)
        # Who signed it and for what, as Python demands since 3.13.
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
            critical=False,
        )
        .add_extension(_usage(signs=key is issuer_key), critical=True)
    )
    signed = built.sign(issuer_key, hashes.SHA256())
    return signed.public_bytes(serialization.Encoding.PEM)
