"""What Ethereum charges for a verification, from Prague on (EIP-2537, EIP-7623)."""

from __future__ import annotations

from typing import Final

from zenserve.verifier.groth16.verifying_key import VerifyingKey

ADDITION_GAS: Final = 375
_TRANSACTION_GAS: Final = 21_000
_MULTIPLICATION_GAS: Final = 12_000
# Of the contract's own code, measured with solc 0.8.37; within 2 % of the whole.
_CODE_GAS, _INPUT_GAS, _CHALLENGE_GAS, _SEGMENT_GAS, _LINK_GAS = 3900, 216, 1600, 2000, 2000
_WORDS_OF_AN_INPUT: Final = 2
"""Of memory: in the transcript, and in what the weights are drawn from."""
_TOKEN_GAS, _LEAST_TOKEN_GAS = 4, 10
"""Of calldata: beside the execution, and where the whole transaction takes no more than that (EIP-7623)."""

_DISCOUNTS: Final = (
    1000, 949, 848, 797, 764, 750, 738, 728, 719, 712, 705, 698, 692, 687, 682, 677, 673, 669, 665, 661, 658,
    654, 651, 648, 645, 642, 640, 637, 635, 632, 630, 627, 625, 623, 621, 619, 617, 615, 613, 611, 609, 608,
    606, 604, 603, 601, 599, 598, 596, 595, 593, 592, 591, 589, 588, 586, 585, 584, 582, 581, 580, 579, 577,
    576, 575, 574, 573, 572, 570, 569, 568, 567, 566, 565, 564, 563, 562, 561, 560, 559, 558, 557, 556, 555,
    554, 553, 552, 551, 550, 549, 548, 547, 547, 546, 545, 544, 543, 542, 541, 540, 540, 539, 538, 537, 536,
    536, 535, 534, 533, 532, 532, 531, 530, 529, 528, 528, 527, 526, 525, 525, 524, 523, 522, 522, 521, 520,
    520, 519,
)  # fmt: skip
"""Of an MSM in G1, in thousandths, by its number of terms (EIP-2537)."""


def gas_of_msm(terms: int) -> int:
    """What EIP-2537 charges for an MSM of so many terms in G1."""
    return terms * _MULTIPLICATION_GAS * _DISCOUNTS[min(terms, len(_DISCOUNTS)) - 1] // 1000


def gas_of_pairing(pairs: int) -> int:
    """What EIP-2537 charges for so many pairs."""
    return 37_700 + 32_600 * pairs


def gas_of_sha256(length: int) -> int:
    """What the precompile charges for so many bytes."""
    return 60 + 12 * -(-length // 32)


def gas_of_calldata(data: bytes) -> int:
    """4 for a zero byte, 16 for another."""
    return _TOKEN_GAS * _tokens(data)


def gas_of_transaction(data: bytes, execution: int) -> int:
    """In all, for this calldata and so much gas of the contract's."""
    return _TRANSACTION_GAS + max(gas_of_calldata(data) + execution, _LEAST_TOKEN_GAS * _tokens(data))


def _tokens(data: bytes) -> int:
    return 4 * len(data) - 3 * data.count(0)


def estimated_gas(key: VerifyingKey, calldata: bytes) -> int:
    """Of a transaction that calls the contract of ``key``: all but what it does with the verdict."""
    segments, links = len(key.segments), len(key.linked_sizes)
    shown, known = len(key.ic) - 1, segments + links
    apart = 1 if segments and not key.gamma_is_generator else 0
    sums = [shown, known] if apart else [shown + known]
    precompiles = (
        gas_of_pairing(4 + apart + segments + 2 * links)
        + sum(gas_of_msm(terms) for terms in sums if terms)
        + (segments + 2 * links) * gas_of_msm(1)
        + (segments + (shown + known > 0)) * ADDITION_GAS
    )
    code = (
        _CODE_GAS
        + _INPUT_GAS * key.public
        + _CHALLENGE_GAS * key.challenges
        + _SEGMENT_GAS * segments
        + _LINK_GAS * links
        + (_WORDS_OF_AN_INPUT * key.public) ** 2 // 512  # memory, beside what grows with its length
    )
    return gas_of_transaction(calldata, precompiles + code)
