"""Files that must not be read: each is refused with its own code, before anything large is allocated."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from py_arkworks_bls12381 import G1Point, G2Point

from tests.prover.bad_points import bad_points
from tests.prover.iden3.support import VECTORS, File, take_apart
from tests.prover.statements import R, csr, cubic_statement
from tests.refusals import refuses
from zenserve.errors import CeremonyError, FileFormatError
from zenserve.kernels import fp, g1, g2
from zenserve.prover.blocks import SparseBlock
from zenserve.prover.constraint_system import ConstraintSystem
from zenserve.prover.groth16 import iden3
from zenserve.verifier.points import FIELD_MODULUS

BN128_P = 0x30644E72E131A029B85045B68181585D97816A916871CA8D3C208C16D87CFD47
BN128_R = 0x30644E72E131A029B85045B68181585D2833E84879B9709143E1F593F0000001
FIELD_SECTION = {"circuit.r1cs": 1, "witness.wtns": 1, "key.zkey": 2, "powers.ptau": 1}
U32_MAX = 2**32 - 1

Refused = Callable[[str, bytes], FileFormatError]


def read_key(path: Path) -> object:
    return iden3.read_zkey(path, iden3.read_r1cs(VECTORS / "circuit.r1cs"))


READERS: dict[str, Callable[[Path], object]] = {
    "circuit.r1cs": iden3.read_r1cs,
    "witness.wtns": iden3.read_wtns,
    "key.zkey": read_key,
    "powers.ptau": iden3.read_ptau,
}


def original(name: str) -> File:
    return take_apart((VECTORS / name).read_bytes())


def u32(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


@pytest.fixture
def refused(tmp_path: Path) -> Refused:
    """Read ``data`` as the file ``name``, and give the error that refuses it."""

    def read(name: str, data: bytes) -> FileFormatError:
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(FileFormatError) as error:
            READERS[name](path)
        return error.value

    return read


@pytest.mark.parametrize("name", READERS)
class TestContainer:
    def test_cut_short_anywhere(self, name: str, refused: Refused) -> None:
        data = original(name).to_bytes()
        for length in {*range(200), *range(0, len(data), 97), len(data) - 1}:
            if length < len(data):
                assert refused(name, data[:length]).code == "file.length"

    def test_each_section_cut_short_by_a_byte(self, name: str, refused: Refused) -> None:
        file = original(name)
        for number, body in file.sections:
            if (name, number) == ("key.zkey", 10):
                continue  # not read
            assert refused(name, file.replacing({number: body[:-1]}).to_bytes()).code == "file.length"

    def test_each_section_with_a_byte_more(self, name: str, refused: Refused) -> None:
        file = original(name)
        for number, body in file.sections:
            if (name, number) == ("key.zkey", 10):
                continue
            assert refused(name, file.replacing({number: body + b"\0"}).to_bytes()).code == "file.length"

    def test_each_section_missing(self, name: str, refused: Refused) -> None:
        file = original(name)
        for number, _ in file.sections:
            if (name, number) != ("key.zkey", 10):
                error = refused(name, file.without(number).to_bytes())
                assert (error.code, str(number) in error.message) == ("file.section", True)

    def test_a_section_twice(self, name: str, refused: Refused) -> None:
        file = original(name)
        assert refused(name, file._replace(sections=file.sections * 2).to_bytes()).code == "file.section"

    def test_bytes_after_the_end(self, name: str, refused: Refused) -> None:
        assert refused(name, original(name).to_bytes() + b"\0").code == "file.length"

    def test_another_kind_of_file(self, name: str, refused: Refused) -> None:
        file = original(name)
        for other in {original(another).magic for another in READERS} - {file.magic} | {b"ZENS"}:
            assert refused(name, file._replace(magic=other).to_bytes()).code == "file.magic"

    def test_another_version(self, name: str, refused: Refused) -> None:
        file = original(name)
        for version in (0, file.version + 1, U32_MAX):
            assert refused(name, file._replace(version=version).to_bytes()).code == "file.version"

    def test_absurd_numbers_and_lengths_of_sections(self, name: str, refused: Refused) -> None:
        data = original(name).to_bytes()
        assert refused(name, data[:8] + u32(U32_MAX) + data[12:]).code == "file.section"
        for length in (len(data), 2**63, 2**64 - 1):
            spoilt = data[:16] + struct.pack("<Q", length) + data[24:]
            assert refused(name, spoilt).code == "file.length"

    def test_the_other_curve(self, name: str, refused: Refused) -> None:
        """With the sizes of bn128's elements, and with its modulus in elements as long as ours."""
        file, number = original(name), FIELD_SECTION[name]
        body = file.body(number)
        (size,) = struct.unpack_from("<I", body)
        modulus = BN128_P if size == 48 else BN128_R
        for length in {32, size}:
            header = u32(length) + modulus.to_bytes(length, "little")
            spoilt = file.replacing({number: header + body[4 + size :]})
            assert refused(name, spoilt.to_bytes()).code == "file.curve"


def test_the_scalar_field_of_a_key_is_checked_too(refused: Refused) -> None:
    spoilt = original("key.zkey").patching(2, 4 + 48 + 4, BN128_R.to_bytes(32, "little"))
    assert refused("key.zkey", spoilt.to_bytes()).code == "file.curve"


class TestConstraints:
    NAME = "circuit.r1cs"
    COUNTS = 36  # of the header: wires, outputs, inputs, private inputs, labels (8 bytes), constraints

    @pytest.mark.parametrize(
        ("offset", "value", "code"),
        [
            (COUNTS, 7, "file.length"),  # seven wires, six labels
            (COUNTS, U32_MAX, "file.length"),
            (COUNTS, 3, "file.shape"),  # too few for outputs and inputs
            (COUNTS + 4, U32_MAX, "file.shape"),
            (COUNTS + 8, U32_MAX, "file.shape"),
            (COUNTS + 12, U32_MAX, "file.shape"),
            (COUNTS + 24, 2, "file.length"),  # one constraint fewer than there are
            (COUNTS + 24, 4, "file.length"),
            (COUNTS + 24, U32_MAX, "file.length"),
        ],
    )
    def test_counts(self, offset: int, value: int, code: str, refused: Refused) -> None:
        spoilt = original(self.NAME).patching(1, offset, u32(value))
        assert refused(self.NAME, spoilt.to_bytes()).code == code

    @pytest.mark.parametrize("terms", [0, 3, U32_MAX])
    def test_numbers_of_terms(self, terms: int, refused: Refused) -> None:
        """Also where 36 bytes for each term run over 2^32."""
        spoilt = original(self.NAME).patching(2, 0, u32(terms))
        assert refused(self.NAME, spoilt.to_bytes()).code == "file.length"

    @pytest.mark.parametrize("wire", [6, U32_MAX])
    def test_a_wire_that_is_none(self, wire: int, refused: Refused) -> None:
        assert (
            refused(self.NAME, original(self.NAME).patching(2, 4, u32(wire)).to_bytes()).code == "file.shape"
        )

    @pytest.mark.parametrize("value", [R, 2**256 - 1])
    def test_a_coefficient_beyond_the_field(self, value: int, refused: Refused) -> None:
        spoilt = original(self.NAME).patching(2, 8, value.to_bytes(32, "little"))
        assert refused(self.NAME, spoilt.to_bytes()).code == "file.not_canonical"

    def test_custom_gates(self, refused: Refused, tmp_path: Path) -> None:
        file = original(self.NAME)
        for number in (4, 5):
            spoilt = file._replace(sections=[*file.sections, (number, u32(1))])
            assert refused(self.NAME, spoilt.to_bytes()).code == "file.custom_gates"
        path = tmp_path / "none.r1cs"
        path.write_bytes(file._replace(sections=[*file.sections, (4, u32(0)), (5, u32(0))]).to_bytes())
        assert iden3.read_r1cs(path).constraints == 3


class TestWitness:
    NAME = "witness.wtns"

    @pytest.mark.parametrize("count", [0, 5, 7, U32_MAX])
    def test_counts(self, count: int, refused: Refused) -> None:
        spoilt = original(self.NAME).patching(1, 36, u32(count))
        assert refused(self.NAME, spoilt.to_bytes()).code == "file.length"

    @pytest.mark.parametrize("value", [R, 2**256 - 1])
    def test_a_value_beyond_the_field(self, value: int, refused: Refused) -> None:
        error = refused(
            self.NAME, original(self.NAME).patching(2, 64, value.to_bytes(32, "little")).to_bytes()
        )
        assert (error.code, error.field) == ("file.not_canonical", "witness[2]")


def coordinates(encoded: bytes) -> bytes:
    """The bytes in these files of a compressed point on its curve, perhaps outside its subgroup."""
    decode = (
        G1Point.from_compressed_bytes_unchecked
        if len(encoded) == 48
        else G2Point.from_compressed_bytes_unchecked
    )
    plain = bytes(decode(encoded).to_xy_bytes_be())
    values = [int.from_bytes(plain[start : start + 48], "big") for start in range(0, len(plain), 48)]
    return fp.from_ints(values).tobytes()


def spoilt_points(size: int) -> dict[str, bytes]:
    """Points of ``size`` bytes in these files' form, by the code that refuses them."""
    group = g1 if size == 96 else g2
    good = group.generator.tobytes()
    (outside,) = bad_points(size // 2)["not_in_subgroup"]
    other = group.add(group.generator[None], group.generator[None]).tobytes()
    return {
        "file.point_not_canonical": FIELD_MODULUS.to_bytes(48, "little") + good[48:],
        "file.point_not_on_curve": good[: size // 2] + other[size // 2 :],
        "file.point_not_in_subgroup": coordinates(outside),
    }


class TestPowersOfTau:
    NAME = "powers.ptau"
    TYPE = 4 + 672 + 1432  # of the first contribution, in section 7

    @pytest.mark.parametrize("power", [0, 4, 29, 64, U32_MAX])
    def test_powers(self, power: int, refused: Refused) -> None:
        spoilt = original(self.NAME).patching(1, -8, u32(power))
        assert refused(self.NAME, spoilt.to_bytes()).code == "file.shape"

    def test_more_powers_than_there_are(self, refused: Refused) -> None:
        """2^28 of them would take 60 GB: nothing is allocated for what is not there."""
        spoilt = original(self.NAME).patching(1, -8, u32(28, 28)).to_bytes()
        tracemalloc.start()
        try:
            assert refused(self.NAME, spoilt).code == "file.length"
            assert tracemalloc.get_traced_memory()[1] < 1 << 20
        finally:
            tracemalloc.stop()

    @pytest.mark.parametrize("number", [2, 3, 4, 5, 6])
    def test_points(self, number: int, refused: Refused) -> None:
        file = original(self.NAME)
        size = 192 if number in (3, 6) else 96
        for code, point in (spoilt_points(size) | {"file.point_at_infinity": bytes(size)}).items():
            error = refused(self.NAME, file.patching(number, -size, point).to_bytes())
            assert error.code == code
            last = len(file.body(number)) // size - 1
            assert error.field is not None
            assert error.field.endswith(f"[{last}]")

    @pytest.mark.parametrize("number", [2, 3, 4, 5])
    def test_points_that_are_no_powers(self, number: int, tmp_path: Path) -> None:
        size, group = (192, g2) if number == 3 else (96, g1)
        path = tmp_path / self.NAME
        path.write_bytes(original(self.NAME).patching(number, -size, group.generator.tobytes()).to_bytes())
        with refuses("ceremony.powers"):
            iden3.read_ptau(path)

    @pytest.mark.parametrize("count", [1, 3, U32_MAX])
    def test_numbers_of_contributions(self, count: int, refused: Refused) -> None:
        assert (
            refused(self.NAME, original(self.NAME).patching(7, 0, u32(count)).to_bytes()).code
            == "file.length"
        )

    def test_a_contribution_with_an_absurd_length(self, refused: Refused) -> None:
        spoilt = original(self.NAME).patching(7, self.TYPE + 4, u32(U32_MAX))
        assert refused(self.NAME, spoilt.to_bytes()).code == "file.length"

    @pytest.mark.parametrize("kind", [1, 2, U32_MAX])
    def test_a_person_that_is_said_to_be_something_else(self, kind: int, refused: Refused) -> None:
        error = refused(self.NAME, original(self.NAME).patching(7, self.TYPE, u32(kind)).to_bytes())
        assert (error.code, error.field) == ("file.shape", "contributions[0]")

    def test_powers_that_are_too_few_of_a_ceremony_s(self, refused: Refused) -> None:
        """What all of them hash to would take minutes."""
        error = refused(self.NAME, original(self.NAME).patching(1, -4, u32(28)).to_bytes())
        assert error.code == "file.shape"


class TestProvingKey:
    NAME = "key.zkey"
    SIZES = 4 + 48 + 4 + 32  # of the header: variables, public inputs, rows; then points
    ALPHA, BETA_1 = SIZES + 12, SIZES + 108
    BETA_2, GAMMA_2 = BETA_1 + 96, BETA_1 + 288
    DELTA_1, DELTA_2 = GAMMA_2 + 192, GAMMA_2 + 288

    @pytest.mark.parametrize("protocol", [0, 2, 10, U32_MAX])
    def test_other_protocols(self, protocol: int, refused: Refused) -> None:
        assert (
            refused(self.NAME, original(self.NAME).patching(1, 0, u32(protocol)).to_bytes()).code
            == "file.kind"
        )

    @pytest.mark.parametrize("offset", [0, 4, 8])
    @pytest.mark.parametrize("value", [0, 1, 16, U32_MAX])
    def test_sizes_of_another_statement(self, offset: int, value: int, refused: Refused) -> None:
        spoilt = original(self.NAME).patching(2, self.SIZES + offset, u32(value))
        assert refused(self.NAME, spoilt.to_bytes()).code == "file.statement"

    def test_other_statements(self) -> None:
        """One of other sizes, one of these sizes, and one that differs in a coefficient alone."""
        path = VECTORS / self.NAME
        right = iden3.read_r1cs(VECTORS / "circuit.r1cs")
        one, y, k, x, x2, x3 = range(6)

        def like_the_circuit(five: int) -> ConstraintSystem:
            a = csr([{x: -1}, {x2: -1}, {k: -1}])
            b = csr([{x: 1}, {x: 1}, {x: 1}])
            c = csr([{x2: -1}, {x3: -1}, {one: five, y: -1, x3: 1}])
            return ConstraintSystem(2, 3, (SparseBlock("r1cs", a, b, c),))

        two = SparseBlock("two", csr([{x: -2}]), csr([{x: 1}]), csr([{x2: -2}]))
        (whole,) = right.blocks
        assert isinstance(whole, SparseBlock)
        changed_a = csr([{x: -1}, {x2: -1}, {k: -2}])
        swapped = SparseBlock("swapped", whole.b, whole.a, whole.c)
        wrong = [
            cubic_statement(),
            ConstraintSystem(2, 3, ()),
            ConstraintSystem(2, 3, (two,)),
            ConstraintSystem(2, 3, (SparseBlock("changed", changed_a, whole.b, whole.c),)),
            ConstraintSystem(2, 3, (swapped,)),
            ConstraintSystem(3, 2, (whole,)),
        ]
        for system in wrong:
            with refuses("file.statement"):
                iden3.read_zkey(path, system)
        assert iden3.read_zkey(path, right)
        # C is in no section: a key cannot tell these apart (docs/interoperability.md).
        assert iden3.read_zkey(path, like_the_circuit(5))
        assert iden3.read_zkey(path, like_the_circuit(6))

    def test_coefficients(self, refused: Refused) -> None:
        file = original(self.NAME)
        body = file.body(4)
        (count,) = struct.unpack_from("<I", body)
        extra = u32(count + 1) + body[4:]
        cases = {
            "one fewer": (u32(count - 1) + body[4:-44], "file.statement"),
            "one twice": (extra + body[4:48], "file.statement"),
            "a padding row": (extra + u32(0, 7, 1) + bytes(31) + b"\1", "file.statement"),
            "a row beyond": (extra + u32(1, U32_MAX, 1) + bytes(31) + b"\1", "file.statement"),
            "a variable beyond": (extra + u32(0, 0, U32_MAX) + bytes(31) + b"\1", "file.statement"),
            "a third matrix": (extra + u32(2, 0, 0) + bytes(32), "file.shape"),
            "beyond the field": (body[:16] + R.to_bytes(32, "little") + body[48:], "file.not_canonical"),
            "another value": (body[:16] + (1).to_bytes(32, "little") + body[48:], "file.statement"),
            "an absurd count": (u32(U32_MAX) + body[4:], "file.length"),
            "none": (u32(0), "file.statement"),
        }
        for what, (spoilt, code) in cases.items():
            assert refused(self.NAME, file.replacing({4: spoilt}).to_bytes()).code == code, what

    @pytest.mark.parametrize("number", [3, 5, 6, 7, 8, 9])
    def test_points(self, number: int, refused: Refused) -> None:
        file = original(self.NAME)
        size = 192 if number == 7 else 96
        for code, point in spoilt_points(size).items():
            assert refused(self.NAME, file.patching(number, -size, point).to_bytes()).code == code

    @pytest.mark.parametrize(
        ("offset", "size", "name"),
        [
            (ALPHA, 96, "alpha_g1"),
            (BETA_1, 96, "beta_g1"),
            (BETA_2, 192, "beta_g2"),
            (GAMMA_2, 192, "gamma_g2"),
            (DELTA_1, 96, "delta_g1"),
            (DELTA_2, 192, "delta_g2"),
        ],
    )
    def test_single_points(self, offset: int, size: int, name: str, refused: Refused) -> None:
        file = original(self.NAME)
        for code, point in (spoilt_points(size) | {"file.point_at_infinity": bytes(size)}).items():
            error = refused(self.NAME, file.patching(2, offset, point).to_bytes())
            assert (error.code, error.field) == (code, f"{name}[0]")

    def test_a_public_input_without_a_point(self, refused: Refused) -> None:
        error = refused(self.NAME, original(self.NAME).patching(3, 96, bytes(96)).to_bytes())
        assert (error.code, error.field) == ("file.point_at_infinity", "ic[1]")

    @pytest.mark.parametrize(("offset", "name"), [(BETA_1, "beta_g1"), (DELTA_1, "delta_g1")])
    def test_halves_that_are_different_numbers(self, offset: int, name: str, refused: Refused) -> None:
        spoilt = original(self.NAME).patching(2, offset, g1.generator.tobytes())
        error = refused(self.NAME, spoilt.to_bytes())
        assert (error.code, error.field) == ("file.shape", name)

    def test_b_in_one_group_only(self, refused: Refused) -> None:
        spoilt = original(self.NAME).patching(6, 3 * 96, bytes(96))
        assert refused(self.NAME, spoilt.to_bytes()).field == "b_g1"

    def test_b_of_different_numbers(self, refused: Refused) -> None:
        file = original(self.NAME)
        present = next(i for i in range(len(file.body(6)) // 96) if any(file.body(6)[96 * i :][:96]))
        spoilt = file.patching(6, 96 * present, g1.generator.tobytes())
        error = refused(self.NAME, spoilt.to_bytes())
        assert (error.code, error.field) == ("file.shape", "b_g1")

    def test_a_key_that_nobody_contributed_to(self, refused: Refused) -> None:
        """As ``snarkjs groth16 setup`` leaves it: delta is the generator, and anyone can forge."""
        points = g1.generator.tobytes() + g2.generator.tobytes()
        error = refused(self.NAME, original(self.NAME).patching(2, self.DELTA_1, points).to_bytes())
        assert (error.code, error.field) == ("file.unsafe_key", "delta_g2")

    def test_delta_equal_to_beta(self, refused: Refused) -> None:
        file = original(self.NAME)
        body = file.body(2)
        points = body[self.BETA_1 : self.GAMMA_2]
        error = refused(self.NAME, file.patching(2, self.DELTA_1, points).to_bytes())
        assert error.code == "file.unsafe_key"


def test_reading_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nothing"):
        iden3.read_r1cs(tmp_path / "nothing")


def test_noise_never_crashes_a_reader(tmp_path: Path) -> None:
    """Bytes changed at random: most files are refused, and nothing but a refusal comes out."""
    source = np.random.default_rng(5)
    refusals = 0
    for name, read in READERS.items():
        data = original(name).to_bytes()
        for _ in range(60):
            spoilt = bytearray(data)
            for position in source.integers(0, len(data), 3):
                spoilt[position] = source.integers(0, 256)
            (tmp_path / name).write_bytes(spoilt)
            try:
                read(tmp_path / name)
            except (FileFormatError, CeremonyError):
                refusals += 1
    assert refusals > 150
