"""A session's certificate under JupyterHub's internal_ssl.

It is made at the claim, when the node is known, and signed by the CA that JupyterHub made for servers (`notebooks-ca`):
the Hub and the proxy accept it as they accept JupyterHub's own. It is made in memory: JupyterHub's store of
certificates is only read, so two claims at once cannot harm it, and no key of a session ever lies on the Hub's disk.
"""

import datetime
import ipaddress
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

NAMES = ("key.pem", "cert.pem", "ca.pem")
"""In the session's private folder: the server's key and certificate, and the CAs that it trusts."""
OWN_NAMES = ("own-key.pem", "own-cert.pem")
"""There too: by these the session's shim asks its own server, which alone trusts them, what is in use."""
_CA = "notebooks-ca"
_EARLIER, _LATER = datetime.timedelta(days=1), datetime.timedelta(days=366)  # clocks differ; a job may be extended


def hub_with_ssl() -> Any:
    """The running JupyterHub if it has internal_ssl, else None."""
    from jupyterhub.app import JupyterHub

    app = JupyterHub.instance() if JupyterHub.initialized() else None
    return app if app is not None and app.internal_ssl else None


def session_certificate(app: Any, names: Iterable[str]) -> dict[str, str]:
    """PEM texts by the names of `NAMES` and `OWN_NAMES`; the server's certificate is good for these host names and
    addresses, and this machine's own. Raises OSError or ValueError when JupyterHub's CA cannot be used."""
    from certipy import Certipy

    files = Certipy(store_dir=app.internal_certs_location).store.get_record(_CA)["files"]
    ca = x509.load_pem_x509_certificate(Path(files["cert"]).read_bytes())
    ca_key: Any = serialization.load_pem_private_key(Path(files["key"]).read_bytes(), None)
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.timezone.utc)
    usage = [x509.ExtendedKeyUsageOID.SERVER_AUTH, x509.ExtendedKeyUsageOID.CLIENT_AUTH]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "siflab-session")]))
        .issuer_name(ca.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + _LATER)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usage), critical=True)
        .add_extension(x509.SubjectAlternativeName([_name(n) for n in _all_names(names)]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    own_key, own_certificate = _self_signed(now)
    texts = (_private(key), _public(certificate), trusted(app).rstrip("\n") + "\n" + own_certificate)
    return dict(zip((*NAMES, *OWN_NAMES), (*texts, own_key, own_certificate), strict=True))


def _self_signed(now: datetime.datetime) -> tuple[str, str]:
    """A key and a certificate of a client, signed by nobody else. It names no host, so no server can use it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "siflab-shim")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + _LATER)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.CLIENT_AUTH]), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return _private(key), _public(certificate)


def _private(key: Any) -> str:
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return str(pem.decode())


def _public(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def trusted(app: Any) -> str:
    """The CAs that a session trusts, in PEM: the Hub's and the proxy's."""
    return Path(app.internal_trust_bundles[_CA]).read_text("ascii")


def is_good_for(certificate: bytes, host: str) -> bool:
    """Whether a certificate (PEM) names this host name or address."""
    try:
        names = x509.load_pem_x509_certificate(certificate).extensions.get_extension_for_class(
            x509.SubjectAlternativeName
        )
    except x509.ExtensionNotFound:
        return False
    wanted = _name(host)
    if isinstance(wanted, x509.IPAddress):
        return wanted.value in names.value.get_values_for_type(x509.IPAddress)
    known = [name.lower() for name in names.value.get_values_for_type(x509.DNSName)]
    return host.lower() in known or f"*.{host.lower().partition('.')[2]}" in known


def _all_names(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*(name for name in names if name), "localhost", "127.0.0.1"]))


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
