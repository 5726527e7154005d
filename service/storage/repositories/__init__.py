"""Queries, by what they are about. Those on jobs are ``service.jobs``."""

from service.storage.repositories.artifacts import Artifacts
from service.storage.repositories.ceremonies import Ceremonies, Contributions
from service.storage.repositories.resources import (
    Circuits,
    Commitments,
    Datasets,
    Models,
    Proofs,
    Shards,
    VerificationKeys,
    described,
    key_file,
    stored,
)
from service.storage.repositories.streams import Streams

__all__ = [
    "Artifacts",
    "Ceremonies",
    "Circuits",
    "Commitments",
    "Contributions",
    "Datasets",
    "Models",
    "Proofs",
    "Shards",
    "Streams",
    "VerificationKeys",
    "described",
    "key_file",
    "stored",
]
