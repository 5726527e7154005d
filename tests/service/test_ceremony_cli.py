"""A ceremony from the command line, file by file."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.circuits.test_several import model as several
from tests.circuits.test_several import samples
from tests.prover.statements import COMMITTED_Z, committed_statement, complete_committed, cubic_statement
from tests.service.support import serving, tiny_calibration, tiny_onnx, work_on
from zenserve.client import Client
from zenserve.kernels import fr
from zenserve.prover import groth16
from zenserve.prover.constraint_file import load_description, load_statement, save_statement
from zenserve.prover.groth16 import CommitmentKey, ProvingKey
from zenserve.prover.groth16.iden3.ptau import read_ptau
from zenserve.service.runtime import Runtime
from zenserve.verifier.documents import KeyFile, read
from zenserve.verifier.groth16.system import groth16_key
from zenserve.verifier.keys import opened


@pytest.fixture
def run(run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Of ``zenserve ceremony``, among files."""
    monkeypatch.chdir(tmp_path)
    return partial(run, "ceremony")


@pytest.fixture
def started(run: Any) -> Any:
    save_statement("s.stmt", committed_statement())
    assert run("powers", "new", 4, "p.ptau")[0] == 0
    assert run("start", "s.stmt", "p.ptau", "0.state")[0] == 0
    return run


def contribute(run: Any, number: int, name: str) -> str:
    code, out, _ = run("contribute", f"{number}.state", f"{number + 1}.state", "--name", name)
    assert code == 0
    line = str(out.splitlines()[-1])
    assert line.split()[0] == str(number + 1)
    return line.split()[1]


def test_from_powers_to_a_key_that_proves(started: Any) -> None:
    run = started
    hashes = [contribute(run, number, name) for number, name in enumerate(("Ada", "[red]Emmy", "Sofja"))]
    code, out, _ = run("verify", "3.state", "s.stmt", "p.ptau")
    assert code == 0
    assert out.startswith("valid")
    assert [line.split()[1] for line in out.splitlines()[-3:]] == hashes
    assert "[red]Emmy" in out
    code, _, err = run("finish", "3.state", "s.stmt", "p.ptau", "key")
    assert (code, Path("key").exists()) == (2, False)
    assert "ceremony.no_contributions" in err
    assert "--development" in err
    code, out, _ = run("finish", "3.state", "s.stmt", "p.ptau", "key", "--development")
    assert code == 0
    assert "development" in out  # the powers are one party's
    key = ProvingKey.load("key")
    assert [hash_.hex() for hash_ in key.verifying_key.contributions] == hashes
    assert key.verifying_key.digest.hex() in out

    basis = CommitmentKey.of(read_ptau("p.ptau"))
    witness = fr.from_ints(COMMITTED_Z)
    openings = (basis.commit(witness[3:5]), basis.commit(witness[6:7]))
    proof = groth16.prove(
        key, committed_statement(), witness, openings=openings, post_challenge=complete_committed
    )
    assert groth16.verify(key.verifying_key, [56], proof, [opening.commitment for opening in openings])


def test_each_step_says_what_keys_of_one_party_s_powers_are(started: Any) -> None:
    """To standard error, before the step: the answer is of the step alone."""
    save_statement("s.stmt", committed_statement())
    for command in (
        ("start", "s.stmt", "p.ptau", "0.state"),
        ("contribute", "0.state", "1.state", "--name", "Ada"),
        ("beacon", "1.state", "2.state", "--value", "5a" * 32, "--rounds", 1),
        ("verify", "2.state", "s.stmt", "p.ptau"),
        ("powers", "verify", "p.ptau"),
    ):
        code, out, err = started(*command, "--json")
        assert (code, json.loads(out)["contributors_to_powers"]) == (0, 0)
        assert err.startswith("note nobody contributed to these powers of tau"), err


def test_a_beacon_closes_it(started: Any) -> None:
    run, value = started, "5a" * 32
    contribute(run, 0, "Ada")
    assert run("beacon", "1.state", "2.state", "--value", value, "--rounds", 3)[0] == 0
    code, out, _ = run("verify", "2.state", "s.stmt", "p.ptau", "--json")
    assert code == 0
    made = json.loads(out)["contributions"]
    assert [(each["name"], each["beacon"]) for each in made] == [
        ("Ada", False),
        (f"beacon 2^3 {value}", True),
    ]
    code, _, err = run("contribute", "2.state", "3.state", "--name", "Eve")
    assert (code, "ceremony.beacon" in err) == (2, True)
    for wrong in ("5a", "no hex"):
        code, _, err = run("beacon", "1.state", "3.state", "--value", wrong)
        assert code == 2
        assert "value" in err
    assert not Path("3.state").exists()


def test_what_is_wrong_is_no_good_and_says_why(started: Any) -> None:
    run = started
    contribute(run, 0, "Ada")
    run("powers", "new", 4, "q.ptau")
    save_statement("t.stmt", cubic_statement())
    for files, code in (
        (("1.state", "t.stmt", "p.ptau"), "ceremony.statement"),
        (("1.state", "s.stmt", "q.ptau"), "ceremony.origin"),
    ):
        exit_code, out, _ = run("verify", *files)
        assert exit_code == 1
        assert out.startswith("NOT valid")
        assert code in out


def test_powers_that_are_too_few_or_wrong(started: Any) -> None:
    run = started
    assert run("powers", "verify", "p.ptau")[0] == 0
    run("powers", "new", 1, "few.ptau")
    code, _, err = run("start", "s.stmt", "few.ptau", "x.state")
    assert code == 2
    assert "ceremony.powers_too_small" in err
    assert not Path("x.state").exists()
    data = bytearray(Path("p.ptau").read_bytes())
    first = read_ptau("p.ptau").tau_g1[2].tobytes()
    other = read_ptau("p.ptau").tau_g1[3].tobytes()
    at = data.index(first)
    data[at : at + len(other)] = other
    Path("bad.ptau").write_bytes(data)
    for command in (
        ("powers", "verify", "bad.ptau"),
        ("start", "s.stmt", "bad.ptau", "x.state"),
        ("verify", "0.state", "s.stmt", "bad.ptau"),
    ):
        code, out, _ = run(*command)
        assert code == 1
        assert "ceremony.powers" in out
    assert not Path("x.state").exists()


def test_a_key_without_contributors_is_refused(started: Any) -> None:
    code, out, _ = started("finish", "0.state", "s.stmt", "p.ptau", "key", "--development")
    assert code == 1
    assert "ceremony.no_contributions" in out
    assert not Path("key").exists()


def test_a_damaged_state_is_trouble(started: Any) -> None:
    data = bytearray(Path("0.state").read_bytes())
    data[-1] ^= 1
    Path("0.state").write_bytes(data)
    for command in (
        ("contribute", "0.state", "1.state", "--name", "Ada"),
        ("finish", "0.state", "s.stmt", "p.ptau", "key", "--development"),
    ):
        code, _, err = started(*command)
        assert code == 2
        assert "file.hash" in err


def test_the_statement_is_what_a_service_proves_after_the_same_options(run: Any, runtime: Runtime) -> None:
    """Of a network of several inputs, all by name and unlike the defaults."""
    Path("m.onnx").write_bytes(several())
    np.savez("c.npz", allow_pickle=False, **samples())
    own = {name: each[0].tolist() for name, each in samples().items()}
    inputs: dict[str, Any] = {
        "image": {"values": own["image"]},
        "mask": {"values": own["mask"], "privacy": "public"},
        "token__ids": {"values": [20, 0]},
    }
    with serving(runtime) as url, Client(url) as api:
        given = several(), Path("c.npz").read_bytes()
        model = api.create_model(
            *given, bits="auto", max_loss=3, ranges={"token::ids": (0, 20)}, weight_privacy="public"
        )
        work_on(runtime, model.id)
        proof = api.create_proof(model.id, inputs=inputs)
        work_on(runtime, proof.id)
        key = api.get_verification_key(str(api.get_proof(proof.id).verification_key_id))
    precision = ("--bits", "auto", "--max-loss", 3, "--range", "token::ids=0:20")
    options = ("--calibration", "c.npz", *precision, "--input-privacy", "mask=public")
    assert run("statement", "m.onnx", "m.stmt", *options)[0] == 0
    proven = groth16_key(opened(read(KeyFile, json.dumps(key).encode())).verifying)
    assert load_statement("m.stmt").digest == proven.statement_digest
    assert load_description("m.stmt") == key["circuit"]
    assert run("statement", "m.onnx", "other.stmt", *options[:2])[0] == 0
    assert load_statement("other.stmt").digest != proven.statement_digest


def test_plain_groth16_has_no_segments(run: Any) -> None:
    Path("m.onnx").write_bytes(tiny_onnx())
    Path("c.npy").write_bytes(tiny_calibration())
    assert run("statement", "m.onnx", "m.stmt", "--calibration", "c.npy", "--level", 2)[0] == 0
    assert load_statement("m.stmt").segments == ()
    code, _, err = run("statement", "m.onnx", "m.stmt")
    assert (code, "--calibration" in err) == (2, True)


def test_the_statement_of_a_network(run: Any) -> None:
    Path("m.onnx").write_bytes(tiny_onnx())
    Path("c.npy").write_bytes(tiny_calibration())
    digests = []
    for name in ("a.stmt", "b.stmt"):
        code, out, _ = run("statement", "m.onnx", name, "--calibration", "c.npy")
        assert code == 0
        digests.append(load_statement(name).digest.hex())
        assert digests[-1] in out
    assert digests[0] == digests[1]
