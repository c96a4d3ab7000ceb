"""A certificate authority for test servers with TLS."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def tls_server(folder: Path, *hosts: str) -> tuple[ssl.SSLContext, Path]:
    """Return the TLS context of a server for these hosts, and the authority's file, which clients must trust."""
    authority, its_key = _certificate("authority of a test", (), None, None)
    server, key = _certificate(hosts[0], hosts, authority, its_key)
    chain, trusted = folder / "server.pem", folder / "authority.pem"
    chain.write_bytes(_pem(server) + _key_pem(key))
    trusted.write_bytes(_pem(authority))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    return context, trusted


def _certificate(
    name: str, hosts: tuple[str, ...], issuer: x509.Certificate | None, signer: ec.EllipticCurvePrivateKey | None
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
    )
    if hosts:
        names = x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts])
        builder = builder.add_extension(names, critical=False)
    return builder.sign(signer or key, hashes.SHA256()), key


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
