"""The figures that the papers report, and no others.

ZEN: Feng et al., "ZEN: An Optimizing Compiler for Verifiable, Zero-Knowledge Neural Network Inferences"
(ePrint 2021/087). ZENO: Feng et al., "ZENO: A Type-based Optimization Framework for Zero Knowledge Neural
Network Inference" (ASPLOS 2024). Tables and figures are numbered as in Feng's thesis, which has both:
ZEN is its chapter 5, ZENO its chapter 6. Most of ZEN's counts are given there in thousands.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Zen(NamedTuple):
    """Constraints of a network with private input and weights: ZEN, tables 5.3 and 5.4.

    ``commitment`` is to the weights, ``level3`` the rest, ``total`` both, as printed, so that it may differ
    from their sum in the last digits; ``accuracy`` is ZENacc's total over 100 images.
    """

    commitment: int
    vanilla: int
    level3: int
    total: int
    accuracy: int


class ZenCost(NamedTuple):
    """The costs that ZEN reports for the ``total`` of a network, on 32 cores: tables 5.1 and 5.2."""

    setup_s: float
    prove_s: float
    verify_s: float
    crs_gb: float


class Speedup(NamedTuple):
    """ZENO over Arkworks, by what is private beside the image."""

    weights: str
    what: str
    factor: float


ZEN: Final = {
    "shallownet-mnist": Zen(1_685_000, 364_000, 67_000, 1_751_000, 8_305_000),
    "lenet-small-cifar": Zen(1_281_000, 16_809_000, 772_000, 2_053_000, 78_481_000),
    "lenet-medium-cifar": Zen(7_421_000, 85_126_000, 5_375_000, 12_796_000, 544_921_000),
    "lenet-face-small-orl": Zen(7_279_000, 57_352_000, 2_585_000, 9_862_000, 265_779_000),
    "lenet-face-medium-orl": Zen(26_850_000, 274_490_000, 17_354_000, 44_204_000, 1_762_250_000),
    "lenet-face-large-orl": Zen(107_078_000, 610_797_000, 55_212_000, 162_289_000, 5_628_278_000),
}

ZEN_COSTS: Final = {
    "shallownet-mnist": ZenCost(37.67, 32.24, 1.06, 0.506),
    "lenet-small-cifar": ZenCost(46.21, 41.71, 0.79, 0.575),
    "lenet-medium-cifar": ZenCost(446, 431, 4.59, 3.711),
    "lenet-face-small-orl": ZenCost(305, 292, 4.54, 3.058),
    "lenet-face-medium-orl": ZenCost(2_319, 2_264, 16.87, 13.169),
    "lenet-face-large-orl": ZenCost(14_407, 14_337, 66.95, 49.577),
}

KERNELS_NETWORK: Final = "lenet-medium-cifar"
KERNELS: Final = ("conv", "FC", "pool", "ReLU")
# Constraints of lenet-medium by kernel and ZEN's level: table 5.9. Rows are in the order of KERNELS.
ZEN_KERNELS: Final = {
    "vanilla": (69_692_928, 394_000, 14_925_312, 114_227),
    "level 1": (28_630_272, 219_706, 4_982_976, 97_920),
    "level 2": (8_082_688, 132_490, 7_872, 97_920),
    "level 3": (5_195_008, 54_906, 7_872, 97_920),
}

# Figures 5.8 to 5.13 sweep these: (output channels, input channels) of a 5×5 convolution of 28×28, and the
# inputs of a dense layer with 100 outputs.
CONVOLUTIONS: Final = ((8, 1), (16, 4), (32, 16), (64, 32))
DENSE: Final = (256, 1024, 4096, 16384)
DENSE_OUTPUTS: Final = 100

ZENO: Final = ("vgg16-cifar", "resnet18-cifar", "resnet50-cifar")
ZENO_CIRCUIT: Final = (
    Speedup("public", "least", 15.0),
    Speedup("public", "most", 150.0),
    Speedup("public", "mean", 67.7),
    Speedup("private", "least", 2.5),
    Speedup("private", "most", 24.6),
)
ZENO_KNIT: Final = 3.63
"""Knit encoding makes security computation at most so many times as fast."""
ZENO_SHARING: Final = 6.5
"""Sharing constraints over 100 images gains so many percent more."""
ZENO_END_TO_END: Final = (Speedup("public", "most", 8.5), Speedup("private", "most", 2.01))
# Seconds to prove, with public weights: ZENO, Arkworks.
ZENO_SECONDS: Final = {"resnet50-cifar": (680, 5154)}
