"""One Solidity contract for one verifying key of Groth16, by the precompiles of EIP-2537.

The equations of ``zenserve.verifier.groth16.verification`` become one product of pairings:

    e(A, B) e(-α, β) e(S, -γ) e(C, -δ) Π_i e(w_i P_i, Q_i) = 1        S = Σ x_i IC_i + Σ D_s

w_i e(...) stands for the equations of segments and links, one weight modulo r each. The weights are a hash of
the key, the inputs, the commitments and the whole proof: nobody can choose a proof for its weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Final, NamedTuple

from py_arkworks_bls12381 import G2Point

from zenserve.errors import StatementError
from zenserve.verifier.curve import ARKWORKS
from zenserve.verifier.groth16.transcript import TAG
from zenserve.verifier.groth16.verifying_key import VerifyingKey
from zenserve.verifier.onchain.gas import ADDITION_GAS, gas_of_msm, gas_of_pairing, gas_of_sha256
from zenserve.verifier.onchain.layout import G1_BYTES, G2_BYTES, encode
from zenserve.verifier.points import SCALAR_MODULUS
from zenserve.verifier.preamble import VERIFYING_KEY

MOST_BYTES: Final = 24_576
"""Of a contract's code (EIP-170)."""
_CODE_BYTES, _INPUT_BYTES, _CHALLENGE_BYTES, _SEGMENT_BYTES, _LINK_BYTES = 3350, 140, 30, 520, 720
"""Of code, more than what solc 0.8.37 makes of them; measured."""
_WIDE_INPUTS = 1024
"""From so many inputs on, places in memory and calldata may lie beyond 64 KiB."""
_ADD, _MSM, _PAIRING = 0x0B, 0x0C, 0x0F
_AT_INFINITY, _REFUSED, _MISSING, _TOO_LITTLE_GAS = "4ddaa5e5", "672a1f14", "028b4c53", "5dd42bb6"
"""The first four bytes of the Keccak hashes of the errors' signatures."""
_PAIR_BYTES: Final = G1_BYTES + G2_BYTES
_TERM_BYTES: Final = G1_BYTES + 32
_WORD: Final = 32
_INDEX_BYTES: Final = 5
"""Behind the transcript: which challenge, and which half of it."""


class _Term(NamedTuple):
    """``scalar``, an expression, times a point: constant bytes, or the offset in calldata where it stands."""

    point: bytes | int
    scalar: str


class _Places:
    """Where a proof's points stand in its bytes."""

    def __init__(self, key: VerifyingKey) -> None:
        self.a, self.b, self.c = 0, G1_BYTES, G1_BYTES + G2_BYTES
        links = sum(segment.link_g2 is not None for segment in key.segments)
        place = count(self.c + G1_BYTES, G1_BYTES)
        self.segments = [next(place) for _ in key.segments]
        self.knowledge = [next(place) for _ in key.segments]
        self.links = [next(place) for _ in range(links)]
        self.commitments = [next(place) for _ in range(links)]
        self.end = next(place)


def most_bytes(key: VerifyingKey) -> int:
    """Return the most bytes of the contract's code. Offsets beyond 64 KiB add up to a twelfth."""
    size = (
        _CODE_BYTES
        + _INPUT_BYTES * len(key.ic)
        + _CHALLENGE_BYTES * key.challenges
        + _SEGMENT_BYTES * len(key.segments)
        + _LINK_BYTES * len(key.linked_sizes)
    )
    return size + size // 12 if key.public >= _WIDE_INPUTS else size


def solidity(key: VerifyingKey, words: Sequence[str] = ()) -> str:
    """The contract's source, for solc 0.8.25 or newer with ``evmVersion`` prague.

    ``words``: sentences for its documentation, which say what a proof under this key shows.

    Raises ``StatementError`` as ``require_contract``.
    """
    require_contract(key)
    return _Contract(key).source(words)


def require_contract(key: VerifyingKey) -> None:
    """Raises ``StatementError`` (``statement.contract``) where the key draws its challenges by SHA-512, or
    has more points than a contract has room for.
    """
    if key.challenges and key.version != VERIFYING_KEY.version:
        raise StatementError(
            "statement.contract",
            "the key draws its challenges by SHA-512, for which Ethereum has no precompile: make a new key",
            field="key",
        )
    if (size := most_bytes(key)) > MOST_BYTES:
        raise StatementError(
            "statement.contract",
            f"a contract has {MOST_BYTES:,} bytes, and one for {len(key.ic) - 1} inputs of the equations and "
            f"{len(key.segments)} segments takes up to {size:,}: fold the public inputs",
            field="key",
        )


class _Contract:
    def __init__(self, key: VerifyingKey) -> None:
        self._key = key
        self._places = _Places(key)
        self._links = [i for i, segment in enumerate(key.segments) if segment.link_g2 is not None]

    def source(self, words: Sequence[str]) -> str:
        # Names are whoever's who made the key: none of them ends a comment, or is a tag of NatSpec.
        lines = (
            "".join(each if each.isprintable() else " " for each in line).replace("@", "(at)")
            for line in words
        )
        notice = "\n".join(f"///         {line}" for line in lines)
        body = "\n".join(f"            {line}" for line in self._assembly())
        return _TEMPLATE.format(
            notice=notice and f"\n{notice}",
            digest=self._key.digest.hex(),
            proof_bytes=self._places.end,
            inputs=self._key.public,
            commitments=self._places.end - G1_BYTES * len(self._places.commitments),
            modulus=f"0x{SCALAR_MODULUS:064x}",
            setup=self._key.setup,
            assembly=body,
            at_infinity=_AT_INFINITY,
            refused=_REFUSED,
            missing=_MISSING,
            too_little_gas=_TOO_LITTLE_GAS,
            fold=_FOLD if self._key.folded else "",
            hash_gas=gas_of_sha256(self._transcript_bytes() + _INDEX_BYTES),
            wrap=f"{(1 << 256) % SCALAR_MODULUS:x}",
        )

    def _assembly(self) -> Iterator[str]:
        """Memory from m: the transcript, terms of MSMs, what they come to, then the pairs."""
        key, places = self._key, self._places
        prepared = _uncompressed_key(key)
        # The index of a challenge is written as a whole word behind the transcript.
        self._scalars = _round_up(self._transcript_bytes()) + _WORD
        weights = len(key.segments) + len(self._links)
        self._scratch = self._scalars + _WORD * (key.challenges + weights)
        most_terms = len(key.ic) + 2 * len(key.segments) + len(self._links)
        self._pairs = self._scratch + most_terms * _TERM_BYTES
        yield from self._refuse_infinity()
        yield from self._challenges()
        yield from self._weights()
        pair = count(self._pairs, _PAIR_BYTES)
        yield "// e(A, B) e(-α, β) e(C, -δ)"
        yield from self._pair(next(pair), places.a, places.b)
        yield from self._pair(next(pair), prepared.minus_alpha, prepared.beta)
        yield from self._pair(next(pair), places.c, prepared.minus_delta)
        yield "// e(S, -γ)"
        shown = next(pair)
        yield from self._shown(shown, prepared)
        yield from _store(shown + G1_BYTES, prepared.minus_gamma)
        if key.segments and not key.gamma_is_generator:
            yield "// what is paired with -1"
            at = next(pair)
            yield from self._msm(at, self._known())
            yield from _store(at + G1_BYTES, prepared.minus_one)
        for i, (segment, sigma) in enumerate(zip(places.segments, prepared.minus_sigma, strict=True)):
            yield f"// w{i} e(D_{i}, -σ_{i})"
            yield from self._weighted_pair(next(pair), segment, self._weight(i), sigma)
        for i, (index, (k_1, k_2)) in enumerate(zip(self._links, prepared.minus_links, strict=True)):
            weight = self._weight(len(key.segments) + i)
            yield f"// w{len(key.segments) + i} (e(D_{index}, -k_1) + e(cm_{i}, -k_2))"
            yield from self._weighted_pair(next(pair), places.segments[index], weight, k_1)
            yield from self._weighted_pair(next(pair), places.commitments[i], weight, k_2)
        pairs = (next(pair) - self._pairs) // _PAIR_BYTES
        gas = gas_of_pairing(pairs)
        yield f"precompile({_PAIRING}, {gas}, add(m, {self._pairs}), {pairs * _PAIR_BYTES}, m, {_WORD})"
        yield "valid := eq(mload(m), 1)"

    def _known(self) -> list[_Term]:
        """What is paired with the generator: each D' and each π, with minus its weight."""
        places = (*self._places.knowledge, *self._places.links)
        return [_Term(place, f"sub(R, {self._weight(i)})") for i, place in enumerate(places)]

    def _challenge(self, index: int) -> str:
        """Where it is kept, an address."""
        return f"add(m, {self._scalars + _WORD * index})"

    def _weight(self, index: int, *, as_place: bool = False) -> str:
        """The weight, or the address where it is kept."""
        place = f"add(m, {self._scalars + _WORD * (self._key.challenges + index)})"
        return place if as_place else f"mload({place})"

    def _transcript_bytes(self) -> int:
        places = self._places
        points = len(places.segments) + len(places.commitments)
        return len(TAG) + 32 + 4 + 32 * self._key.public + 8 + G1_BYTES * points

    def _refuse_infinity(self) -> Iterator[str]:
        places = self._places
        yield "// Infinity satisfies every precompile, and no verifier of ours."
        yield f"requireFinite(add(p, {places.a}), {G1_BYTES})"
        yield f"requireFinite(add(p, {places.b}), {G2_BYTES})"
        yield f"for {{ let at := {places.c} }} lt(at, {places.end}) {{ at := add(at, {G1_BYTES}) }} {{"
        yield f"    requireFinite(add(p, at), {G1_BYTES})"
        yield "}"

    def _challenges(self) -> Iterator[str]:
        key, places = self._key, self._places
        if not key.challenges:
            return
        at = 0

        def text(data: bytes) -> Iterator[str]:
            nonlocal at
            for start in range(0, len(data), _WORD):
                word = data[start : start + _WORD].ljust(_WORD, b"\0").hex()
                yield f"mstore(add(m, {at + start}), 0x{word})"
            at += len(data)

        def copied(source: str, length: int) -> Iterator[str]:
            nonlocal at
            if length:
                yield f"calldatacopy(add(m, {at}), {source}, {length})"
            at += length

        yield '// Challenges: docs/formats.md, "Challenges"'
        yield from text(TAG + key.digest + key.public.to_bytes(4, "big"))
        yield from copied("q", 32 * key.public)
        yield from text(len(places.segments).to_bytes(4, "big"))
        yield from copied(f"add(p, {places.segments[0]})", G1_BYTES * len(places.segments))
        yield from text(len(places.commitments).to_bytes(4, "big"))
        if places.commitments:
            yield from copied(f"add(p, {places.commitments[0]})", G1_BYTES * len(places.commitments))
        for index in range(key.challenges - (key.folded > 0)):
            yield f"mstore({self._challenge(index)}, challenge(m, {at}, {index}))"
        if key.folded:
            first = 32 * (key.public - key.folded)
            fold = f"fold(add(q, {first}), {32 * key.folded}, mload({self._challenge(0)}))"
            yield f"mstore({self._challenge(key.challenges - 1)}, {fold})"

    def _weights(self) -> Iterator[str]:
        count_ = len(self._key.segments) + len(self._links)
        if not count_:
            return
        inputs = 32 * self._key.public
        yield "// Weights from everything that is proven, and from what proves it"
        yield f"mstore(add(m, {self._pairs}), 0x{self._key.digest.hex()})"
        yield f"calldatacopy(add(m, {self._pairs + 32}), q, {inputs})"
        yield f"calldatacopy(add(m, {self._pairs + 32 + inputs}), p, {self._places.end})"
        yield f"let seed := keccak256(add(m, {self._pairs}), {32 + inputs + self._places.end})"
        for index in range(count_):
            yield f"mstore({self._weight(index, as_place=True)}, weight(seed, {index}))"

    def _pair(self, at: int, g1: bytes | int, g2: bytes | int) -> Iterator[str]:
        yield from _put(at, g1, G1_BYTES)
        yield from _put(at + G1_BYTES, g2, G2_BYTES)

    def _weighted_pair(self, at: int, point: int, weight: str, g2: bytes) -> Iterator[str]:
        yield from self._msm(at, [_Term(point, weight)])
        yield from _store(at + G1_BYTES, g2)

    def _shown(self, at: int, prepared: _Uncompressed) -> Iterator[str]:
        """S to ``at``; where γ is the generator, what is paired with -1 is in it."""
        key, places = self._key, self._places
        inputs = [f"calldataload(add(q, {32 * i}))" for i in range(key.public - key.folded)]
        scalars = [*inputs, *(f"mload({self._challenge(i)})" for i in range(key.challenges))]
        terms = [_Term(point, scalar) for point, scalar in zip(prepared.ic[1:], scalars, strict=True)]
        if key.gamma_is_generator:
            terms += self._known()
        sum_, other = self._scratch, self._scratch + G1_BYTES
        addends: list[bytes | int] = [prepared.ic[0], *places.segments]
        if not terms:
            yield from _put(sum_, addends.pop(0), G1_BYTES)
        else:
            yield from self._msm(at, terms)
            yield f"mcopy(add(m, {sum_}), add(m, {at}), {G1_BYTES})"
        for addend in addends:
            yield from _put(other, addend, G1_BYTES)
            both = f"add(m, {sum_}), {2 * G1_BYTES}"
            yield f"precompile({_ADD}, {ADDITION_GAS}, {both}, add(m, {at}), {G1_BYTES})"
            yield f"mcopy(add(m, {sum_}), add(m, {at}), {G1_BYTES})"
        if not addends:
            yield f"mcopy(add(m, {at}), add(m, {sum_}), {G1_BYTES})"

    def _msm(self, at: int, terms: Sequence[_Term]) -> Iterator[str]:
        for index, (point, scalar) in enumerate(terms):
            place = self._scratch + index * _TERM_BYTES
            yield from _put(place, point, G1_BYTES)
            yield f"mstore(add(m, {place + G1_BYTES}), {scalar})"
        gas = gas_of_msm(len(terms))
        length = len(terms) * _TERM_BYTES
        yield f"precompile({_MSM}, {gas}, add(m, {self._scratch}), {length}, add(m, {at}), {G1_BYTES})"


class _Uncompressed(NamedTuple):
    """The key's points as the precompiles take them; "minus" ones are negated."""

    minus_alpha: bytes
    beta: bytes
    minus_gamma: bytes
    minus_delta: bytes
    minus_one: bytes
    ic: list[bytes]
    minus_sigma: list[bytes]
    minus_links: list[tuple[bytes, bytes]]


def _uncompressed_key(key: VerifyingKey) -> _Uncompressed:
    prepared = key.prepared(ARKWORKS)
    one = G2Point()
    return _Uncompressed(
        encode(-prepared.alpha),
        encode(prepared.beta),
        encode(-prepared.gamma),
        encode(-prepared.delta),
        encode(-one),
        [encode(point) for point in prepared.ic],
        [encode(-point) for point in prepared.knowledge],
        [(encode(-k_1), encode(-k_2)) for _, k_1, k_2 in prepared.links],
    )


def _put(at: int, source: bytes | int, length: int) -> Iterator[str]:
    """A constant, or what stands at this offset of the proof, to ``at``."""
    if isinstance(source, int):
        yield f"calldatacopy(add(m, {at}), add(p, {source}), {length})"
    else:
        yield from _store(at, source)


def _store(at: int, data: bytes) -> Iterator[str]:
    for start in range(0, len(data), _WORD):
        yield f"mstore(add(m, {at + start}), 0x{int.from_bytes(data[start : start + _WORD], 'big'):x})"


def _round_up(length: int) -> int:
    return -(-length // _WORD) * _WORD


_FOLD: Final = """\
            // The sum of x_i z^i
            function fold(at, length, z) -> y {
                for { let end := add(at, length) } gt(end, at) { } {
                    end := sub(end, 32)
                    y := addmod(mulmod(y, z, R), calldataload(end), R)
                }
            }
"""

_TEMPLATE: Final = """\
// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.25;

/// @title Verifier of Groth16 proofs over BLS12-381 under one key, written by ZenServe
/// @notice Key {digest}, setup: {setup}.{notice}
/// @dev Compile with evmVersion prague. Precompiles get the gas that they cost there.
contract ZenServeVerifier {{
    /// SHA-256 of the verifying key.
    bytes32 public constant KEY_DIGEST = 0x{digest};
    uint256 public constant PROOF_BYTES = {proof_bytes};
    uint256 public constant PUBLIC_INPUTS = {inputs};
    /// Where the commitments from outside begin in a proof.
    uint256 private constant COMMITMENTS_AT = {commitments};
    /// Order of the groups: public inputs lie below it.
    uint256 private constant R = {modulus};

    error ProofLength(uint256 length);
    error PublicInputCount(uint256 count);
    error PublicInputNotCanonical(uint256 index);
    /// A point is infinity.
    error PointAtInfinity();
    /// A precompile refused a point: its form, a coordinate, the curve or the subgroup.
    error PointRefused();
    /// The caller gave too little gas: this says nothing about the proof.
    error TooLittleGas();
    /// The chain has no precompiles of EIP-2537.
    error PrecompileMissing();
    /// `verifyAndLog` was given a proof that is not valid.
    error NotValid();

    /// @param statement The first public input: the SHA-256 of the statement, without its last byte.
    /// @param inputs The keccak256 of all public inputs, 32 bytes each.
    event Verified(uint256 indexed statement, bytes32 indexed inputs, address indexed caller);

    /// @notice Whether `proof` proves the statement that `inputs` begin with.
    /// @param proof A, B, C, each D, D' and π, then the commitments from outside, all as EIP-2537 has points.
    /// @param inputs The public inputs in the key's order, without challenges.
    function verify(bytes calldata proof, uint256[] calldata inputs) public view returns (bool valid) {{
        if (inputs.length != PUBLIC_INPUTS) revert PublicInputCount(inputs.length);
        uint256 refused = firstNotCanonical(inputs);
        if (refused < PUBLIC_INPUTS) revert PublicInputNotCanonical(refused);
        if (proof.length != PROOF_BYTES) revert ProofLength(proof.length);
        assembly ("memory-safe") {{
            function fail(selector) {{
                mstore(0, selector)
                revert(28, 4)
            }}
            function requireFinite(at, length) {{
                let bits := 0
                for {{ let end := add(at, length) }} lt(at, end) {{ at := add(at, 32) }} {{
                    bits := or(bits, calldataload(at))
                }}
                if iszero(bits) {{ fail(0x{at_infinity}) }} // PointAtInfinity()
            }}
            function precompile(to, cost, at, length, out, outLength) {{
                if iszero(staticcall(cost, to, at, length, out, outLength)) {{
                    // A call gets 63/64 of the gas at most: less is left only where that was below the cost.
                    if lt(gas(), div(cost, 63)) {{ fail(0x{too_little_gas}) }} // TooLittleGas()
                    fail(0x{refused}) // PointRefused()
                }}
                if iszero(eq(returndatasize(), outLength)) {{ fail(0x{missing}) }} // PrecompileMissing()
            }}
            function challenge(at, length, index) -> c {{
                mstore(add(at, length), shl(224, index))
                mstore8(add(at, add(length, 4)), 0)
                precompile(2, {hash_gas}, at, add(length, 5), 0, 32)
                let high := mload(0)
                mstore8(add(at, add(length, 4)), 1)
                precompile(2, {hash_gas}, at, add(length, 5), 0, 32)
                // 2^256 modulo R
                c := addmod(mulmod(high, 0x{wrap}, R), mload(0), R)
            }}
{fold}            function weight(seed, index) -> w {{
                mstore(0, seed)
                mstore(32, index)
                w := mod(keccak256(0, 64), R)
            }}
            let m := mload(0x40)
            let p := proof.offset
            let q := inputs.offset
{assembly}
        }}
    }}

    function firstNotCanonical(uint256[] calldata inputs) private pure returns (uint256 index) {{
        assembly ("memory-safe") {{
            let at := inputs.offset
            for {{ }} lt(index, PUBLIC_INPUTS) {{ index := add(index, 1) at := add(at, 32) }} {{
                if iszero(lt(calldataload(at), R)) {{ break }}
            }}
        }}
    }}

    /// @notice The keccak256 of commitment `index` in `proof`: of a model, an input or a dataset.
    function commitment(bytes calldata proof, uint256 index) public pure returns (bytes32) {{
        if (proof.length != PROOF_BYTES) revert ProofLength(proof.length);
        uint256 start = COMMITMENTS_AT + 128 * index;
        return keccak256(proof[start:start + 128]);
    }}

    /// @notice As `verify`, for a transaction: reverts where the proof is not valid, else logs the statement.
    function verifyAndLog(bytes calldata proof, uint256[] calldata inputs) external {{
        if (!verify(proof, inputs)) revert NotValid();
        emit Verified(PUBLIC_INPUTS == 0 ? 0 : inputs[0], keccak256(abi.encodePacked(inputs)), msg.sender);
    }}
}}
"""
