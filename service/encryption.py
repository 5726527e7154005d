"""Encryption of secrets in the store, each sealed for its place, like ``model:mdl_1`` or ``input:prf_1``."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from zenserve.service import deleted
from zenserve.service.spool import pieces, spool

if TYPE_CHECKING:  # the sandbox packs secrets, and has no use for a database and a broker
    from zenserve.service.runtime import Runtime
    from zenserve.service.storage.records.resources import Model

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Secret:
    """Integers, int64 of any shape, and the opening of their commitment if they have one, as bytes."""

    values: Integers
    opening: bytes | None = None


def put(runtime: Runtime, place: str, data: bytes) -> str:
    """Seal bytes and store them. Their digest in the store."""
    return runtime.store.put(runtime.vault.seal(data, place))


def get(runtime: Runtime, place: str, digest: str) -> bytes:
    """Return the data that ``put`` stored. Raises ``FileFormatError``."""
    return runtime.vault.open(runtime.store.get(digest), place)


def put_file(runtime: Runtime, place: str, file: BinaryIO, length: int | None = None) -> tuple[str, int]:
    """``put`` the next ``length`` bytes of a file, or all that follow. Their digest in the store, and how
    many there were."""
    sealing, size = runtime.vault.sealing(place), 0
    with runtime.store.scratch() as path:
        with path.open("wb") as sealed:
            sealed.write(sealing.start())
            for piece in pieces(file, length):
                size += len(piece)
                sealed.write(sealing.update(piece))
            sealed.write(sealing.finish())
        return runtime.store.put_file(path), size


def get_file(runtime: Runtime, place: str, digest: str) -> BinaryIO:
    """``get``, as a file in memory."""
    with runtime.store.opened(digest) as sealed:
        return runtime.vault.open_file(sealed, place, spool)


def of_upload(tenant_id: str, sha256: str) -> str:
    """The place that an upload is sealed for."""
    return f"upload:{tenant_id}:{sha256}"


def put_secrets(runtime: Runtime, place: str, secrets: Mapping[str, Secret]) -> str:
    """``put`` for secrets by name."""
    return put(runtime, place, pack(secrets))


def get_secrets(runtime: Runtime, place: str, digest: str) -> dict[str, Secret]:
    """Return the secrets that ``put_secrets`` stored. Raises ``FileFormatError``."""
    return unpack(get(runtime, place, digest))


def open_network(runtime: Runtime, model: Model) -> bytes:
    """The quantised network. Raises ``FileFormatError``."""
    deleted.opened(model.id)
    return get(runtime, f"model:{model.id}", model.quantised)


def open_floats(runtime: Runtime, model: Model) -> bytes | None:
    """The float network; None where an earlier version registered the model. Raises ``FileFormatError``."""
    deleted.opened(model.id)
    return get(runtime, f"floats:{model.id}", model.floats) if model.floats else None


def pack(secrets: Mapping[str, Secret]) -> bytes:
    """Secrets by name as bytes, not sealed."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, secret in secrets.items():
        arrays[name] = secret.values
        if secret.opening is not None:
            arrays[_opening_of(name)] = np.frombuffer(secret.opening, dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def unpack(data: bytes) -> dict[str, Secret]:
    """The inverse of ``pack``."""
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        arrays = dict(archive)
    openings = {_opening_of(name) for name in arrays}
    secrets = {}
    for name, values in arrays.items():
        if name not in openings:
            opening = arrays.get(_opening_of(name))
            secrets[name] = Secret(values, None if opening is None else opening.tobytes())
    return secrets


def _opening_of(name: str) -> str:
    """Return the name of the opening's array.

    It is ``NAME.opening`` or, for one of several inputs, ``input/NAME/opening``: the input's own name may
    have dots.
    """
    return f"{name}/opening" if "/" in name else f"{name}.opening"
