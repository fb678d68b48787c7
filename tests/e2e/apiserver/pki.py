"""One certificate authority for a test cluster, and certificates for servers and users of it."""

import datetime as dt
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = dt.timedelta(days=1)


class Authority:
    """Issues certificates into a folder."""

    def __init__(self, folder, name="test authority"):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.certificate = self._sign(self.name, self.key.public_key(), authority=True)
        self.file = self.folder / "ca.crt"
        self.file.write_bytes(_pem(self.certificate))

    def _sign(self, subject, public, *, authority=False, usage=None, days=2.0, names=()):
        now = dt.datetime.now(dt.UTC)
        made = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - DAY)
            .not_valid_after(now + DAY * days)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False
            )
        )
        if authority:
            flags = dict.fromkeys(
                (
                    "digital_signature",
                    "content_commitment",
                    "key_encipherment",
                    "data_encipherment",
                    "key_agreement",
                    "encipher_only",
                    "decipher_only",
                ),
                False,
            )
            made = made.add_extension(
                x509.KeyUsage(**flags, key_cert_sign=True, crl_sign=True), critical=True
            )
        if usage:
            made = made.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        if names:
            made = made.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return made.sign(self.key, hashes.SHA256())

    def server(self, name, hosts=("localhost", "127.0.0.1"), days=2.0):
        """(certificate file, key file) of a server on loopback."""
        names = [_name(host) for host in hosts]
        return self._pair(name, [(NameOID.COMMON_NAME, name)], ExtendedKeyUsageOID.SERVER_AUTH, names, days)

    def user(self, name, groups=()):
        """(certificate file, key file) of a user in groups."""
        subject = [(NameOID.COMMON_NAME, name), *((NameOID.ORGANIZATION_NAME, group) for group in groups)]
        return self._pair(name.replace(":", "-"), subject, ExtendedKeyUsageOID.CLIENT_AUTH, (), 2.0)

    def _pair(self, file, subject, usage, names, days):
        key = ec.generate_private_key(ec.SECP256R1())
        whom = x509.Name([x509.NameAttribute(oid, value) for oid, value in subject])
        certificate = self._sign(whom, key.public_key(), usage=usage, days=days, names=names)
        files = self.folder / f"{file}.crt", self.folder / f"{file}.key"
        files[0].write_bytes(_pem(certificate))
        files[1].write_bytes(key_bytes(key))
        return files


def _pem(certificate):
    return certificate.public_bytes(serialization.Encoding.PEM)


def key_bytes(key):
    """A private key as PEM, without a passphrase."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _name(host):
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
