"""Cryptography under the operator's one secret.

It comprises encryption at rest (AES-256-GCM), fingerprints and signatures.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import GCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from zenserve.errors import FileFormatError, RequestError
from zenserve.service.settings import Settings
from zenserve.service.spool import pieces

KEY_FILE = "secret.key"
_NONCE_BYTES = 12
_TAG_BYTES: Final = 16


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


class _Keys:
    """All that derives from one secret."""

    def __init__(self, secret: bytes) -> None:
        self.seal = _derive(secret, b"zenserve seal")
        self.cipher = AESGCM(self.seal)
        self.signing = Ed25519PrivateKey.from_private_bytes(_derive(secret, b"zenserve receipts"))
        self._mac = _derive(secret, b"zenserve mac")

    def open(self, sealed: bytes, place: str) -> bytes | None:
        """None for what was sealed with another secret, for another place, or has changed."""
        try:
            return self.cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], place.encode())
        except (InvalidTag, ValueError):
            return None

    def open_file(self, sealed: BinaryIO, place: str, plain: BinaryIO) -> bool:
        """``open`` piece by piece: what is in ``plain`` is good only if all of it is."""
        length = sealed.seek(0, os.SEEK_END) - _NONCE_BYTES - _TAG_BYTES
        if length < 0:
            return False
        sealed.seek(0)
        decryptor = Cipher(AES(self.seal), GCM(sealed.read(_NONCE_BYTES))).decryptor()
        decryptor.authenticate_additional_data(place.encode())
        plain.writelines(map(decryptor.update, pieces(sealed, length)))
        try:
            plain.write(decryptor.finalize_with_tag(sealed.read(_TAG_BYTES)))
        except InvalidTag:
            return False
        return True

    def mac(self, parts: Sequence[bytes]) -> bytes:
        mac = hmac.new(self._mac, digestmod=hashlib.sha256)
        for part in parts:
            mac.update(len(part).to_bytes(8, "little") + part)
        return mac.digest()


class Vault:
    """Seals byte strings for one named place each, so that a sealed blob moved elsewhere does not open.

    What ``previous`` secrets sealed opens too, while the secret is being rotated
    (``zenserve.service.rotation``).
    """

    def __init__(self, secret: bytes, *previous: bytes) -> None:
        self._present = _Keys(secret)
        self._previous = [_Keys(each) for each in previous]

    @classmethod
    def from_settings(cls, settings: Settings) -> Vault:
        """The key in ``ZENSERVE_SECRET_KEY``, or one kept in the data directory and made on first use."""
        previous = [key.get_secret_value().encode() for key in settings.previous_secret_keys]
        if settings.secret_key is not None:
            return cls(settings.secret_key.get_secret_value().encode(), *previous)
        return cls(*_key_file(settings.data_dir / KEY_FILE), *previous)

    def seal(self, plaintext: bytes, place: str) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._present.cipher.encrypt(nonce, plaintext, place.encode())

    def sealing(self, place: str) -> Sealing:
        """``seal`` for what is too large to be held at once."""
        return Sealing(self._present.seal, place)

    def open(self, sealed: bytes, place: str) -> bytes:
        """Raises ``FileFormatError`` (``file.sealed``) for another key, another place or changed bytes."""
        for keys in (self._present, *self._previous):
            if (plaintext := keys.open(sealed, place)) is not None:
                return plaintext
        raise _sealed_otherwise(place)

    def open_file(self, sealed: BinaryIO, place: str, fresh: Callable[[], BinaryIO]) -> BinaryIO:
        """``open`` what is too large to be held at once: a ``fresh`` file with it, at its beginning."""
        for keys in (self._present, *self._previous):
            with contextlib.ExitStack() as failing:
                plain = failing.enter_context(fresh())
                if keys.open_file(sealed, place, plain):
                    plain.seek(0)
                    failing.pop_all()
                    return plain
        raise _sealed_otherwise(place)

    def resealed(self, sealed: bytes, place: str) -> bytes | None:
        """The same, sealed with the present secret; None if it is. Raises ``FileFormatError``."""
        if self._present.open(sealed, place) is not None:
            return None
        return self.seal(self.open(sealed, place), place)

    @property
    def issuer(self) -> bytes:
        """The Ed25519 public key of ``sign``, 32 bytes: the same as long as the secret is."""
        return self.issuers[0]

    @property
    def issuers(self) -> list[bytes]:
        """The present one, and those of previous secrets."""
        return [keys.signing.public_key().public_bytes_raw() for keys in (self._present, *self._previous)]

    def sign(self, message: bytes) -> bytes:
        """An Ed25519 signature, 64 bytes."""
        return self._present.signing.sign(message)

    def mac(self, *parts: bytes) -> bytes:
        """A keyed fingerprint. A plain hash would let anyone with the database guess small inputs."""
        return self._present.mac(parts)

    def macs(self, *parts: bytes) -> tuple[bytes, ...]:
        """The fingerprint, and those that previous secrets gave it."""
        return tuple(keys.mac(parts) for keys in (self._present, *self._previous))


def _sealed_otherwise(place: str) -> FileFormatError:
    return FileFormatError(
        "file.sealed",
        f"the stored {place.partition(':')[0]} cannot be decrypted: it was sealed with another"
        " ZENSERVE_SECRET_KEY, or changed on disk",
    )


def _derive(secret: bytes, purpose: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(secret)


def require_secret(settings: Settings) -> None:
    """Raises ``RequestError`` (``request.settings``) where a new secret would be made."""
    if settings.secret_key is None and not (settings.data_dir / KEY_FILE).exists():
        raise RequestError(
            "request.settings",
            f"what was sealed opens with its own secret alone: put the service's {KEY_FILE} into"
            f" {settings.data_dir} first, or set ZENSERVE_SECRET_KEY",
            field="ZENSERVE_SECRET_KEY",
        )


def add_key(path: Path) -> None:
    """Put a fresh secret before the one in this file, unless a rotation that was interrupted has."""
    lines = path.read_text().split()
    if len(lines) == 1:
        _written(path, [os.urandom(32).hex(), *lines]).replace(path)


def drop_old_keys(path: Path) -> None:
    """Leave the newest secret alone."""
    _written(path, path.read_text().split()[:1]).replace(path)


def _key_file(path: Path) -> list[bytes]:
    """The secrets there, a line each, the newest first: one, but while it is rotated."""
    if not path.exists():
        fresh = _written(path, [os.urandom(32).hex()])
        # link, not rename: of several processes that start at once the first one's key stays.
        with contextlib.suppress(FileExistsError):
            os.link(fresh, path)
        fresh.unlink()
    return [bytes.fromhex(line) for line in path.read_text().split()]


def _written(path: Path, lines: Sequence[str]) -> Path:
    """A file beside this one, for its owner alone, safely on the disk."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write("\n".join(lines))
        file.flush()
        os.fsync(file.fileno())
    return fresh
