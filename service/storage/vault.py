"""What rests on the operator's one secret: encryption at rest (AES-256-GCM), fingerprints, signatures."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import GCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from service.settings import Settings
from zenerrors import FileFormatError

_NONCE_BYTES = 12


class Sealing:
    """Seals piece by piece; all that it returns, in order, is what ``Vault.seal`` returns."""

    def __init__(self, key: bytes, place: str) -> None:
        self._nonce = os.urandom(_NONCE_BYTES)
        self._encryptor = Cipher(AES(key), GCM(self._nonce)).encryptor()
        self._encryptor.authenticate_additional_data(place.encode())

    def start(self) -> bytes:
        return self._nonce

    def update(self, piece: bytes) -> bytes:
        return self._encryptor.update(piece)

    def finish(self) -> bytes:
        return self._encryptor.finalize() + self._encryptor.tag


class Vault:
    """Seals byte strings for one named place each, so that a sealed blob moved elsewhere does not open."""

    def __init__(self, secret: bytes) -> None:
        self._seal_key = _derive(secret, b"zenserve seal")
        self._cipher = AESGCM(self._seal_key)
        self._mac_key = _derive(secret, b"zenserve mac")
        self._signing_key = Ed25519PrivateKey.from_private_bytes(_derive(secret, b"zenserve receipts"))

    @classmethod
    def from_settings(cls, settings: Settings) -> Vault:
        """The key in ``ZENSERVE_SECRET_KEY``, or one kept in the data directory and made on first use."""
        if settings.secret_key is not None:
            return cls(settings.secret_key.get_secret_value().encode())
        return cls(_key_file(settings.data_dir / "secret.key"))

    def seal(self, plaintext: bytes, place: str) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, plaintext, place.encode())

    def sealing(self, place: str) -> Sealing:
        """``seal`` for what is too large to be held at once."""
        return Sealing(self._seal_key, place)

    def open(self, sealed: bytes, place: str) -> bytes:
        """Raises ``FileFormatError`` (``file.sealed``) for another key, another place or changed bytes."""
        try:
            return self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], place.encode())
        except (InvalidTag, ValueError) as error:
            raise FileFormatError(
                "file.sealed",
                f"the stored {place.partition(':')[0]} cannot be decrypted: it was sealed with another"
                " ZENSERVE_SECRET_KEY, or changed on disk",
            ) from error

    @property
    def issuer(self) -> bytes:
        """The Ed25519 public key of ``sign``, 32 bytes: the same as long as the secret is."""
        return self._signing_key.public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        """An Ed25519 signature, 64 bytes."""
        return self._signing_key.sign(message)

    def mac(self, *parts: bytes) -> bytes:
        """A keyed fingerprint. A plain hash would let anyone with the database guess small inputs."""
        mac = hmac.new(self._mac_key, digestmod=hashlib.sha256)
        for part in parts:
            mac.update(len(part).to_bytes(8, "little") + part)
        return mac.digest()


def _derive(secret: bytes, purpose: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(secret)


def _key_file(path: Path) -> bytes:
    if not path.exists():
        fresh = path.with_name(f"{path.name}.{os.getpid()}")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(os.urandom(32).hex())
        # link, not rename: of several processes that start at once the first one's key stays.
        with contextlib.suppress(FileExistsError):
            os.link(fresh, path)
        fresh.unlink()
    return bytes.fromhex(path.read_text())
