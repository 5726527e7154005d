"""Ceremonies: the start of each circuit's key, contributions verified one by one, and the keys in the end.

Files are taken into the store when all of them are there, just before what refers to them is written. Those
that nothing refers to any more are swept, not deleted: another ceremony may be at the same state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

from sqlalchemy.orm import Session

from zenserve.circuits import Circuit, QuantGraph
from zenserve.circuits.schemes.audit import recompile
from zenserve.circuits.schemes.proving import require_memory
from zenserve.errors import CeremonyError, RequestError
from zenserve.prover import registry
from zenserve.prover.constraint_file import load_description, load_statement, save_statement
from zenserve.prover.groth16 import ceremony
from zenserve.prover.groth16.ceremony import State
from zenserve.prover.groth16.ceremony.initial import required_power
from zenserve.prover.groth16.powers_of_tau import PowersOfTau
from zenserve.prover.groth16.system import Groth16
from zenserve.service import encryption, engine, keys
from zenserve.service import powers as powers_of_tau
from zenserve.service.jobs.claims import Claims
from zenserve.service.runtime import Runtime
from zenserve.service.storage.records.ceremonies import CeremonyCircuit, Contribution
from zenserve.service.storage.records.resources import Model
from zenserve.service.storage.repositories import Ceremonies, Contributions, Models, VerificationKeys
from zenserve.service.worker.heartbeat import Hold
from zenserve.service.worker.tasks import steps
from zenserve.verifier.beacon import Beacon
from zenserve.verifier.documents import KeyFile
from zenserve.verifier.keys import key_file, opened

_GROTH16: Final = registry.find(Groth16.id)
"""No other system has ceremonies."""


class _Taken(NamedTuple):
    """A circuit's state after a contribution, and its file."""

    state: State
    file: Path


class _Made(NamedTuple):
    """A circuit's keys, the proving key in a file."""

    key: KeyFile
    file: Path


def open_ceremony(runtime: Runtime, hold: Hold) -> None:
    """Compute where the key of each circuit starts. Stages: "load model", "compile", those of
    ``ceremony.start``, "store".
    """
    hold.progress("load model", 0.0)
    with runtime.database.read() as session:
        row = Ceremonies(session).get(hold.claim.id)
        if row.model_id is None:
            raise RequestError("request.invalid", "the model was deleted meanwhile", field="model_id")
        model = Models(session).get(row.model_id)
        known = [_key(session, asked) for asked in row.asked]
    quantised = encryption.open_network(runtime, model)
    with ExitStack() as scratches:
        circuits, files = [], []
        for asked, key in zip(row.asked, known, strict=True):
            hold.progress("compile", 0.0)
            circuit = _compiled(quantised, model, asked, key)
            powers = powers_of_tau.load_powers(runtime, row.powers, required_power(circuit.constraint_system))
            files.append([scratches.enter_context(runtime.store.scratch()) for _ in range(2)])
            circuits.append(_started(runtime, hold, circuit, model, powers, *files[-1]))
        if len({each.circuit for each in circuits}) < len(circuits):
            raise RequestError("request.invalid", "two of the circuits are the same", field="circuits")
        hold.progress("store", 0.0)
        for position, (each, (statement, state)) in enumerate(zip(circuits, files, strict=True)):
            each.ceremony_id, each.position = row.id, position
            each.statement, each.state = _adopted(runtime, statement), _adopted(runtime, state)
    with runtime.database.write() as session:
        if Claims(session).succeed(hold.claim, hold.timings()):
            session.add_all(circuits)
            Ceremonies(session).get(row.id).powers_contributions = powers.contributions


def take_contribution(runtime: Runtime, hold: Hold) -> None:
    """Verify what was handed in, and go on from there; or add the beacon, and make the keys."""
    with runtime.database.read() as session:
        row = Contributions(session).get(hold.claim.id)
        circuits = Ceremonies(session).circuits(row.ceremony_id)
    with ExitStack() as scratches:
        files = [
            [scratches.enter_context(runtime.store.scratch()) for _ in circuits] for _ in ("state", "key")
        ]
        made: list[_Made] = []
        if row.beacon is None:
            taken = _taken(runtime, hold, row, circuits, files[0])
        else:
            taken, made = _closed(runtime, hold, row, circuits, *files)
        _write(runtime, hold, row, taken, made)


def _taken(
    runtime: Runtime,
    hold: Hold,
    row: Contribution,
    circuits: Sequence[CeremonyCircuit],
    files: Sequence[Path],
) -> list[_Taken]:
    """Return the states that were handed in, verified against the states that they extend.

    Stage: "verify".
    """
    with runtime.database.read() as session:
        handed = Contributions(session).handed(row.id)
    taken = []
    for circuit, each, file in zip(circuits, handed, files, strict=True):
        hold.progress("verify", circuit.position / len(circuits))
        file.write_bytes(
            encryption.get(runtime, encryption.of_upload(row.job.tenant_id, each.sha256), each.content)
        )
        before = State.read(runtime.store.path(circuit.state))
        state = ceremony.load_next(file, before, threads=runtime.settings.threads)
        if state.beacon is not None:
            raise CeremonyError(
                "ceremony.beacon",
                "nobody hands in a beacon's contribution: POST /v1/ceremonies/{id}/finish computes it",
                field=f"states.{circuit.position}",
            )
        taken.append(_Taken(state, file))
    if len({each.state.contributions[-1].name for each in taken}) > 1:
        raise CeremonyError(
            "ceremony.name", "contribute under one name to all circuits of a ceremony", field="states"
        )
    return taken


def _closed(
    runtime: Runtime,
    hold: Hold,
    row: Contribution,
    circuits: Sequence[CeremonyCircuit],
    states: Sequence[Path],
    proving_keys: Sequence[Path],
) -> tuple[list[_Taken], list[_Made]]:
    """The beacon's contribution to each circuit, and the keys, once everything is verified from the start on.
    Stages: those of ``ceremony.add_beacon`` and ``ceremony.finish``, "store".
    """
    threads, progress = runtime.settings.threads, hold.progress
    with runtime.database.read() as session:
        about = Ceremonies(session).get(row.ceremony_id)
    beacon = Beacon(bytes.fromhex(row.beacon or ""), about.rounds or 0)
    taken, made = [], []
    for circuit, state_file, key_path in zip(circuits, states, proving_keys, strict=True):
        file = runtime.store.path(circuit.statement)
        statement = load_statement(file)
        powers = powers_of_tau.load_powers(runtime, about.powers, required_power(statement))
        before = State.read(runtime.store.path(circuit.state))
        state = ceremony.add_beacon(before, beacon, threads=threads, progress=progress)
        # The request was refused unless it asked for such keys, where that is what they are.
        key = ceremony.finish(state, statement, powers, development=True, threads=threads, progress=progress)
        progress("store", 0.0)
        state.save(state_file)
        key.save(key_path)
        taken.append(_Taken(state, state_file))
        described = key_file(_GROTH16, key.verifying_key, load_description(file) or {}, state.transcript)
        opened(described)  # as whoever verifies will: nothing else is installed
        made.append(_Made(described, key_path))
    return taken, made


def _write(
    runtime: Runtime, hold: Hold, row: Contribution, taken: Sequence[_Taken], made: Sequence[_Made]
) -> None:
    sizes = [(each.file.stat().st_size, _adopted(runtime, each.file)) for each in taken]
    proving_keys = [(each.file.stat().st_size, _adopted(runtime, each.file)) for each in made]
    with runtime.database.write() as session:
        if not Claims(session).succeed(hold.claim, hold.timings()):
            return
        ceremonies, row = Ceremonies(session), Contributions(session).get(row.id)
        row.place = len(taken[0].state.contributions)
        row.name = taken[0].state.contributions[-1].name
        row.hashes = [each.state.chain[1][-1].hex() for each in taken]
        circuits = ceremonies.circuits(row.ceremony_id)
        for circuit, (state, _), (size, stored) in zip(circuits, taken, sizes, strict=True):
            circuit.state, circuit.size = stored, size
            circuit.next_size = state.file_bytes(row.place + 1)
        if made:
            ceremonies.get(row.ceremony_id).beacon = row.beacon
            for circuit, (key, _), (size, stored) in zip(circuits, made, proving_keys, strict=True):
                keys.install(session, circuit.circuit, stored, size, key)
                circuit.verification_key_id = key.id


def _key(session: Session, asked: Mapping[str, Any]) -> KeyFile | None:
    key_id = asked.get("verification_key_id")
    return VerificationKeys(session).get(key_id) if key_id else None


def _compiled(quantised: bytes, model: Model, asked: Mapping[str, Any], key: KeyFile | None) -> Circuit:
    """The circuit that is asked for: by a key that it has, or by its scheme's options."""
    if key is not None:
        return recompile(QuantGraph.from_bytes(quantised), key.circuit)
    options = dict(asked)
    scheme = options.pop("scheme")
    if scheme == "accuracy":
        options["batch"] = options.pop("shard_size")
    if scheme != "registration":
        options["weight_privacy"] = model.weight_privacy
    return engine.compile_circuit(quantised, scheme, **options)


def _started(
    runtime: Runtime,
    hold: Hold,
    circuit: Circuit,
    model: Model,
    powers: PowersOfTau,
    statement: Path,
    file: Path,
) -> CeremonyCircuit:
    """The circuit's row but for its place and files, which are written."""
    threads = runtime.settings.threads
    require_memory(_GROTH16, circuit, threads)
    basis = steps.model_basis(runtime, hold, circuit, model) if circuit.commitments else None
    state = ceremony.start(circuit.constraint_system, powers, threads=threads, progress=hold.progress)
    save_statement(statement, circuit.constraint_system, circuit.describe())
    state.save(file)
    most, needed = runtime.settings.max_body_bytes, state.file_bytes(1)
    if needed > most:
        raise RequestError(
            "request.too_large",
            f"nobody could contribute: that is a file of {needed} bytes, and the service takes {most}:"
            " a higher ZENSERVE_MAX_BODY_BYTES lets it in",
            field="circuits",
        )
    return CeremonyCircuit(
        circuit=engine.circuit_digest(_GROTH16, circuit, basis),
        form=keys.form_of(circuit.describe()),
        constraints=circuit.constraint_system.constraints,
        start=state.origin.hex(),
        size=file.stat().st_size,
        next_size=needed,
    )


def _adopted(runtime: Runtime, file: Path) -> str:
    file.touch()  # young files are not swept
    return runtime.store.adopt(file)
